/* stride: the operator on another layout is compared with the operator on a contiguous copy of the same logical
 * values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"

typedef struct reference {
  opc_sample_t sample; /* contiguous */
  opc_replay_t values; /* of the case's own arguments */
  opc_result_t result;
  opc_call_outcome_t outcome;
  opc_text_t message;
} reference_t;

static void contiguous_clear(reference_t *reference) {
  opc_result_clear(&reference->result);
  opc_text_clear(&reference->message);
  opc_replay_clear(&reference->values);
  opc_sample_clear(&reference->sample);
}

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
static opc_status_t depends_on_values(const opc_again_t *again, const reference_t *reference, size_t item, bool *out,
                                      opc_error_t *error) {
  opc_again_t fresh = *again;
  *out = false;
  for (uint64_t i = 1; i <= 3 && !*out; i++) {
    OPC_SCOPED(opc_result_clear) opc_result_t other = {0};
    bool returned = false;
    fresh.replay = NULL;
    fresh.other_seed = again->other_seed + i;
    OPC_RETURN_IF_ERROR(opc_again_try(&fresh, &other, &returned, error));
    *out = returned && opc_result_item_differs(&reference->result, &other, item);
  }
  return OPC_OK;
}

static void report_layout(const opc_bound_t *bound, const opc_difference_t *difference, bool moves_data,
                          opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_difference_text(difference, bound->got, bound->reference, "for a contiguous copy it", &text);
  opc_finding_fail(finding, OPC_RULE_stride_wrong_result, "%s", opc_text_c(&text));
  opc_finding_differences(finding, difference, bound->got, bound->reference, moves_data ? NULL : opc_bound_holds,
                          (void *)(uintptr_t)bound);
  if (difference->kind != OPC_DIFFERENCE_VALUE || bound->got->items[difference->item].kind != OPC_VALUE_TENSOR) return;
  if (moves_data) {
    opc_finding_evidence(finding, "tolerance",
                         json_string("none: on contiguous copies every output element is an input element"));
    return;
  }
  opc_finding_evidence(finding, "tolerance", opc_bound_evidence(bound, difference));
}

/* Repeats the call on the same layout, alternately with the original and with other bytes between the elements: twice
 * each, so that a race does not look the same. *other is the result with the other bytes. */
static opc_status_t depends_on_padding(opc_case_context_t *context, const opc_result_t *got, opc_result_t *other,
                                       bool *out, opc_error_t *error) {
  enum { CALLS = 4 };
  opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_WITH_OTHERS, "other padding bytes"}};
  *out = true;
  for (int i = 0; *out && i < CALLS; i++) {
    OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
    bool returned = false;
    again.other_padding = i % 2 == 1;
    OPC_RETURN_IF_ERROR(opc_again_try(&again, &result, &returned, error));
    const opc_result_t *wanted = again.other_padding && i > 1 ? other : got;
    const bool same = opc_result_compare(&result, wanted, NULL, NULL).kind == OPC_DIFFERENCE_NONE;
    *out = returned && same == (i != 1);
    if (i == 1) OPC_MOVE(other, result);
  }
  return OPC_OK;
}

/* A result within the tolerance may still be wrong: for integers that change with a last place, the tolerance means
 * nothing. A dependence on bytes that belong to no element is no rounding. */
