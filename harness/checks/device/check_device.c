/* device: outputs are on the inputs' device; inputs on different devices are refused, or the result is still correct; a
 * device argument is honoured. */
#include <stdlib.h>
#include <string.h>

#include "checks/device/device_values.h"

static const opc_device_t meta_device = {OPC_DEVICE_META, -1};

static void device_text(opc_device_t device, char *out, size_t size) {
  if (device.index > 0) snprintf(out, size, "%s:%d", opc_device_type_name(device.type), device.index);
  else snprintf(out, size, "%s", opc_device_type_name(device.type));
}

/* Index of an argument that names a device, or -1. */
static int device_argument(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_type_t *type = &op->arguments[i].type;
    if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
    if (type->kind == OPC_TYPE_DEVICE) return (int)i;
  }
  return -1;
}

/* ATen treats a CPU tensor without dimensions as a number, so it may be combined with any device. */
static bool is_number_tensor(const opc_tensor_meta_t *meta) {
  return meta->ndim == 0 && meta->device.type == OPC_DEVICE_CPU;
}

/* The device that all tensor arguments share; false: none, or several. */
static bool common_device(const opc_call_t *call, opc_device_t *out) {
  bool found = false, numbers = false;
  opc_device_t number_device = {OPC_DEVICE_CPU, -1};
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_meta_t *meta = &call->tensor_args[i].before;
    if (is_number_tensor(meta)) {
      numbers = true;
      continue;
    }
    if (found && !opc_device_equal(*out, meta->device)) return false;
    *out = meta->device;
    found = true;
  }
  if (!found && numbers) *out = number_device;
  return found || numbers;
}

/* An operator without tensor arguments creates its outputs on the device passed to it (opc_call_make). */
static opc_status_t check_placed(const opc_case_context_t *context, const opc_call_t *call, int index,
                                 opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  if (call->tensor_arg_count || call->arguments[index].kind != OPC_VALUE_DEVICE ||
      context->device.type != OPC_DEVICE_CUDA)
    return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(call, &outputs, &count, error));
  opc_device_t wanted = call->arguments[index].device;
  char here[24], there[24];
  device_text(wanted, there, sizeof there);
  for (size_t i = 0; i < count; i++) {
    if (!outputs[i].meta.defined || outputs[i].meta.device.type == wanted.type) continue;
    device_text(outputs[i].meta.device, here, sizeof here);
    opc_finding_fail(finding, OPC_RULE_device_argument_ignored, "called with %s=%s, %s is on %s",
                     context->op->arguments[index].name, there, outputs[i].path, here);
  }
  if (count)
    opc_finding_pass(finding, "%zu outputs are on %s, as argument %s says", count, there,
                     context->op->arguments[index].name);
  return OPC_OK;
}

static opc_status_t check_output_devices(const opc_case_context_t *context, const opc_call_t *call,
                                         opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  opc_device_t wanted;
  const int index = device_argument(context->op);
  if (index >= 0) OPC_RETURN_IF_ERROR(check_placed(context, call, index, finding, error));
  if (finding->decided) return OPC_OK;
  if (!common_device(call, &wanted) || index >= 0)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no tensor argument says where the outputs belong");
  OPC_RETURN_IF_ERROR(opc_call_outputs(call, &outputs, &count, error));
  char here[24], there[24];
  device_text(wanted, there, sizeof there);
  for (size_t i = 0; i < count; i++) {
    if (!outputs[i].meta.defined || opc_device_equal(outputs[i].meta.device, wanted)) continue;
    device_text(outputs[i].meta.device, here, sizeof here);
    opc_finding_fail(finding, OPC_RULE_device_output_device, "%s is on %s, all inputs are on %s", outputs[i].path, here,
                     there);
  }
  if (count) return opc_finding_pass(finding, "%zu outputs are on %s", count, there);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the operator returns no tensor");
}

/* The same arguments with device=meta: the cheapest device that is always available. */
static opc_status_t check_argument(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  const int index = device_argument(context->op);
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0, defined = 0, honoured = 0;
  if (index < 0) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->sample, &sample, error));
  opc_value_clear(&sample.arguments[index]);
  sample.arguments[index] = (opc_value_t){.kind = OPC_VALUE_DEVICE, .device = meta_device};
  sample.absent[index] = false;
  const opc_again_t again = {
      .context = context, .sample = &sample, .label = {OPC_CALL_KIND_WITH_OTHERS, "device=meta"}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  if (call.outcome != OPC_CALL_RETURNED) return OPC_OK; /* a clean refusal is fine */
  OPC_RETURN_IF_ERROR(opc_call_outputs(&call, &outputs, &count, error));
  for (size_t i = 0; i < count; i++) {
    defined += outputs[i].meta.defined;
    honoured += outputs[i].meta.defined && outputs[i].meta.device.type == OPC_DEVICE_META;
  }
  if (defined && !honoured) {
    char here[24];
    device_text(outputs[0].meta.device, here, sizeof here);
    opc_finding_fail(finding, OPC_RULE_device_argument_ignored, "called with %s=meta, %s is on %s",
                     context->op->arguments[index].name, outputs[0].path, here);
  } else if (defined) {
    opc_finding_pass(finding, "argument %s decides where the outputs are", context->op->arguments[index].name);
  }
  return OPC_OK;
}

