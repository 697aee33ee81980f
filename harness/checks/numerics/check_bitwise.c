/* bitwise: the sample's bitwise promises, and its golden outputs. */
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"

/* ---- expect.same_bits ---- */

static const opc_tensor_arg_t *tensor_arg_called(const opc_call_t *call, const char *path, size_t *out_index) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    if (strcmp(call->tensor_args[i].path, path) != 0) continue;
    *out_index = i;
    return &call->tensor_args[i];
  }
  return NULL;
}

static const opc_result_item_t *output_number(const opc_result_t *result, size_t output) {
  char path[32];
  snprintf(path, sizeof path, "returns[%zu]", output);
  for (size_t i = 0; i < result->count; i++)
    if (strcmp(result->items[i].path, path) == 0) return &result->items[i];
  return NULL;
}

static void compare_promise(const opc_case_context_t *context, const opc_tensor_arg_t *tensor_arg,
                            const struct opc_replay_tensor_arg *values, const opc_result_item_t *output,
                            int64_t *compared, opc_finding_t *finding) {
  const opc_tensor_meta_t *meta = &output->meta;
  if (output->kind != OPC_VALUE_TENSOR || meta->numel != values->numel || meta->dtype != values->dtype) {
    if (opc_case_is_declared(context))
      opc_finding_fail(finding, OPC_RULE_bitwise_same_bits,
                       "%s has %lld elements of %s, but %s, whose bits it is promised to have, has %lld of %s",
                       output->path, (long long)meta->numel, opc_meta_dtype_text(meta), tensor_arg->path,
                       (long long)values->numel, opc_dtype_name(values->dtype));
    return;
  }
  if (!output->bytes) return;
  size_t width = meta->itemsize;
  int64_t wrong = 0, first = 0;
  const bool any_nan = opc_case_loses_nan_bits(context);
  for (int64_t e = 0; e < meta->numel; e++) {
    const char *got = (const char *)output->bytes + (size_t)e * width,
               *wanted = (const char *)values->bytes + (size_t)e * width;
    const bool equal = memcmp(got, wanted, width) == 0 || (any_nan && opc_number_is_same(meta->dtype, got, wanted));
    if (!equal && wrong++ == 0) first = e;
  }
  *compared += meta->numel;
  if (!wrong) return;
  char index[160], here[160], there[160];
  opc_index_text(meta, first, index, sizeof index);
  opc_element_text(meta->dtype, (const char *)output->bytes + (size_t)first * width, here, sizeof here);
  opc_element_text(meta->dtype, (const char *)values->bytes + (size_t)first * width, there, sizeof there);
  opc_finding_fail(finding, OPC_RULE_bitwise_same_bits, "%s%s is %s, %s has %s there; %lld of %lld elements differ",
                   output->path, index, here, tensor_arg->path, there, (long long)wrong, (long long)meta->numel);
}

static void check_promises(const opc_case_context_t *context, const opc_call_t *call, const opc_replay_t *values,
                           const opc_result_t *result, int64_t *compared, opc_finding_t *finding) {
  const opc_expect_t *expect = &context->base->expect;
  for (size_t i = 0; i < expect->same_bits_count; i++) {
    size_t index = 0;
    const opc_tensor_arg_t *tensor_arg = tensor_arg_called(call, expect->same_bits[i].argument, &index);
    const opc_result_item_t *output = output_number(result, expect->same_bits[i].output);
    if (tensor_arg && output)
      compare_promise(context, tensor_arg, &values->tensor_args[index], output, compared, finding);
    else if (opc_case_is_declared(context))
      opc_finding_fail(finding, OPC_RULE_bitwise_same_bits,
                       "the sample promises that returns[%zu] has the bits of %s; there is no such %s",
                       expect->same_bits[i].output, expect->same_bits[i].argument,
                       tensor_arg ? "tensor output" : "tensor argument");
  }
}

/* ---- expect.outputs ---- */

static void golden_free(opc_tensor_spec_t **spec) { opc_tensor_spec_free(*spec); }

