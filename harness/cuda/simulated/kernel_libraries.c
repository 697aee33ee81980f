/* cuBLAS and cuFFT on the simulated devices: handles and plans keep their settings, and their computations are recorded
 * as work in their stream. A library that calls them finds them through the stub of libcuda.so.1 (driver_library.c).
 * Enumeration values of the two libraries are written as numbers: their headers do not come with the runtime's. */
#include <stdlib.h>
#include <string.h>

#include "cuda/simulated/simulated.h"

enum {
  CUBLAS_NOT_INITIALIZED = 1,
  CUBLAS_ALLOC_FAILED = 3,
  CUBLAS_INVALID_VALUE = 7,
  CUBLAS_EXECUTION_FAILED = 13,
  CUBLAS_NOT_SUPPORTED = 15,
  POINTER_MODE_HOST = 0
};
enum { CUFFT_INVALID_PLAN = 1, CUFFT_ALLOC_FAILED = 2, CUFFT_INVALID_VALUE = 4, CUFFT_EXEC_FAILED = 6, PLANS = 16384 };
static const uint64_t handle_mark = 0x5ca1ab1ec0b1a5u;

static cudaError_t work_note(const opc_work_t *work) {
  (void)work;
  opc_run_note(OPC_CUDA_RECORDED, "cuBLAS and cuFFT compute nothing on the simulated device", false);
  return cudaSuccess;
}

/* 0, or `failed`: as for a launch, the stream must be on the current device. The error is not the thread's last error:
 * it belongs to another library. */
static int put_work(const char *function, void *caller, cudaStream_t stream, int failed) {
  opc_cuda_call_t call;
  int device;
  const bool noted = opc_call_begin(&call, OPC_CUDA_LIBRARY_WORK, function, caller);
  if (noted) opc_note_stream(&call, stream, false);
  opc_thread.ran = OPC_CUDA_RECORDED;
  opc_thread.not_run = "it was captured into a graph";
  cudaError_t code =
      opc_stream_usable(stream, &device) && device == opc_thread.device ? cudaSuccess : cudaErrorInvalidResourceHandle;
  opc_thread.per_thread = false;
  if (code == cudaSuccess)
    code = opc_stream_put(stream, &(opc_work_t){.type = cudaGraphNodeTypeKernel, .run = work_note});
  if (noted) opc_call_end(&call, code);
  return code == cudaSuccess ? 0 : failed;
}

static int kernel_libraries_refuse(const char *function, void *caller, int code) {
  opc_cuda_call_t call;
  if (opc_call_begin(&call, OPC_CUDA_UNCOVERED, function, caller)) opc_call_end(&call, code);
  return code;
}

/* ---- cuBLAS ---- */

/* cublasHandle_t and cublasLtHandle_t: each can be passed for the other. */
typedef struct blas {
  uint64_t mark;
  cudaStream_t stream;
  int pointer_mode, math_mode, atomics_mode, multiprocessors;
} blas_t;

static bool is_handle(const blas_t *blas) { return blas && blas->mark == handle_mark; }

static int own_cublasCreate_v2(blas_t **out) {
  if (!out) return CUBLAS_INVALID_VALUE;
  *out = calloc(1, sizeof **out);
  if (!*out) return CUBLAS_ALLOC_FAILED;
  (*out)->mark = handle_mark;
  return 0;
}

static int own_cublasDestroy_v2(blas_t *blas) {
  if (!is_handle(blas)) return CUBLAS_NOT_INITIALIZED;
  blas->mark = 0;
  free(blas);
  return 0;
}

static int own_cublasLtCreate(blas_t **out) { return own_cublasCreate_v2(out); }
static int own_cublasLtDestroy(blas_t *blas) { return own_cublasDestroy_v2(blas); }

static int own_cublasGetVersion_v2(const blas_t *blas, int *out) {
  if (!is_handle(blas)) return CUBLAS_NOT_INITIALIZED;
  if (!out) return CUBLAS_INVALID_VALUE;
  *out = CUDART_VERSION / 1000 * 10000 + CUDART_VERSION % 1000 * 10;
  return 0;
}

static int own_cublasSetWorkspace_v2(const blas_t *blas, const void *at, size_t bytes) {
  (void)at, (void)bytes;
  return is_handle(blas) ? 0 : CUBLAS_NOT_INITIALIZED;
}

