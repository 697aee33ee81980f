#include <math.h>

#include "checks/compare/compare.h"
#include "checks/numerics/equivalent.h"
#include "memory/cpu_memory.h"

/* Numbers in place of the floating ones: with `least` and `spread` 0.25 and 0.5 they lie between 0 and 1, where
 * logarithms and roots are defined, and so on. They are spread unevenly, so that no two rows have equal ones. */
static const struct { double least, spread; } others[] = {{0.25, 0.5}, {1.5, 2}, {-3, 6}};
enum { OTHERS = sizeof others / sizeof *others, LEAST = 2 };

static bool holds_finite(const opc_replay_t *values) {
  for (size_t i = 0; i < values->count; i++) {
    const struct opc_replay_tensor_arg *of = &values->tensor_args[i];
    for (int64_t e = 0; e < of->numel && opc_dtype_is_inexact(of->dtype); e++) {
      const opc_number_t number =
          opc_number_load(of->dtype, (const char *)of->bytes + (size_t)e * opc_dtype_size(of->dtype));
      if (number.kind == OPC_NUMBER_COMPLEX ? !isfinite(number.c.re) || !isfinite(number.c.im) : !isfinite(number.f))
        return false;
    }
  }
  return true;
}

static bool given_finite(const opc_value_t *value) {
  bool finite = value->kind != OPC_VALUE_FLOAT || isfinite(value->floating);
  for (size_t i = 0; finite && value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    finite = given_finite(&value->list.items[i]);
  return finite;
}

static bool are_finite(const opc_sample_t *sample, const opc_replay_t *values) {
  for (size_t i = 0; i < sample->argument_count; i++)
    if (!sample->absent[i] && !given_finite(&sample->arguments[i])) return false;
  return holds_finite(values);
}

/* False: the tensors hold no floating numbers. */
static bool set_others(const opc_replay_t *values, double least, double spread) {
  static const double golden = 0.6180339887498949;
  int64_t number = 0;
  for (size_t i = 0; i < values->count; i++) {
    const struct opc_replay_tensor_arg *of = &values->tensor_args[i];
    if (opc_dtype_class(of->dtype) != OPC_CLASS_FLOATING) continue;
    for (int64_t e = 0; e < of->numel; e++) {
      const double part = golden * (double)++number;
      const opc_number_t stored = {.kind = OPC_NUMBER_FLOAT, .f = least + spread * (part - floor(part))};
      opc_number_store(stored, of->dtype, (char *)of->bytes + (size_t)e * opc_dtype_size(of->dtype));
    }
  }
  return number > 0;
}

/* Memory that nothing was written to may hold NaN: check initialisation reports that. */
static bool is_nan(const opc_result_item_t *item, int64_t element) {
  const size_t size = opc_dtype_size(item->meta.dtype);
  const unsigned char *bytes = (const unsigned char *)item->bytes + (size_t)element * size;
  bool unwritten = true;
  for (size_t i = 0; i < size; i++) unwritten = unwritten && bytes[i] == opc_poison_byte();
  return !unwritten && isnan(opc_number_load_double(item->meta.dtype, bytes));
}

static bool may_hold_nan(const opc_result_item_t *item) {
  return item->kind == OPC_VALUE_TENSOR && item->bytes && opc_dtype_class(item->meta.dtype) == OPC_CLASS_FLOATING;
}

typedef struct many {
  opc_result_t results[1 + OTHERS]; /* the first one is the caller's */
  size_t count;
} many_t;

static void many_clear(many_t *many) {
  while (many->count > 1) opc_result_clear(&many->results[--many->count]);
}

/* How many elements are NaN in all results; of the first of them the item and the element. */
static int64_t count_nan(const many_t *many, size_t *out_item, int64_t *out_element) {
  const opc_result_t *plain = &many->results[0];
  int64_t found = 0;
  for (size_t i = 0; i < plain->count; i++) {
    for (int64_t e = 0; may_hold_nan(&plain->items[i]) && e < plain->items[i].meta.numel; e++) {
      bool always = true;
      for (size_t k = 0; k < many->count && always; k++) {
        const opc_result_t *of = &many->results[k];
        always =
            of->count > i && may_hold_nan(&of->items[i]) && e < of->items[i].meta.numel && is_nan(&of->items[i], e);
      }
      if (always && found++ == 0) *out_item = i, *out_element = e;
    }
  }
  return found;
}

static opc_status_t report_nan_always(const opc_result_t *result, int64_t count, size_t item, int64_t element,
                                      size_t tried, opc_finding_t *finding) {
  const opc_tensor_meta_t *meta = &result->items[item].meta;
  char place[64];
  opc_index_text(meta, element, place, sizeof place);
  return opc_finding_fail(finding, OPC_RULE_equivalent_always_nan,
                          "%s%s is NaN, %lld of %lld elements in all, and the floating arguments are finite; these "
                          "elements are NaN with %zu other sets of finite numbers in the tensors, too",
                          result->items[item].path, place, (long long)count, (long long)opc_result_numel(result),
                          tried);
}

opc_status_t opc_equivalent_nan(opc_case_context_t *context, const opc_result_t *plain, opc_finding_t *finding,
                                opc_error_t *error) {
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(many_clear) many_t many = {.results = {*plain}, .count = 1};
  opc_again_t again = {
      .context = context, .sample = context->sample, .label = {OPC_CALL_KIND_WITH_OTHERS, "other numbers"}};
  size_t item = 0;
  int64_t element = 0;
  if (!opc_case_is_declared(context) || count_nan(&many, &item, &element) == 0) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_again_values(&again, &values, error));
  again.replay = &values;
  if (!are_finite(context->sample, &values)) return OPC_OK;
  for (size_t i = 0; i < OTHERS && set_others(&values, others[i].least, others[i].spread); i++) {
    bool returned = false;
    OPC_RETURN_IF_ERROR(opc_again_try(&again, &many.results[many.count], &returned, error));
    many.count += returned;
  }
  const int64_t found = many.count > LEAST ? count_nan(&many, &item, &element) : 0;
  return found ? report_nan_always(plain, found, item, element, many.count - 1, finding) : OPC_OK;
}
