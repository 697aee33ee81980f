/* Stands for a CUDA runtime when needs_cuda.c is linked, and is taken away behind it. */
int cudaGetDeviceCount(int *count);
void **__cudaRegisterFatBinary(void *binary);
int cudaMalloc(void **out, unsigned long size);

int cudaGetDeviceCount(int *count) { return *count; }
void **__cudaRegisterFatBinary(void *binary) { return binary; }
int cudaMalloc(void **out, unsigned long size) { return out == 0 && size == 0; }