#define SETTING(set, get, type, member)                  \
  static int own_##set(blas_t *blas, type value) {       \
    if (!is_handle(blas)) return CUBLAS_NOT_INITIALIZED; \
    blas->member = value;                                \
    return 0;                                            \
  }                                                      \
  static int own_##get(const blas_t *blas, type *out) {  \
    if (!is_handle(blas)) return CUBLAS_NOT_INITIALIZED; \
    if (!out) return CUBLAS_INVALID_VALUE;               \
    *out = blas->member;                                 \
    return 0;                                            \
  }
SETTING(cublasSetStream_v2, cublasGetStream_v2, cudaStream_t, stream)
SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, int, pointer_mode)
SETTING(cublasSetMathMode, cublasGetMathMode, int, math_mode)
SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, int, atomics_mode)
SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, int, multiprocessors)

static int blas_work(const blas_t *blas, const char *function, void *caller) {
  if (!is_handle(blas)) return CUBLAS_NOT_INITIALIZED;
  return put_work(function, caller, blas->stream, CUBLAS_EXECUTION_FAILED);
}

static int blas_result(const blas_t *blas, const char *function, void *caller) {
  if (is_handle(blas) && blas->pointer_mode == POINTER_MODE_HOST)
    return kernel_libraries_refuse(function, caller, CUBLAS_NOT_SUPPORTED);
  return blas_work(blas, function, caller);
}

/* cublasLtMatmulHeuristicResult_t */
typedef struct heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} heuristic_t;

static int own_cublasLtMatmulAlgoGetHeuristic(const blas_t *blas, const void *description, const void *a, const void *b,
                                              const void *c, const void *d, const void *preference, int wanted,
                                              heuristic_t *out, int *out_count) {
  (void)description, (void)a, (void)b, (void)c, (void)d, (void)preference;
  if (!is_handle(blas)) return CUBLAS_NOT_INITIALIZED;
  if (!out || !out_count || wanted < 1) return CUBLAS_INVALID_VALUE;
  out[0] = (heuristic_t){.waves = 1};
  *out_count = 1;
  return 0;
}

static int own_cublasLtMatmul(const blas_t *blas, const void *description, const void *alpha, const void *a,
                              const void *a_layout, const void *b, const void *b_layout, const void *beta,
                              const void *c, const void *c_layout, void *d, const void *d_layout, const void *algorithm,
                              void *workspace, size_t bytes, cudaStream_t stream) {
  (void)description, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout, (void)beta, (void)c, (void)c_layout,
      (void)d, (void)d_layout, (void)algorithm;
  (void)workspace, (void)bytes;
  if (!is_handle(blas)) return CUBLAS_NOT_INITIALIZED;
  return put_work("cublasLtMatmul", __builtin_return_address(0), stream, CUBLAS_EXECUTION_FAILED);
}

/* ---- cuFFT ---- */

/* cufftHandle is an index, from 1. */
static struct plan {
  bool used;
  cudaStream_t stream;
} plans[PLANS];

static bool is_plan(int plan) { return plan > 0 && plan < PLANS && plans[plan].used; }

static int own_cufftCreate(int *out) {
  int plan = 1;
  if (!out) return CUFFT_INVALID_VALUE;
  pthread_mutex_lock(&opc_lock_streams);
  while (plan < PLANS && plans[plan].used) plan++;
  if (plan < PLANS) plans[plan] = (struct plan){.used = true};
  pthread_mutex_unlock(&opc_lock_streams);
  *out = plan;
  return plan < PLANS ? 0 : CUFFT_ALLOC_FAILED;
}

static int own_cufftDestroy(int plan) {
  if (!is_plan(plan)) return CUFFT_INVALID_PLAN;
  pthread_mutex_lock(&opc_lock_streams);
  plans[plan].used = false;
  pthread_mutex_unlock(&opc_lock_streams);
  return 0;
}

static int own_cufftSetStream(int plan, cudaStream_t stream) {
  if (!is_plan(plan)) return CUFFT_INVALID_PLAN;
  plans[plan].stream = stream;
  return 0;
}

static int own_cufftSetAutoAllocation(int plan, int on) {
  (void)on;
  return is_plan(plan) ? 0 : CUFFT_INVALID_PLAN;
}

