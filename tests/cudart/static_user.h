/* A library that has a CUDA runtime of its own linked into it, and calls the driver besides (static_user.c). Built
 * twice, as if for two owners. */
#ifndef OPC_TESTS_STATIC_USER_H
#define OPC_TESTS_STATIC_USER_H

#include <cuda_runtime_api.h>

typedef struct static_user {
  void (*stub)(unsigned blocks, cudaStream_t stream, void **arguments); /* what nvcc makes of <<<…>>> */
  cudaError_t (*launch)(unsigned blocks, cudaStream_t stream);          /* cudaLaunchKernel by hand */
  cudaError_t (*launch_bare)(unsigned blocks,
                             cudaStream_t stream); /* a runtime whose function CUPTI has no parameters for */
  cudaError_t (*last_error)(void);
  cudaError_t (*stream_create)(cudaStream_t *out);
  cudaError_t (*wait)(cudaStream_t stream);
  cudaError_t (*allocate)(void **out, size_t bytes);
  int (*driver_launch)(unsigned blocks, cudaStream_t stream);
  int (*driver_copy)(void *to, const void *from, size_t bytes, cudaStream_t stream);
} static_user_t;

typedef const static_user_t *static_user_get_t(void);

#endif
