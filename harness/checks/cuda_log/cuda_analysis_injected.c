/* A launch was made to fail: the operator must throw, and leave nothing behind. */
#include "checks/cuda_log/cuda_tracker.h"

static size_t find_injected(const opc_cuda_facts_t *facts) {
  for (size_t i = 0; i < facts->log.count; i++)
    if (facts->log.calls[i].injected) return i;
  return OPC_CUDA_NO_CALL;
}

static void analyse_left(const opc_cuda_facts_t *facts, size_t failed, opc_cuda_founds_t *out) {
  static const char *const words[OPC_CUDA_HOLDINGS] = {"device memory", "pinned memory", "a stream", "an event",
                                                       "a tensor"};
  OPC_SCOPED(opc_cuda_tracker_clear) opc_cuda_tracker_t tracker = {0};
  char name[256];
  opc_cuda_tracker_add(&tracker, facts);
  for (size_t i = 0; i < tracker.count && !tracker.incomplete; i++) {
    const opc_cuda_call_t *maker = &tracker.items[i].made_by;
    for (size_t k = 0; k < facts->log.count; k++) {
      const opc_cuda_call_t *call = &facts->log.calls[k];
      if (call->kind != maker->kind || call->to.value != maker->to.value || call->stream != maker->stream ||
          call->event != maker->event)
        continue;
      opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_failure_leaks, k, failed,
                         "when the launch of %s fails, %s that %s made is not released",
                         opc_cuda_call_name(&facts->log.calls[failed], name, sizeof name),
                         words[tracker.items[i].holding], call->function);
      break;
    }
  }
}

void opc_cuda_analyse_injected(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  size_t failed = find_injected(facts);
  char name[256], code[96];
  if (failed == OPC_CUDA_NO_CALL || !opc_cuda_is_own(facts, &facts->log.calls[failed])) return;
  const opc_cuda_call_t *call = &facts->log.calls[failed];
  opc_cuda_call_name(call, name, sizeof name);
  opc_cuda_code_name(call->code, code, sizeof code);
  if (facts->returned) {
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_ignores_failure, failed, failed,
                       "the launch of %s was made to fail with %s, but the operator returns", name, code);
    return; /* what it leaves behind only follows from that */
  }
  if (facts->last_error)
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_error_left, failed, failed,
                       "the launch of %s was made to fail with %s, and the operator throws but leaves the error "
                       "pending: the next error check gets it",
                       name, code);
  if (facts->device_after != facts->device_before)
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_failure_device, failed, failed,
                       "when the launch of %s fails, device %d is current afterwards instead of %d", name,
                       facts->device_after, facts->device_before);
  analyse_left(facts, failed, out);
}
