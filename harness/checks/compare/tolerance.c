#include "checks/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/cpu_memory.h"

/* An explicit generator has a seed of its own. */
static void shift_generators(opc_value_t *value, uint64_t by) {
  if (value->kind == OPC_VALUE_GENERATOR) value->seed += by;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    shift_generators(&value->list.items[i], by);
}

/* The conditions of a repeated call. */
typedef struct repetition {
  uint64_t seed;
  unsigned char pattern; /* of new memory, and of the memory around the tensors */
  bool elsewhere;        /* a handle or an address returned as a number is non-deterministic, too */
} repetition_t;

static opc_status_t differs_when_repeated(const opc_again_t *again, const repetition_t *repetition,
                                          const opc_result_t *result, bool *out, opc_error_t *error) {
  opc_again_t repeat = *again;
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t second = {0};
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  OPC_RETURN_IF_ERROR(opc_sample_copy(again->sample ? again->sample : again->context->sample, &sample, error));
  for (size_t a = 0; a < sample.argument_count; a++) shift_generators(&sample.arguments[a], repetition->seed);
  repeat.sample = &sample;
  repeat.other_seed += repetition->seed;
  if (repetition->elsewhere && again->context->device.type == OPC_DEVICE_CPU) repeat.places = opc_places_new(&sample);
  opc_poison_pattern(repetition->pattern);
  opc_scratch_memory_shift(true);
  const opc_status_t status = opc_again_run(&repeat, &second, &outcome, NULL, error);
  opc_scratch_memory_shift(false);
  opc_places_free(repeat.places);
  opc_poison_pattern(OPC_PATTERN_FIRST);
  OPC_RETURN_IF_ERROR(status);
  *out = outcome != OPC_CALL_RETURNED || opc_result_compare(result, &second, NULL, NULL).kind != OPC_DIFFERENCE_NONE;
  return OPC_OK;
}

opc_status_t opc_result_is_nondeterministic(const opc_again_t *again, const opc_result_t *result, bool *out,
                                            opc_error_t *error) {
  static const repetition_t repetitions[] = {
      {0, OPC_PATTERN_SECOND, false},
      {0, OPC_PATTERN_FIRST, true},
      {0, OPC_PATTERN_FIRST, true}, /* by chance, one other address may give the same number */
      {1, OPC_PATTERN_FIRST, false}};
  *out = false;
  for (size_t i = 0; !*out && i < sizeof repetitions / sizeof *repetitions; i++)
    OPC_RETURN_IF_ERROR(differs_when_repeated(again, &repetitions[i], result, out, error));
  return OPC_OK;
}

