/* CUPTI's callbacks: at the begin and end of each CUDA function, in the calling thread. */
#define __CUDA_API_VERSION_INTERNAL /* CUPTI's structures name types of older versions of the driver's interface */
#include "cuda/cupti/untracked_calls.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <generated_cuda_meta.h>
#include <generated_cuda_runtime_api_meta.h>

#include <string.h>

/* ---- launches ---- */

/* key: the runtime's or the driver's handle. CUPTI has reported the kernel's name. */
static void note_launch(opc_cuda_call_t *call, const void *key, dim3 grid, dim3 block, void **arguments, size_t shared,
                        cudaStream_t stream, bool per_thread, bool cooperative) {
  opc_untracked_kernel_learn(key, call->kernel, call->caller);
  opc_note_launch(call, key, grid, block, arguments, shared, stream, per_thread, cooperative);
}

static void note_config(opc_cuda_call_t *call, const cudaLaunchConfig_t *config, const void *key, void **arguments,
                        bool per_thread) {
  opc_untracked_kernel_learn(key, call->kernel, call->caller);
  opc_note_launch_config(call, config, key, arguments, per_thread);
}

static void note_driver_config(opc_cuda_call_t *call, const CUlaunchConfig *config, const void *key, void **arguments,
                               bool per_thread) {
  if (!config) return;
  bool cooperative = false;
  for (unsigned i = 0; config->attrs && i < config->numAttrs; i++)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) cooperative = config->attrs[i].value.cooperative != 0;
  note_launch(call, key, (dim3){config->gridDimX, config->gridDimY, config->gridDimZ},
              (dim3){config->blockDimX, config->blockDimY, config->blockDimZ}, arguments, config->sharedMemBytes,
              config->hStream, per_thread, cooperative);
}

/* ---- the driver's copies in the runtime's terms ---- */

static void *host_pointer(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* An array has no address. */
static const void *untracked_calls_end_of(CUmemorytype type, const void *host, CUdeviceptr device) {
  return type == CU_MEMORYTYPE_HOST ? host : type == CU_MEMORYTYPE_ARRAY ? NULL : host_pointer(device);
}

static void note_driver_copy_2d(opc_cuda_call_t *call, const CUDA_MEMCPY2D *copy, CUstream stream, bool per_thread,
                                bool waits) {
  if (!copy) return;
  opc_note_copy(call, untracked_calls_end_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
                untracked_calls_end_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
                copy->WidthInBytes * copy->Height, stream, per_thread, waits);
}

static void note_driver_copy_3d(opc_cuda_call_t *call, const CUDA_MEMCPY3D *copy, CUstream stream, bool per_thread,
                                bool waits) {
  if (!copy) return;
  opc_note_copy(call, untracked_calls_end_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
                untracked_calls_end_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
                copy->WidthInBytes * copy->Height * copy->Depth, stream, per_thread, waits);
}

/* ---- table ---- */

typedef struct seen {
  const char *function; /* NULL: it is not recorded */
  opc_cuda_kind_t kind;
  bool after;
  void (*note)(opc_cuda_call_t *call, const void *parameters);
  void (*track)(const void *parameters, uint64_t from);
} seen_t;

/* A function without parameters gets none; if CUPTI passes no parameters, nothing is recorded. */
#define OPC_SEEN(domain, when, kind, function, id, per_thread, note, track)         \
  static void note_##domain##_##id(opc_cuda_call_t *call, const void *parameters) { \
    const id##_params *p = parameters;                                              \
    const bool pt = (per_thread);                                                   \
    (void)p, (void)pt, (void)call;                                                  \
    note;                                                                           \
  }                                                                                 \
  static void track_##domain##_##id(const void *parameters, uint64_t from) {        \
    const id##_params *p = parameters;                                              \
    (void)p, (void)from;                                                            \
    track;                                                                          \
  }
#define OPC_SEEN_BARE(domain, kind, function, id)
#include "cuda/cupti/untracked.def"

