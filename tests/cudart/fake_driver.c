/* libcuda for the same tests: a few functions that do nothing but be seen. */
#include "fake_cupti.h"

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **parameters, void **extra) {
  cuLaunchKernel_params given = {f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra};
  FAKE_ENTER(DRIVER, cuLaunchKernel, "cuLaunchKernel", &given, "_Z11copy_kernelPKvPv");
  CUresult code = gx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  FAKE_EXIT(DRIVER, cuLaunchKernel, code);
  return code;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  cuMemcpyDtoDAsync_v2_params given = {to, from, bytes, stream};
  FAKE_ENTER(DRIVER, cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2", &given, NULL);
  CUresult code = CUDA_SUCCESS;
  FAKE_EXIT(DRIVER, cuMemcpyDtoDAsync_v2, code);
  return code;
}

CUresult cuStreamSynchronize(CUstream stream) {
  cuStreamSynchronize_params given = {stream};
  FAKE_ENTER(DRIVER, cuStreamSynchronize, "cuStreamSynchronize", &given, NULL);
  CUresult code = CUDA_SUCCESS;
  FAKE_EXIT(DRIVER, cuStreamSynchronize, code);
  return code;
}

CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  cuStreamCreate_params given = {out, flags};
  FAKE_ENTER(DRIVER, cuStreamCreate, "cuStreamCreate", &given, NULL);
  static char streams[16][64];
  static unsigned count;
  *out = (CUstream)(void *)streams[count++ % 16];
  CUresult code = CUDA_SUCCESS;
  FAKE_EXIT(DRIVER, cuStreamCreate, code);
  return code;
}
