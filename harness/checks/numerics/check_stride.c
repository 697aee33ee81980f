/* stride: the operator on another layout is compared with the operator on a contiguous copy of the same logical
 * values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/compare/as_strided_like.h"
#include "checks/compare/nan_bits.h"
#include "checks/compare/tolerance.h"
#include "checks/framework/outcome.h"

typedef struct reference {
  opc_sample_t sample; /* contiguous */
  opc_replay_t values; /* of the case's own arguments */
  opc_result_t result;
  opc_call_outcome_t outcome;
  opc_text_t message;
} reference_t;

static opc_again_t reference_again(opc_case_context_t *context, reference_t *reference) {
  return (opc_again_t){.context = context,
                       .sample = &reference->sample,
                       .replay = &reference->values,
                       .label = {OPC_CALL_KIND_ON_COPIES, "contiguous copies"}};
}

/* Copies cannot replace arguments that overwrite each other. */
static const char *why_not_comparable(const opc_call_t *call) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    if (!opc_tensor_arg_is_mutable(tensor_arg)) continue;
    if (opc_spec_overlaps_itself(tensor_arg->spec))
      return "a mutable argument whose elements overlap has no defined result";
    opc_tensor_meta_t now;
    opc_tensor_describe(tensor_arg->tensor, &now);
    if (now.numel != tensor_arg->before.numel && !opc_tensor_spec_is_contiguous(tensor_arg->spec))
      return "a mutable argument was resized, so that it shows its memory and not its values";
    for (size_t k = 0; k < call->tensor_arg_count; k++)
      if (k != i && call->tensor_args[k].before.storage == tensor_arg->before.storage &&
          call->tensor_args[k].before.impl != tensor_arg->before.impl)
        return "a mutable argument shares its storage with another one";
  }
  return NULL;
}

/* Whether the item of the contiguous result depends on the arguments' values at all. If not, it describes the layout (a
 * stride, is_contiguous). */
static opc_status_t follows_values(const opc_again_t *again, const reference_t *reference, size_t item, bool *out,
                                   opc_error_t *error) {
  opc_result_t other = {0};
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  opc_again_t fresh = *again;
  *out = false;
  for (uint64_t i = 1; i <= 3 && !*out; i++) {
    fresh.replay = NULL;
    fresh.other_seed = again->other_seed + i;
    opc_status_t status = opc_again_run(&fresh, &other, &outcome, NULL, error);
    if (status != OPC_OK) return status;
    if (outcome == OPC_CALL_RETURNED) *out = opc_result_item_differs(&reference->result, &other, item);
    opc_result_clear(&other);
  }
  return OPC_OK;
}

static void report(const opc_bound_t *bound, const opc_difference_t *difference, bool moves_data,
                   opc_finding_t *finding) {
  opc_text_t text = {0};
  opc_difference_text(difference, bound->got, bound->reference, "for a contiguous copy it", &text);
  opc_finding_fail(finding, "stride.wrong_result", "%s", opc_text_c(&text));
  opc_text_clear(&text);
  if (difference->kind != OPC_DIFFERENCE_VALUE || bound->got->items[difference->item].kind != OPC_VALUE_TENSOR) return;
  if (moves_data) {
    opc_finding_evidence(finding, "tolerance",
                         json_string("none: on contiguous copies every output element is an input element"));
    return;
  }
  json_t *tolerance = json_pack(
      "{s:f, s:f, s:i, s:i}", "bound", opc_bound_value(bound, difference->item, difference->first), "change_by_one_ulp",
      bound->tolerance->change[difference->item], "factor", OPC_TOLERANCE_FACTOR, "ulps", OPC_TOLERANCE_ULPS);
  if (tolerance) opc_finding_evidence(finding, "tolerance", tolerance);
}

/* Repeats the call on the same layout, alternately with the original and with other bytes between the elements: twice
 * each, so that a race does not look the same. *other is the result with the other bytes. */
static opc_status_t follows_gaps(opc_case_context_t *context, const opc_result_t *got, opc_result_t *other, bool *out,
                                 opc_error_t *error) {
  enum { CALLS = 4 };
  opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_WITH_OTHERS, "other bytes beside the elements"}};
  *out = true;
  for (int i = 0; *out && i < CALLS; i++) {
    opc_result_t result = {0};
    opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
    again.other_gaps = i % 2 == 1;
    opc_status_t status = opc_again_run(&again, &result, &outcome, NULL, error);
    if (status != OPC_OK) return status;
    const opc_result_t *wanted = again.other_gaps && i > 1 ? other : got;
    bool same =
        outcome == OPC_CALL_RETURNED && opc_result_compare(&result, wanted, NULL, NULL).kind == OPC_DIFFERENCE_NONE;
    *out = outcome == OPC_CALL_RETURNED && same == (i != 1);
    if (i == 1) *other = result;
    else opc_result_clear(&result);
  }
  return OPC_OK;
}

