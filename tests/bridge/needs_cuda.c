/* A library with CUDA kernels, built for a CUDA that no machine has. */
int cudaGetDeviceCount(int *count);
void **__cudaRegisterFatBinary(void *binary);
int cudaMalloc(void **out, unsigned long size);
int count_devices(void);
int allocate(void **out);

__attribute__((constructor)) static void register_kernels(void) { (void)__cudaRegisterFatBinary(0); }

int count_devices(void) {
  int count = 7;
  (void)cudaGetDeviceCount(&count);
  return count;
}

int allocate(void **out) { return cudaMalloc(out, 1); }
