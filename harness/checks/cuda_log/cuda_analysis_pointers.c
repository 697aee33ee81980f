/* Pointers that kernels get, and pointers that host code follows. */
#include <inttypes.h>
#include <string.h>

#include "checks/cuda_log/cuda_analysis.h"

/* A closure's type in a mangled name: "UlfE_", "UliiE0_". */
static bool names_lambda(const char *kernel) {
  for (const char *at = strstr(kernel, "Ul"); at; at = strstr(at + 2, "Ul"))
    for (const char *end = strchr(at, 'E'); end; end = strchr(end + 1, 'E'))
      if (end[1 + strspn(end + 1, "0123456789")] == '_') return true;
  return false;
}

/* 8 bytes here need not be a pointer that the kernel follows: nvcc's wrapper of a __host__ __device__ lambda keeps a
 * host copy of it on the heap, and unused iterators that CUB and Thrust pass along hold old stack contents. */
static bool may_hold_others(const opc_cuda_call_t *call) {
  return names_lambda(call->kernel) || strstr(call->kernel, "3cub") || strstr(call->kernel, "6thrust");
}

static void analyse_pointer(const opc_cuda_facts_t *facts, size_t index, size_t which, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  const opc_cuda_address_t *pointer = &call->pointers[which];
  char name[256];
  opc_cuda_call_name(call, name, sizeof name);
  if (!call->alone[which] || may_hold_others(call)) return; /* it may be padding with old stack contents */
  if (pointer->place == OPC_CUDA_PAGEABLE) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_host_pointer, index, index,
                       "%s is given 0x%" PRIx64 ", which is pageable memory of the host", name, pointer->value);
  } else if (pointer->place == OPC_CUDA_FREED) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_freed_pointer, index, index,
                       "%s is given 0x%" PRIx64 ", which is device memory that was freed", name, pointer->value);
  }
}

static void analyse_access(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  const char *file = opc_base_name(call->library);
  bool own = opc_cuda_is_own(facts, call);
  opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_host_access, index, index,
                     "host code%s%s %s 0x%" PRIx64 ", which is memory of device %d", own ? "" : " of ", own ? "" : file,
                     call->value ? "writes to" : "reads from", call->to.value, call->to.device);
}

void opc_cuda_analyse_pointers(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  for (size_t i = 0; i < facts->log.count; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    if (call->kind == OPC_CUDA_HOST_ACCESS) analyse_access(facts, i, out);
    for (size_t k = 0; call->kind == OPC_CUDA_LAUNCH && opc_cuda_is_own(facts, call) && k < call->pointer_count; k++)
      analyse_pointer(facts, i, k, out);
  }
}
