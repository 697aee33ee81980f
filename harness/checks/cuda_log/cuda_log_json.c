#include "checks/cuda_log/cuda_analysis.h"

#include <inttypes.h>

#include "model/json/json_write.h"

const char *const opc_cuda_stream_names[] = {[OPC_CUDA_STREAM_LEGACY] = "legacy",
                                             [OPC_CUDA_STREAM_PER_THREAD] = "per_thread",
                                             [OPC_CUDA_STREAM_CREATED] = "created",
                                             [OPC_CUDA_STREAM_UNKNOWN] = "unknown"};
const char *const opc_cuda_place_names[] = {
    [OPC_CUDA_NOWHERE] = "nowhere", [OPC_CUDA_DEVICE] = "device",     [OPC_CUDA_MANAGED] = "managed",
    [OPC_CUDA_PINNED] = "pinned",   [OPC_CUDA_PAGEABLE] = "pageable", [OPC_CUDA_FREED] = "freed"};

static json_t *hex(uint64_t number) { return json_sprintf("0x%" PRIx64, number); }

static json_t *extent_json(const uint32_t extent[3]) {
  const int64_t values[3] = {extent[0], extent[1], extent[2]};
  return opc_json_integers(values, 3);
}

static json_t *address_json(const opc_cuda_address_t *address, bool alone) {
  json_t *object = json_object();
  opc_json_put(&object, "at", hex(address->value));
  opc_json_put(&object, "place", json_string(opc_cuda_place_names[address->place]));
  if (address->place == OPC_CUDA_DEVICE || address->place == OPC_CUDA_FREED)
    opc_json_put(&object, "device", json_integer(address->device));
  if (address->allocation) opc_json_put(&object, "allocation", hex(address->allocation));
  if (alone) opc_json_put(&object, "alone", json_true());
  return object;
}

static bool has_stream(const opc_cuda_call_t *call) {
  switch (call->kind) {
    case OPC_CUDA_EVENT_RECORD:
    case OPC_CUDA_STREAM_CREATE:
    case OPC_CUDA_STREAM_DESTROY:
    case OPC_CUDA_STREAM_WAIT:
    case OPC_CUDA_STREAM_SYNCHRONIZE:
    case OPC_CUDA_HOST_FUNCTION:
      return true;
    default:
      return opc_cuda_is_work(call) || call->stream != 0;
  }
}

static void put_launch(json_t **object, const opc_cuda_call_t *call) {
  if (call->kernel && call->kernel[0]) opc_json_put(object, "kernel", opc_json_text(call->kernel));
  if (call->kernel_library && call->kernel_library[0])
    opc_json_put(object, "kernel_library", opc_json_text(call->kernel_library));
  opc_json_put(object, "grid", extent_json(call->grid));
  opc_json_put(object, "block", extent_json(call->block));
  if (call->shared) opc_json_put(object, "shared", json_integer((json_int_t)call->shared));
  if (call->cooperative) opc_json_put(object, "cooperative", json_true());
  if (call->by_stub) opc_json_put(object, "by_stub", json_true());
  if (!call->parameters_known) return;
  json_t *pointers = json_array();
  for (size_t i = 0; i < call->pointer_count; i++)
    opc_json_append(&pointers, address_json(&call->pointers[i], call->alone[i]));
  opc_json_put(object, "pointers", pointers);
  if (!call->number_count) return;
  json_t *numbers = json_array();
  for (size_t i = 0; i < call->number_count; i++)
    opc_json_append(&numbers, json_pack("{s:i, s:I}", "parameter", (int)call->numbers[i].parameter, "value",
                                        (json_int_t)call->numbers[i].value));
  opc_json_put(object, "numbers", numbers);
  opc_json_put(object, "parameters", json_integer(call->parameter_count));
}

