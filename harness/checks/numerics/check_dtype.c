/* dtype: each dtype is compared with the operator itself in float64, or in float32 where float64 is refused, on numbers
 * that both dtypes can represent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "checks/compare/compare.h"
#include "checks/numerics/conversions.h"
#include "checks/numerics/dtype_many.h"

enum {
  MESSAGE_SIZE = 300,
  FEW = 50 /* one in this many elements may be where the result jumps */
};

/* Positions, counts, flags: the same numbers in any dtype, as long as a move of the inputs does not change them. */
static bool is_discrete(const opc_result_item_t *item) {
  return item->kind == OPC_VALUE_TENSOR && item->bytes && !opc_dtype_is_inexact(item->meta.dtype);
}

static bool comparable(const opc_result_item_t *got, const opc_result_item_t *reference) {
  bool discrete = is_discrete(got) && is_discrete(reference) && got->meta.dtype == reference->meta.dtype;
  if (!discrete && (!opc_result_is_measurable(got) || !opc_result_is_measurable(reference))) return false;
  const bool one_complex = (opc_dtype_class(got->meta.dtype) == OPC_CLASS_COMPLEX) !=
                           (opc_dtype_class(reference->meta.dtype) == OPC_CLASS_COMPLEX);
  return got->kind == reference->kind && !one_complex && opc_tensor_same_sizes(&got->meta, &reference->meta);
}

static bool element_holds(opc_bound_t *bound, size_t item, int64_t e) {
  const opc_result_item_t *got = &bound->got->items[item], *reference = &bound->reference->items[item];
  const size_t at = (size_t)e * got->meta.itemsize;
  bool same = is_discrete(got) &&
              memcmp((const char *)got->bytes + at, (const char *)reference->bytes + at, got->meta.itemsize) == 0;
  return same || opc_bound_holds(item, e, bound);
}

/* The dtypes differ on purpose, so opc_result_compare cannot be used. ties: the variant made many inputs equal, and
 * nothing says in which order equal numbers come. */
static opc_difference_t compare_widened(opc_bound_t *bound, bool ties, int64_t *out_compared) {
  opc_difference_t difference = {0};
  *out_compared = 0;
  for (size_t i = 0; i < bound->got->count && i < bound->reference->count; i++) {
    if (!comparable(&bound->got->items[i], &bound->reference->items[i])) continue;
    if (ties && is_discrete(&bound->got->items[i])) continue;
    int64_t wrong = 0, first = 0;
    for (int64_t e = 0; e < bound->got->items[i].meta.numel; e++)
      if (!element_holds(bound, i, e) && wrong++ == 0) first = e;
    *out_compared += bound->got->items[i].meta.numel;
    if (wrong && difference.kind == OPC_DIFFERENCE_NONE)
      difference = (opc_difference_t){.kind = OPC_DIFFERENCE_VALUE, .item = i, .first = first, .count = wrong};
  }
  return difference;
}

/* The exact result may not move at all, or by less than this dtype can show (the mean subtracted from a single number,
 * a row of two divided by its deviation); rounding still changes the result. The scale is then how much the narrow
 * result itself changes under the same small moves. In float32 it also counts if the exact result moves, but only up to
 * this many units: far less than a wrong accumulation loses there. */
static double with_own_noise(double change, double own, double unit, opc_dtype_t dtype) {
  enum { FLOAT32_DIGITS = 24, FLOAT32_UNITS = 8 };
  if (own <= change) return change;
  if (OPC_TOLERANCE_FACTOR * change < unit) return own;
  return opc_dtype_digits(dtype) >= FLOAT32_DIGITS ? fmax(change, fmin(own, FLOAT32_UNITS * unit)) : change;
}

static opc_status_t add_own_noise(const opc_again_t *narrow, opc_dtype_t dtype, const opc_result_t *got,
                                  opc_tolerance_t *tolerance, opc_error_t *error) {
  opc_again_t again = *narrow;
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t own = {0};
  again.label = (opc_call_label_t){OPC_CALL_KIND_ON_OTHERS, "moved inputs"};
  OPC_RETURN_IF_ERROR(opc_tolerance_measure(&own, &again, got, error));
  for (size_t i = 0; i < tolerance->count && i < own.count; i++) {
    if (is_discrete(&got->items[i])) tolerance->changed[i] |= own.changed[i];
    tolerance->change[i] = with_own_noise(tolerance->change[i], own.change[i],
                                          opc_dtype_ulp(dtype, opc_result_largest(&got->items[i])), dtype);
  }
  return OPC_OK;
}