typedef struct other_values {
  const char *path;
  uint64_t seed;
} other_values_t;

/* The sample's values, with those of another seed for one tensor. */
static opc_status_t fill_other_tensor(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                      void *context, opc_error_t *error) {
  const other_values_t *other = context;
  (void)tensor_arg;
  return opc_fill_logical(spec, path, strcmp(path, other->path) == 0 ? other->seed + 1 : other->seed, logical, error);
}

/* The ordinary call, with other values for the tensor argument at this path; "": none. */
static opc_status_t run_with_other_tensor(opc_case_context_t *context, const char *path, opc_result_t *out,
                                          bool *out_returned, opc_error_t *error) {
  other_values_t other = {.path = path, .seed = context->seed};
  const opc_again_t again = {.context = context,
                             .values = fill_other_tensor,
                             .values_context = &other,
                             .label = *path ? OPC_CALL_LABEL(ON_OTHERS, "other values") : OPC_CALL_LABEL(OPERATOR, "")};
  opc_call_outcome_t outcome = OPC_CALL_RETURNED;
  OPC_RETURN_IF_ERROR(opc_again_run(&again, out, &outcome, NULL, error));
  *out_returned = outcome == OPC_CALL_RETURNED;
  return OPC_OK;
}

/* Whether one output of the ordinary call depends on the values of one argument: compares its bits for the argument's
 * own and for other values. An output that differs from call to call on the same values depends on something else: a
 * counter, the address of a new object. */
static opc_status_t depends_on(opc_case_context_t *context, const char *path, size_t item, bool *out,
                               opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t own = {0}, again = {0}, other = {0};
  bool returned = false;
  *out = false;
  OPC_RETURN_IF_ERROR(run_with_other_tensor(context, "", &own, &returned, error));
  if (returned) OPC_RETURN_IF_ERROR(run_with_other_tensor(context, "", &again, &returned, error));
  if (returned) OPC_RETURN_IF_ERROR(run_with_other_tensor(context, path, &other, &returned, error));
  *out = returned && own.count == again.count && !opc_result_item_differs(&own, &again, item) &&
         (own.count != other.count || opc_result_item_differs(&own, &other, item));
  return OPC_OK;
}

/* A kernel that only allocates computes no values. Meta kernels that take their options from an argument with data do
 * that. */
static bool only_allocated(const opc_result_item_t *item) {
  for (size_t i = 0; i < item->size; i++)
    if (((const unsigned char *)item->bytes)[i] != OPC_PATTERN_FIRST) return false;
  return true;
}

static bool has_same_shape_and_dtype(const opc_tensor_meta_t *left, const opc_tensor_meta_t *right) {
  bool alike = left->dtype_known && right->dtype_known && left->dtype == right->dtype && left->ndim == right->ndim &&
               left->ndim <= OPC_MAX_DIMS;
  for (int d = 0; alike && d < left->ndim; d++) alike = left->sizes[d] == right->sizes[d];
  return alike;
}

static opc_status_t is_clone(const opc_tensor_arg_t *tensor_arg, const opc_result_item_t *item, bool *out,
                             opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) void *values = NULL;
  size_t size = 0;
  *out = false;
  if (!has_same_shape_and_dtype(&tensor_arg->before, &item->meta)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_tensor_logical_bytes(tensor_arg->tensor, &values, &size, error));
  *out = size == item->size && memcmp(values, item->bytes, size) == 0;
  return OPC_OK;
}

/* A Meta kernel may return an argument's own values: an in-place or out operator the argument itself, possibly extended
 * by unwritten memory; another one a clone of it, as a short way to say what its result looks like. */
static opc_status_t only_handed_back(const opc_call_t *call, const opc_result_item_t *item, bool *out,
                                     opc_error_t *error) {
  *out = false;
  for (size_t i = 0; i < call->tensor_arg_count && !*out; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    const void *now = NULL;
    OPC_SCOPED(opc_scope_free) void *owned = NULL;
    size_t size = 0;
    if (!tensor_arg->storage_before) continue;
    OPC_RETURN_IF_ERROR(opc_tensor_storage_bytes(tensor_arg->tensor, &now, &size, &owned, error));
    if (size < tensor_arg->storage_bytes || memcmp(now, tensor_arg->storage_before, tensor_arg->storage_bytes) != 0)
      continue; /* written: its values are not its own any more */
    if (tensor_arg->before.storage != item->meta.storage) {
      OPC_RETURN_IF_ERROR(is_clone(tensor_arg, item, out, error));
      continue;
    }
    *out = true;
    for (size_t k = tensor_arg->storage_bytes; *out && k < size; k++)
      *out = ((const unsigned char *)now)[k] == OPC_PATTERN_FIRST;
  }
  return OPC_OK;
}

