/* Takes one function from each of two libraries that are not here, and one from a library that only libtorch's CUDA half names. */
int nvrtcVersion(int *major, int *minor);
int cuDriverGetVersion(int *version);
int cublasLtCreate(void **handle);
int ask_all(void);

int ask_all(void) {
  int number = 0;
  void *handle = 0;
  return nvrtcVersion(&number, &number) + cuDriverGetVersion(&number) + cublasLtCreate(&handle);
}
