/* equivalent: the same call, written differently, gives the same result. */
#include <math.h>
#include <string.h>

#include "checks/compare/compare.h"
#include "checks/numerics/equivalent.h"

/* The other call means another thing altogether if it is wrong. Rounding, and a sum in another order, stay below. */
static const double close_enough = 1e-3;

typedef struct pair {
  const opc_result_t *got, *wanted;
  opc_replay_t *values; /* of the case's arguments */
} pair_t;

static bool numbers_are_near(double left, double right) {
  if (isnan(left) || isnan(right)) return isnan(left) && isnan(right);
  return left == right || fabs(left - right) <= close_enough * fmax(fabs(left), fabs(right));
}

static bool element_is_close(size_t item, int64_t element, void *context) {
  const pair_t *pair = context;
  const opc_result_item_t *got = &pair->got->items[item], *wanted = &pair->wanted->items[item];
  const opc_dtype_t dtype = got->meta.dtype;
  const size_t at = (size_t)element * opc_dtype_size(dtype);
  if (!opc_result_is_measurable(got) || !opc_result_is_measurable(wanted)) return false;
  const opc_number_t left = opc_number_load(dtype, (const char *)got->bytes + at),
                     right = opc_number_load(dtype, (const char *)wanted->bytes + at);
  if (opc_dtype_class(dtype) == OPC_CLASS_COMPLEX)
    return numbers_are_near(left.c.re, right.c.re) && numbers_are_near(left.c.im, right.c.im);
  return numbers_are_near(left.f, right.f);
}

/* How the call is written differently. */
typedef struct way {
  const char *variant;
  opc_rule_id_t rule;
  const char *pass, *usual; /* usual: names the sample's own result */
  bool dtype;               /* an argument has another dtype */
} way_t;

static const way_t *way_of(const opc_case_context_t *context) {
  static const char own[] = "with the sample's own dtype it";
  static const way_t ways[] = {
      {".from_end", OPC_RULE_equivalent_negative_dim, "a dimension counted from the end gives the same",
       "with the dimension counted from the front it", false},
      {".other_width", OPC_RULE_equivalent_index_dtype, "integers of another width give the same", own, true},
      {".other_float", OPC_RULE_equivalent_float_dtype, "floating numbers of another width give the same", own, true}};
  size_t i = 0;
  while (i + 1 < sizeof ways / sizeof *ways && !strstr(context->id.variant, ways[i].variant)) i++;
  return &ways[i];
}

/* Why a difference would prove nothing; NULL: it counts. */
static const char *excuse(const way_t *way, const opc_call_t *call, const opc_result_t *got,
                          const opc_difference_t *difference) {
  const opc_result_item_t *item = &got->items[difference->item];
  if (way->dtype) {
    if (difference->kind == OPC_DIFFERENCE_DTYPE) return "the dtype of the result follows that of the argument";
    if (difference->kind != OPC_DIFFERENCE_VALUE) return "the shape of the result follows the dtype of the argument";
    if (item->kind != OPC_VALUE_TENSOR) return "a number may describe the dtype of the argument";
    return NULL;
  }
  for (size_t i = 0; i < got->count; i++)
    if (call->tensor_arg_count > 0 && got->items[i].meta.ndim > call->tensor_args[0].before.ndim)
      return "the result has more dimensions than the argument: the dimension may be one of the result's";
  return NULL;
}

/* Whether the sample's own result differs from call to call, too. */
static opc_status_t is_random_anyway(opc_case_context_t *context, const opc_result_t *usual, bool *out,
                                     opc_error_t *error) {
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  opc_again_t base = {
      .context = context, .sample = context->base, .label = {OPC_CALL_KIND_ON_OTHERS, "the sample itself, again"}};
  OPC_RETURN_IF_ERROR(opc_again_values(&base, &values, error));
  base.replay = &values;
  return opc_result_is_nondeterministic(&base, usual, out, error);
}

static opc_status_t compare_pair(opc_case_context_t *context, const opc_call_t *call, const pair_t *pair,
                                 opc_finding_t *finding, opc_error_t *error) {
  const way_t *way = way_of(context);
  const opc_again_t again = {.context = context, .replay = pair->values, .label = {OPC_CALL_KIND_OPERATOR, "again"}};
  const opc_difference_t difference =
      opc_result_compare(pair->got, pair->wanted, element_is_close, (void *)(uintptr_t)pair);
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  bool random = false, anyway = false;
  if (difference.kind == OPC_DIFFERENCE_NONE) return opc_finding_pass(finding, "%s", way->pass);
  const char *why = excuse(way, call, pair->got, &difference);
  OPC_RETURN_IF_ERROR(why ? OPC_OK : opc_result_is_nondeterministic(&again, pair->got, &random, error));
  /* If only the other call is random, the operator reads memory there that no argument holds. */
  OPC_RETURN_IF_ERROR(random ? is_random_anyway(context, pair->wanted, &anyway, error) : OPC_OK);
  if (anyway) why = OPC_NONDETERMINISTIC_TEXT;
  if (why) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", why);
  opc_difference_text(&difference, pair->got, pair->wanted, way->usual, &text);
  opc_finding_differences(finding, &difference, pair->got, pair->wanted, element_is_close, (void *)(uintptr_t)pair);
  return opc_finding_fail(
      finding, way->rule, "%s%s", opc_text_c(&text),
      random ? "; when it is repeated, it differs from call to call, and the sample's own result does not" : "");
}

static opc_status_t check_written_differently(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0}, wanted = {0};
  const opc_again_t base = {
      .context = context, .sample = context->base, .label = {OPC_CALL_KIND_ON_OTHERS, "the sample itself"}};
  const pair_t pair = {.got = &got, .wanted = &wanted, .values = &values};
  bool returned = false;
  if (!opc_case_call_keeping(context, &values, &call, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_take(&got, &call, OPC_RESULT_ARGUMENTS, error));
  OPC_RETURN_IF_ERROR(opc_again_try(&base, &wanted, &returned, error));
  if (returned && opc_result_numel(&got) > 0) return compare_pair(context, &call, &pair, finding, error);
  return opc_finding_skip(
      finding, OPC_SKIP_NOT_APPLICABLE, "%s",
      returned ? "nothing is returned that could be compared" : "the sample itself is refused here");
}

static opc_status_t equivalent_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  const unsigned families = context->variant.families;
  if (families & OPC_VARIANT_PLAIN && strcmp(context->id.dtype, "float64") == 0)
    return opc_equivalent_float(context, finding, error);
  if (families & OPC_VARIANT_PLAIN) return opc_equivalent_narrow(context, finding, error);
  if (families & OPC_VARIANT_SPECIAL) return opc_equivalent_ignored(context, finding, error);
  if (!(families & OPC_VARIANT_EQUIVALENT)) return opc_equivalent_uneven(context, finding, error);
  return check_written_differently(context, finding, error);
}

const opc_check_t opc_check_equivalent = {.name = "equivalent", .run = equivalent_run};