/* One tensor on Meta, the others with data. An output with data must not depend on that tensor's values. */
static opc_status_t check_mixed_tensor(opc_case_context_t *context, const char *path, opc_finding_t *finding,
                                       opc_error_t *error) {
  opc_call_options_t options = {
      .device = context->device, .seed = context->seed, .elsewhere = path, .elsewhere_device = meta_device};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  char detail[128];
  bool depends = false, handed_back = false;
  OPC_RETURN_IF_ERROR(opc_call_make_with(&call, context->op, context->sample, &options, error));
  OPC_RETURN_IF_ERROR(opc_call_snapshot(&call, error));
  snprintf(detail, sizeof detail, "%.64s on meta and the others on %s", path,
           opc_device_type_name(context->device.type));
  context->announce(OPC_CALL_LABEL(WITH_OTHERS, detail));
  if (opc_call_run(&call, context->handle, context->seed) != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_take(&result, &call, 0, error));
  for (size_t i = 0; !depends && i < result.count; i++) {
    const opc_result_item_t *item = &result.items[i];
    bool number = item->kind == OPC_VALUE_INT || item->kind == OPC_VALUE_FLOAT || item->kind == OPC_VALUE_BOOL ||
                  item->kind == OPC_VALUE_COMPLEX;
    bool tensor = item->kind == OPC_VALUE_TENSOR && item->bytes && item->meta.numel > 0 && !only_allocated(item);
    if (tensor) OPC_RETURN_IF_ERROR(only_handed_back(&call, item, &handed_back, error));
    if (number || (tensor && !handed_back)) OPC_RETURN_IF_ERROR(depends_on(context, path, i, &depends, error));
    if (depends)
      opc_finding_fail(finding, OPC_RULE_device_mixed_accepted,
                       "with %s on meta, which has no data, %s is returned with values%s%s", path, item->path,
                       tensor ? " on " : "", tensor ? opc_device_type_name(item->meta.device.type) : "");
  }
  return OPC_OK;
}

static opc_status_t check_mixed(opc_case_context_t *context, const opc_call_t *plain, opc_finding_t *finding,
                                opc_error_t *error) {
  /* A kernel that decomposes calls other operators, and libtorch's own take some tensors on other devices. */
  const bool decomposes = opc_operator_kernel(context->op, "CompositeImplicitAutograd") &&
                          !opc_operator_kernel(context->op, context->device.type == OPC_DEVICE_CUDA ? "CUDA" : "CPU");
  if (plain->tensor_arg_count < 2 || decomposes) return OPC_OK;
  for (size_t i = 0; i < plain->tensor_arg_count; i++)
    OPC_RETURN_IF_ERROR(check_mixed_tensor(context, plain->tensor_args[i].path, finding, error));
  return OPC_OK;
}

/* Where outputs are, and what becomes of tensors elsewhere: this needs no values. */
static opc_status_t check_places(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  if (!context->unmodified || !opc_case_call(context, false, &call, finding)) return OPC_OK;
  if (check_output_devices(context, &call, finding, error) != OPC_OK) opc_finding_from_error(context, error, finding);
  if (check_argument(context, finding, error) != OPC_OK) opc_finding_from_error(context, error, finding);
  if (context->simulated) return OPC_OK; /* kernels cannot tell what lies on the other device */
  return check_mixed(context, &call, finding, error);
}

/* A violation counts before a pass, and equal values before equal places. */
static bool counts_before(const opc_finding_t *values, const opc_finding_t *places) {
  if (!values->decided || places->rule) return false;
  return !places->decided || values->verdict != OPC_VERDICT_SKIP;
}

static opc_status_t device_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_finding_clear) opc_finding_t values = {0};
  const bool cuda = context->device.type == OPC_DEVICE_CUDA;
  if (cuda && opc_device_values_check(context, &values, error) != OPC_OK)
    opc_finding_from_error(context, error, &values);
  const bool computed = !opc_simulated_uncomputed(context);
  OPC_RETURN_IF_ERROR(check_places(context, finding, error));
  if (!computed) return OPC_OK;
  if (values.rule && finding->rule && values.rule != finding->rule)
    opc_finding_fail(finding, values.rule, "%s", opc_text_c(&values.message));
  if (!counts_before(&values, finding)) return OPC_OK;
  opc_finding_clear(finding);
  OPC_MOVE(finding, values);
  return OPC_OK;
}

const opc_check_t opc_check_device = {.name = "device", .run = device_run};
