/* Calls on other values: the parts of a result that depend on them, and the answer that a Meta kernel must then
 * give. */
#include <string.h>

#include "checks/compare/compare.h"
#include "checks/tags/tags.h"

opc_status_t opc_tag_is_nondeterministic(const opc_tag_case_t *tagged, bool *out, opc_error_t *error) {
  opc_case_context_t *context = tagged->context;
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  opc_again_t again = {.context = context, .replay = &values, .label = {OPC_CALL_KIND_OTHERWISE, "once more"}};
  OPC_RETURN_IF_ERROR(opc_again_values(&(opc_again_t){.context = context}, &values, error));
  return opc_result_is_nondeterministic(&again, tagged->result, out, error);
}

/* ---- other values ---- */

typedef struct giving {
  opc_other_values_t how;
  uint64_t seed;
} giving_t;

static void reverse_values(char *elements, int64_t count, size_t width) {
  char kept[16];
  for (int64_t i = 0; width <= sizeof kept && i < count / 2; i++) {
    char *left = elements + (size_t)i * width, *right = elements + (size_t)(count - 1 - i) * width;
    memcpy(kept, left, width);
    memcpy(left, right, width);
    memcpy(right, kept, width);
  }
}

static void negate_values(char *elements, int64_t count, opc_dtype_t dtype) {
  size_t width = opc_dtype_size(dtype);
  for (int64_t i = 0; i < count; i++) {
    char *element = elements + (size_t)i * width;
    opc_number_t number = opc_number_load(dtype, element);
    if (number.kind == OPC_NUMBER_FLOAT) number.f = -number.f;
    else if (number.kind == OPC_NUMBER_COMPLEX) number.c.re = -number.c.re;
    else if (number.kind == OPC_NUMBER_INT) number.i = number.i == 0;
    (void)opc_number_store(number, dtype, element);
  }
}

static void times_64(char *elements, int64_t count, opc_dtype_t dtype) {
  size_t width = opc_dtype_size(dtype);
  for (int64_t i = 0; i < count; i++) {
    opc_number_t number = opc_number_load(dtype, elements + (size_t)i * width);
    if (number.kind == OPC_NUMBER_FLOAT) number.f *= 64;
    (void)opc_number_store(number, dtype, elements + (size_t)i * width);
  }
}

static void repeat_first_row(char *elements, const opc_tensor_spec_t *spec) {
  if (spec->ndim == 0 || spec->sizes[0] < 2) return;
  const size_t row = (size_t)(opc_tensor_spec_numel(spec) / spec->sizes[0]) * opc_dtype_size(spec->dtype);
  for (int64_t i = 1; i < spec->sizes[0]; i++) memcpy(elements + (size_t)i * row, elements, row);
}

/* Integers may be indices, lengths, divisors: they get only values that one of them already had. */
static opc_status_t give_other(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                               void *context, opc_error_t *error) {
  const giving_t *giving = context;
  int64_t numel = opc_tensor_spec_numel(spec);
  size_t width = opc_dtype_size(spec->dtype);
  bool whole = !opc_dtype_is_inexact(spec->dtype) && spec->dtype != OPC_DTYPE_BOOL;
  (void)tensor_arg;
  OPC_RETURN_IF_ERROR(opc_fill_logical(spec, path, giving->seed + (giving->how == OPC_OTHER_SEED), logical, error));
  if (giving->how == OPC_OTHER_ZEROS && !whole) memset(logical, 0, (size_t)numel * width);
  if (giving->how == OPC_OTHER_NEGATED && !whole) negate_values(logical, numel, spec->dtype);
  if (giving->how == OPC_OTHER_REVERSED) reverse_values(logical, numel, width);
  if (giving->how == OPC_OTHER_FIRST_ROW && !whole) repeat_first_row(logical, spec);
  if (giving->how == OPC_OTHER_TIMES_64 && !whole) times_64(logical, numel, spec->dtype);
  return OPC_OK;
}

opc_status_t opc_other_values_run(opc_case_context_t *context, const opc_sample_t *sample, opc_other_values_t how,
                                  opc_result_t *out, opc_call_outcome_t *out_outcome, opc_error_t *error) {
  giving_t giving = {.how = how, .seed = context->seed};
  const opc_again_t again = {.context = context,
                             .sample = sample,
                             .values = give_other,
                             .values_context = &giving,
                             .label = {OPC_CALL_KIND_ON_OTHERS, "other values"}};
  return opc_again_run(&again, out, out_outcome, NULL, error);
}