static opc_status_t excused(opc_case_context_t *context, const opc_result_t *got, bool rounding, opc_finding_t *finding,
                            opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t other = {0};
  bool depends = false;
  OPC_RETURN_IF_ERROR(depends_on_padding(context, got, &other, &depends, error));
  if (depends) {
    const opc_difference_t difference = opc_result_compare(&other, got, NULL, NULL);
    OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
    opc_difference_text(&difference, &other, got, "before it", &text);
    opc_finding_fail(finding, OPC_RULE_stride_wrong_result, "with other bytes in the storage, outside the elements, %s",
                     opc_text_c(&text));
  } else if (rounding) {
    opc_finding_pass(finding, "it differs by rounding: in float64 the two agree");
  } else {
    opc_finding_pass(finding,
                     "equal within the operator's own sensitivity to the last place (%d times the change measured)",
                     OPC_TOLERANCE_FACTOR);
  }
  return OPC_OK;
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

/* The same comparison in float64, of the same numbers. */
static opc_status_t agrees_in_float64(opc_case_context_t *context, reference_t *reference, const double *at_least,
                                      bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t layout = {0}, dense = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0}, wanted = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->sample, &layout, error));
  OPC_RETURN_IF_ERROR(opc_sample_copy(&reference->sample, &dense, error));
  opc_sample_widen_to(&layout, OPC_DTYPE_FLOAT64, OPC_DTYPE_COMPLEX128);
  opc_sample_widen_to(&dense, OPC_DTYPE_FLOAT64, OPC_DTYPE_COMPLEX128);
  opc_again_t again = reference_again(context, reference);
  again.sample = &dense;
  OPC_RETURN_IF_ERROR(opc_again_try(&again, &wanted, out, error));
  if (!*out) return OPC_OK;
  again.sample = &layout;
  again.label = OPC_CALL_LABEL(ON_OTHERS, "float64 in this layout");
  OPC_RETURN_IF_ERROR(opc_again_try(&again, &got, out, error));
  opc_bound_t bound = {
      .got = &got, .reference = &wanted, .at_least = at_least, .ulps = OPC_TOLERANCE_ULPS, .narrow = OPC_DTYPE_OTHER};
  *out = *out && opc_result_compare(&got, &wanted, opc_bound_holds, &bound).kind == OPC_DIFFERENCE_NONE;
  return OPC_OK;
}

/* At most one rounding for each element of the largest argument, of a sum of all. */
static opc_status_t take_roundings(const reference_t *reference, double **out, opc_error_t *error) {
  enum { MOST = 4096 };
  const opc_result_t *result = &reference->result;
  int64_t numel = 1;
  *out = calloc(result->count + 1, sizeof **out);
  if (!*out) return opc_out_of_memory(error);
  for (size_t i = 0; i < reference->values.count; i++)
    if (reference->values.tensor_args[i].numel > numel) numel = reference->values.tensor_args[i].numel;
  for (size_t i = 0; i < result->count; i++)
    (*out)[i] = (double)(numel < MOST ? numel : MOST) *
                opc_dtype_ulp(result->items[i].meta.dtype, opc_result_largest(&result->items[i]));
  return OPC_OK;
}

/* Another layout is added up in another order. If a sum of thousands is raised to the power of 10, that changes more
 * than moves of the arguments do, which cancel out. Rounding shrinks with the unit of the dtype, and elements from a
 * wrong place differ as much in float64. Some kernels have code for float32 alone, hence the limit. */
static opc_status_t is_rounding(opc_case_context_t *context, reference_t *reference, opc_bound_t bound, bool *out,
                                opc_error_t *error) {
  static const double shrunk = 0x1p-20; /* float64 has 29 digits more than float32 */
  OPC_SCOPED(opc_scope_free) double *roundings = NULL;
  *out = false;
  if (bound.relative) return OPC_OK;
  OPC_RETURN_IF_ERROR(take_roundings(reference, &roundings, error));
  bound.at_least = roundings;
  if (opc_result_compare(bound.got, bound.reference, opc_bound_holds, &bound).kind != OPC_DIFFERENCE_NONE)
    return OPC_OK;
  for (size_t i = 0; i < reference->result.count; i++) roundings[i] *= shrunk;
  return agrees_in_float64(context, reference, roundings, out, error);
}

static int64_t zeros_of(opc_dtype_t dtype, const void *bytes, int64_t numel) {
  int64_t zeros = 0;
  for (int64_t e = 0; bytes && opc_dtype_class(dtype) == OPC_CLASS_FLOATING && e < numel; e++)
    zeros += opc_number_load_double(dtype, (const char *)bytes + (size_t)e * opc_dtype_size(dtype)) == 0;
  return zeros;
}

enum { FEW_NUMBERS = 3 };

