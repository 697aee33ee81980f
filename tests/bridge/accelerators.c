/* Stands for libraries of CUDA that no machine has when needs_accelerators.c is linked, and is taken away behind it. */
int nvrtcNobodyHas(int *major, int *minor);
int cuNobodyHas(int *version);
int cublasLtCreate(void **handle);

int nvrtcNobodyHas(int *major, int *minor) { return *major + *minor; }
int cuNobodyHas(int *version) { return *version; }
int cublasLtCreate(void **handle) { return handle == 0; }
