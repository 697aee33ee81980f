#include <math.h>

#include "checks/compare/compare.h"
#include "checks/numerics/equivalent.h"

/* Between two integers: close to them, and on both sides of their middle. */
static const double parts[] = {0.0625, 0.4375, 0.5625, 0.9375};
static const double cut_largest = 0x1p20;
enum { STEPS = 2, FEW_ELEMENTS = 4, ROUNDING_UNITS = 64 };

typedef struct cut {
  opc_case_context_t *context;
  opc_replay_t *values;
  size_t argument;
  bool integers; /* the tensors hold integers: nothing lies between two of them */
  opc_error_t *error;
} cut_t;

static opc_status_t run_at(const cut_t *cut, double number, opc_result_t *out, bool *out_returned) {
  const opc_value_t value = {.kind = OPC_VALUE_FLOAT, .floating = number};
  return opc_equivalent_with_number(cut->context, cut->values, cut->argument, value, out, out_returned, cut->error);
}

static bool are_equal(const opc_result_t *left, const opc_result_t *right) {
  return opc_result_compare(left, right, NULL, NULL).kind == OPC_DIFFERENCE_NONE;
}

/* Some element that the number changes is something else than the number, which is only put there. */
static bool is_computed(const opc_result_item_t *item, const opc_result_item_t *other, double number) {
  for (int64_t i = 0; i < item->meta.numel; i++) {
    const size_t at = (size_t)i * item->meta.itemsize;
    const double left = opc_number_load_double(item->meta.dtype, (const char *)item->bytes + at),
                 right = opc_number_load_double(item->meta.dtype, (const char *)other->bytes + at);
    if (left != right && left != number) return true;
  }
  return false;
}

typedef struct neighbours {
  const opc_result_t *below, *above;
} neighbours_t;

/* For opc_result_compare. A power, and the root of the same degree, give the number again but for its last bits. */
static bool differs_by_rounding(size_t item, int64_t element, void *context) {
  const neighbours_t *neighbours = context;
  const opc_result_item_t *below = &neighbours->below->items[item], *above = &neighbours->above->items[item];
  const size_t at = (size_t)element * below->meta.itemsize;
  if (!opc_result_is_measurable(below) || !opc_result_is_measurable(above)) return false;
  if (opc_dtype_class(below->meta.dtype) == OPC_CLASS_COMPLEX) return false;
  const double a = opc_number_load_double(below->meta.dtype, (const char *)below->bytes + at),
               b = opc_number_load_double(above->meta.dtype, (const char *)above->bytes + at);
  return fabs(a - b) <= ROUNDING_UNITS * opc_dtype_ulp(below->meta.dtype, fmax(fabs(a), fabs(b)));
}

/* The next integer changes most of a result. A number that elements are compared with changes few of them at once. */
static bool changes_most(const cut_t *cut, const opc_result_t *left, const opc_result_t *right, double number) {
  neighbours_t neighbours = {.below = left, .above = right};
  const opc_difference_t difference = opc_result_compare(left, right, differs_by_rounding, &neighbours);
  const opc_result_item_t *item = difference.kind == OPC_DIFFERENCE_VALUE ? &left->items[difference.item] : NULL;
  if (!item || item->kind != OPC_VALUE_TENSOR || !item->bytes) return false;
  if (opc_dtype_class(item->meta.dtype) == OPC_CLASS_COMPLEX) return false;
  if (cut->integers && (item->meta.dtype != OPC_DTYPE_INT64 || item->meta.numel < FEW_ELEMENTS)) return false;
  return difference.count * 2 > item->meta.numel &&
         (!cut->integers || is_computed(item, &right->items[difference.item], number));
}

/* *out: what lies between this integer and the next gives what one of the two gives. */
static opc_status_t is_step(const cut_t *cut, double integer, bool *out) {
  OPC_SCOPED(opc_result_clear) opc_result_t below = {0}, above = {0};
  bool returned = false;
  *out = false;
  OPC_RETURN_IF_ERROR(run_at(cut, integer, &below, &returned));
  if (!returned || opc_result_numel(&below) == 0) return OPC_OK;
  OPC_RETURN_IF_ERROR(run_at(cut, integer + 1, &above, &returned));
  if (!returned || !changes_most(cut, &below, &above, integer)) return OPC_OK;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    OPC_SCOPED(opc_result_clear) opc_result_t between = {0};
    OPC_RETURN_IF_ERROR(run_at(cut, integer + parts[i], &between, &returned));
    if (!returned || !(are_equal(&between, &below) || are_equal(&between, &above))) return OPC_OK;
  }
  *out = true;
  return OPC_OK;
}

static opc_status_t check_cut(const cut_t *cut, opc_finding_t *finding) {
  const opc_operator_t *op = cut->context->op;
  const double own = opc_sample_number(cut->context->sample, op, cut->argument);
  const double first = fabs(own) < 1 ? 1 : trunc(own); /* 0 often means that the number is not used */
  if (!(fabs(own) < cut_largest)) return OPC_OK;
  for (int step = 0; step < STEPS; step++) {
    bool is_cut = false;
    OPC_RETURN_IF_ERROR(is_step(cut, first + step, &is_cut));
    if (!is_cut) return OPC_OK;
  }
  return opc_finding_fail(finding, OPC_RULE_equivalent_cut_number,
                          "with %s = %g, %g, %g or %g the result has the bits of %g or %g: of this number the operator "
                          "keeps an integer",
                          op->arguments[cut->argument].name, first + parts[0], first + parts[1], first + parts[2],
                          first + parts[3], first, first + 1);
}

static bool takes_fractions(const opc_type_t *type) {
  if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
  return type->kind == OPC_TYPE_SCALAR || type->kind == OPC_TYPE_FLOAT;
}

opc_status_t opc_equivalent_cut(opc_case_context_t *context, opc_replay_t *values, bool integers,
                                opc_finding_t *finding, opc_error_t *error) {
  if (!integers && !values->fractions) return OPC_OK;
  for (size_t i = 0; i < context->op->argument_count && !finding->decided; i++) {
    const cut_t cut = {.context = context, .values = values, .argument = i, .integers = integers, .error = error};
    if (takes_fractions(&context->op->arguments[i].type)) OPC_RETURN_IF_ERROR(check_cut(&cut, finding));
  }
  return OPC_OK;
}