/* A result within the tolerance may still be wrong: for integers that change with a last place, the tolerance means
 * nothing. A dependence on bytes that belong to no element is no rounding. */
static opc_status_t excused(opc_case_context_t *context, const opc_result_t *got, opc_finding_t *finding,
                            opc_error_t *error) {
  opc_result_t other = {0};
  bool follows = false;
  opc_status_t status = follows_gaps(context, got, &other, &follows, error);
  if (status == OPC_OK && follows) {
    opc_difference_t difference = opc_result_compare(&other, got, NULL, NULL);
    OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
    opc_difference_text(&difference, &other, got, "before it", &text);
    opc_finding_fail(finding, "stride.wrong_result", "with other bytes in the storage, outside the elements, %s",
                     opc_text_c(&text));
  } else if (status == OPC_OK) {
    opc_finding_pass(finding,
                     "equal within the operator's own sensitivity to the last place (%d times the change measured)",
                     OPC_TOLERANCE_FACTOR);
  }
  opc_result_clear(&other);
  return status;
}

static bool repeats_values(const opc_sample_t *sample) {
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; i < sample->argument_count; i++)
    for (size_t k = 0, number = 0; (spec = opc_value_tensor(&sample->arguments[i], &number)); number = ++k)
      if (opc_spec_overlaps_itself(spec)) return true;
  return false;
}

static bool is_infinite(const opc_result_item_t *item, int64_t element) {
  opc_number_t number =
      opc_number_load(item->meta.dtype, (const char *)item->bytes + (size_t)element * item->meta.itemsize);
  return number.kind == OPC_NUMBER_FLOAT && isinf(number.f);
}

/* An opc_element_equal_t. A matrix of equal rows is singular: its inverse, or the logarithm of its determinant, is
 * infinite or a large number that comes from a rounding error. Either may differ between layouts. */
static bool holds_or_is_singular(size_t item, int64_t element, void *context) {
  const opc_bound_t *bound = context;
  const opc_result_item_t *got = &bound->got->items[item], *reference = &bound->reference->items[item];
  bool computed = opc_result_is_measurable(got) && opc_result_is_measurable(reference) && !bound->exact[item];
  return opc_bound_holds(item, element, context) ||
         (computed && is_infinite(got, element) != is_infinite(reference, element));
}

/* The results differ in bits. Only now the expensive tests: chance, reassociation, or wrong. */
static opc_status_t judge(opc_case_context_t *context, reference_t *reference, const opc_call_t *call,
                          const opc_result_t *got, opc_difference_t difference, opc_finding_t *finding,
                          opc_error_t *error) {
  opc_again_t again = reference_again(context, reference);
  opc_tolerance_t tolerance = {0};
  bool nondeterministic = false, follows = true, names_places = false, *exact = NULL;
  opc_status_t status = opc_call_names_places(call, &names_places, error);
  if (status == OPC_OK && names_places) {
    opc_finding_skip(
        finding, OPC_SKIP_NOT_APPLICABLE,
        "its arguments say at which sizes and strides to read a storage: another layout gives another result");
    goto release;
  }
  if (status == OPC_OK) status = opc_result_is_nondeterministic(&again, &reference->result, &nondeterministic, error);
  if (status != OPC_OK) goto release;
  if (nondeterministic) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
    goto release;
  }
  bool plain_value =
      difference.kind == OPC_DIFFERENCE_VALUE && reference->result.items[difference.item].kind != OPC_VALUE_TENSOR;
  if (plain_value) status = follows_values(&again, reference, difference.item, &follows, error);
  if (status != OPC_OK) goto release;
  if (!follows) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "%s depends on the layout, not on the values: it describes the layout",
                     reference->result.items[difference.item].path);
    goto release;
  }

  opc_bound_t bound = {.got = got,
                       .reference = &reference->result,
                       .tolerance = &tolerance,
                       .ulps = OPC_TOLERANCE_ULPS,
                       .narrow = OPC_DTYPE_OTHER};
  if (context->base && context->base->expect.has_tolerance) bound.relative = context->base->expect.tolerance;
  exact = calloc(reference->result.count + 1, sizeof *exact);
  if (!exact) {
    status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a comparison");
    goto release;
  }
  for (size_t i = 0; !bound.relative && i < reference->result.count; i++)
    exact[i] = opc_result_moves_data(&reference->result.items[i], &reference->values);
  bound.exact = exact;
  bound.any_nan = opc_case_loses_nan_bits(context);
  status = opc_tolerance_measure(&tolerance, &again, &reference->result, error);
  if (status != OPC_OK) goto release;
  if (difference.kind == OPC_DIFFERENCE_VALUE)
    difference = opc_result_compare(got, &reference->result,
                                    repeats_values(context->sample) ? holds_or_is_singular : opc_bound_holds, &bound);
  if (difference.kind == OPC_DIFFERENCE_NONE) status = excused(context, got, finding, error);
  else report(&bound, &difference, exact[difference.item], finding);