/* Whether it has that many different numbers that are not zero. */
static bool has_some_numbers(const opc_result_item_t *item) {
  double numbers[FEW_NUMBERS];
  size_t count = 0;
  for (int64_t e = 0; count < FEW_NUMBERS && e < item->meta.numel; e++) {
    const double number =
        opc_number_load_double(item->meta.dtype, (const char *)item->bytes + (size_t)e * item->meta.itemsize);
    bool known = number == 0;
    for (size_t i = 0; i < count; i++) known = known || numbers[i] == number;
    if (!known) numbers[count++] = number;
  }
  return count == FEW_NUMBERS;
}

/* The zeros may be results, and nothing says which sign the larger of 0.0 and -0.0 has: more are returned than given,
 * as by a limit from below, or so few other numbers that they may be what is added to a product of zeros. */
static bool may_make_zeros(const opc_result_item_t *item, const opc_replay_t *values) {
  int64_t given = 0;
  for (size_t i = 0; i < values->count; i++)
    given += zeros_of(values->tensor_args[i].dtype, values->tensor_args[i].bytes, values->tensor_args[i].numel);
  return zeros_of(item->meta.dtype, item->bytes, item->meta.numel) > given || !has_some_numbers(item);
}

/* All elements that differ are zero in both. */
static bool only_zeros_differ(const opc_result_item_t *left, const opc_result_item_t *right) {
  const size_t width = left->meta.itemsize;
  bool only = left->size == right->size && opc_dtype_class(left->meta.dtype) == OPC_CLASS_FLOATING;
  for (int64_t e = 0; only && e < left->meta.numel; e++) {
    const char *a = (const char *)left->bytes + (size_t)e * width, *b = (const char *)right->bytes + (size_t)e * width;
    only = memcmp(a, b, width) == 0 ||
           (opc_number_load_double(left->meta.dtype, a) == 0 && opc_number_load_double(right->meta.dtype, b) == 0);
  }
  return only;
}

/* The results differ in bits. Only now the expensive tests: chance, reassociation, or wrong. */
static opc_status_t check_bits_that_differ(opc_case_context_t *context, reference_t *reference, const opc_call_t *call,
                                           const opc_result_t *got, opc_difference_t difference, opc_finding_t *finding,
                                           opc_error_t *error) {
  opc_again_t again = reference_again(context, reference);
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t tolerance = {0};
  bool nondeterministic = false, depends = true, as_strided_like = false, rounding = false;
  OPC_RETURN_IF_ERROR(opc_call_is_as_strided_like(call, &as_strided_like, error));
  if (as_strided_like)
    return opc_finding_skip(
        finding, OPC_SKIP_NOT_APPLICABLE,
        "its arguments say at which sizes and strides to read a storage: another layout gives another result");
  OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, &reference->result, &nondeterministic, error));
  if (nondeterministic) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  bool plain_value =
      difference.kind == OPC_DIFFERENCE_VALUE && reference->result.items[difference.item].kind != OPC_VALUE_TENSOR;
  if (plain_value) OPC_RETURN_IF_ERROR(depends_on_values(&again, reference, difference.item, &depends, error));
  if (!depends)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                            "%s depends on the layout, not on the values: it describes the layout",
                            reference->result.items[difference.item].path);

  opc_bound_t bound = {.got = got,
                       .reference = &reference->result,
                       .tolerance = &tolerance,
                       .ulps = OPC_TOLERANCE_ULPS,
                       .narrow = OPC_DTYPE_OTHER};
  if (context->base && context->base->expect.has_tolerance) bound.relative = context->base->expect.tolerance;
  OPC_SCOPED(opc_scope_free) bool *exact = calloc(reference->result.count + 1, sizeof *exact);
  if (!exact) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a comparison");
  for (size_t i = 0; !bound.relative && i < reference->result.count; i++)
    exact[i] = opc_result_moves_data(&reference->result.items[i], &reference->values) &&
               !(only_zeros_differ(&got->items[i], &reference->result.items[i]) &&
                 may_make_zeros(&reference->result.items[i], &reference->values));
  bound.exact = exact;
  bound.any_nan = opc_case_loses_nan_bits(context);
  OPC_RETURN_IF_ERROR(opc_tolerance_measure(&tolerance, &again, &reference->result, error));
  if (difference.kind == OPC_DIFFERENCE_VALUE)
    difference = opc_result_compare(got, &reference->result,
                                    repeats_values(context->sample) ? holds_or_is_singular : opc_bound_holds, &bound);
  if (difference.kind == OPC_DIFFERENCE_VALUE)
    OPC_RETURN_IF_ERROR(is_rounding(context, reference, bound, &rounding, error));
  if (difference.kind == OPC_DIFFERENCE_NONE || rounding) return excused(context, got, rounding, finding, error);
  report_layout(&bound, &difference, exact[difference.item], finding);
  return OPC_OK;
}