/* ---- numbers that are not tensors ---- */

/* A kernel computes with them in its own dtype, so they are as uncertain as an element. True: some number was moved. */
static bool move_scalars(opc_value_t *value, opc_dtype_t dtype, double by) {
  bool moved = false;
  if (value->kind == OPC_VALUE_FLOAT && isfinite(value->floating) && value->floating != trunc(value->floating)) {
    value->floating += by * opc_dtype_ulp(dtype, value->floating);
    return true;
  }
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    moved = move_scalars(&value->list.items[i], dtype, by) || moved;
  return moved;
}

static opc_status_t add_scalar_moves(const opc_again_t *again, opc_dtype_t dtype, const opc_result_t *reference,
                                     opc_tolerance_t *tolerance, opc_error_t *error) {
  bool some = true;
  for (double by = -1.0; some && by <= 1.0; by += 2.0) {
    OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
    opc_again_t moved = *again;
    OPC_RETURN_IF_ERROR(opc_sample_copy(again->sample, &sample, error));
    some = false;
    for (size_t i = 0; i < sample.argument_count; i++)
      if (!sample.absent || !sample.absent[i]) some = move_scalars(&sample.arguments[i], dtype, by) || some;
    moved.sample = &sample;
    if (some) OPC_RETURN_IF_ERROR(opc_tolerance_add(tolerance, &moved, reference, error));
  }
  return OPC_OK;
}

static void report_wider(const opc_bound_t *bound, const opc_difference_t *difference, const char *wide,
                         opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  char reference[64];
  snprintf(reference, sizeof reference, "the same operator in %s", wide);
  const opc_result_item_t *item = &bound->got->items[difference->item];
  if (is_discrete(item)) {
    opc_difference_text(difference, bound->got, bound->reference, reference, &text);
    opc_finding_fail(finding, OPC_RULE_dtype_wrong_result,
                     "%s. Neither of the two changes when the inputs move by one unit in the last place",
                     opc_text_c(&text));
    opc_finding_differences(finding, difference, bound->got, bound->reference, opc_bound_holds,
                            (void *)(uintptr_t)bound);
    return;
  }
  opc_difference_text(difference, bound->got, bound->reference, reference, &text);
  opc_finding_fail(finding, OPC_RULE_dtype_wrong_result, "%s", opc_text_c(&text));
  opc_finding_differences(finding, difference, bound->got, bound->reference, opc_bound_holds, (void *)(uintptr_t)bound);
  json_t *tolerance = opc_bound_evidence(bound, difference);
  if (tolerance) json_object_set_new(tolerance, "output", json_string(item->path));
  opc_finding_evidence(finding, "tolerance", tolerance);
}

/* A sum that stopped growing is wrong in most elements. Among thousands of elements, some are where the result jumps,
 * and the moves do not hit each of them. */
static bool is_far_between(const opc_case_context_t *context, const opc_difference_t *difference,
                           const opc_result_t *got) {
  enum { MOST = 2 };
  return (context->rule->judge & OPC_JUDGE_MOST_ELEMENTS) && difference->kind != OPC_DIFFERENCE_NONE &&
         difference->count * MOST < got->items[difference->item].meta.numel;
}

/* If a vector or a tile is left out or counted twice, that is no rounding. A decomposition of a larger matrix is as
 * uncertain as its norm, not as its elements. */
static opc_status_t at_least_of(const opc_case_context_t *context, const opc_result_t *reference, double **out,
                                opc_error_t *error) {
  static const double part = 1.0 / 1024;
  if (!(context->rule->judge & OPC_JUDGE_BY_LARGEST)) return OPC_OK;
  *out = calloc(reference->count + 1, sizeof **out);
  if (!*out) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for bounds");
  for (size_t i = 0; i < reference->count; i++) (*out)[i] = part * opc_result_largest(&reference->items[i]);
  return OPC_OK;
}

typedef struct wide_dtypes {
  opc_dtype_t floating, complex;
} wide_dtypes_t;

/* The result in the widest of float64 and float32 that the operator accepts and that is wider than `dtype`. *out_wide
 * NULL: it accepts none; the message says what it says about float64. */
