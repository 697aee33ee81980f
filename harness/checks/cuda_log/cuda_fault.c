#include "checks/cuda_log/cuda_analysis.h"

enum { LAUNCHES_SHOWN = 3 };

/* Source: CUDA runtime API, cudaError_t: the errors after which, it says, the process must be terminated and
 * relaunched. */
static const struct fault {
  int code;
  const char *meaning;
} faults[] = {
    {700, "an access to memory that is not mapped"},
    {702, "a kernel that takes too long"},
    {710, "an assertion that failed in a kernel"},
    {714, "a damaged call stack in a kernel"},
    {715, "an instruction that the GPU does not have"},
    {716, "an access whose address is not a multiple of its size"},
    {717, "an access to a kind of memory that the instruction is not for"},
    {718, "a jump to an address without code"},
    {719, "a fault in a kernel"},
    {721, "tensor memory that a kernel did not free"},
};

static const struct fault *fault_of(int code) {
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    if (faults[i].code == code) return &faults[i];
  }
  return NULL;
}

const char *opc_cuda_fault_meaning(int code) {
  const struct fault *fault = fault_of(code);
  return fault ? fault->meaning : NULL;
}

/* Indices of the last launches, newest first. */
static size_t last_launches(const opc_cuda_log_t *log, size_t out[LAUNCHES_SHOWN]) {
  size_t count = 0;
  for (size_t i = log->count; i-- > 0 && count < LAUNCHES_SHOWN;) {
    if (log->calls[i].kind == OPC_CUDA_LAUNCH) out[count++] = i;
  }
  return count;
}

void opc_cuda_fault_describe(int code, const opc_cuda_log_t *log, opc_text_t *out) {
  const struct fault *fault = fault_of(code);
  size_t launches[LAUNCHES_SHOWN], count = last_launches(log, launches);
  opc_text_addf(out, "%s (%s, %d)", fault ? fault->meaning : "a fault", opc_cuda_error_name(code), code);
  if (!count) opc_text_add(out, "; no launch was seen before it");
  for (size_t i = 0; i < count; i++) {
    const opc_cuda_call_t *call = &log->calls[launches[i]];
    char kernel[128];
    bool named = call->kernel && call->kernel[0];
    opc_text_addf(
        out, "%s%.100s (grid %u,%u,%u, block %u,%u,%u)",
        i == 0 ? (count > 1 ? "; the last launches before it, newest first: " : "; the last launch before it: ") : ", ",
        named ? opc_cuda_kernel_name(call->kernel, kernel, sizeof kernel) : "a kernel", call->grid[0], call->grid[1],
        call->grid[2], call->block[0], call->block[1], call->block[2]);
    if (call->library && call->library[0]) opc_text_addf(out, " by %s", opc_base_name(call->library));
  }
}

json_t *opc_cuda_fault_launches(const opc_cuda_log_t *log) {
  size_t launches[LAUNCHES_SHOWN], count = last_launches(log, launches);
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) {
    const opc_cuda_call_t *call = &log->calls[launches[i]];
    json_t *entry = json_pack("{s:s, s:s, s:[i,i,i], s:[i,i,i], s:o}", "kernel", call->kernel ? call->kernel : "",
                              "library", call->library ? call->library : "", "grid", (int)call->grid[0],
                              (int)call->grid[1], (int)call->grid[2], "block", (int)call->block[0], (int)call->block[1],
                              (int)call->block[2], "stream", json_sprintf("0x%llx", (unsigned long long)call->stream));
    if (entry) json_array_append_new(array, entry);
  }
  return array;
}
