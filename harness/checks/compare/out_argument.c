#include "checks/compare/compare.h"

#include <string.h>

/* No other tensor shares its storage: everything in it was put there as this argument. */
static bool is_out_alone(const opc_operator_t *op, const opc_call_t *call, size_t tensor_arg) {
  const opc_tensor_arg_t *out = &call->tensor_args[tensor_arg];
  if (!op->arguments[out->argument].kwarg_only || !opc_tensor_arg_is_mutable(out) ||
      opc_spec_overlaps_itself(out->spec))
    return false;
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (i != tensor_arg && call->tensor_args[i].before.storage == out->before.storage) return false;
  return true;
}

/* ---- the same arguments with other values in these ---- */

typedef struct filling {
  const opc_operator_t *op;
  const opc_call_t *model; /* a call with the same tensors */
  uint64_t seed;
} filling_t;

static bool store_other(opc_number_t number, opc_dtype_t dtype, char *element, size_t width) {
  char candidate[16];
  if (width > sizeof candidate || !opc_number_store(number, dtype, candidate) || memcmp(candidate, element, width) == 0)
    return false;
  memcpy(element, candidate, width);
  return true;
}

/* Far enough for an operator that keeps the larger of old and new to show: some new value lies between. Near enough
 * that, if it is an index or a length after all, its accesses stay where check memory records them. */
static void element_change(opc_dtype_t dtype, char *element) {
  enum { STEP = 5 };
  size_t width = opc_dtype_size(dtype);
  opc_number_t number = opc_number_load(dtype, element);
  if (number.kind == OPC_NUMBER_INT) number.i += number.i >= STEP ? -STEP : STEP;
  else if (number.kind == OPC_NUMBER_FLOAT) number.f += number.f >= STEP ? -STEP : STEP;
  else if (number.kind == OPC_NUMBER_COMPLEX) number.c.re += number.c.re >= STEP ? -STEP : STEP;
  if (store_other(number, dtype, element, width)) return;
  /* too large for the step to show, NaN, or true */
  const opc_number_t one = {.kind = OPC_NUMBER_INT, .i = 1}, zero = {.kind = OPC_NUMBER_INT, .i = 0};
  if (!store_other(zero, dtype, element, width)) (void)store_other(one, dtype, element, width);
}

static opc_status_t give_out_values(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                    void *context, opc_error_t *error) {
  const filling_t *filling = context;
  OPC_RETURN_IF_ERROR(opc_fill_logical(spec, path, filling->seed, logical, error));
  if (!is_out_alone(filling->op, filling->model, tensor_arg)) return OPC_OK;
  int64_t numel = opc_tensor_spec_numel(spec);
  for (int64_t i = 0; i < numel; i++)
    element_change(spec->dtype, (char *)logical + (size_t)i * opc_dtype_size(spec->dtype));
  return OPC_OK;
}

/* ---- comparison ---- */

typedef struct filled_call {
  opc_call_t call;
  opc_replay_t before; /* values of the arguments */
  opc_result_t after;
} filled_call_t;

static void filled_call_clear(filled_call_t *filled) {
  opc_result_clear(&filled->after);
  opc_replay_clear(&filled->before);
  opc_call_clear(&filled->call);
}

static opc_status_t filled_call_make(opc_case_context_t *context, const filling_t *filling, filled_call_t *out,
                                     opc_error_t *error) {
  opc_call_options_t options = {.device = context->device, .seed = context->seed};
  if (filling) {
    options.values = give_out_values;
    options.values_context = (void *)(uintptr_t)filling;
  }
  OPC_RETURN_IF_ERROR(opc_call_make_with(&out->call, context->op, context->sample, &options, error));
  return opc_replay_take(&out->before, &out->call, error);
}

