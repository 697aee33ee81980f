#include "worker/process/warm_up.h"

#include <stdlib.h>

#include "bridge/api/bridge.h"
#include "checks/call/call.h"
#include "model/value/fill_kept.h"

/* Together they cover: allocation with and without strides, copies within and across layouts, casts, element-wise
 * operations with and without a wider dtype, a sum, views, refusals of an index and of a dtype; each recorded for a
 * gradient. */
#define STRIDED "{\"tensor\": {\"shape\": [2, 2], \"strides\": [1, 2], \"requires_grad\": true}}"
#define OTHER "{\"tensor\": {\"shape\": [2, 2]}}"
#define INTEGERS "{\"tensor\": {\"shape\": [2, 2], \"dtype\": \"int32\"}}"
static const struct {
  const char *name, *arguments;
} operators[] = {
    {"aten::clone", "[" STRIDED "]"},
    {"aten::add.Tensor", "[" STRIDED ", " OTHER "]"},
    {"aten::mul.Tensor", "[" STRIDED ", " OTHER "]"},
    {"aten::mul.Tensor", "[" INTEGERS ", " OTHER "]"},
    {"aten::mul_.Scalar", "[" INTEGERS ", 0.5]"},
    {"aten::detach", "[" STRIDED "]"},
    {"aten::copy_", "[" OTHER ", {\"tensor\": {\"shape\": [2, 2], \"dtype\": \"float64\"}}]"},
    {"aten::contiguous", "[" STRIDED "]"},
    {"aten::empty_like", "[" STRIDED "]"},
    {"aten::zero_", "[" OTHER "]"},
    {"aten::sum", "[" STRIDED "]"},
    {"aten::select.int", "[" STRIDED ", 0, 1]"},
    {"aten::select.int", "[" STRIDED ", 0, 2]"},
};

static void warm_returns(const opc_call_t *call) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0, size;
  if (opc_call_outputs(call, &outputs, &count, NULL) != OPC_OK) return;
  for (size_t i = 0; i < count; i++) {
    void *bytes = NULL;
    if (opc_tensor_logical_bytes(outputs[i].tensor, &bytes, &size, NULL) == OPC_OK) free(bytes);
  }
}

static void warm_call(opc_op_handle_t *handle, const opc_operator_t *op, const opc_sample_t *sample,
                      opc_device_type_t device) {
  const opc_device_t where = {.type = device, .index = -1};
  opc_call_t call = {0};
  bool replaced[2];
  opc_value_t *returns = NULL;
  size_t count = 0;
  if (opc_call_make(&call, op, sample, where, 0, NULL) != OPC_OK) return;
  call.outcome = opc_op_call(handle, call.arguments, call.absent, call.argument_count, &call.returns,
                             &call.return_count, &call.message);
  if (call.outcome == OPC_CALL_RETURNED && device == OPC_DEVICE_CPU) warm_returns(&call);
  if (device == OPC_DEVICE_CPU &&
      opc_op_call_functional(handle, call.arguments, call.absent, call.argument_count, replaced, call.tensor_arg_count,
                             &returns, &count, &call.message) == OPC_CALL_RETURNED)
    opc_returns_free(returns, count);
  opc_call_clear(&call);
}

static void warm_operator(const char *name, const char *arguments) {
  OPC_SCOPED(opc_operator_clear) opc_operator_t op = {0};
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  opc_op_handle_t *handle = NULL;
  json_auto_t *json = json_pack("{s:s, s:o*}", "operator", name, "args", json_loads(arguments, 0, NULL));
  opc_status_t status = opc_bridge_describe(name, &op, NULL);
  if (status == OPC_OK) status = opc_sample_from_json(json, &op, NULL, &sample, NULL, 0, NULL);
  if (status == OPC_OK) status = opc_op_find(name, &handle, NULL);
  if (status == OPC_OK) {
    warm_call(handle, &op, &sample, OPC_DEVICE_CPU);
    warm_call(handle, &op, &sample, OPC_DEVICE_META);
  }
  opc_op_free(handle);
}

void opc_warm_up(void) {
  int64_t settings[OPC_SETTING_COUNT];
  opc_fills_share();
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    warm_operator(operators[i].name, operators[i].arguments);
  opc_bridge_settings_read(settings);
}