static opc_status_t take_reference(const opc_again_t *again, const opc_sample_t *narrow, opc_sample_t *wide,
                                   opc_dtype_t dtype, opc_result_t *reference, const char **out_wide,
                                   opc_text_t *message, opc_error_t *error) {
  static const wide_dtypes_t wider[] = {{OPC_DTYPE_FLOAT64, OPC_DTYPE_COMPLEX128},
                                        {OPC_DTYPE_FLOAT32, OPC_DTYPE_COMPLEX64}};
  *out_wide = NULL;
  for (size_t i = 0; !*out_wide && i < sizeof wider / sizeof *wider; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t refusal = {0};
    opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
    if (opc_dtype_digits(dtype) >= opc_dtype_digits(wider[i].floating)) break;
    opc_sample_clear(wide);
    opc_result_clear(reference);
    OPC_RETURN_IF_ERROR(opc_sample_copy(narrow, wide, error));
    opc_sample_widen_to(wide, wider[i].floating, wider[i].complex);
    OPC_RETURN_IF_ERROR(opc_again_run(again, reference, &outcome, i == 0 ? message : &refusal, error));
    if (outcome == OPC_CALL_RETURNED) *out_wide = opc_dtype_name(wider[i].floating);
  }
  return OPC_OK;
}

/* Compares with one more source of change after the other, until nothing differs. */
static opc_status_t compare_with_tolerance(const opc_again_t *again, const opc_again_t *narrow, opc_bound_t *bound,
                                           opc_tolerance_t *tolerance, bool ties, opc_difference_t *difference,
                                           opc_error_t *error) {
  const opc_dtype_t dtype = bound->narrow;
  int64_t compared;
  OPC_RETURN_IF_ERROR(opc_tolerance_measure(tolerance, again, bound->reference, error));
  bound->tolerance = tolerance;
  *difference = compare_widened(bound, ties, &compared);
  if (difference->kind == OPC_DIFFERENCE_NONE) return OPC_OK;
  OPC_RETURN_IF_ERROR(add_own_noise(narrow, dtype, bound->got, tolerance, error));
  *difference = compare_widened(bound, ties, &compared);
  if (difference->kind == OPC_DIFFERENCE_NONE) return OPC_OK;
  OPC_RETURN_IF_ERROR(add_scalar_moves(again, dtype, bound->reference, tolerance, error));
  *difference = compare_widened(bound, ties, &compared);
  if (difference->kind == OPC_DIFFERENCE_NONE ||
      difference->count > bound->got->items[difference->item].meta.numel / FEW + 1)
    return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_tolerance_measure_far(tolerance, again, bound->reference, error));
  *difference = compare_widened(bound, ties, &compared);
  return OPC_OK;
}

/* `narrow`: the call that gave `got`, with its sample and its values. */
static opc_status_t compare_with_wider(const opc_again_t *narrow, opc_dtype_t dtype, const opc_result_t *got,
                                       opc_finding_t *finding, opc_error_t *error) {
  const opc_case_context_t *context = narrow->context;
  OPC_SCOPED(opc_sample_clear) opc_sample_t wide = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t reference = {0};
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t tolerance = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  OPC_SCOPED(opc_scope_free) double *at_least = NULL;
  const char *wider = NULL;
  bool nondeterministic = false, signs = false;
  opc_again_t again = *narrow;
  again.sample = &wide;
  again.label = (opc_call_label_t){OPC_CALL_KIND_WIDE_REFERENCE, ""};
  OPC_RETURN_IF_ERROR(take_reference(&again, narrow->sample, &wide, dtype, &reference, &wider, &message, error));
  if (!wider)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                            "it runs, and there is no reference: float64 is refused: %.*s", MESSAGE_SIZE,
                            opc_text_c(&message));
  OPC_RETURN_IF_ERROR(at_least_of(context, &reference, &at_least, error));
  const double *stated = context->base && context->base->expect.has_tolerance ? context->base->expect.tolerance : NULL;
  opc_bound_t bound = {.got = got,
                       .reference = &reference,
                       .ulps = OPC_TOLERANCE_ULPS,
                       .narrow = dtype,
                       .relative = stated,
                       .at_least = at_least};
  const bool ties = (context->variant.families & OPC_VARIANT_CONTENTS) && strstr(context->id.variant, ".zero");
  int64_t compared = 0;
  opc_difference_t difference = compare_widened(&bound, ties, &compared);
  if (difference.kind != OPC_DIFFERENCE_NONE) /* measured only if needed: most results agree within a few units */
    OPC_RETURN_IF_ERROR(compare_with_tolerance(&again, narrow, &bound, &tolerance, ties, &difference, error));
  if (is_far_between(context, &difference, got)) difference.kind = OPC_DIFFERENCE_NONE;
  if (difference.kind != OPC_DIFFERENCE_NONE) OPC_RETURN_IF_ERROR(opc_signs_differ_only(&bound, &signs, error));
  if (signs) difference.kind = OPC_DIFFERENCE_NONE;
  if (difference.kind != OPC_DIFFERENCE_NONE && opc_operator_is_random(context->op))
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                            "it is random: another dtype may get other random numbers");
  if (difference.kind != OPC_DIFFERENCE_NONE)
    OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, &reference, &nondeterministic, error));
  if (nondeterministic) opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  else if (difference.kind != OPC_DIFFERENCE_NONE) report_wider(&bound, &difference, wider, finding);
  else if (compared)
    opc_finding_pass(finding, "%lld elements agree with the same operator in %s", (long long)compared, wider);
  else
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it runs; no output of the same shape can be compared with %s",
                     wider);

  return OPC_OK;
}

