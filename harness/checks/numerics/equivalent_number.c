#include "checks/numerics/equivalent.h"

#include <math.h>

#include "checks/compare/compare.h"

/* Relative changes of a number that float32 holds exactly: one that float32 cannot hold, and one eight times as large,
 * which it can. Where the larger one moves a result by many units of float64, the smaller one would have shown. */
static const double unseen = 0x1p-26, seen = 0x1p-23, least_units = 1024;
static const double smallest = 1e-30, largest = 1e30;

typedef struct number {
  opc_case_context_t *context;
  opc_replay_t *values;
  size_t argument;
  opc_error_t *error;
} number_t;

static const opc_type_t *argument_type(const opc_operator_t *op, size_t argument) {
  const opc_type_t *type = &op->arguments[argument].type;
  return type->kind == OPC_TYPE_OPTIONAL ? type->element : type;
}

static opc_status_t run_with_number(const number_t *number, opc_value_t value, opc_result_t *out, bool *out_returned) {
  return opc_equivalent_with_number(number->context, number->values, number->argument, value, out, out_returned,
                                    number->error);
}

static opc_value_t floating_value(double number) { return (opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = number}; }
static opc_value_t integer_value(int64_t number) { return (opc_value_t){.kind = OPC_VALUE_INT, .integer = number}; }

/* Runs with both values. *out_compared: both calls returned; *out_same: with the same bits. */
static opc_status_t are_same(const number_t *number, opc_value_t left, opc_value_t right, bool *out_compared,
                             bool *out_same) {
  OPC_SCOPED(opc_result_clear) opc_result_t left_result = {0}, right_result = {0};
  bool returned = false;
  OPC_RETURN_IF_ERROR(run_with_number(number, left, &left_result, &returned));
  if (returned) OPC_RETURN_IF_ERROR(run_with_number(number, right, &right_result, &returned));
  *out_compared = returned && opc_result_numel(&left_result) > 0;
  *out_same = *out_compared && opc_result_compare(&left_result, &right_result, NULL, NULL).kind == OPC_DIFFERENCE_NONE;
  return OPC_OK;
}

/* ---- floating numbers ---- */

typedef struct pair {
  const opc_result_t *left, *right;
} pair_t;

/* For opc_result_compare. False: this number of float64 moved so far that a smaller step would have shown. */
static bool moves_little(size_t item, int64_t element, void *context) {
  const pair_t *pair = context;
  const opc_result_item_t *left = &pair->left->items[item], *right = &pair->right->items[item];
  const size_t at = (size_t)element * sizeof(double);
  if (left->meta.dtype != OPC_DTYPE_FLOAT64 || !opc_result_is_measurable(left) || !opc_result_is_measurable(right))
    return true;
  const double a = opc_number_load_double(OPC_DTYPE_FLOAT64, (const char *)left->bytes + at),
               b = opc_number_load_double(OPC_DTYPE_FLOAT64, (const char *)right->bytes + at);
  return !(fabs(a - b) >= least_units * opc_dtype_ulp(OPC_DTYPE_FLOAT64, fmax(fabs(a), fabs(b))));
}

static opc_status_t check_float(const number_t *number, bool *out_compared_any, opc_finding_t *finding) {
  OPC_SCOPED(opc_result_clear) opc_result_t exact = {0}, moved = {0};
  const opc_operator_t *op = number->context->op;
  const double own = (float)opc_sample_number(number->context->sample, op, number->argument);
  bool returned = false, compared = false, same = false;
  if (!(fabs(own) >= smallest && fabs(own) <= largest)) return OPC_OK;
  OPC_RETURN_IF_ERROR(are_same(number, floating_value(own * (1 + unseen)), floating_value(own), &compared, &same));
  *out_compared_any |= compared;
  if (!same) return OPC_OK;
  OPC_RETURN_IF_ERROR(run_with_number(number, floating_value(own), &exact, &returned));
  if (returned) OPC_RETURN_IF_ERROR(run_with_number(number, floating_value(own * (1 + seen)), &moved, &returned));
  pair_t pair = {.left = &exact, .right = &moved};
  if (!returned || opc_result_compare(&exact, &moved, moves_little, &pair).kind != OPC_DIFFERENCE_VALUE) return OPC_OK;
  return opc_finding_fail(
      finding, OPC_RULE_equivalent_narrow_number,
      "with %s = %.17g and with %.17g the result has the same bits, but not with %.17g: of this number the "
      "operator keeps what float32 holds, although its tensors are float64",
      op->arguments[number->argument].name, own, own * (1 + unseen), own * (1 + seen));
}

