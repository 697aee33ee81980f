/* Every covered function of the runtime, generated from its entry in cudart.def. */
#include <string.h>

#include "cuda/state/cudart_table.h"

enum { LOG_QUIET, LOG_BEFORE, LOG_AFTER, LOG_REAL };

static void opc_kernel_handle_given(const void *handle, const void *function) {
  opc_cuda_kernel_t *kernel = opc_kernel_find(function);
  if (kernel) opc_kernel_handle(handle, kernel);
}

/* One exported function. The caller is the library that contains the return address, so functions that read it must not
 * be tail-called. */
#define OPC_CUDART_WRAPPER(exported, pt_value, when, kind_name, name, simulated_call, real_call, parameters, note,   \
                           track)                                                                                    \
  cudaError_t exported parameters {                                                                                  \
    opc_runtime_ready();                                                                                             \
    opc_cuda_call_t record, *call = &record;                                                                         \
    const bool simulated = opc_runtime.simulated, pt = (pt_value);                                                   \
    const bool noted =                                                                                               \
        LOG_##when != LOG_QUIET && atomic_load_explicit(&opc_watchful, memory_order_acquire) &&                      \
        opc_call_begin(call, LOG_##when == LOG_REAL && simulated ? OPC_CUDA_UNCOVERED : OPC_CUDA_##kind_name, #name, \
                       __builtin_return_address(0));                                                                 \
    const uint64_t from = (uint64_t)(uintptr_t)__builtin_return_address(0);                                          \
    cudaError_t code = cudaErrorNotSupported;                                                                        \
    bool injected = false;                                                                                           \
    (void)pt, (void)from;                                                                                            \
    if (noted && LOG_##when != LOG_AFTER) note;                                                                      \
    if (OPC_CUDA_##kind_name == OPC_CUDA_LAUNCH && LOG_##when != LOG_QUIET) injected = opc_injection_takes(&code);   \
    opc_thread.per_thread = pt;                                                                                      \
    opc_thread.inside++;                                                                                             \
    if (!injected) code = simulated ? simulated_call : real_call;                                                    \
    opc_thread.inside--;                                                                                             \
    if (OPC_CUDA_##kind_name == OPC_CUDA_LAUNCH) opc_thread.popped = false;                                          \
    if (code == cudaSuccess) track;                                                                                  \
    if (noted) {                                                                                                     \
      if (LOG_##when == LOG_AFTER && code == cudaSuccess) note;                                                      \
      call->injected = injected;                                                                                     \
      opc_call_end(call, code);                                                                                      \
    }                                                                                                                \
    return simulated || injected ? opc_error_keep(code) : code;                                                      \
  }

#define OPC_SIMULATED_QUIET(name, arguments) opc_sim_##name arguments
#define OPC_SIMULATED_BEFORE(name, arguments) opc_sim_##name arguments
#define OPC_SIMULATED_AFTER(name, arguments) opc_sim_##name arguments
#define OPC_SIMULATED_REAL(name, arguments) cudaErrorNotSupported

#define OPC_CUDART_ONE(when, kind, name, parameters, arguments, note, track)                                        \
  OPC_CUDART_WRAPPER(name, false, when, kind, name, OPC_SIMULATED_##when(name, arguments), opc_real.name arguments, \
                     parameters, note, track)
#define OPC_CUDART_BOTH(second, when, kind, name, parameters, arguments, note, track)       \
  OPC_CUDART_ONE(when, kind, name, parameters, arguments, note, track)                      \
  __typeof__(name) second;                                                                  \
  OPC_CUDART_WRAPPER(second, true, when, kind, name, OPC_SIMULATED_##when(name, arguments), \
                     opc_real.name##_second arguments, parameters, note, track)
#define OPC_CUDART_PTSZ(when, kind, name, parameters, arguments, note, track) \
  OPC_CUDART_BOTH(name##_ptsz, when, kind, name, parameters, arguments, note, track)
#define OPC_CUDART_PTDS(when, kind, name, parameters, arguments, note, track) \
  OPC_CUDART_BOTH(name##_ptds, when, kind, name, parameters, arguments, note, track)
#define OPC_CUDART(when, kind, variant, name, parameters, arguments, note, track) \
  OPC_CUDART_##variant(when, kind, name, parameters, arguments, note, track)
#include "cuda/state/cudart.def"