/* ---- more elements than a narrow dtype can count ---- */

/* Processor time after which no more is tried: a case that takes seconds counts as hung. */
static const double many_seconds = 0.5;

/* With positive values, whose sum grows, and if there is time with those of the sample. */
static opc_status_t check_many(const opc_again_t *narrow, opc_dtype_t dtype, opc_finding_t *finding,
                               opc_error_t *error) {
  const double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  const int64_t factor = opc_dtype_many_factor(dtype);
  bool can = finding->decided && finding->verdict == OPC_VERDICT_PASS;
  for (int own_values = 0; own_values < 2 && can && !finding->rule; own_values++) {
    OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
    OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
    OPC_SCOPED(opc_result_clear) opc_result_t got = {0};
    OPC_SCOPED(opc_finding_clear) opc_finding_t own = {0};
    if (opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began > many_seconds) return OPC_OK;
    OPC_RETURN_IF_ERROR(opc_dtype_many(narrow, factor, &sample, &values, &can, error));
    if (!can) return OPC_OK;
    if (!own_values) opc_dtype_make_positive(&values);
    opc_again_t many = *narrow;
    many.sample = &sample;
    many.replay = &values;
    many.label = (opc_call_label_t){OPC_CALL_KIND_ON_OTHERS, "many elements"};
    OPC_RETURN_IF_ERROR(opc_dtype_try_many(&many, &got, &can, error));
    if (can) OPC_RETURN_IF_ERROR(compare_with_wider(&many, dtype, &got, &own, error));
    if (!own.rule) continue; /* the sample's own verdict stays, whether there was time for this or not */
    opc_finding_clear(finding);
    *finding = own;
    own = (opc_finding_t){0};
    OPC_SCOPED(opc_scope_free)
    char *variant =
        opc_string_format("rows %d times as long%s", (int)factor, own_values ? "" : ", of positive numbers");
    if (!variant) return opc_out_of_memory(error);
    opc_finding_note_variant(finding, variant);
  }
  return OPC_OK;
}

/* ---- float64 computed in float32 ---- */

/* Number of low bits of a float64 that a float32 does not have, and below the first twelve: short numbers have zeros
 * there. */
enum { BEHIND_FLOAT32 = 29, BEHIND_SHORT = 40, LONG_LEAST = 3 };