json_t *opc_cuda_call_json(const opc_cuda_call_t *call) {
  json_t *object = json_object();
  opc_json_put(&object, "kind", json_string(opc_cuda_kind_word(call->kind)));
  opc_json_put(&object, "function", opc_json_text(call->function));
  opc_json_put(&object, "library", opc_json_text(call->library));
  if (call->caller) opc_json_put(&object, "caller", hex(call->caller));
  if (call->thread) opc_json_put(&object, "thread", json_integer(call->thread));
  if (call->device) opc_json_put(&object, "device", json_integer(call->device));
  if (call->code) opc_json_put(&object, "code", json_integer(call->code));
  if (call->injected) opc_json_put(&object, "injected", json_true());
  if (call->unwrapped) opc_json_put(&object, "unwrapped", json_true());
  if (has_stream(call)) {
    opc_json_put(&object, "stream", hex(call->stream));
    opc_json_put(&object, "stream_kind", json_string(opc_cuda_stream_names[call->stream_kind]));
    opc_json_put(&object, "stream_device", json_integer(call->stream_device));
  }
  if (call->captured) opc_json_put(&object, "captured", json_true());
  if (call->kind == OPC_CUDA_LAUNCH) put_launch(&object, call);
  if (call->to.value) opc_json_put(&object, "to", address_json(&call->to, false));
  if (call->from.value) opc_json_put(&object, "from", address_json(&call->from, false));
  if (call->bytes) opc_json_put(&object, "bytes", json_integer((json_int_t)call->bytes));
  if (call->synchronous) opc_json_put(&object, "synchronous", json_true());
  if (call->event) opc_json_put(&object, "event", hex(call->event));
  if (call->value) opc_json_put(&object, "value", json_integer(call->value));
  return object;
}

json_t *opc_cuda_file_json(const opc_cuda_facts_t *facts, const char *origin, const json_t *versions) {
  json_t *top = json_object(), *said = json_object(), *own = json_array(), *calls = json_array();
  json_auto_t *known = json_object();
  opc_json_put(&said, "device", json_integer(facts->device));
  opc_json_put(&said, "stream", hex(facts->stream));
  opc_json_put(&said, "device_before", json_integer(facts->device_before));
  opc_json_put(&said, "device_after", json_integer(facts->device_after));
  opc_json_put(&said, "last_error", json_integer(facts->last_error));
  opc_json_put(&said, "returned", json_boolean(facts->returned));
  opc_json_put(&said, "empty", json_boolean(facts->empty));
  opc_json_put(&said, "large", json_boolean(facts->large));
  opc_json_put(&said, "simulated", json_boolean(facts->simulated));
  if (facts->lasting_count) {
    json_t *lasting = json_array();
    for (size_t i = 0; i < facts->lasting_count; i++) opc_json_append(&lasting, hex(facts->lasting[i]));
    opc_json_put(&said, "lasting", lasting);
  }
  if (facts->count_count) {
    json_t *counts = json_array();
    for (size_t i = 0; i < facts->count_count; i++)
      opc_json_append(&counts,
                      json_pack("{s:s, s:I}", "of", facts->counts[i].of, "is", (json_int_t)facts->counts[i].number));
    opc_json_put(&said, "counts", counts);
  }
  for (size_t i = 0; i < facts->log.count; i++) {
    const opc_cuda_call_t *call = &facts->log.calls[i];
    opc_cuda_call_t named = *call; /* a kept log must not reveal paths of somebody's machine */
    named.library = opc_base_name(call->library);
    named.kernel_library = call->kernel_library ? opc_base_name(call->kernel_library) : "";
    opc_json_append(&calls, opc_cuda_call_json(&named));
    if (!opc_cuda_is_own(facts, call) || json_object_get(known, named.library)) continue;
    opc_json_put(&known, named.library, json_true());
    opc_json_append(&own, opc_json_text(named.library));
  }
  opc_json_put(&top, "format", json_string(OPC_CUDA_LOG_FORMAT));
  opc_json_put(&top, "origin", json_string(origin));
  if (versions) opc_json_put(&top, "versions", json_incref((json_t *)versions));
  opc_json_put(&top, "own", own);
  opc_json_put(&top, "facts", said);
  if (facts->log.dropped) opc_json_put(&top, "dropped", json_integer((json_int_t)facts->log.dropped));
  opc_json_put(&top, "calls", calls);
  return top;
}