static double number_distance(opc_number_t left, opc_number_t right) {
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

bool opc_result_is_measurable(const opc_result_item_t *item) {
  bool has_values = item->kind == OPC_VALUE_TENSOR || item->kind == OPC_VALUE_FLOAT || item->kind == OPC_VALUE_COMPLEX;
  return has_values && item->bytes && opc_dtype_is_inexact(item->meta.dtype);
}

static void change_add(opc_tolerance_t *tolerance, size_t i, const opc_result_item_t *before,
                       const opc_result_item_t *after) {
  if (before->kind != after->kind || before->size != after->size || !before->bytes || !after->bytes) {
    tolerance->changed[i] = before->kind != after->kind || before->size != after->size;
    if (tolerance->changed[i]) tolerance->change[i] = INFINITY;
    return;
  }
  if (before->size == 0 || memcmp(before->bytes, after->bytes, before->size) == 0) return;
  tolerance->changed[i] = true;
  for (int64_t e = 0; opc_result_is_measurable(before) && e < before->meta.numel; e++) {
    double change = number_distance(element(before, e), element(after, e));
    if (isfinite(change) && change > tolerance->change[i]) tolerance->change[i] = change;
  }
}

/* Integers cannot be moved by less than 1. A float that is computed from them is as uncertain as the largest of the
 * numbers that were added for it. */
static bool has_only_integers(const opc_replay_t *replay) {
  for (size_t i = 0; i < replay->count; i++)
    if (opc_dtype_is_inexact(replay->tensor_args[i].dtype) && replay->tensor_args[i].numel) return false;
  return true;
}

static void add_largest(opc_tolerance_t *tolerance, const opc_result_t *reference) {
  for (size_t i = 0; i < reference->count; i++) {
    const opc_result_item_t *item = &reference->items[i];
    if (!opc_result_is_measurable(item) || tolerance->changed[i]) continue;
    tolerance->change[i] = opc_dtype_ulp(item->meta.dtype, opc_result_largest(item));
  }
}

opc_status_t opc_tolerance_add(opc_tolerance_t *tolerance, const opc_again_t *again, const opc_result_t *reference,
                               opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t moved = {0};
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  OPC_RETURN_IF_ERROR(opc_again_run(again, &moved, &outcome, NULL, error));
  if (outcome == OPC_CALL_RETURNED && moved.count == reference->count) {
    tolerance->patterns++;
    for (size_t i = 0; i < reference->count; i++) change_add(tolerance, i, &reference->items[i], &moved.items[i]);
  }
  return OPC_OK;
}

static opc_status_t add_patterns(opc_tolerance_t *tolerance, const opc_again_t *again, const opc_result_t *reference,
                                 opc_error_t *error) {
  int *pattern = &again->replay->pattern;
  for (*pattern = 1; *pattern <= OPC_REPLAY_PATTERNS; ++*pattern)
    OPC_RETURN_IF_ERROR(opc_tolerance_add(tolerance, again, reference, error));
  return OPC_OK;
}

static opc_status_t measure_patterns(opc_tolerance_t *tolerance, const opc_again_t *again,
                                     const opc_result_t *reference, opc_error_t *error) {
  const opc_status_t status = add_patterns(tolerance, again, reference, error);
  again->replay->pattern = 0;
  return status;
}

static bool some_unmoved(const opc_tolerance_t *tolerance, const opc_result_t *reference) {
  for (size_t i = 0; i < reference->count; i++)
    if (opc_result_is_measurable(&reference->items[i]) && !tolerance->changed[i]) return true;
  return false;
}

static opc_status_t tolerance_make(opc_tolerance_t *tolerance, size_t count, opc_error_t *error) {
  *tolerance = (opc_tolerance_t){.count = count,
                                 .change = calloc(count + 1, sizeof *tolerance->change),
                                 .changed = calloc(count + 1, sizeof *tolerance->changed)};
  return tolerance->change && tolerance->changed
             ? OPC_OK
             : opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a tolerance");
}

/* Results that depend only on whole numbers get their scale from those. */
static opc_status_t measure_whole_numbers(opc_tolerance_t *tolerance, const opc_again_t *again,
                                          const opc_result_t *reference, opc_error_t *error) {
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t whole = {0};
  OPC_RETURN_IF_ERROR(tolerance_make(&whole, tolerance->count, error));
  again->replay->fractions = false;
  const opc_status_t status = measure_patterns(&whole, again, reference, error);
  again->replay->fractions = true;
  OPC_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < tolerance->count; i++) {
    if (tolerance->changed[i]) continue;
    tolerance->change[i] = whole.change[i];
    tolerance->changed[i] = whole.changed[i];
  }
  return OPC_OK;
}

opc_status_t opc_tolerance_measure(opc_tolerance_t *tolerance, const opc_again_t *again, const opc_result_t *reference,
                                   opc_error_t *error) {
  OPC_RETURN_IF_ERROR(tolerance_make(tolerance, reference->count, error));
  OPC_RETURN_IF_ERROR(measure_patterns(tolerance, again, reference, error));
  if (again->replay->fractions && some_unmoved(tolerance, reference))
    OPC_RETURN_IF_ERROR(measure_whole_numbers(tolerance, again, reference, error));
  if (has_only_integers(again->replay)) add_largest(tolerance, reference);
  return OPC_OK;
}

static void far_add(double *far, const opc_result_item_t *before, const opc_result_item_t *after) {
  if (before->kind != after->kind || before->size != after->size || !opc_result_is_measurable(before) || !after->bytes)
    return;
  for (int64_t e = 0; e < before->meta.numel; e++) {
    double change = number_distance(element(before, e), element(after, e));
    if (isfinite(change) && change > far[e]) far[e] = change;
  }
}

