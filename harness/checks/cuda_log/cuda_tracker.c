#include "checks/cuda_log/cuda_tracker.h"

#include <stdlib.h>

static const struct {
  opc_rule_id_t rule;
  const char *what;
} holdings[OPC_CUDA_HOLDINGS] = {
    [OPC_CUDA_HOLDS_MEMORY] = {OPC_RULE_device_memory_leak, "allocations of device memory"},
    [OPC_CUDA_HOLDS_PINNED] = {OPC_RULE_device_memory_pinned, "allocations of pinned memory"},
    [OPC_CUDA_HOLDS_STREAMS] = {OPC_RULE_device_memory_stream, "streams"},
    [OPC_CUDA_HOLDS_EVENTS] = {OPC_RULE_device_memory_event, "events"},
    [OPC_CUDA_HOLDS_TENSORS] = {OPC_RULE_device_memory_tensor, "bytes of tensors on the device"},
};

/* ---- allocating and releasing ---- */

/* What the call allocates or releases. False: nothing. */
static bool is_about(const opc_cuda_call_t *call, opc_cuda_holding_t *out_holding, uint64_t *out_handle,
                     bool *out_takes) {
  *out_takes = call->kind == OPC_CUDA_ALLOCATE || call->kind == OPC_CUDA_HOST_ALLOCATE ||
               call->kind == OPC_CUDA_STREAM_CREATE || call->kind == OPC_CUDA_EVENT_CREATE;
  switch (call->kind) {
    case OPC_CUDA_ALLOCATE:
    case OPC_CUDA_FREE:
      *out_holding = OPC_CUDA_HOLDS_MEMORY;
      *out_handle = call->to.value;
      break;
    case OPC_CUDA_HOST_ALLOCATE:
    case OPC_CUDA_HOST_FREE:
      *out_holding = OPC_CUDA_HOLDS_PINNED;
      *out_handle = call->to.value;
      break;
    case OPC_CUDA_STREAM_CREATE:
    case OPC_CUDA_STREAM_DESTROY:
      *out_holding = OPC_CUDA_HOLDS_STREAMS;
      *out_handle = call->stream;
      break;
    case OPC_CUDA_EVENT_CREATE:
    case OPC_CUDA_EVENT_DESTROY:
      *out_holding = OPC_CUDA_HOLDS_EVENTS;
      *out_handle = call->event;
      break;
    default:
      return false;
  }
  return call->code == 0 && *out_handle != 0;
}

static void take_holding(opc_cuda_tracker_t *tracker, opc_cuda_holding_t holding, uint64_t handle,
                         const opc_cuda_call_t *call) {
  if (!OPC_ARRAY_GROW(tracker->items, tracker->count)) {
    tracker->incomplete = true;
    return;
  }
  tracker->items[tracker->count++] =
      (struct opc_cuda_item){.holding = holding, .handle = handle, .bytes = call->bytes, .made_by = *call};
}

/* Searches from the end: what a call allocates and releases itself is there. */
static void release_holding(opc_cuda_tracker_t *tracker, opc_cuda_holding_t holding, uint64_t handle) {
  for (size_t i = tracker->count; i-- > 0;) {
    if (tracker->items[i].holding != holding || tracker->items[i].handle != handle) continue;
    tracker->items[i] = tracker->items[--tracker->count];
    return;
  }
}

void opc_cuda_tracker_add(opc_cuda_tracker_t *tracker, const opc_cuda_facts_t *facts) {
  tracker->incomplete = tracker->incomplete || facts->log.dropped;
  for (size_t i = 0; i < facts->log.count; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    opc_cuda_holding_t holding;
    uint64_t handle;
    bool takes;
    if (!is_about(call, &holding, &handle, &takes)) continue;
    if (!takes) release_holding(tracker, holding, handle);
    else if (opc_cuda_is_own(facts, call)) take_holding(tracker, holding, handle, call);
  }
}

/* ---- growth ---- */

void opc_cuda_tracker_read(opc_cuda_tracker_t *tracker, uint64_t calls, uint64_t tensor_bytes) {
  opc_cuda_reading_t reading = {.calls = calls};
  for (size_t i = 0; i < tracker->count; i++) {
    reading.held[tracker->items[i].holding]++;
    reading.bytes[tracker->items[i].holding] += tracker->items[i].bytes;
  }
  reading.held[OPC_CUDA_HOLDS_TENSORS] = reading.bytes[OPC_CUDA_HOLDS_TENSORS] = tensor_bytes;
  if (tracker->reading_count == OPC_CUDA_TRACKER_ROUNDS) tracker->reading_count--;
  tracker->readings[tracker->reading_count++] = reading;
}

bool opc_cuda_tracker_grew(const opc_cuda_tracker_t *tracker) {
  size_t count = tracker->reading_count;
  for (int i = 0; i < OPC_CUDA_HOLDINGS && count > 1; i++)
    if (tracker->readings[count - 1].held[i] > tracker->readings[count - 2].held[i]) return true;
  return false;
}

/* True: it grew in each of the last OPC_CUDA_TRACKER_STEADY rounds. */
static bool is_steady(const opc_cuda_tracker_t *tracker, opc_cuda_holding_t holding) {
  size_t count = tracker->reading_count;
  if (count <= OPC_CUDA_TRACKER_STEADY || tracker->incomplete) return false;
  for (size_t i = count - OPC_CUDA_TRACKER_STEADY; i < count; i++)
    if (tracker->readings[i].held[holding] <= tracker->readings[i - 1].held[holding]) return false;
  return true;
}

/* The call that made the last allocation of this kind; false: there is none (tensors). */
static bool find_maker(const opc_cuda_tracker_t *tracker, opc_cuda_holding_t holding, opc_cuda_call_t *out) {
  for (size_t i = tracker->count; i-- > 0;) {
    if (tracker->items[i].holding != holding) continue;
    *out = tracker->items[i].made_by;
    return true;
  }
  return false;
}

void opc_cuda_analyse_growth(const opc_cuda_tracker_t *tracker, opc_cuda_call_t *out_makers, opc_cuda_founds_t *out) {
  const opc_cuda_reading_t *last = &tracker->readings[tracker->reading_count - 1],
                           *first = last - OPC_CUDA_TRACKER_STEADY;
  for (int i = 0; i < OPC_CUDA_HOLDINGS; i++) {
    opc_cuda_holding_t holding = (opc_cuda_holding_t)i;
    const opc_cuda_log_t makers = {.calls = out_makers, .count = OPC_CUDA_HOLDINGS};
    char bytes[64] = "";
    if (!is_steady(tracker, holding)) continue;
    size_t maker = find_maker(tracker, holding, &out_makers[i]) ? (size_t)i : OPC_CUDA_NO_CALL;
    uint64_t calls = last->calls - first->calls, held = last->held[i] - first->held[i];
    if (holding == OPC_CUDA_HOLDS_MEMORY || holding == OPC_CUDA_HOLDS_PINNED)
      snprintf(bytes, sizeof bytes, ", %llu bytes,", (unsigned long long)(last->bytes[i] - first->bytes[i]));
    opc_cuda_found_add(out, &makers, holdings[i].rule, maker, maker,
                       "%llu %s%s are not freed after %llu calls, and the number still grows after %llu calls",
                       (unsigned long long)held, holdings[i].what, bytes, (unsigned long long)calls,
                       (unsigned long long)last->calls);
  }
}

void opc_cuda_tracker_clear(opc_cuda_tracker_t *tracker) {
  free(tracker->items);
  *tracker = (opc_cuda_tracker_t){0};
}