enum { SEEN_BEFORE, SEEN_AFTER };
#define OPC_ID_RUNTIME(id) CUPTI_RUNTIME_TRACE_CBID_##id
#define OPC_ID_DRIVER(id) CUPTI_DRIVER_TRACE_CBID_##id
#define OPC_KEPT_RUNTIME(id, ...) [OPC_ID_RUNTIME(id)] = __VA_ARGS__,
#define OPC_KEPT_DRIVER(id, ...)
#define OPC_SEEN(domain, when, kind, function, id, per_thread, note, track) \
  OPC_KEPT_##domain(                                                        \
      id, {#function, OPC_CUDA_##kind, SEEN_##when == SEEN_AFTER, note_##domain##_##id, track_##domain##_##id})
#define OPC_SEEN_BARE(domain, kind, function, id) OPC_KEPT_##domain(id, {#function, OPC_CUDA_##kind, false, NULL, NULL})
static const seen_t runtime_calls[CUPTI_RUNTIME_TRACE_CBID_SIZE] = {
#include "cuda/cupti/untracked.def"
};
#undef OPC_KEPT_RUNTIME
#undef OPC_KEPT_DRIVER
#define OPC_KEPT_RUNTIME(id, ...)
#define OPC_KEPT_DRIVER(id, ...) [OPC_ID_DRIVER(id)] = __VA_ARGS__,
#define OPC_SEEN(domain, when, kind, function, id, per_thread, note, track) \
  OPC_KEPT_##domain(                                                        \
      id, {#function, OPC_CUDA_##kind, SEEN_##when == SEEN_AFTER, note_##domain##_##id, track_##domain##_##id})
#define OPC_SEEN_BARE(domain, kind, function, id) OPC_KEPT_##domain(id, {#function, OPC_CUDA_##kind, false, NULL, NULL})
static const seen_t driver_calls[CUPTI_DRIVER_TRACE_CBID_SIZE] = {
#include "cuda/cupti/untracked.def"
};
#undef OPC_KEPT_RUNTIME
#undef OPC_KEPT_DRIVER

#define OPC_KEPT_RUNTIME(id)
#define OPC_KEPT_DRIVER(id) OPC_ID_DRIVER(id),
#define OPC_SEEN(domain, when, kind, function, id, per_thread, note, track) OPC_KEPT_##domain(id)
#define OPC_SEEN_BARE(domain, kind, function, id) OPC_KEPT_##domain(id)
const uint32_t *opc_untracked_driver_calls(size_t *out_count) {
  static const uint32_t ids[] = {
#include "cuda/cupti/untracked.def"
  };
  *out_count = sizeof ids / sizeof *ids;
  return ids;
}

static const seen_t *seen_find(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const bool driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  if (id >= (driver ? (size_t)CUPTI_DRIVER_TRACE_CBID_SIZE : (size_t)CUPTI_RUNTIME_TRACE_CBID_SIZE))
    return NULL; /* of a newer version */
  const seen_t *seen = driver ? &driver_calls[id] : &runtime_calls[id];
  return seen->function ? seen : NULL;
}

/* ---- one call ---- */

/* This thread's current call, from begin to end. */
typedef struct current {
  unsigned depth;     /* of nested functions; the outermost one is the call */
  const seen_t *seen; /* NULL: it is not recorded */
  bool noted, stream_known;
  uint64_t from;
  opc_cuda_call_t call;
} current_t;
static _Thread_local current_t current;
static atomic_bool lost;

bool opc_untracked_lost(void) { return atomic_load(&lost); }

/* The runtime that the wrappers forward to: its functions are wrapped, or do no work. */
static bool is_wrapped_runtime(const char *library) {
  return strcmp(library, opc_log_library((uint64_t)(uintptr_t)opc_real_function("cudaGetLastError"))) == 0;
}

/* A shared runtime of another version belongs to nobody: its caller made the call. A statically linked runtime belongs
 * to its library, even if the caller reached it by a tail call. */
static uint64_t untracked_calls_place_of(const opc_maker_t *maker) {
  const char *library = opc_log_library(maker->function), *slash = strrchr(library, '/');
  const bool shared = strncmp(slash ? slash + 1 : library, "libcudart", strlen("libcudart")) == 0;
  return shared || strcmp(opc_log_library(maker->caller), library) == 0 ? maker->caller : maker->function;
}

static void kernel_name(opc_cuda_call_t *call, const CUpti_CallbackData *data) {
  if (call->kernel[0] || !data->symbolName) return;
  call->kernel = opc_log_intern(data->symbolName);
  call->kernel_library = opc_log_library(call->caller);
}

static void call_begin(const seen_t *seen, bool driver, const CUpti_CallbackData *data) {
  opc_maker_t maker;
  current.seen = NULL;
  current.noted = current.stream_known = false;
  if (!seen) return;
  if (!opc_maker_find(driver, &maker)) {
    atomic_store(&lost, true);
    return;
  }
  if (is_wrapped_runtime(opc_log_library(maker.function))) return;
  current.seen = seen;
  current.from = untracked_calls_place_of(&maker);
  const bool stub = seen->kind == OPC_CUDA_LAUNCH && !driver && opc_maker_jumped(&maker);
  current.noted = opc_call_begin(&current.call, seen->kind, stub ? "__cudaLaunchKernel" : seen->function,
                                 (void *)(uintptr_t)current.from);
  if (!current.noted) return;
  current.call.unwrapped = true;
  if (seen->kind == OPC_CUDA_LAUNCH) kernel_name(&current.call, data);
  if (seen->after || !seen->note || !data->functionParams) return;
  seen->note(&current.call, data->functionParams);
  current.stream_known = true;
}

/* The driver launch inside a runtime launch says what is launched, if CUPTI passes no parameters for the runtime's own
 * function. */
static void call_refine(const seen_t *inner, const CUpti_CallbackData *data) {
  if (!current.noted || current.call.kind != OPC_CUDA_LAUNCH || !inner || inner->kind != OPC_CUDA_LAUNCH) return;
  kernel_name(&current.call, data);
  if (current.stream_known || !inner->note || !data->functionParams) return;
  inner->note(&current.call, data->functionParams);
  current.stream_known = true;
}

static void call_end(const CUpti_CallbackData *data) {
  const seen_t *seen = current.seen;
  const int code = data->functionReturnValue ? *(const int *)data->functionReturnValue : 0;
  if (!seen) return;
  if (code == 0 && seen->track && data->functionParams) seen->track(data->functionParams, current.from);
  if (!current.noted) return;
  if (seen->after && code == 0 && data->functionParams) seen->note(&current.call, data->functionParams);
  opc_call_end(&current.call, code);
}

CUPTIAPI void opc_untracked_callback(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                     const void *given) {
  const CUpti_CallbackData *data = given;
  const bool driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  (void)unused;
  if (opc_thread.inside != 0 || (!driver && domain != CUPTI_CB_DOMAIN_RUNTIME_API)) return;
  opc_thread.inside++; /* calls made here belong to nobody */
  if (data->callbackSite == CUPTI_API_ENTER) {
    if (current.depth++ == 0) call_begin(seen_find(domain, id), driver, data);
    else if (driver) call_refine(seen_find(domain, id), data);
  } else if (current.depth > 0 &&
             --current.depth == 0) { /* for calls that began before the subscription, only the end is seen */
    call_end(data);
    current.seen = NULL;
  }
  opc_thread.inside--;
}
