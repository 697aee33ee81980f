#include "checks/framework/check.h"

#include <string.h>

#include "checks/cuda_log/cuda_analysis.h"

/* Text of libtorch around the failures of libraries that link their own CUDA runtime or load code at run time, and the
 * failing library. */
static const struct {
  const char *words, *library;
} foreign[] = {{"CUBLAS_STATUS_", "cuBLAS"},
               {"CUDNN_STATUS_", "cuDNN"},
               {"cuDNN error", "cuDNN"},
               {"cuFFT error", "cuFFT"},
               {"CUFFT_", "cuFFT"},
               {"CUSOLVER_STATUS_", "cuSOLVER"},
               {"cusolver error", "cuSOLVER"},
               {"CUSPARSE_STATUS_", "cuSPARSE"},
               {"cusparse error", "cuSPARSE"},
               {"NCCL Error", "NCCL"},
               {"NVRTC", "NVRTC"},
               {"nvrtc", "NVRTC"},
               {"CUDA driver error", "the CUDA driver"},
               {"cudaErrorNotSupported", "a function of CUDA"},
               {"CUDA error: operation not supported", "a function of CUDA"}};

/* Instructions of a thread that the kernels of a case may run: some seconds. */
static const uint64_t budget = UINT64_C(1) << 29;

static opc_kernel_counts_t case_began;

void opc_simulated_case_begin(void) {
  if (!opc_cuda_simulated()) return;
  opc_launch()->log_begin();
  opc_simulated_case_resume();
}

void opc_simulated_case_resume(void) {
  opc_launch()->kernel_budget(budget);
  case_began = opc_simulated_kernels();
}

bool opc_simulated_uncomputed(const opc_case_context_t *context) {
  return context->simulated && opc_simulated_kernels().recorded != case_began.recorded;
}

void opc_simulated_judge(const opc_case_context_t *context, opc_finding_t *finding) {
  if (!opc_simulated_uncomputed(context) || (context->rule->devices & OPC_ON_SIMULATED) != 0) return;
  const opc_kernel_counts_t now = opc_simulated_kernels();
  const bool rejected = finding->decided && finding->verdict == OPC_VERDICT_SKIP;
  if (rejected) return; /* it says more */
  opc_finding_clear(finding);
  *finding = (opc_finding_t){0};
  opc_finding_skip(finding, now.over_budget ? OPC_SKIP_BUDGET : OPC_SKIP_SIMULATED,
                   "a kernel did not run on the simulated device: %s", now.not_run);
}

opc_kernel_counts_t opc_simulated_kernels(void) {
  opc_kernel_counts_t counts = {.not_run = ""};
  if (opc_cuda_simulated()) opc_launch()->kernel_counts(&counts);
  return counts;
}

static bool is_host(const opc_cuda_address_t *address) {
  return address->place == OPC_CUDA_PINNED || address->place == OPC_CUDA_PAGEABLE;
}

opc_simulated_cause_t opc_simulated_cause_in(const opc_cuda_log_t *log, const char *message, opc_text_t *out) {
  const opc_cuda_call_t *uncovered = NULL, *read = NULL;
  const opc_cuda_call_t *launched = NULL;
  for (size_t i = 0; i < log->count; i++) {
    const opc_cuda_call_t *call = &log->calls[i];
    if (!launched && opc_cuda_is_kernel(call) && call->ran == OPC_CUDA_RECORDED && call->code == 0) launched = call;
    if (call->kind == OPC_CUDA_UNCOVERED && !uncovered) uncovered = call;
    bool from_device = call->from.place == OPC_CUDA_DEVICE || call->from.place == OPC_CUDA_MANAGED;
    if (launched && ((call->kind == OPC_CUDA_COPY && from_device && is_host(&call->to)) ||
                     (call->kind == OPC_CUDA_HOST_ACCESS && !call->value)))
      read = call;
  }
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    if (!strstr(message, foreign[i].words)) continue;
    opc_text_addf(out, "%s does not work on the simulated device", foreign[i].library);
    return OPC_SIMULATED_LACKS;
  }
  if (uncovered) {
    opc_text_addf(out, "the operator called %s, which the simulated device does not have", uncovered->function);
    return OPC_SIMULATED_LACKS;
  }
  if (read) {
    const char *why = launched->not_run && launched->not_run[0] ? launched->not_run : "nothing is computed there";
    opc_text_addf(out,
                  "the operator read back what a kernel should have written (%s, %llu bytes), and the kernel did not "
                  "run on the simulated device: %s",
                  read->function, (unsigned long long)read->bytes, why);
    return OPC_SIMULATED_READ;
  }
  return OPC_SIMULATED_NONE;
}

opc_simulated_cause_t opc_simulated_cause(const char *message, opc_text_t *out) {
  if (!opc_cuda_simulated()) return OPC_SIMULATED_NONE;
  opc_cuda_log_t log = opc_launch()->log_end();
  return opc_simulated_cause_in(&log, message, out);
}