static opc_status_t compare_golden_tensor(const opc_case_context_t *context, const char *path,
                                          const opc_tensor_spec_t *spec, const opc_result_item_t *got,
                                          opc_finding_t *finding, opc_error_t *error) {
  char here[160], there[160];
  if (got->kind != OPC_VALUE_TENSOR)
    return opc_finding_fail(finding, OPC_RULE_bitwise_outputs, "%s is %s, the sample states a tensor", path, got->text);
  opc_sizes_text(got->meta.ndim, got->meta.sizes, here, sizeof here);
  opc_sizes_text(spec->ndim, spec->sizes, there, sizeof there);
  if (strcmp(here, there) != 0 || (spec->dtype_given && spec->dtype != got->meta.dtype))
    return opc_finding_fail(finding, OPC_RULE_bitwise_outputs, "%s is %s%s, the sample states %s%s", path,
                            opc_dtype_name(got->meta.dtype), here, spec->dtype_given ? opc_dtype_name(spec->dtype) : "",
                            there);
  if (!got->bytes) return opc_error_set(error, OPC_ERR_UNSUPPORTED, "%s: its values cannot be read", path);

  OPC_SCOPED(golden_free) opc_tensor_spec_t *own = opc_tensor_spec_copy(spec);
  OPC_SCOPED(opc_scope_free) void *bytes = malloc(got->size + 1);
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  if (!own || !bytes) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a golden");
  own->dtype = got->meta.dtype;
  OPC_RETURN_IF_ERROR(opc_fill_logical(own, path, context->seed, bytes, error));
  opc_result_item_t stated = *got;
  stated.bytes = bytes;
  opc_result_t left = {.items = (opc_result_item_t *)got, .count = 1}, right = {.items = &stated, .count = 1};
  opc_bound_t bound = {.got = &left, .reference = &right};
  if (context->base->expect.has_tolerance) bound.relative = context->base->expect.tolerance;
  opc_difference_t difference = opc_result_compare(&left, &right, bound.relative ? opc_bound_holds : NULL, &bound);
  if (difference.kind != OPC_DIFFERENCE_NONE) {
    opc_difference_text(&difference, &left, &right, "the sample", &text);
    opc_finding_differences(finding, &difference, &left, &right, bound.relative ? opc_bound_holds : NULL, &bound);
    opc_finding_fail(finding, OPC_RULE_bitwise_outputs, "%s", opc_text_c(&text));
  }
  return OPC_OK;
}

static const opc_result_item_t *item_called(const opc_result_t *result, const char *path) {
  for (size_t i = 0; i < result->count; i++)
    if (strcmp(result->items[i].path, path) == 0) return &result->items[i];
  return NULL;
}

static opc_status_t compare_golden(const opc_case_context_t *context, const char *path, const opc_value_t *stated,
                                   const opc_result_t *result, opc_finding_t *finding, opc_error_t *error) {
  if (stated->kind == OPC_VALUE_LIST) {
    for (size_t i = 0; i < stated->list.count; i++) {
      char inner[96];
      snprintf(inner, sizeof inner, "%.64s[%zu]", path, i);
      OPC_RETURN_IF_ERROR(compare_golden(context, inner, &stated->list.items[i], result, finding, error));
    }
    return OPC_OK;
  }
  const opc_result_item_t *got = item_called(result, path);
  if (!got)
    return opc_finding_fail(finding, OPC_RULE_bitwise_outputs, "the sample states %s, and there is no such output",
                            path);
  if (stated->kind == OPC_VALUE_TENSOR && stated->tensor)
    return compare_golden_tensor(context, path, stated->tensor, got, finding, error);
  char text[128];
  opc_value_describe(stated, text, sizeof text);
  /* a file cannot tell 2 from 2.0 */
  bool number = stated->kind == OPC_VALUE_INT && got->kind == OPC_VALUE_FLOAT &&
                (double)stated->integer == *(const double *)got->bytes;
  if (!number && (got->kind != stated->kind || strcmp(text, got->text) != 0))
    opc_finding_fail(finding, OPC_RULE_bitwise_outputs, "%s is %s, the sample states %s", path,
                     got->kind == OPC_VALUE_TENSOR ? "a tensor" : got->text, text);
  return OPC_OK;
}

static opc_status_t check_goldens(const opc_case_context_t *context, const opc_result_t *result, opc_finding_t *finding,
                                  opc_error_t *error) {
  const opc_expect_t *expect = &context->base->expect;
  if (!opc_case_is_declared(context) || !expect->outputs) return OPC_OK;
  for (size_t i = 0; i < expect->output_count; i++) {
    char path[32];
    snprintf(path, sizeof path, "returns[%zu]", i);
    OPC_RETURN_IF_ERROR(compare_golden(context, path, &expect->outputs[i], result, finding, error));
  }
  return OPC_OK;
}

static opc_status_t check_bits(const opc_case_context_t *context, const opc_call_t *call, const opc_replay_t *values,
                               opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  int64_t promised = 0;
  OPC_RETURN_IF_ERROR(opc_result_take(&result, call, OPC_RESULT_ARGUMENTS, error));
  check_promises(context, call, values, &result, &promised, finding);
  OPC_RETURN_IF_ERROR(check_goldens(context, &result, finding, error));
  if (promised) return opc_finding_pass(finding, "%lld elements have the promised bits", (long long)promised);
  if (opc_case_is_declared(context) && context->base->expect.outputs)
    return opc_finding_pass(finding, "the outputs are those that the sample states");
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no promised element is there to compare");
}

static opc_status_t bitwise_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  if (!opc_case_call_keeping(context, &values, &call, finding)) return OPC_OK;
  return check_bits(context, &call, &values, finding, error);
}

const opc_check_t opc_check_bitwise = {.name = "bitwise", .run = bitwise_run};
