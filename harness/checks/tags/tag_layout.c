/* view_copy, flexible_layout and the tags that require strides: what tags say about values and layouts. */
#include <stdlib.h>
#include <string.h>

#include "checks/tags/tags.h"

/* ---- view_copy ---- */

/* A copy of a view may be conjugated, negated, or store complex numbers as pairs: except for signs, its numbers are the
 * argument's. */
static size_t part_width(opc_dtype_t dtype) {
  return opc_dtype_class(dtype) == OPC_CLASS_COMPLEX ? opc_dtype_size(dtype) / 2 : opc_dtype_size(dtype);
}

static bool same_parts(opc_dtype_t left, opc_dtype_t right) {
  bool numbers = opc_dtype_is_inexact(left) && opc_dtype_is_inexact(right);
  return left == right ||
         (numbers && opc_dtype_class(left) != opc_dtype_class(right) && part_width(left) == part_width(right));
}

static size_t compared_width;
static int compare_parts(const void *left, const void *right) { return memcmp(left, right, compared_width); }

static void add_parts(unsigned char *pool, size_t *used, opc_dtype_t dtype, const void *bytes, size_t size) {
  size_t width = part_width(dtype);
  memcpy(pool + *used, bytes, size);
  for (size_t at = *used; opc_dtype_is_inexact(dtype) && at < *used + size; at += width) pool[at + width - 1] &= 0x7f;
  *used += size;
}

/* Index of the item's first number that no argument has; -1: all are there. -2: unknown. */
static int64_t foreign_part(const opc_result_item_t *item, const opc_replay_t *values) {
  size_t total = 0, used = 0, own = 0, width = part_width(item->meta.dtype);
  int64_t found = -1;
  for (size_t i = 0; i < values->count; i++)
    if (same_parts(item->meta.dtype, values->tensor_args[i].dtype))
      total += (size_t)values->tensor_args[i].numel * opc_dtype_size(values->tensor_args[i].dtype);
  if (!total || !item->bytes || !width) return -2;
  unsigned char *pool = malloc(total), *parts = malloc(item->size + 1);
  for (size_t i = 0; pool && i < values->count; i++)
    if (same_parts(item->meta.dtype, values->tensor_args[i].dtype))
      add_parts(pool, &used, values->tensor_args[i].dtype, values->tensor_args[i].bytes,
                (size_t)values->tensor_args[i].numel * opc_dtype_size(values->tensor_args[i].dtype));
  if (parts) add_parts(parts, &own, item->meta.dtype, item->bytes, item->size);
  compared_width = width;
  if (pool) qsort(pool, total / width, width, compare_parts);
  for (size_t at = 0; pool && parts && found < 0 && at < item->size; at += width)
    if (!bsearch(parts + at, pool, total / width, width, compare_parts)) found = (int64_t)(at / item->meta.itemsize);
  free(parts);
  free(pool);
  return found;
}

opc_status_t opc_tag_view_copy(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  opc_case_context_t *context = tagged->context;
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_RETURN_IF_ERROR(opc_again_values(&(opc_again_t){.context = context}, &values, error));
  for (size_t i = 0; i < tagged->result->count; i++) {
    const opc_result_item_t *item = &tagged->result->items[i];
    char index[160], text[160];
    if (item->kind != OPC_VALUE_TENSOR || item->meta.numel == 0) continue;
    int64_t foreign = foreign_part(item, &values);
    *out_tested |= foreign > -2;
    if (foreign < 0) continue;
    opc_index_text(&item->meta, foreign, index, sizeof index);
    opc_element_text(item->meta.dtype, (const char *)item->bytes + (size_t)foreign * item->meta.itemsize, text,
                     sizeof text);
    opc_finding_fail(tagged->finding, OPC_RULE_tags_view_copy,
                     "tagged view_copy, but %s%s is %s, which no argument holds", item->path, index, text);
  }
  return OPC_OK;
}

/* ---- layouts ---- */

typedef struct layouts {
  const opc_tag_case_t *tagged;
  const char *tag;
  opc_rule_id_t rule;
  bool (*wanted)(const opc_sample_t *given, const opc_sample_t *laid);
  opc_status_t status;
  opc_error_t *error;
  bool tried;
} layouts_t;

