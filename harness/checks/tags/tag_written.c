/* Returns that are declared to be an argument: inplace, out and out_variant, inplace_view. */
#include <string.h>

#include "checks/tags/tags.h"

static bool same_set(const opc_alias_t *left, const opc_alias_t *right) {
  return left->present && right->present && left->before && right->before && strcmp(left->before, right->before) == 0;
}

/* The only tensor argument that a return is declared to be; NULL: none, or several. */
static const opc_tensor_arg_t *declared_argument(const opc_tag_case_t *tagged, const opc_alias_t *alias) {
  const opc_tensor_arg_t *found = NULL;
  for (size_t i = 0; i < tagged->call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &tagged->call->tensor_args[i];
    if (!opc_tensor_arg_is_mutable(tensor_arg) || !same_set(tensor_arg->alias, alias)) continue;
    if (found) return NULL;
    found = tensor_arg;
  }
  return found;
}

opc_status_t opc_tag_returned(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  const opc_operator_t *op = tagged->context->op;
  (void)error;
  for (size_t i = 0; i < op->return_count && i < tagged->call->return_count; i++) {
    const opc_tensor_arg_t *tensor_arg = declared_argument(tagged, &op->returns[i].alias);
    const opc_value_t *value = &tagged->call->returns[i];
    opc_tensor_meta_t meta = {0};
    if (!tensor_arg) continue;
    *out_tested = true;
    if (value->kind == OPC_VALUE_TENSOR) opc_tensor_describe(value->handle, &meta);
    if (meta.impl == tensor_arg->before.impl) continue;
    opc_finding_fail(tagged->finding, OPC_RULE_tags_returned, "returns[%zu] is %s, not argument %s itself (%s)", i,
                     !meta.defined                                ? "no tensor"
                     : meta.storage == tensor_arg->before.storage ? "a view"
                                                                  : "another tensor",
                     tensor_arg->path, op->schema);
  }
  return OPC_OK;
}

opc_status_t opc_tag_inplace_view(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  for (size_t i = 0; i < tagged->call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &tagged->call->tensor_args[i];
    opc_tensor_meta_t now;
    opc_change_t change;
    if (!opc_tensor_arg_is_mutable(tensor_arg)) continue;
    opc_tensor_describe(tensor_arg->tensor, &now);
    if (now.storage != tensor_arg->before.storage) continue; /* another storage was set: that is no change of values */
    OPC_RETURN_IF_ERROR(opc_tensor_arg_changed(tensor_arg, &change, error));
    *out_tested |= tensor_arg->storage_bytes > 0;
    if ((change.inside || change.outside))
      opc_finding_fail(tagged->finding, OPC_RULE_tags_inplace_view,
                       "tagged inplace_view, but the values of %s changed, from byte %zu of its storage on",
                       tensor_arg->path, change.first_byte);
  }
  return OPC_OK;
}

/* ---- out ---- */

typedef struct held {
  const opc_operator_t *op;
  const opc_call_t *model; /* a call with the same tensors */
  uint64_t seed;
  int64_t value; /* one per element of an out argument */
} held_t;

static bool is_out_argument(const opc_operator_t *op, const opc_tensor_arg_t *tensor_arg) {
  return op->arguments[tensor_arg->argument].kwarg_only && opc_tensor_arg_is_mutable(tensor_arg);
}

static opc_status_t give_held(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                              void *context, opc_error_t *error) {
  const held_t *held = context;
  if (!is_out_argument(held->op, &held->model->tensor_args[tensor_arg]))
    return opc_fill_logical(spec, path, held->seed, logical, error);
  const opc_number_t number = {.kind = OPC_NUMBER_INT, .i = held->value};
  size_t width = opc_dtype_size(spec->dtype);
  for (int64_t i = 0; i < opc_tensor_spec_numel(spec); i++)
    (void)opc_number_store(number, spec->dtype, (char *)logical + (size_t)i * width);
  return OPC_OK;
}

/* Elements of an argument that differ after the call if only its contents before the call differed. */
static opc_status_t report_kept(const opc_tag_case_t *tagged, const opc_result_item_t *left,
                                const opc_result_item_t *right, opc_error_t *error) {
  size_t width = left->meta.itemsize;
  int64_t kept = 0, first = 0;
  bool nondeterministic = false;
  if (!left->argument || !left->bytes || !right->bytes || left->size != right->size ||
      memcmp(left->bytes, right->bytes, left->size) == 0)
    return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_tag_is_nondeterministic(tagged, &nondeterministic, error));
  if (nondeterministic) return OPC_OK;
  for (int64_t i = 0; i < left->meta.numel; i++) {
    size_t at = (size_t)i * width;
    if (memcmp((const char *)left->bytes + at, (const char *)right->bytes + at, width) != 0 && kept++ == 0) first = i;
  }
  char index[160];
  opc_index_text(&left->meta, first, index, sizeof index);
  return opc_finding_fail(tagged->finding, OPC_RULE_tags_out_not_written,
                          "%s%s depends on what %s held before the call; so do %lld of its %lld elements", left->path,
                          index, left->path, (long long)kept, (long long)left->meta.numel);
}

/* Calls the operator with `value` in all elements of its out arguments. */
static opc_status_t run_held(const opc_tag_case_t *tagged, int64_t value, opc_result_t *out,
                             opc_call_outcome_t *out_outcome, opc_error_t *error) {
  opc_case_context_t *context = tagged->context;
  held_t held = {.op = context->op, .model = tagged->call, .seed = context->seed, .value = value};
  const opc_again_t again = {.context = context,
                             .values = give_held,
                             .values_context = &held,
                             .label = {OPC_CALL_KIND_WITH_OTHERS, "other values in its out arguments"}};
  return opc_again_run(&again, out, out_outcome, NULL, error);
}

opc_status_t opc_tag_out(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t zeros = {0}, ones = {0};
  opc_call_outcome_t outcome = OPC_CALL_RETURNED;
  bool any = false;
  for (size_t i = 0; i < tagged->call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &tagged->call->tensor_args[i];
    if (!is_out_argument(tagged->context->op, tensor_arg)) continue;
    if (tensor_arg->spec->storage || tensor_arg->spec->identity) return OPC_OK; /* it is an input as well */
    any |= tensor_arg->before.numel > 0;
  }
  if (!any) return OPC_OK;
  OPC_RETURN_IF_ERROR(run_held(tagged, 0, &zeros, &outcome, error));
  if (outcome == OPC_CALL_RETURNED) OPC_RETURN_IF_ERROR(run_held(tagged, 1, &ones, &outcome, error));
  if (outcome != OPC_CALL_RETURNED) return OPC_OK;
  *out_tested = true;
  for (size_t i = 0; i < zeros.count && i < ones.count; i++)
    OPC_RETURN_IF_ERROR(report_kept(tagged, &zeros.items[i], &ones.items[i], error));
  return OPC_OK;
}