static opc_status_t add_far_patterns(opc_tolerance_t *tolerance, const opc_again_t *again,
                                     const opc_result_t *reference, opc_error_t *error) {
  int *pattern = &again->replay->pattern;
  for (*pattern = 1; *pattern <= OPC_REPLAY_PATTERNS; ++*pattern) {
    OPC_SCOPED(opc_result_clear) opc_result_t moved = {0};
    opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
    OPC_RETURN_IF_ERROR(opc_again_run(again, &moved, &outcome, NULL, error));
    for (size_t i = 0; moved.count == reference->count && i < reference->count; i++)
      far_add(tolerance->far[i], &reference->items[i], &moved.items[i]);
  }
  return OPC_OK;
}

opc_status_t opc_tolerance_measure_far(opc_tolerance_t *tolerance, const opc_again_t *again,
                                       const opc_result_t *reference, opc_error_t *error) {
  bool complete = true;
  tolerance->far = calloc(reference->count + 1, sizeof *tolerance->far);
  for (size_t i = 0; tolerance->far && complete && i < reference->count; i++) {
    tolerance->far[i] = calloc((size_t)reference->items[i].meta.numel + 1, sizeof **tolerance->far);
    complete = tolerance->far[i];
  }
  if (!tolerance->far || !complete) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a tolerance");
  again->replay->far = true;
  const opc_status_t status = add_far_patterns(tolerance, again, reference, error);
  again->replay->pattern = 0;
  again->replay->far = false;
  return status;
}

void opc_tolerance_clear(opc_tolerance_t *tolerance) {
  for (size_t i = 0; tolerance->far && i < tolerance->count; i++) free(tolerance->far[i]);
  free(tolerance->far);
  free(tolerance->change);
  free(tolerance->changed);
  *tolerance = (opc_tolerance_t){0};
}

/* The coarser of the item's own dtype and the narrow one: the result cannot be more precise. */
static opc_dtype_t coarser(opc_dtype_t own, opc_dtype_t narrow) {
  if (narrow == OPC_DTYPE_OTHER) return own;
  return opc_dtype_digits(narrow) < opc_dtype_digits(own) ? narrow : own;
}

double opc_result_largest(const opc_result_item_t *item) {
  double result = 0.0;
  for (int64_t e = 0; opc_result_is_measurable(item) && e < item->meta.numel; e++) {
    double value = magnitude(element(item, e));
    if (isfinite(value) && value > result) result = value;
  }
  return result;
}

static int bound_ulps(const opc_bound_t *bound, size_t item) {
  opc_dtype_t dtype = coarser(bound->got->items[item].meta.dtype, bound->narrow);
  return opc_dtype_is_float8(dtype) && bound->ulps > OPC_TOLERANCE_FLOAT8_ULPS ? OPC_TOLERANCE_FLOAT8_ULPS
                                                                               : bound->ulps;
}

static double bound_value(const opc_bound_t *bound, size_t item, int64_t e) {
  const opc_result_item_t *got = &bound->got->items[item], *reference = &bound->reference->items[item];
  if (bound->relative && bound->relative[got->meta.dtype] >= 0.0)
    return bound->relative[got->meta.dtype] * opc_result_largest(reference);
  opc_dtype_t dtype = coarser(got->meta.dtype, bound->narrow);
  double value = magnitude(element(reference, e)),
         normal = ldexp(opc_dtype_ulp(dtype, 0.0), opc_dtype_digits(dtype) - 1);
  double change = bound->tolerance ? bound->tolerance->change[item] : 0.0;
  double scale = OPC_TOLERANCE_FACTOR * change;
  if (bound->tolerance && bound->tolerance->far) scale = fmax(scale, bound->tolerance->far[item][e]);
  double allowed = scale + bound_ulps(bound, item) * opc_dtype_ulp(dtype, value);
  if (bound->at_least) allowed = fmax(allowed, bound->at_least[item]);
  return value < normal && allowed < normal
             ? normal
             : allowed; /* a subnormal number has lost digits that its last place does not show */
}

json_t *opc_bound_evidence(const opc_bound_t *bound, const opc_difference_t *difference) {
  return json_pack("{s:f, s:f, s:i, s:i}", "bound", bound_value(bound, difference->item, difference->first),
                   "change_by_one_ulp", bound->tolerance->change[difference->item], "factor", OPC_TOLERANCE_FACTOR,
                   "ulps", bound_ulps(bound, difference->item));
}

