#include "checks/cuda/cuda_watch.h"

#include <stdlib.h>

enum { REPLAYS = 2 };

/* Other values for tensors on the device. Host tensors keep theirs, because the graph's launches captured them by
 * value. */
typedef struct values {
  uint64_t usual, other;
} values_t;

static opc_status_t values_give(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                void *context, opc_error_t *error) {
  const values_t *values = context;
  bool on_host = spec->device_given && spec->device.type == OPC_DEVICE_CPU;
  (void)tensor_arg;
  return opc_fill_logical(spec, path, on_host ? values->usual : values->other, logical, error);
}

static opc_status_t call_make(opc_cuda_watch_t *watch, values_t *values, opc_call_t *call, opc_error_t *error) {
  opc_call_options_t options = {
      .device = watch->context->device, .seed = watch->context->seed, .values = values_give, .values_context = values};
  options.device.index = watch->device;
  return opc_call_make_with(call, watch->context->op, watch->sample, &options, error);
}

/* An ordinary call. *out_returned: it returned a result. */
static opc_status_t result_of_call(opc_cuda_watch_t *watch, values_t *values, opc_result_t *result, bool *out_returned,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  *out_returned = false;
  OPC_RETURN_IF_ERROR(call_make(watch, values, &call, error));
  watch->context->announce(OPC_CALL_LABEL(ON_OTHERS, "other values"));
  *out_returned = opc_call_run(&call, watch->context->handle, values->other) == OPC_CALL_RETURNED;
  if (*out_returned) OPC_RETURN_IF_ERROR(opc_result_take(result, &call, OPC_RESULT_ARGUMENTS, error));
  return OPC_OK;
}

/* Copies the values of a new call's tensors into those of the captured call. */
static opc_status_t inputs_write(opc_cuda_watch_t *watch, values_t *values, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_RETURN_IF_ERROR(call_make(watch, values, &call, error));
  for (size_t i = 0; i < call.tensor_arg_count; i++) {
    const void *bytes = NULL;
    OPC_SCOPED(opc_scope_free) void *owned = NULL;
    size_t size = 0;
    if (!watch->call.tensor_args[i].storage || call.tensor_args[i].before.device.type != OPC_DEVICE_CUDA) continue;
    OPC_RETURN_IF_ERROR(opc_tensor_storage_bytes(call.tensor_args[i].tensor, &bytes, &size, &owned, error));
    OPC_RETURN_IF_ERROR(opc_storage_write(watch->call.tensor_args[i].storage, bytes, size, error));
  }
  return OPC_OK;
}

static opc_status_t result_of_replay(opc_cuda_watch_t *watch, values_t *values, opc_result_t *result,
                                     opc_error_t *error) {
  OPC_RETURN_IF_ERROR(inputs_write(watch, values, error));
  (void)watch->api->synchronize();
  watch->context->announce(OPC_CALL_LABEL(GRAPH, ""));
  opc_bridge_seed(values->other);
  const opc_status_t status = opc_cuda_graph_replay(watch->graph, error);
  (void)watch->api->synchronize();
  OPC_RETURN_IF_ERROR(status);
  return opc_result_take(result, &watch->call, OPC_RESULT_ARGUMENTS, error);
}

static opc_status_t compare_replay(opc_cuda_watch_t *watch, values_t *values, opc_capture_replay_t *out,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t called = {0}, again = {0}, replayed = {0};
  bool returned = false;
  OPC_RETURN_IF_ERROR(result_of_call(watch, values, &called, &returned, error));
  if (returned) OPC_RETURN_IF_ERROR(result_of_call(watch, values, &again, &returned, error));
  if (!returned) out->why_not = "it refuses values other than the sample's";
  else if (opc_result_numel(&called) == 0) out->why_not = "it returns nothing that could be compared";
  else if (opc_result_compare(&called, &again, NULL, NULL).kind != OPC_DIFFERENCE_NONE)
    out->why_not = "it does not give the same bits from call to call";
  if (out->why_not) return OPC_OK;
  OPC_RETURN_IF_ERROR(result_of_replay(watch, values, &replayed, error));
  out->replays++;
  opc_difference_t difference = opc_result_compare(&replayed, &called, NULL, NULL);
  out->differs = difference.kind != OPC_DIFFERENCE_NONE;
  if (out->differs) opc_difference_text(&difference, &replayed, &called, "an ordinary call", &out->text);
  return OPC_OK;
}

opc_status_t opc_capture_replay(opc_cuda_watch_t *watch, opc_capture_replay_t *out, opc_error_t *error) {
  *out = (opc_capture_replay_t){0};
  for (uint64_t i = 1; i <= REPLAYS && !out->differs && !out->why_not; i++) {
    values_t values = {.usual = watch->context->seed, .other = watch->context->seed + i};
    OPC_RETURN_IF_ERROR(compare_replay(watch, &values, out, error));
  }
  return OPC_OK;
}