static opc_status_t compare_with_contiguous(opc_case_context_t *context, reference_t *reference, const opc_call_t *call,
                                            opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0};
  OPC_RETURN_IF_ERROR(opc_result_take(&got, call, OPC_RESULT_ARGUMENTS, error));
  opc_again_t again = reference_again(context, reference);
  OPC_RETURN_IF_ERROR(opc_again_run(&again, &reference->result, &reference->outcome, &reference->message, error));
  if (reference->outcome != OPC_CALL_RETURNED)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "a contiguous copy of the same values is refused: %.300s",
                            opc_text_c(&reference->message));
  opc_difference_t difference = opc_result_compare(&got, &reference->result, NULL, NULL);
  int64_t numel = opc_result_numel(&got);
  if (difference.kind != OPC_DIFFERENCE_NONE)
    OPC_RETURN_IF_ERROR(check_bits_that_differ(context, reference, call, &got, difference, finding, error));
  else if (numel) opc_finding_pass(finding, "%lld values have the bits of the contiguous call", (long long)numel);
  else opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the operator returns nothing that could be compared");

  return OPC_OK;
}

/* It takes at least two lists of integers, as at::as_strided does: another layout is another call. */
static bool may_be_as_strided_like(const opc_operator_t *op) {
  size_t lists = 0;
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_type_t *type = &op->arguments[i].type;
    if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
    lists +=
        type->kind == OPC_TYPE_LIST && (type->element->kind == OPC_TYPE_INT || type->element->kind == OPC_TYPE_SYMINT);
  }
  return lists > 1;
}

/* Every tensor is contiguous to whoever asks it: only dimensions of size 1 may have another stride. */
static bool is_dense(const opc_sample_t *sample) {
  const opc_tensor_spec_t *spec;
  bool dense = true;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++)
    dense = dense && opc_tensor_spec_is_contiguous(spec) && !spec->storage_offset && !spec->conj && !spec->neg;
  return dense;
}

/* The operator refuses the layout because of a view of its own, which asks for elements that the storage does not have,
 * or because of a stride that means nothing. */
static opc_status_t check_refused_layout(opc_case_context_t *context, reference_t *reference, const opc_call_t *call,
                                         opc_finding_t *finding, opc_error_t *error) {
  opc_again_t again = reference_again(context, reference);
  const char *message = opc_text_c(&call->message);
  const bool outside = opc_torch_says(OPC_TORCH_VIEW_OUTSIDE, message), dense = is_dense(context->sample);
  if (call->outcome != OPC_CALL_REJECTED || !(outside || dense) || may_be_as_strided_like(context->op)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_again_run(&again, &reference->result, &reference->outcome, &reference->message, error));
  if (reference->outcome != OPC_CALL_RETURNED) return OPC_OK;
  if (outside)
    opc_finding_fail(
        finding, OPC_RULE_stride_view_outside,
        "it asks libtorch for a view that does not fit into the storage, and a contiguous copy of the same "
        "values is accepted: %.300s",
        message);
  else
    opc_finding_fail(finding, OPC_RULE_stride_single_refused,
                     "a contiguous tensor is refused, and accepted with another stride of its dimensions of size 1: "
                     "%.300s",
                     message);
  return OPC_OK;
}

static opc_status_t check_layout(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(contiguous_clear) reference_t reference = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->sample, &reference.sample, error));
  opc_sample_make_contiguous(&reference.sample);
  if (!opc_case_call_keeping(context, &reference.values, &call, finding))
    return check_refused_layout(context, &reference, &call, finding, error);
  const char *why = why_not_comparable(&call);
  if (!why) return compare_with_contiguous(context, &reference, &call, finding, error);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it returns; %s", why);
}

const opc_check_t opc_check_stride = {.name = "stride", .run = check_layout};