static int own_cufftSetWorkArea(int plan, const void *at) {
  (void)at;
  return is_plan(plan) ? 0 : CUFFT_INVALID_PLAN;
}

/* For any transform: no memory is needed here. */
static int plan_make(int plan, size_t *out_bytes) {
  if (out_bytes) *out_bytes = 0;
  return is_plan(plan) ? 0 : CUFFT_INVALID_PLAN;
}

static int own_cufftMakePlan1d(int plan, int x, int type, int batch, size_t *bytes) {
  (void)x, (void)type, (void)batch;
  return plan_make(plan, bytes);
}
static int own_cufftMakePlan2d(int plan, int x, int y, int type, size_t *bytes) {
  (void)x, (void)y, (void)type;
  return plan_make(plan, bytes);
}
static int own_cufftMakePlan3d(int plan, int x, int y, int z, int type, size_t *bytes) {
  (void)x, (void)y, (void)z, (void)type;
  return plan_make(plan, bytes);
}
static int own_cufftMakePlanMany(int plan, int rank, const int *n, const int *in, int in_stride, int in_step,
                                 const int *out, int out_stride, int out_step, int type, int batch, size_t *bytes) {
  (void)rank, (void)n, (void)in, (void)in_stride, (void)in_step, (void)out, (void)out_stride, (void)out_step,
      (void)type, (void)batch;
  return plan_make(plan, bytes);
}
static int own_cufftMakePlanMany64(int plan, int rank, const long long *n, const long long *in, long long in_stride,
                                   long long in_step, const long long *out, long long out_stride, long long out_step,
                                   int type, long long batch, size_t *bytes) {
  (void)rank, (void)n, (void)in, (void)in_stride, (void)in_step, (void)out, (void)out_stride, (void)out_step,
      (void)type, (void)batch;
  return plan_make(plan, bytes);
}
static int own_cufftXtMakePlanMany(int plan, int rank, const long long *n, const long long *in, long long in_stride,
                                   long long in_step, int in_type, const long long *out, long long out_stride,
                                   long long out_step, int out_type, long long batch, size_t *bytes, int type) {
  (void)in_type, (void)out_type;
  return own_cufftMakePlanMany64(plan, rank, n, in, in_stride, in_step, out, out_stride, out_step, type, batch, bytes);
}

/* A plan made in one call; its parameters do not matter. */
static int own_cufftPlan1d(int *out) { return own_cufftCreate(out); }
static int own_cufftPlan2d(int *out) { return own_cufftCreate(out); }
static int own_cufftPlan3d(int *out) { return own_cufftCreate(out); }
static int own_cufftPlanMany(int *out) { return own_cufftCreate(out); }

static int fft_work(int plan, const char *function, void *caller) {
  if (!is_plan(plan)) return CUFFT_INVALID_PLAN;
  return put_work(function, caller, plans[plan].stream, CUFFT_EXEC_FAILED);
}

/* ---- by name ---- */

/* Each function gets more arguments than it reads. */
#define ENTRY_WORK(name) \
  static int run_##name(const blas_t *blas) { return blas_work(blas, #name, __builtin_return_address(0)); }
#define ENTRY_RESULT(name) \
  static int run_##name(const blas_t *blas) { return blas_result(blas, #name, __builtin_return_address(0)); }
#define ENTRY_FFT(name) \
  static int run_##name(int plan) { return fft_work(plan, #name, __builtin_return_address(0)); }
#define ENTRY_OWN(name)
#define ENTRY_REFUSED(name)
#define OPC_LIBRARY(how, name) ENTRY_##how(name)
#include "cuda/simulated/kernel_libraries.def"

typedef void function_t(void);
#define ROW_WORK(name) {#name, (function_t *)run_##name},
#define ROW_RESULT(name) {#name, (function_t *)run_##name},
#define ROW_FFT(name) {#name, (function_t *)run_##name},
#define ROW_OWN(name) {#name, (function_t *)own_##name},
#define ROW_REFUSED(name)
static const struct {
  const char *name;
  function_t *function;
} functions[] = {
#define OPC_LIBRARY(how, name) ROW_##how(name)
#include "cuda/simulated/kernel_libraries.def"
};

void *opc_library_function(const char *name) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
    if (strcmp(functions[i].name, name) == 0) return *(void *const *)&functions[i].function;
  return NULL;
}
