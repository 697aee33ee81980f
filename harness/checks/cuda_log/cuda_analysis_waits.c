/* Where the library itself makes the host wait, or allocates directly from the CUDA runtime. */
#include <string.h>

#include "checks/cuda_log/cuda_analysis.h"

/* cudaMallocAsync and similar functions are stream-ordered and do not wait. */
static bool is_stream_ordered(const opc_cuda_call_t *call) { return strstr(call->function, "Async"); }

static const char *place_word(opc_cuda_place_t place) {
  switch (place) {
    case OPC_CUDA_DEVICE:
      return "device memory";
    case OPC_CUDA_MANAGED:
      return "managed memory";
    case OPC_CUDA_PINNED:
      return "pinned memory";
    case OPC_CUDA_PAGEABLE:
      return "pageable memory";
    case OPC_CUDA_FREED:
      return "freed memory";
    case OPC_CUDA_NOWHERE:
      break;
  }
  return "memory";
}

static void analyse_transfer(const opc_cuda_facts_t *facts, size_t index, opc_cuda_founds_t *out) {
  const opc_cuda_call_t *call = &facts->log.calls[index];
  if (call->kind == OPC_CUDA_FILL)
    opc_cuda_found_add(out, &facts->log, OPC_RULE_sync_copy, index, index, "%s fills %llu bytes and waits for it",
                       call->function, (unsigned long long)call->bytes);
  else
    opc_cuda_found_add(out, &facts->log, OPC_RULE_sync_copy, index, index,
                       "%s copies %llu bytes from %s to %s and waits for it", call->function,
                       (unsigned long long)call->bytes, place_word(call->from.place), place_word(call->to.place));
}

void opc_cuda_analyse_waits(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out) {
  for (size_t i = 0; i < facts->log.count; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    char stream[128];
    if (!opc_cuda_is_own(facts, call)) continue;
    switch (call->kind) {
      case OPC_CUDA_DEVICE_SYNCHRONIZE:
        opc_cuda_found_add(out, &facts->log, OPC_RULE_sync_device, i, i, "%s waits until the whole device is idle",
                           call->function);
        break;
      case OPC_CUDA_STREAM_SYNCHRONIZE:
        opc_cuda_found_add(out, &facts->log, OPC_RULE_sync_stream, i, i, "%s waits for %s", call->function,
                           opc_cuda_stream_name(call, stream, sizeof stream));
        break;
      case OPC_CUDA_EVENT_SYNCHRONIZE:
        opc_cuda_found_add(out, &facts->log, OPC_RULE_sync_stream, i, i, "%s waits for an event", call->function);
        break;
      case OPC_CUDA_COPY:
      case OPC_CUDA_FILL:
        if (call->synchronous) analyse_transfer(facts, i, out);
        break;
      case OPC_CUDA_ALLOCATE:
      case OPC_CUDA_HOST_ALLOCATE:
        if (!is_stream_ordered(call))
          opc_cuda_found_add(out, &facts->log, OPC_RULE_sync_allocation, i, i,
                             "%s allocates %llu bytes from the CUDA runtime in every call", call->function,
                             (unsigned long long)call->bytes);
        break;
      case OPC_CUDA_FREE:
      case OPC_CUDA_HOST_FREE:
        if (!is_stream_ordered(call) && call->to.value)
          opc_cuda_found_add(out, &facts->log, OPC_RULE_sync_allocation, i, i,
                             "%s frees memory of the CUDA runtime in every call, and waits for the device",
                             call->function);
        break;
      default:
        break;
    }
  }
}
