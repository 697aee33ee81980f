/* A runtime for the test of pass-through: libcudart.so of the right major version, with a few functions that say what
 * they were called with. The others are missing, as newer functions are in an older runtime. Compiled without CUDA's
 * headers, so that only the ABI is common. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int last_error, device;

/* Where the test has a CUPTI and a driver of its own (test_unwrapped.c), their functions are called. */
void fake_cupti_tell(const char *function, int *code) __attribute__((weak));
int cuStreamSynchronize(void *stream) __attribute__((weak));
static void begins(const char *function) {
  if (fake_cupti_tell) fake_cupti_tell(function, NULL);
}
static int ends(const char *function, int code) {
  if (fake_cupti_tell) fake_cupti_tell(function, &code);
  return code;
}

int cudaGetLastError(void) {
  begins("cudaGetLastError");
  const int code = last_error;
  last_error = 0;
  return ends("cudaGetLastError", code);
}
int cudaPeekAtLastError(void) { return last_error; }
int cudaGetDevice(int *out) {
  *out = device;
  return 0;
}
int cudaSetDevice(int wanted) {
  if (wanted < 0 || wanted > 3) return last_error = 101;
  device = wanted;
  return 0;
}
int cudaGetDeviceCount(int *out) {
  *out = 4;
  return 0;
}
int cudaMalloc(void **out, size_t bytes) {
  *out = malloc(bytes);
  return *out ? 0 : (last_error = 2);
}
int cudaFree(void *at) {
  free(at);
  return 0;
}
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  (void)kind, (void)stream;
  begins("cudaMemcpyAsync");
  memcpy(to, from, bytes);
  return ends("cudaMemcpyAsync", 0);
}
int cudaStreamCreate(void **out) {
  *out = malloc(16);
  return 0;
}
int cudaStreamDestroy(void *stream) {
  free(stream);
  return 0;
}
/* type, device and two addresses, as in driver_types.h */
int cudaPointerGetAttributes(void *out, const void *at) {
  memset(out, 0, 24);
  (void)at;
  return 0;
}
/* Two structures of 12 bytes each, by value. */
typedef struct three {
  unsigned x, y, z;
} three_t;
unsigned launched[8];
int cudaLaunchKernel(const void *function, three_t grid, three_t block, void **arguments, size_t shared, void *stream) {
  (void)function, (void)arguments, (void)stream;
  begins("cudaLaunchKernel");
  const unsigned seen[8] = {grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, launched[7] + 1};
  memcpy(launched, seen, sizeof launched);
  return ends("cudaLaunchKernel", block.x > 1024 ? (last_error = 9) : 0);
}
/* Not covered by the wrappers, as the next one; it asks the driver to wait. */
int cudaCtxResetPersistingL2Cache(void) {
  begins("cudaCtxResetPersistingL2Cache");
  return ends("cudaCtxResetPersistingL2Cache", cuStreamSynchronize ? cuStreamSynchronize(NULL) : 0);
}
/* Not covered by the wrappers, so that a stub jumps here: arguments in registers and on the stack arrive. */
int cudaGraphAddMemcpyNode1D(void *node, void *graph, const void *dependencies, size_t count, void *to,
                             const void *from, size_t bytes, int kind) {
  (void)node, (void)graph, (void)dependencies, (void)to;
  return (int)(count * 100 + bytes * 10) + kind + (from != NULL);
}