static uint64_t bits_of(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

static bool has_bits(double number, int behind) { return (bits_of(number) & ((UINT64_C(1) << behind) - 1)) != 0; }

/* The numbers that a call gets. */
typedef struct long_values {
  const opc_replay_t *replay;
  size_t changed; /* the tensor argument that gets yet other numbers; SIZE_MAX: none */
  bool rounded;   /* to float32; otherwise moved by more than the rounding to float32 */
} long_values_t;

/* Slightly off, so that no float32 can represent it. Integers stay: they may be counts. */
static double long_value(double number, size_t index) {
  if (!isfinite(number) || number == trunc(number)) return number;
  return ldexp(number, -30) * (double)(1 + (index * 2654435761U) % 13) / 17 + number;
}

static opc_status_t give_long_values(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                     void *context, opc_error_t *error) {
  const long_values_t *values = context;
  const size_t bytes = (size_t)opc_tensor_spec_numel(spec) * opc_dtype_size(spec->dtype);
  (void)path;
  (void)error;
  memcpy(logical, values->replay->tensor_args[tensor_arg].bytes, bytes);
  if (spec->dtype != OPC_DTYPE_FLOAT64) return OPC_OK;
  for (size_t i = 0; i < bytes / sizeof(double); i++) {
    double number;
    memcpy(&number, (char *)logical + i * sizeof number, sizeof number);
    number = long_value(number, i);
    if (tensor_arg == values->changed && number != trunc(number) && isfinite(number))
      number = values->rounded ? (double)(float)number : number + ldexp(number, -21);
    memcpy((char *)logical + i * sizeof number, &number, sizeof number);
  }
  return OPC_OK;
}

/* A double computed in double precision has bits that no float has, unless it is a short number. The same number again
 * and again is probably a number argument, which may have been a float once. */
static bool has_float32_numbers(const opc_result_item_t *item, double *out_example, int64_t *out_numbers) {
  double before[LONG_LEAST] = {0};
  int different = 0;
  *out_numbers = 0;
  if (item->kind != OPC_VALUE_TENSOR || item->meta.dtype != OPC_DTYPE_FLOAT64 || item->argument || !item->bytes)
    return false;
  for (int64_t e = 0; e < item->meta.numel; e++) {
    double number;
    memcpy(&number, (const char *)item->bytes + (size_t)e * sizeof number, sizeof number);
    if (!isfinite(number)) continue;
    if (has_bits(number, BEHIND_FLOAT32)) return false;
    if (!has_bits(number, BEHIND_SHORT) || number == trunc(number)) continue; /* whole arguments stay whole */
    bool known = false;
    for (int i = 0; i < different; i++) known |= before[i] == number;
    if (!known && different < LONG_LEAST) before[different++] = number;
    *out_example = number;
    ++*out_numbers;
  }
  return different >= LONG_LEAST;
}

/* The caller chooses the dtype of such an output, so it does not show the dtype of the computation. */
static bool has_out_argument(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++)
    if (op->arguments[i].kwarg_only && op->arguments[i].alias.present && op->arguments[i].alias.is_write) return true;
  return false;
}

static opc_status_t run_long(opc_case_context_t *context, long_values_t *values, opc_result_t *out, bool *out_returned,
                             opc_error_t *error) {
  const opc_again_t again = {.context = context,
                             .values = give_long_values,
                             .values_context = values,
                             .label = {OPC_CALL_KIND_ON_OTHERS, "numbers that only float64 holds"}};
  return opc_again_try(&again, out, out_returned, error);
}

/* How many of the float64 numbers that are returned differ; *out_all: the total number. */
static int64_t count_differing(const opc_result_t *left, const opc_result_t *right, int64_t *out_all) {
  int64_t differing = 0;
  *out_all = 0;
  for (size_t i = 0; i < left->count && i < right->count; i++) {
    const opc_result_item_t *one = &left->items[i], *other = &right->items[i];
    if (one->kind != OPC_VALUE_TENSOR || one->meta.dtype != OPC_DTYPE_FLOAT64 || one->argument || !one->bytes ||
        !other->bytes || one->size != other->size)
      continue;
    for (size_t at = 0; at + sizeof(double) <= one->size; at += sizeof(double))
      differing += memcmp((const char *)one->bytes + at, (const char *)other->bytes + at, sizeof(double)) != 0;
    *out_all += (int64_t)(one->size / sizeof(double));
  }
  return differing;
}

/* The result depends on the argument, but not on the bits that float32 drops. An operator that only compares its
 * numbers, or rounds them to a grid, does not react to a small move either. */
static opc_status_t check_rounded(opc_case_context_t *context, opc_replay_t *replay, size_t tensor_arg,
                                  const char *path, const opc_result_t *usual, opc_finding_t *finding,
                                  opc_error_t *error) {
  long_values_t rounded = {.replay = replay, .changed = tensor_arg, .rounded = true};
  long_values_t moved = {.replay = replay, .changed = tensor_arg};
  OPC_SCOPED(opc_result_clear) opc_result_t of_rounded = {0}, of_moved = {0};
  bool returned = false;
  int64_t all = 0;
  OPC_RETURN_IF_ERROR(run_long(context, &rounded, &of_rounded, &returned, error));
  if (!returned || count_differing(usual, &of_rounded, &all) > 0 || all < LONG_LEAST) return OPC_OK;
  OPC_RETURN_IF_ERROR(run_long(context, &moved, &of_moved, &returned, error));
  const int64_t differing = returned ? count_differing(usual, &of_moved, &all) : 0;
  if (differing >= LONG_LEAST && 2 * differing >= all)
    opc_finding_fail(finding, OPC_RULE_dtype_narrow_computation,
                     "the result has the same bits with %s rounded to float32, but other bits with %s changed by one "
                     "part in two million: float64 numbers of %s are read as float32",
                     path, path, path);
  return OPC_OK;
}

