/* The current device is 0, the tensors are on another: work and memory belong on that device, and the thread's current
 * device must be restored. */
#include <inttypes.h>

#include "checks/cuda_log/cuda_analysis.h"

/* The device of the call's stream; a copy between host and device has none that matters. */
static bool is_elsewhere(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call) {
  return opc_cuda_is_work(call) && call->stream_device >= 0 && call->stream_device != facts->device;
}

static void analyse_work(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  char name[256], stream[128];
  opc_cuda_call_name(call, name, sizeof name);
  opc_cuda_stream_name(call, stream, sizeof stream);
  opc_cuda_found_add(out, &facts->log, OPC_RULE_device_guard_wrong_device, index, index,
                     "%s goes to %s while all tensors are on device %d", name, stream, facts->device);
}

static void analyse_memory(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  char name[256];
  for (size_t i = 0; i < call->pointer_count; i++) {
    const opc_cuda_address_t *pointer = &call->pointers[i];
    if (!call->alone[i] || pointer->place != OPC_CUDA_DEVICE || pointer->device < 0 ||
        pointer->device == call->stream_device)
      continue;
    opc_cuda_found_add(out, &facts->log, OPC_RULE_device_guard_foreign_memory, index, index,
                       "%s runs on device %d and is given 0x%" PRIx64 ", which is memory of device %d",
                       opc_cuda_call_name(call, name, sizeof name), call->stream_device, pointer->value,
                       pointer->device);
  }
}

/* The call that set the device that is current at the end. */
static size_t find_setter(const opc_cuda_facts_t *facts) {
  for (size_t i = facts->log.count; i-- > 0;) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    if (call->kind == OPC_CUDA_SET_DEVICE && call->thread == 0 && call->value == facts->device_after) return i;
  }
  return OPC_CUDA_NO_CALL;
}

void opc_cuda_analyse_devices(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  for (size_t i = 0; i < facts->log.count; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    if (!opc_cuda_is_own(facts, call)) continue;
    if (is_elsewhere(facts, call)) analyse_work(facts, i, out);
    else if (call->kind == OPC_CUDA_LAUNCH && call->stream_device >= 0) analyse_memory(facts, i, out);
  }
  if (facts->cut || facts->device_after == facts->device_before) return;
  size_t setter = find_setter(facts);
  opc_cuda_found_add(out, &facts->log, OPC_RULE_device_guard_not_restored, setter, setter,
                     "device %d was current before the call, and device %d is after it%s", facts->device_before,
                     facts->device_after, facts->returned ? "" : " threw");
}