opc_status_t opc_equivalent_float(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  bool compared_any = false;
  if (!opc_case_call_keeping(context, &values, &call, finding)) return OPC_OK;
  for (size_t i = 0; i < context->op->argument_count && !finding->decided; i++) {
    const opc_type_kind_t kind = argument_type(context->op, i)->kind;
    const number_t number = {.context = context, .values = &values, .argument = i, .error = error};
    if (kind == OPC_TYPE_SCALAR || kind == OPC_TYPE_FLOAT)
      OPC_RETURN_IF_ERROR(check_float(&number, &compared_any, finding));
  }
  if (!finding->decided) OPC_RETURN_IF_ERROR(opc_equivalent_cut(context, &values, false, finding, error));
  if (compared_any) return opc_finding_pass(finding, "number arguments keep all bits of float64");
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no number is given whose bits could be compared");
}

/* ---- integers ---- */

/* A product of two numbers below this stays in range, and a product with 2^32 is not 0 modulo 2^64. */
static const int64_t moderate = INT64_C(1) << 31;

static bool are_moderate(const opc_replay_t *values) {
  for (size_t i = 0; i < values->count; i++) {
    const struct opc_replay_tensor_arg *arg = &values->tensor_args[i];
    const int64_t *numbers = arg->bytes;
    for (int64_t k = 0; arg->dtype == OPC_DTYPE_INT64 && k < arg->numel; k++)
      if (numbers[k] >= moderate || numbers[k] <= -moderate) return false;
  }
  return true;
}

/* Two integers that differ only in bits that may be lost, and one that differs in others. */
static const struct lost_bits {
  int64_t base, lost, kept; /* lost and kept are added to the base; 0: to the sample's integer */
  const char *holds;
} lost_bits[] = {{0, INT64_C(1) << 32, 1, "32 bits"}, {INT64_C(1) << 53, 1, 2, "what a double holds"}};

static bool differ_in_int64(const opc_result_t *left, const opc_result_t *right) {
  const opc_difference_t difference = opc_result_compare(left, right, NULL, NULL);
  const opc_result_item_t *item = difference.kind == OPC_DIFFERENCE_VALUE ? &left->items[difference.item] : NULL;
  return item && item->kind == OPC_VALUE_TENSOR && item->meta.dtype == OPC_DTYPE_INT64;
}

static opc_status_t check_integer(const number_t *number, const struct lost_bits *bits, bool *out_compared_any,
                                  opc_finding_t *finding) {
  OPC_SCOPED(opc_result_clear) opc_result_t base = {0}, kept = {0};
  const opc_operator_t *op = number->context->op;
  const double given = opc_sample_number(number->context->sample, op, number->argument);
  bool compared = false, same = false, returned = false;
  if (!(fabs(given) < (double)moderate) || given != trunc(given)) return OPC_OK;
  const int64_t own = bits->base ? bits->base : (int64_t)given;
  OPC_RETURN_IF_ERROR(are_same(number, integer_value(own), integer_value(own + bits->lost), &compared, &same));
  *out_compared_any |= compared;
  if (!same) return OPC_OK;
  OPC_RETURN_IF_ERROR(run_with_number(number, integer_value(own), &base, &returned));
  if (returned) OPC_RETURN_IF_ERROR(run_with_number(number, integer_value(own + bits->kept), &kept, &returned));
  if (returned && differ_in_int64(&base, &kept))
    opc_finding_fail(finding, OPC_RULE_equivalent_narrow_number,
                     "with %s = %lld and with %lld the result has the same bits, but not with %lld: of this number the "
                     "operator keeps %s, although its tensors are int64",
                     op->arguments[number->argument].name, (long long)own, (long long)(own + bits->lost),
                     (long long)(own + bits->kept), bits->holds);
  return OPC_OK;
}

opc_status_t opc_equivalent_integer(opc_case_context_t *context, opc_replay_t *values, bool *out_compared_any,
                                    opc_finding_t *finding, opc_error_t *error) {
  if (!are_moderate(values)) return OPC_OK;
  for (size_t i = 0; i < context->op->argument_count; i++) {
    const number_t number = {.context = context, .values = values, .argument = i, .error = error};
    if (argument_type(context->op, i)->kind != OPC_TYPE_SCALAR) continue;
    for (size_t k = 0; k < sizeof lost_bits / sizeof *lost_bits && !finding->decided; k++)
      OPC_RETURN_IF_ERROR(check_integer(&number, &lost_bits[k], out_compared_any, finding));
  }
  if (!finding->decided) OPC_RETURN_IF_ERROR(opc_equivalent_cut(context, values, true, finding, error));
  return OPC_OK;
}
