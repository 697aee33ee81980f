#include "checks/tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static double distance(opc_number_t left, opc_number_t right) {
  if (left.kind == OPC_NUMBER_COMPLEX && right.kind == OPC_NUMBER_COMPLEX)
    return hypot(left.c.re - right.c.re, left.c.im - right.c.im);
  if (left.kind == OPC_NUMBER_FLOAT && right.kind == OPC_NUMBER_FLOAT) return fabs(left.f - right.f);
  return INFINITY;
}

static double magnitude(opc_number_t number) {
  if (number.kind == OPC_NUMBER_COMPLEX) return hypot(number.c.re, number.c.im);
  return number.kind == OPC_NUMBER_FLOAT ? fabs(number.f) : INFINITY;
}

static opc_number_t element(const opc_result_item_t *item, int64_t i) {
  return opc_number_load(item->meta.dtype, (const char *)item->bytes + (size_t)i * item->meta.itemsize);
}

static bool is_measurable(const opc_result_item_t *item) {
  opc_dtype_class_t kind = opc_dtype_class(item->meta.dtype);
  return item->kind == OPC_VALUE_TENSOR && item->bytes && (kind == OPC_CLASS_FLOATING || kind == OPC_CLASS_COMPLEX);
}

static void change_add(opc_tolerance_t *tolerance, size_t i, const opc_result_item_t *before, const opc_result_item_t *after) {
  if (before->kind != after->kind || before->size != after->size || !before->bytes || !after->bytes) {
    tolerance->changed[i] = before->kind != after->kind || before->size != after->size;
    if (tolerance->changed[i]) tolerance->change[i] = INFINITY;
    return;
  }
  if (before->size == 0 || memcmp(before->bytes, after->bytes, before->size) == 0) return;
  tolerance->changed[i] = true;
  for (int64_t e = 0; is_measurable(before) && e < before->meta.numel; e++) {
    double change = distance(element(before, e), element(after, e));
    if (isfinite(change) && change > tolerance->change[i]) tolerance->change[i] = change;
  }
}

opc_status_t opc_tolerance_measure(opc_tolerance_t *tolerance, const opc_again_t *again, const opc_result_t *reference,
                                   opc_error_t *error) {
  *tolerance = (opc_tolerance_t){.count = reference->count};
  tolerance->change = calloc(reference->count + 1, sizeof *tolerance->change);
  tolerance->changed = calloc(reference->count + 1, sizeof *tolerance->changed);
  opc_status_t status = OPC_OK;
  if (!tolerance->change || !tolerance->changed) status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a tolerance");

  for (int pattern = 1; status == OPC_OK && pattern <= OPC_REPLAY_PATTERNS; pattern++) {
    opc_result_t moved = {0};
    opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
    again->replay->pattern = pattern;
    status = opc_again_run(again, &moved, &outcome, NULL, error);
    if (status == OPC_OK && outcome == OPC_CALL_RETURNED && moved.count == reference->count) {
      tolerance->patterns++;
      for (size_t i = 0; i < reference->count; i++) change_add(tolerance, i, &reference->items[i], &moved.items[i]);
    }
    opc_result_clear(&moved);
  }
  if (again->replay) again->replay->pattern = 0;
  if (status != OPC_OK) opc_tolerance_clear(tolerance);
  return status;
}

void opc_tolerance_clear(opc_tolerance_t *tolerance) {
  free(tolerance->change);
  free(tolerance->changed);
  *tolerance = (opc_tolerance_t){0};
}

/* Of the item's own dtype and the narrow one: the coarser, which the result cannot be better than. */
static opc_dtype_t coarser(opc_dtype_t own, opc_dtype_t narrow) {
  if (narrow == OPC_DTYPE_OTHER) return own;
  return opc_dtype_digits(narrow) < opc_dtype_digits(own) ? narrow : own;
}

static double largest(const opc_result_item_t *item) {
  double result = 0.0;
  for (int64_t e = 0; e < item->meta.numel; e++) {
    double value = magnitude(element(item, e));
    if (isfinite(value) && value > result) result = value;
  }
  return result;
}

double opc_bound_value(const opc_bound_t *bound, size_t item, int64_t e) {
  const opc_result_item_t *got = &bound->got->items[item], *reference = &bound->reference->items[item];
  if (bound->relative && bound->relative[got->meta.dtype] >= 0.0) return bound->relative[got->meta.dtype] * largest(reference);
  if (!bound->tolerance) return 0.0;
  double ulp = opc_dtype_ulp(coarser(got->meta.dtype, bound->narrow), magnitude(element(reference, e)));
  return OPC_TOLERANCE_FACTOR * bound->tolerance->change[item] + OPC_TOLERANCE_ULPS * ulp;
}

static bool part_holds(double got, double reference, double bound, double max) {
  if (isnan(reference)) return isnan(got);
  if (fabs(reference) > max) return !isfinite(got) || fabs(got) >= max * 0.5; /* does not fit the dtype: any sign of overflow will do */
  if (isinf(got) || isnan(got)) return isfinite(bound) ? fabs(reference) + bound > max && !isnan(got) : true;
  return fabs(got - reference) <= bound;
}

bool opc_bound_holds(size_t item, int64_t e, void *context) {
  const opc_bound_t *bound = context;
  if (bound->exact && bound->exact[item]) return false;
  const opc_result_item_t *got = &bound->got->items[item], *reference = &bound->reference->items[item];
  if (!is_measurable(got) || !is_measurable(reference)) return bound->tolerance && bound->tolerance->changed[item];
  opc_number_t left = element(got, e), right = element(reference, e);
  double allowed = opc_bound_value(bound, item, e), max = opc_dtype_max(coarser(got->meta.dtype, bound->narrow));
  if (left.kind == OPC_NUMBER_COMPLEX && right.kind == OPC_NUMBER_COMPLEX)
    return part_holds(left.c.re, right.c.re, allowed, max) && part_holds(left.c.im, right.c.im, allowed, max);
  return left.kind == right.kind && part_holds(left.f, right.f, allowed, max);
}

static size_t compared_width;
static int compare_elements(const void *left, const void *right) { return memcmp(left, right, compared_width); }

bool opc_result_moves_data(const opc_result_item_t *item, const opc_replay_t *replay) {
  if (!is_measurable(item) || item->meta.numel == 0) return false;
  size_t width = item->meta.itemsize, total = 0;
  for (size_t i = 0; i < replay->count; i++)
    if (replay->leaves[i].dtype == item->meta.dtype) total += (size_t)replay->leaves[i].numel;
  unsigned char *pool = calloc(total + 1, width);
  if (!pool) return false;
  size_t used = 1; /* one zero element, for padding */
  for (size_t i = 0; i < replay->count; i++) {
    if (replay->leaves[i].dtype != item->meta.dtype) continue;
    size_t bytes = (size_t)replay->leaves[i].numel * width;
    if (bytes) memcpy(pool + used * width, replay->leaves[i].bytes, bytes);
    used += (size_t)replay->leaves[i].numel;
  }
  compared_width = width;
  qsort(pool, used, width, compare_elements);
  bool moves = true;
  for (int64_t e = 0; moves && e < item->meta.numel; e++)
    moves = bsearch((const char *)item->bytes + (size_t)e * width, pool, used, width, compare_elements) != NULL;
  free(pool);
  return moves;
}
