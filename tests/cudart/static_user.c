#include "static_user.h"

#include "fake_cupti.h"

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **parameters, void **extra);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamCreate(CUstream *out, unsigned flags);

/* ---- the runtime, hidden as libcudart_static.a's is ---- */

#define OWN static __attribute__((noinline, noipa, used))
static cudaError_t error;

OWN cudaError_t own_launch(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                           cudaStream_t stream) {
  cudaLaunchKernel_v7000_params given = {kernel, grid, block, arguments, shared, stream};
  FAKE_ENTER(RUNTIME, cudaLaunchKernel_v7000, "cudaLaunchKernel", &given, "_Z11copy_kernelPKvPv");
  cudaError_t code =
      cuLaunchKernel(NULL, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, stream, arguments, NULL)
          ? cudaErrorInvalidConfiguration
          : cudaSuccess;
  if (code) error = code;
  FAKE_EXIT(RUNTIME, cudaLaunchKernel_v7000, code);
  return code;
}

/* libcudart 13.0's __cudaLaunchKernel is a jump to cudaLaunchKernel. */
__asm__(
    ".pushsection .text\n.type own_launch_of_stub, @function\nown_launch_of_stub:\n  push %rbp\n  mov %rsp, %rbp\n  "
    "pop %rbp\n  .byte 0xe9\n"
    "  .long own_launch - . - 4\n.size own_launch_of_stub, . - own_launch_of_stub\n.popsection\n");
cudaError_t own_launch_of_stub(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream) __attribute__((visibility("hidden")));

OWN cudaError_t own_launch_bare(unsigned blocks, cudaStream_t stream) {
  FAKE_ENTER(RUNTIME, __cudaLaunchKernel_v13000, "__cudaLaunchKernel", NULL, NULL);
  cudaError_t code = (cudaError_t)cuLaunchKernel(NULL, blocks, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
  FAKE_EXIT(RUNTIME, __cudaLaunchKernel_v13000, code);
  return code;
}

OWN cudaError_t own_last_error(void) {
  FAKE_ENTER(RUNTIME, cudaGetLastError_v3020, "cudaGetLastError", NULL, NULL);
  cudaError_t code = error;
  error = cudaSuccess;
  FAKE_EXIT(RUNTIME, cudaGetLastError_v3020, code);
  return code;
}

OWN cudaError_t own_stream_create(cudaStream_t *out) {
  cudaStreamCreate_v3020_params given = {out};
  FAKE_ENTER(RUNTIME, cudaStreamCreate_v3020, "cudaStreamCreate", &given, NULL);
  cudaError_t code = (cudaError_t)cuStreamCreate(out, 0);
  FAKE_EXIT(RUNTIME, cudaStreamCreate_v3020, code);
  return code;
}

OWN cudaError_t own_wait(cudaStream_t stream) {
  cudaStreamSynchronize_v3020_params given = {stream};
  FAKE_ENTER(RUNTIME, cudaStreamSynchronize_v3020, "cudaStreamSynchronize", &given, NULL);
  cudaError_t code = (cudaError_t)cuStreamSynchronize(stream);
  FAKE_EXIT(RUNTIME, cudaStreamSynchronize_v3020, code);
  return code;
}

OWN cudaError_t own_allocate(void **out, size_t bytes) {
  static char memory[4096];
  static size_t used;
  cudaMalloc_v3020_params given = {out, bytes};
  FAKE_ENTER(RUNTIME, cudaMalloc_v3020, "cudaMalloc", &given, NULL);
  *out = bytes <= sizeof memory - used ? memory + used : NULL; /* never freed */
  used += *out ? bytes : 0;
  cudaError_t code = *out ? cudaSuccess : cudaErrorMemoryAllocation;
  FAKE_EXIT(RUNTIME, cudaMalloc_v3020, code);
  return code;
}

/* ---- its user; each does something after the call, so that it is on the stack ---- */

static const char kernel;
#define STAY __asm__ volatile("" ::: "memory")

static void stub(unsigned blocks, cudaStream_t stream, void **arguments) {
  (void)own_launch_of_stub(&kernel, (dim3){blocks, 2, 3}, (dim3){4, 5, 6}, arguments, 7, stream);
  STAY;
}
static cudaError_t launch(unsigned blocks, cudaStream_t stream) {
  const cudaError_t code = own_launch(&kernel, (dim3){blocks, 1, 1}, (dim3){32, 1, 1}, NULL, 0, stream);
  STAY;
  return code;
}
static cudaError_t launch_bare(unsigned blocks, cudaStream_t stream) {
  const cudaError_t code = own_launch_bare(blocks, stream);
  STAY;
  return code;
}
static cudaError_t last_error(void) { return own_last_error(); } /* by a jump: its own caller is another library's */
static cudaError_t stream_create(cudaStream_t *out) {
  const cudaError_t code = own_stream_create(out);
  STAY;
  return code;
}
static cudaError_t wait(cudaStream_t stream) {
  const cudaError_t code = own_wait(stream);
  STAY;
  return code;
}
static cudaError_t allocate(void **out, size_t bytes) {
  const cudaError_t code = own_allocate(out, bytes);
  STAY;
  return code;
}
static int driver_launch(unsigned blocks, cudaStream_t stream) {
  const CUresult code = cuLaunchKernel(NULL, blocks, 1, 1, 64, 1, 1, 0, stream, NULL, NULL);
  STAY;
  return (int)code;
}
static int driver_copy(void *to, const void *from, size_t bytes, cudaStream_t stream) {
  const CUresult code = cuMemcpyDtoDAsync_v2((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
  STAY;
  return (int)code;
}

static_user_get_t static_user;
const static_user_t *static_user(void) {
  static const static_user_t user = {stub, launch,   launch_bare,   last_error, stream_create,
                                     wait, allocate, driver_launch, driver_copy};
  return &user;
}