static bool try_layout(const char *name, const opc_sample_t *sample, void *context) {
  layouts_t *layouts = context;
  opc_case_context_t *run = layouts->tagged->context;
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  if (!layouts->wanted(run->sample, sample)) return true;
  layouts->status = opc_call_make(&call, run->op, sample, run->device, run->seed, layouts->error);
  if (layouts->status != OPC_OK) return false;
  run->announce(OPC_CALL_LABEL(ON_OTHERS, "another layout"));
  opc_call_outcome_t outcome = opc_call_run(&call, run->handle, run->seed);
  bool refused = outcome == OPC_CALL_REJECTED || outcome == OPC_CALL_INTERNAL_ASSERT;
  layouts->tried = true;
  if (refused) opc_finding_note_variant(layouts->tagged->finding, name);
  if (refused)
    opc_finding_fail(layouts->tagged->finding, layouts->rule,
                     "tagged %s, but it refuses the same values in another layout, %s: %.*s", layouts->tag, name,
                     (int)strcspn(opc_text_c(&call.message), "\n"), opc_text_c(&call.message));
  return !refused;
}

static opc_status_t try_layouts(layouts_t *layouts, bool *out_tested) {
  opc_case_context_t *context = layouts->tagged->context;
  OPC_RETURN_IF_ERROR(
      opc_variants_of(context->sample, context->op, OPC_VARIANT_LAYOUT, try_layout, layouts, layouts->error));
  *out_tested |= layouts->tried;
  return layouts->status;
}

static bool any_layout(const opc_sample_t *given, const opc_sample_t *laid) {
  (void)given;
  (void)laid;
  return true;
}

opc_status_t opc_tag_flexible(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  layouts_t layouts = {.tagged = tagged,
                       .tag = "flexible_layout",
                       .rule = OPC_RULE_tags_flexible_layout,
                       .wanted = any_layout,
                       .error = error};
  return try_layouts(&layouts, out_tested);
}

static int order(int64_t left, int64_t right) { return (left > right) - (left < right); }

static bool spec_keeps_order(const opc_tensor_spec_t *given, const opc_tensor_spec_t *laid) {
  if (given->ndim != laid->ndim) return false;
  for (int i = 0; i < given->ndim; i++) {
    if (laid->sizes[i] > 1 && laid->strides[i] == 0 && given->strides[i] != 0)
      return false; /* no compiler expands a dense tensor */
    for (int k = 0; k < i; k++)
      if (given->sizes[i] > 1 && given->sizes[k] > 1 &&
          order(given->strides[i], given->strides[k]) != order(laid->strides[i], laid->strides[k]))
        return false;
  }
  return true;
}

static bool keeps_order(const opc_sample_t *given, const opc_sample_t *laid) {
  const opc_tensor_spec_t *before, *after;
  for (size_t i = 0; (before = opc_sample_tensor(given, i)); i++) {
    after = opc_sample_tensor(laid, i);
    if (!after || !spec_keeps_order(before, after)) return false;
  }
  return true;
}

opc_status_t opc_tag_stride_order(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  layouts_t layouts = {.tagged = tagged,
                       .tag = "needs_fixed_stride_order",
                       .rule = OPC_RULE_tags_needs_fixed_stride_order,
                       .wanted = keeps_order,
                       .error = error};
  return try_layouts(&layouts, out_tested);
}

/* The unmodified arguments may be what the operator actually requires. */
opc_status_t opc_tag_contiguous(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  layouts_t layouts = {.tagged = tagged,
                       .tag = "needs_contiguous_strides",
                       .rule = OPC_RULE_tags_needs_contiguous_strides,
                       .wanted = any_layout,
                       .error = error};
  OPC_SCOPED(opc_sample_clear) opc_sample_t dense = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(tagged->context->sample, &dense, error));
  opc_sample_make_contiguous(&dense);
  (void)try_layout("contiguous", &dense, &layouts);
  *out_tested |= layouts.tried;
  return layouts.status;
}
