/* A library with a statically linked CUDA runtime that also calls the driver (static_user.c). Built twice, as if it had
 * two owners. */
#ifndef OPC_TESTS_STATIC_USER_H
#define OPC_TESTS_STATIC_USER_H

#include <cuda_runtime_api.h>

typedef struct static_user {
  void (*stub)(unsigned blocks, cudaStream_t stream, void **arguments); /* the stub that nvcc makes of <<<…>>> */
  cudaError_t (*launch)(unsigned blocks, cudaStream_t stream);          /* calls cudaLaunchKernel directly */
  cudaError_t (*launch_bare)(unsigned blocks,
                             cudaStream_t stream); /* through a runtime function for which CUPTI has no parameters */
  cudaError_t (*last_error)(void);
  cudaError_t (*stream_create)(cudaStream_t *out);
  cudaError_t (*wait)(cudaStream_t stream);
  cudaError_t (*allocate)(void **out, size_t bytes);
  int (*driver_launch)(unsigned blocks, cudaStream_t stream);
  int (*driver_copy)(void *to, const void *from, size_t bytes, cudaStream_t stream);
} static_user_t;

typedef const static_user_t *static_user_get_t(void);

#endif