static opc_status_t check_narrow(opc_case_context_t *context, const opc_call_t *call, opc_replay_t *replay,
                                 opc_finding_t *finding, opc_error_t *error) {
  long_values_t values = {.replay = replay, .changed = SIZE_MAX};
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0};
  bool returned = false;
  OPC_RETURN_IF_ERROR(run_long(context, &values, &got, &returned, error));
  for (size_t i = 0; returned && i < got.count; i++) {
    double example = 0;
    int64_t numbers = 0;
    if (!has_float32_numbers(&got.items[i], &example, &numbers)) continue;
    opc_finding_fail(
        finding, OPC_RULE_dtype_narrow_computation,
        "%s is float64, but each of its numbers fits in float32, such as %.17g, and the arguments' do not: "
        "something is computed in float32",
        got.items[i].path, example);
    opc_finding_evidence(finding, "numbers", json_integer((json_int_t)numbers));
  }
  for (size_t i = 0; returned && !finding->decided && i < call->tensor_arg_count; i++)
    if (call->tensor_args[i].spec->dtype == OPC_DTYPE_FLOAT64)
      OPC_RETURN_IF_ERROR(check_rounded(context, replay, i, call->tensor_args[i].path, &got, finding, error));
  return OPC_OK;
}

static bool has_float64(const opc_sample_t *sample) {
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++)
    if (spec->dtype == OPC_DTYPE_FLOAT64) return true;
  return false;
}

static opc_status_t check_float64(opc_case_context_t *context, const opc_call_t *call, opc_replay_t *replay,
                                  opc_finding_t *finding, opc_error_t *error) {
  const bool real = opc_dtype_find(context->id.dtype) == OPC_DTYPE_FLOAT64;
  const opc_status_t status =
      real && !has_out_argument(context->op) ? check_narrow(context, call, replay, finding, error) : OPC_OK;
  if (finding->rule && !has_float64(context->base)) opc_finding_evidence(finding, "unasked_dtype", json_true());
  OPC_RETURN_IF_ERROR(status);
  if (!finding->decided)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "it runs on %s, which is the reference of the other dtypes: there is nothing to compare",
                     context->id.dtype);
  return OPC_OK;
}

static opc_status_t check_dtype(opc_case_context_t *context, const opc_call_t *call, opc_replay_t *replay,
                                opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0};
  const opc_dtype_t dtype = opc_dtype_find(context->id.dtype);
  if (!opc_dtype_is_inexact(dtype))
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                            "it runs on %s; integers have no float64 reference: there is nothing to compare",
                            context->id.dtype);
  if (dtype == OPC_DTYPE_FLOAT64 || dtype == OPC_DTYPE_COMPLEX128)
    return check_float64(context, call, replay, finding, error);
  OPC_RETURN_IF_ERROR(opc_result_take(&got, call, OPC_RESULT_ARGUMENTS, error));
  const opc_again_t narrow = {.context = context, .sample = context->sample, .replay = replay};
  OPC_RETURN_IF_ERROR(compare_with_wider(&narrow, dtype, &got, finding, error));
  return context->rule->judge & OPC_JUDGE_MOST_ELEMENTS ? check_many(&narrow, dtype, finding, error) : OPC_OK;
}

static opc_status_t dtype_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t replay = {0};
  const bool conversions = (context->rule->judge & OPC_JUDGE_CONVERSIONS) != 0;
  const char *unseen = conversions ? opc_conversions_unseen(context) : NULL;
  if (unseen) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", unseen);
  if (!opc_case_call_keeping(context, &replay, &call, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_conversions_check(context, &replay, finding, error));
  if (conversions) return OPC_OK;
  return check_dtype(context, &call, &replay, finding, error);
}

const opc_check_t opc_check_dtype = {.name = "dtype", .run = dtype_run};
