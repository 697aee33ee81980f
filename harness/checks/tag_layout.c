/* view_copy, flexible_layout: what tags say of values and layouts. */
#include <stdlib.h>
#include <string.h>

#include "checks/tags.h"

/* ---- view_copy ---- */

/* A copy of a view may be conjugated, negated, or have complex numbers as pairs: signs apart, its numbers are the argument's. */
static size_t part_width(opc_dtype_t dtype) {
  return opc_dtype_class(dtype) == OPC_CLASS_COMPLEX ? opc_dtype_size(dtype) / 2 : opc_dtype_size(dtype);
}

static bool same_parts(opc_dtype_t left, opc_dtype_t right) {
  opc_dtype_class_t one = opc_dtype_class(left), two = opc_dtype_class(right);
  bool numbers = (one == OPC_CLASS_FLOATING || one == OPC_CLASS_COMPLEX) && (two == OPC_CLASS_FLOATING || two == OPC_CLASS_COMPLEX);
  return left == right || (numbers && one != two && part_width(left) == part_width(right));
}

static size_t compared_width;
static int compare_parts(const void *left, const void *right) { return memcmp(left, right, compared_width); }

static void add_parts(unsigned char *pool, size_t *used, opc_dtype_t dtype, const void *bytes, size_t size) {
  size_t width = part_width(dtype);
  opc_dtype_class_t kind = opc_dtype_class(dtype);
  memcpy(pool + *used, bytes, size);
  for (size_t at = *used; (kind == OPC_CLASS_FLOATING || kind == OPC_CLASS_COMPLEX) && at < *used + size; at += width) pool[at + width - 1] &= 0x7f;
  *used += size;
}

/* Where the item's first number is that no argument has; -1: all are there. -2: nothing can be said. */
static int64_t foreign_part(const opc_result_item_t *item, const opc_replay_t *values) {
  size_t total = 0, used = 0, own = 0, width = part_width(item->meta.dtype);
  int64_t found = -1;
  for (size_t i = 0; i < values->count; i++)
    if (same_parts(item->meta.dtype, values->leaves[i].dtype)) total += (size_t)values->leaves[i].numel * opc_dtype_size(values->leaves[i].dtype);
  if (!total || !item->bytes || !width) return -2;
  unsigned char *pool = malloc(total), *parts = malloc(item->size + 1);
  for (size_t i = 0; pool && i < values->count; i++)
    if (same_parts(item->meta.dtype, values->leaves[i].dtype))
      add_parts(pool, &used, values->leaves[i].dtype, values->leaves[i].bytes, (size_t)values->leaves[i].numel * opc_dtype_size(values->leaves[i].dtype));
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
  opc_call_t fresh = {0};
  opc_replay_t values = {0};
  opc_status_t status = opc_call_make(&fresh, context->op, context->sample, context->device, context->seed, error);
  if (status == OPC_OK) status = opc_replay_take(&values, &fresh, error);
  for (size_t i = 0; status == OPC_OK && i < tagged->result->count; i++) {
    const opc_result_item_t *item = &tagged->result->items[i];
    char index[160], text[160];
    if (item->kind != OPC_VALUE_TENSOR || item->meta.numel == 0) continue;
    int64_t foreign = foreign_part(item, &values);
    *out_tested |= foreign > -2;
    if (foreign < 0) continue;
    opc_index_text(&item->meta, foreign, index, sizeof index);
    opc_element_text(item->meta.dtype, (const char *)item->bytes + (size_t)foreign * item->meta.itemsize, text, sizeof text);
    opc_finding_fail(tagged->finding, "tags.view_copy", "tagged view_copy, and %s%s is %s, which no argument holds", item->path, index, text);
  }
  opc_replay_clear(&values);
  opc_call_clear(&fresh);
  return status;
}

/* ---- flexible_layout ---- */

typedef struct layouts {
  const opc_tag_case_t *tagged;
  opc_status_t status;
  opc_error_t *error;
  bool tried;
} layouts_t;

static bool try_layout(const char *name, const opc_sample_t *sample, void *context) {
  layouts_t *layouts = context;
  opc_case_context_t *run = layouts->tagged->context;
  opc_call_t call = {0};
  layouts->status = opc_call_make(&call, run->op, sample, run->device, run->seed, layouts->error);
  if (layouts->status != OPC_OK) return false;
  run->phase("the operator on another layout");
  opc_call_outcome_t outcome = opc_call_run(&call, run->handle, run->seed);
  bool refused = outcome == OPC_CALL_REJECTED || outcome == OPC_CALL_INTERNAL_ASSERT;
  layouts->tried = true;
  if (refused)
    opc_finding_fail(layouts->tagged->finding, "tags.flexible_layout", "tagged flexible_layout, and it refuses the same values in another layout, %s: %.*s", name,
                     (int)strcspn(opc_text_c(&call.message), "\n"), opc_text_c(&call.message));
  opc_call_clear(&call);
  return !refused;
}

opc_status_t opc_tag_flexible(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  opc_case_context_t *context = tagged->context;
  layouts_t layouts = {.tagged = tagged, .error = error};
  opc_status_t status = opc_variants_of(context->sample, context->op, OPC_VARIANT_LAYOUT, try_layout, &layouts, error);
  *out_tested |= layouts.tried;
  return status == OPC_OK ? layouts.status : status;
}
