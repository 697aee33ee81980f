/* reduction: which of the argument's dimensions remain. */
#include "checks/tags/tags.h"

/* Each dimension is kept, is 1, or is left out. */
static bool is_left(const int64_t *from, int from_count, const int64_t *to, int to_count) {
  if (to_count > from_count) return false;
  if (from_count == 0) return true;
  if (to_count > 0 && (to[0] == from[0] || to[0] == 1) && is_left(from + 1, from_count - 1, to + 1, to_count - 1))
    return true;
  return is_left(from + 1, from_count - 1, to, to_count);
}

/* Of one argument, or of all arguments broadcast together. */
static bool is_left_of_arguments(const opc_call_t *call, const opc_tensor_meta_t *output, bool *out_known) {
  opc_tag_shape_t all = {0};
  bool broadcasts = true, left = false;
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_meta_t *meta = &call->tensor_args[i].before;
    if (opc_tensor_arg_is_mutable(&call->tensor_args[i]) || !meta->defined || meta->ndim > OPC_MAX_DIMS) continue;
    *out_known = true;
    left = left || is_left(meta->sizes, meta->ndim, output->sizes, output->ndim);
    broadcasts = broadcasts && opc_tag_broadcast(&all, meta);
  }
  return left || (broadcasts && is_left(all.sizes, all.ndim, output->sizes, output->ndim));
}

opc_status_t opc_tag_reduction(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  (void)error;
  for (size_t i = 0; i < tagged->result->count; i++) {
    const opc_result_item_t *item = &tagged->result->items[i];
    bool known = false;
    char sizes[160];
    if (item->kind != OPC_VALUE_TENSOR || !item->meta.defined || item->meta.ndim > OPC_MAX_DIMS) continue;
    bool left = is_left_of_arguments(tagged->call, &item->meta, &known);
    *out_tested |= known;
    if (left || !known) continue;
    opc_sizes_text(item->meta.ndim, item->meta.sizes, sizes, sizeof sizes);
    opc_finding_fail(
        tagged->finding, OPC_RULE_tags_reduction,
        "tagged reduction, but %s has sizes %s, which are not an argument's sizes with some set to 1 or removed",
        item->path, sizes);
  }
  return OPC_OK;
}