static opc_status_t filled_call_run(opc_case_context_t *context, filled_call_t *filled, bool *out_returned,
                                    opc_error_t *error) {
  context->announce(OPC_CALL_LABEL(CALL_OF_OTHERS, "with other values in an out argument"));
  *out_returned = opc_call_run(&filled->call, context->handle, context->seed) == OPC_CALL_RETURNED;
  return *out_returned ? opc_result_take(&filled->after, &filled->call, OPC_RESULT_ARGUMENTS, error) : OPC_OK;
}

static const opc_result_item_t *argument_after(const filled_call_t *filled, const char *path) {
  for (size_t i = 0; i < filled->after.count; i++)
    if (filled->after.items[i].argument && strcmp(filled->after.items[i].path, path) == 0)
      return &filled->after.items[i];
  return NULL;
}

static bool same_element(const void *left, const void *right, size_t at, size_t width) {
  return memcmp((const char *)left + at, (const char *)right + at, width) == 0;
}

/* A written result may still have been computed from the old value: "or" with true and "and" with false give one
 * result, whatever was there before. */
static bool may_be_logical(opc_dtype_t dtype, const bool written_as[2]) {
  return dtype == OPC_DTYPE_BOOL && !(written_as[0] && written_as[1]);
}

static void compare_argument(const filled_call_t *first, const filled_call_t *second, size_t tensor_arg,
                             opc_finding_t *finding) {
  const opc_tensor_arg_t *out = &first->call.tensor_args[tensor_arg];
  const opc_result_item_t *one = argument_after(first, out->path), *two = argument_after(second, out->path);
  const struct opc_replay_tensor_arg *one_before = &first->before.tensor_args[tensor_arg],
                                     *two_before = &second->before.tensor_args[tensor_arg];
  size_t width = out->before.itemsize;
  int64_t kept = 0, first_kept = 0, written = 0, computed = 0;
  bool written_as[2] = {false, false};
  if (!one || !two || !one->bytes || !two->bytes) return;
  if (one->meta.numel != out->before.numel || two->meta.numel != out->before.numel ||
      one->meta.dtype != out->before.dtype)
    return; /* resized */
  for (int64_t i = 0; i < out->before.numel; i++) {
    size_t at = (size_t)i * width;
    bool keeps = same_element(one->bytes, one_before->bytes, at, width) &&
                 same_element(two->bytes, two_before->bytes, at, width);
    if (keeps && kept++ == 0) first_kept = i;
    bool writes = !keeps && same_element(one->bytes, two->bytes, at, width);
    written += writes;
    computed += !keeps && !writes;
    if (writes) written_as[((const unsigned char *)one->bytes)[at] != 0] = true;
  }
  if (!kept || !written || computed || may_be_logical(out->before.dtype, written_as)) return;
  char index[160];
  opc_index_text(&out->before, first_kept, index, sizeof index);
  opc_finding_fail(finding, OPC_RULE_initialisation_out_not_written,
                   "%s%s keeps what it held before the call, whatever that was (%lld of %lld elements); the others are "
                   "written and do not depend on it",
                   out->path, index, (long long)kept, (long long)out->before.numel);
}

opc_status_t opc_out_arguments_check(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(filled_call_clear) filled_call_t first = {0}, second = {0};
  filling_t filling = {.op = context->op, .model = &first.call, .seed = context->seed};
  bool any = false, returned = false;
  for (size_t i = 0; i < context->op->argument_count; i++)
    any |= context->op->arguments[i].kwarg_only && context->op->arguments[i].alias.is_write;
  if (!any) return OPC_OK;

  OPC_RETURN_IF_ERROR(filled_call_make(context, NULL, &first, error));
  OPC_RETURN_IF_ERROR(filled_call_make(context, &filling, &second, error));
  OPC_RETURN_IF_ERROR(filled_call_run(context, &first, &returned, error));
  if (returned) OPC_RETURN_IF_ERROR(filled_call_run(context, &second, &returned, error));
  for (size_t i = 0; returned && i < first.call.tensor_arg_count; i++)
    if (is_out_alone(context->op, &first.call, i)) compare_argument(&first, &second, i, finding);
  return OPC_OK;
}
