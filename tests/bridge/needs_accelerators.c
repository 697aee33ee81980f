/* Takes one function, which no library has, from each of two libraries that are not here, and one from a library that
 * only libtorch's CUDA half names. */
int nvrtcNobodyHas(int *major, int *minor);
int cuNobodyHas(int *version);
int cublasLtCreate(void **handle);
int ask_all(void);

int ask_all(void) {
  int number = 0;
  void *handle = 0;
  return nvrtcNobodyHas(&number, &number) + cuNobodyHas(&number) + cublasLtCreate(&handle);
}