/* A value that is too large may become infinity, NaN if the dtype has no infinity, or the largest number. */
static bool part_holds(double got, double reference, double bound, opc_dtype_t dtype) {
  const double max = opc_dtype_max(dtype);
  if (isnan(reference)) return isnan(got);
  if (fabs(reference) > max)
    return !isfinite(got) || fabs(got) >= max * 0.5; /* does not fit the dtype: any sign of overflow is accepted */
  if (isinf(got) || isnan(got))
    return isfinite(bound) ? fabs(reference) + bound > max && !(isnan(got) && opc_dtype_has_infinity(dtype)) : true;
  return fabs(got - reference) <= bound;
}

static bool is_same(const opc_result_item_t *got, const opc_result_item_t *reference, int64_t e) {
  const size_t at = (size_t)e * got->meta.itemsize;
  return opc_result_is_measurable(got) && opc_result_is_measurable(reference) &&
         opc_number_is_same(got->meta.dtype, (const char *)got->bytes + at, (const char *)reference->bytes + at);
}

bool opc_bound_holds(size_t item, int64_t e, void *context) {
  const opc_bound_t *bound = context;
  const opc_result_item_t *got = &bound->got->items[item], *reference = &bound->reference->items[item];
  if (bound->exact && bound->exact[item]) return bound->any_nan && is_same(got, reference, e);
  if (!opc_result_is_measurable(got) || !opc_result_is_measurable(reference))
    return bound->tolerance && bound->tolerance->changed[item];
  opc_number_t left = element(got, e), right = element(reference, e);
  const opc_dtype_t dtype = coarser(got->meta.dtype, bound->narrow);
  double allowed = bound_value(bound, item, e), max = opc_dtype_max(dtype);
  bool complex = left.kind == OPC_NUMBER_COMPLEX && right.kind == OPC_NUMBER_COMPLEX;
  if (complex && (fabs(right.c.re) > max || fabs(right.c.im) > max) && !(isfinite(left.c.re) && isfinite(left.c.im)))
    return true; /* if a product of complex numbers overflows, its other part becomes inf - inf */
  if (complex)
    return part_holds(left.c.re, right.c.re, allowed, dtype) && part_holds(left.c.im, right.c.im, allowed, dtype);
  return left.kind == right.kind && part_holds(left.f, right.f, allowed, dtype);
}

static size_t compared_width;
static int compare_elements(const void *left, const void *right) { return memcmp(left, right, compared_width); }

bool opc_result_moves_data(const opc_result_item_t *item, const opc_replay_t *replay) {
  if (!opc_result_is_measurable(item) || item->kind != OPC_VALUE_TENSOR || item->meta.numel == 0) return false;
  size_t width = item->meta.itemsize, total = 0;
  for (size_t i = 0; i < replay->count; i++)
    if (replay->tensor_args[i].dtype == item->meta.dtype) total += (size_t)replay->tensor_args[i].numel;
  OPC_SCOPED(opc_scope_free) unsigned char *pool = calloc(total + 1, width);
  if (!pool) return false;
  size_t used = 1; /* one zero element, for the padding of outputs */
  for (size_t i = 0; i < replay->count; i++) {
    if (replay->tensor_args[i].dtype != item->meta.dtype) continue;
    size_t bytes = (size_t)replay->tensor_args[i].numel * width;
    if (bytes) memcpy(pool + used * width, replay->tensor_args[i].bytes, bytes);
    used += (size_t)replay->tensor_args[i].numel;
  }
  compared_width = width;
  qsort(pool, used, width, compare_elements);
  static const unsigned char zero[16];
  bool moves = true, any = false; /* only zeros: these may as well be computed */
  for (int64_t e = 0; moves && e < item->meta.numel; e++) {
    const char *bytes = (const char *)item->bytes + (size_t)e * width;
    any = any || memcmp(bytes, zero, width < sizeof zero ? width : sizeof zero) != 0;
    moves = bsearch(bytes, pool, used, width, compare_elements);
  }
  return moves && any;
}

bool opc_case_loses_nan_bits(const opc_case_context_t *context) {
  return context->device.type == OPC_DEVICE_CUDA && (context->variant.families & OPC_VARIANT_BITS) != 0;
}