/* ---- what depends on them ---- */

static void note_dependence(opc_dependence_t *dependence, const opc_result_item_t *item, const char *left,
                            const char *right) {
  if (dependence->path[0]) return;
  snprintf(dependence->path, sizeof dependence->path, "%s", item->path);
  opc_text_addf(&dependence->text, "%s and %s", left, right);
}

void opc_dependence_clear(opc_dependence_t *dependence) { opc_text_clear(&dependence->text); }

void opc_dependence_compare(const opc_result_t *left, const opc_result_t *right, opc_dependence_t *dependence) {
  char here[160], there[160];
  for (size_t i = 0; left->count == right->count && i < left->count; i++) {
    const opc_result_item_t *one = &left->items[i], *two = &right->items[i];
    if (one->kind == OPC_VALUE_TENSOR && two->kind == OPC_VALUE_TENSOR) {
      if (opc_tensor_same_sizes(&one->meta, &two->meta)) continue;
      opc_sizes_text(one->meta.ndim, one->meta.sizes, here, sizeof here);
      opc_sizes_text(two->meta.ndim, two->meta.sizes, there, sizeof there);
      note_dependence(dependence, one, here, there);
      dependence->shape = true;
    } else if (one->kind == two->kind && one->kind != OPC_VALUE_OBJECT &&
               (one->size != two->size || (one->size && memcmp(one->bytes, two->bytes, one->size) != 0))) {
      note_dependence(dependence, one, one->text, two->text);
      dependence->number = true;
    }
  }
}

/* ---- without a tag that says so ---- */

/* True: the operator's own Meta kernel accepts these arguments. It then gives one answer for all values. */
static opc_status_t meta_answers(opc_case_context_t *context, bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  opc_device_t meta = {OPC_DEVICE_META, -1};
  const opc_again_t again = {.context = context, .device = &meta, .label = {OPC_CALL_KIND_META, ""}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  *out = call.outcome == OPC_CALL_RETURNED;
  return OPC_OK;
}

static opc_status_t report_missing(const opc_tag_case_t *tagged, const opc_dependence_t *dependence,
                                   opc_error_t *error) {
  bool nondeterministic = false, answers = false;
  OPC_RETURN_IF_ERROR(opc_tag_is_nondeterministic(tagged, &nondeterministic, error));
  if (!nondeterministic) OPC_RETURN_IF_ERROR(meta_answers(tagged->context, &answers, error));
  if (!answers) return OPC_OK;
  if (dependence->shape)
    return opc_finding_fail(
        tagged->finding, OPC_RULE_tags_dynamic_output_shape,
        "%s has shape %s for other values in the same arguments; the Meta kernel returns the same for "
        "both, and there is no tag dynamic_output_shape",
        dependence->path, opc_text_c(&dependence->text));
  return opc_finding_fail(
      tagged->finding, OPC_RULE_tags_data_dependent_output,
      "%s is %s for other values in the same arguments; the Meta kernel returns the same for both, and "
      "there is no tag data_dependent_output",
      dependence->path, opc_text_c(&dependence->text));
}

opc_status_t opc_tag_missing(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error) {
  OPC_SCOPED(opc_dependence_clear) opc_dependence_t dependence = {0};
  if (!opc_operator_has_kernel(tagged->context->op, "Meta") ||
      opc_operator_output_depends_on_data(tagged->context->op) || tagged->call->tensor_arg_count == 0 ||
      tagged->result->count == 0)
    return OPC_OK;
  for (opc_other_values_t how = OPC_OTHER_SEED; !dependence.path[0] && how <= OPC_OTHER_ZEROS; how++) {
    OPC_SCOPED(opc_result_clear) opc_result_t other = {0};
    opc_call_outcome_t outcome;
    OPC_RETURN_IF_ERROR(opc_other_values_run(tagged->context, tagged->context->sample, how, &other, &outcome, error));
    if (outcome != OPC_CALL_RETURNED) continue;
    *out_tested = true;
    opc_dependence_compare(tagged->result, &other, &dependence);
  }
  return dependence.path[0] ? report_missing(tagged, &dependence, error) : OPC_OK;
}
