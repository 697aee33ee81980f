/* Stands for libraries of CUDA that no machine has when needs_accelerators.c is linked, and is taken away behind it. */
int nvrtcVersion(int *major, int *minor);
int cuDriverGetVersion(int *version);
int cublasLtCreate(void **handle);

int nvrtcVersion(int *major, int *minor) { return *major + *minor; }
int cuDriverGetVersion(int *version) { return *version; }
int cublasLtCreate(void **handle) { return handle == 0; }