release:
  free(exact);
  opc_tolerance_clear(&tolerance);
  return status;
}

static opc_status_t compare(opc_case_context_t *context, reference_t *reference, const opc_call_t *call,
                            opc_finding_t *finding, opc_error_t *error) {
  opc_result_t got = {0};
  opc_status_t status = opc_result_take(&got, call, OPC_RESULT_ARGUMENTS, error);
  opc_again_t again = reference_again(context, reference);
  if (status == OPC_OK)
    status = opc_again_run(&again, &reference->result, &reference->outcome, &reference->message, error);
  if (status != OPC_OK) goto release;
  if (reference->outcome != OPC_CALL_RETURNED) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "a contiguous copy of the same values is refused: %.300s",
                     opc_text_c(&reference->message));
    goto release;
  }
  opc_difference_t difference = opc_result_compare(&got, &reference->result, NULL, NULL);
  int64_t numel = opc_result_numel(&got);
  if (difference.kind != OPC_DIFFERENCE_NONE)
    status = judge(context, reference, call, &got, difference, finding, error);
  else if (numel) opc_finding_pass(finding, "%lld values have the bits of the contiguous call", (long long)numel);
  else opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the operator returns nothing that could be compared");

release:
  opc_result_clear(&got);
  return status;
}

/* It takes at least two lists of integers, as at::as_strided does: another layout is another call. */
static bool may_name_places(const opc_operator_t *op) {
  size_t lists = 0;
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_type_t *type = &op->arguments[i].type;
    if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
    lists +=
        type->kind == OPC_TYPE_LIST && (type->element->kind == OPC_TYPE_INT || type->element->kind == OPC_TYPE_SYMINT);
  }
  return lists > 1;
}

/* The operator refuses the layout because of a view of its own: it asks for elements that the storage does not have. */
static opc_status_t judge_refusal(opc_case_context_t *context, reference_t *reference, const opc_call_t *call,
                                  opc_finding_t *finding, opc_error_t *error) {
  opc_again_t again = reference_again(context, reference);
  const char *message = opc_text_c(&call->message);
  if (call->outcome != OPC_CALL_REJECTED || !opc_torch_says(OPC_TORCH_VIEW_OUTSIDE, message) ||
      may_name_places(context->op))
    return OPC_OK;
  opc_status_t status = opc_again_run(&again, &reference->result, &reference->outcome, &reference->message, error);
  if (status == OPC_OK && reference->outcome == OPC_CALL_RETURNED)
    opc_finding_fail(
        finding, "stride.view_outside",
        "it asks libtorch for a view that does not fit into the storage, and a contiguous copy of the same "
        "values is accepted: %.300s",
        message);
  return status;
}

static void run(opc_case_context_t *context, opc_finding_t *finding) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  reference_t reference = {0};
  opc_error_t error = {0};
  opc_status_t status = opc_sample_copy(context->sample, &reference.sample, &error);
  if (status != OPC_OK) goto release;
  opc_sample_make_contiguous(&reference.sample);
  if (!opc_case_call_keeping(context, &reference.values, &call, finding)) {
    status = judge_refusal(context, &reference, &call, finding, &error);
    goto release;
  }
  const char *why = why_not_comparable(&call);
  if (why) opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it returns; %s", why);
  else status = compare(context, &reference, &call, finding, &error);

release:
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
  opc_result_clear(&reference.result);
  opc_text_clear(&reference.message);
  opc_replay_clear(&reference.values);
  opc_sample_clear(&reference.sample);
}

const opc_check_t opc_check_stride = {.name = "stride", .run = run};
