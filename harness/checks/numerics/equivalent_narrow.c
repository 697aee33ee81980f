#include "checks/numerics/equivalent.h"

#include <stdlib.h>

#include "checks/compare/compare.h"

/* Numbers whose sum with the ones below stays in range. */
static const int64_t LARGEST = INT64_C(1) << 60;

/* Added to every number of a tensor. The first two must change the result: an operator that looks at low bits only
 * (a mask, a remainder of a power of two) has the same result for many numbers, in any width. */
static const struct step {
  uint64_t by;
  bool must_differ;
} steps[] = {{1, true}, {UINT64_C(1) << 20, true}, {UINT64_C(1) << 32, false}, {UINT64_C(3) << 32, false}};

/* Numbers this large have no odd neighbours in float32, or in float64: steps of half their spacing are lost, a larger
 * one is not. A quotient loses small steps, too, but not the middle one; a limit loses all of them. */
static const struct rounding {
  uint64_t base, lost[2], kept;
  const char *base_text, *lost_text, *dtype;
} roundings[] = {
    {UINT64_C(1) << 40, {1, UINT64_C(1) << 14}, UINT64_C(1) << 20, "2^40", "2^14", "float32"},
    {UINT64_C(1) << 58, {1, UINT64_C(1) << 4}, UINT64_C(1) << 20, "2^58", "2^4", "float64"},
};

typedef struct narrow {
  opc_case_context_t *context;
  const opc_result_t *plain;
  opc_replay_t *values;
} narrow_t;

/* Numbers that refer to nothing: no index, offset or length, as far as was learned. */
static bool is_data(const opc_case_context_t *context, const opc_tensor_arg_t *arg) {
  const opc_relations_t *relations = context->base->relations;
  return arg->before.dtype_known && arg->before.dtype == OPC_DTYPE_INT64 && arg->before.numel > 0 &&
         !opc_tensor_arg_is_mutable(arg) && relations && !opc_relations_name_values(relations, arg->path);
}

static bool are_in_range(const struct opc_replay_tensor_arg *arg) {
  const int64_t *numbers = arg->bytes;
  for (int64_t i = 0; i < arg->numel; i++)
    if (numbers[i] > LARGEST || numbers[i] < -LARGEST) return false;
  return true;
}

/* Another dtype or a narrower integer as a result may be what the operator is for: a conversion. */
static bool gives_narrow_integers(const opc_result_t *result) {
  for (size_t i = 0; i < result->count; i++) {
    const opc_result_item_t *item = &result->items[i];
    const opc_dtype_class_t kind = opc_dtype_class(item->meta.dtype);
    if (item->kind == OPC_VALUE_TENSOR && (kind == OPC_CLASS_SIGNED || kind == OPC_CLASS_UNSIGNED) &&
        item->meta.itemsize < sizeof(int64_t))
      return true;
  }
  return false;
}

static void add_to_all(struct opc_replay_tensor_arg *arg, uint64_t by) {
  int64_t *numbers = arg->bytes;
  for (int64_t i = 0; i < arg->numel; i++) numbers[i] = (int64_t)((uint64_t)numbers[i] + by);
}

/* Another dtype may be meant to round. */
static bool gives_int64_only(const opc_result_t *result) {
  for (size_t i = 0; i < result->count; i++)
    if (result->items[i].kind != OPC_VALUE_TENSOR || result->items[i].meta.dtype != OPC_DTYPE_INT64) return false;
  return result->count > 0;
}

/* The operator with `by` added to every number. *out: it returned. */
static opc_status_t run_moved(narrow_t *narrow, struct opc_replay_tensor_arg *arg, uint64_t by, opc_result_t *result,
                              bool *out, opc_error_t *error) {
  const opc_again_t again = {
      .context = narrow->context, .replay = narrow->values, .label = {OPC_CALL_KIND_WITH_OTHERS, "other numbers"}};
  add_to_all(arg, by);
  const opc_status_t status = opc_again_try(&again, result, out, error);
  add_to_all(arg, -by);
  return status;
}

/* *out_same: with `by` added to every number, the result is that of `with`. *out: the operator returned. */
static opc_status_t compare_moved(narrow_t *narrow, struct opc_replay_tensor_arg *arg, uint64_t by,
                                  const opc_result_t *with, bool *out, bool *out_same, opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  OPC_RETURN_IF_ERROR(run_moved(narrow, arg, by, &result, out, error));
  *out_same = *out && opc_result_compare(&result, with, NULL, NULL).kind == OPC_DIFFERENCE_NONE;
  return OPC_OK;
}

/* A square of 2^32 is 0, too; one of 2^32 + 1 is not 1. *out: the result is that of 1 more. */
static opc_status_t reads_half_of_odd(narrow_t *narrow, struct opc_replay_tensor_arg *arg, bool *out,
                                      opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t one = {0};
  bool returned = false, same = false;
  OPC_RETURN_IF_ERROR(run_moved(narrow, arg, 1, &one, &returned, error));
  if (returned) OPC_RETURN_IF_ERROR(compare_moved(narrow, arg, (UINT64_C(1) << 32) + 1, &one, &returned, &same, error));
  *out = returned && same;
  return OPC_OK;
}

/* *out: the operator gives with these numbers what it would give if it read 32 bits of them. */
static opc_status_t reads_half(narrow_t *narrow, size_t index, bool *out, opc_error_t *error) {
  struct opc_replay_tensor_arg *arg = &narrow->values->tensor_args[index];
  *out = true;
  for (size_t i = 0; i < sizeof steps / sizeof *steps && *out; i++) {
    bool returned = false, same = false;
    OPC_RETURN_IF_ERROR(compare_moved(narrow, arg, steps[i].by, narrow->plain, &returned, &same, error));
    *out = returned && same != steps[i].must_differ;
  }
  return *out ? reads_half_of_odd(narrow, arg, out, error) : OPC_OK;
}

/* 1 more changes the result, and not only by chance, as a number that passes the next multiple of 1000 does. */
static opc_status_t counts_ones(narrow_t *narrow, struct opc_replay_tensor_arg *arg, bool *out, opc_error_t *error) {
  static const uint64_t from[] = {0, 7, 100};
  *out = true;
  for (size_t i = 0; i < sizeof from / sizeof *from && *out; i++) {
    OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
    bool same = false;
    OPC_RETURN_IF_ERROR(run_moved(narrow, arg, from[i], &result, out, error));
    if (*out) OPC_RETURN_IF_ERROR(compare_moved(narrow, arg, from[i] + 1, &result, out, &same, error));
    *out = *out && !same;
  }
  return OPC_OK;
}

/* The numbers are large. *out: the result ignores the steps that are lost, and not the one that is kept. */
static opc_status_t loses_steps(narrow_t *narrow, struct opc_replay_tensor_arg *arg, const struct rounding *rounding,
                                bool *out, opc_error_t *error) {
  const opc_again_t again = {
      .context = narrow->context, .replay = narrow->values, .label = {OPC_CALL_KIND_WITH_OTHERS, "larger numbers"}};
  OPC_SCOPED(opc_result_clear) opc_result_t large = {0};
  bool returned = false, same = false;
  OPC_RETURN_IF_ERROR(opc_again_try(&again, &large, out, error));
  for (size_t i = 0; i < sizeof rounding->lost / sizeof *rounding->lost && *out; i++) {
    OPC_RETURN_IF_ERROR(compare_moved(narrow, arg, rounding->lost[i], &large, &returned, &same, error));
    *out = returned && same;
  }
  if (!*out) return OPC_OK;
  OPC_RETURN_IF_ERROR(compare_moved(narrow, arg, rounding->kept, &large, &returned, &same, error));
  *out = returned && !same;
  return OPC_OK;
}

static opc_status_t rounds(narrow_t *narrow, size_t index, const struct rounding *rounding, bool *out,
                           opc_error_t *error) {
  struct opc_replay_tensor_arg *arg = &narrow->values->tensor_args[index];
  add_to_all(arg, rounding->base);
  const opc_status_t status = loses_steps(narrow, arg, rounding, out, error);
  add_to_all(arg, -rounding->base);
  return status;
}

/* Three times the plain result, element by element, plus a number of the operator's own that is the same in all of them
 * (a zero point): nearly, and not exactly. */
static bool are_thrice(const opc_result_t *got, const opc_result_t *plain) {
  enum { ROUNDING = 3 };
  int64_t least = INT64_MAX, most = INT64_MIN;
  if (opc_result_compare(got, plain, NULL, NULL).kind != OPC_DIFFERENCE_VALUE) return false;
  for (size_t i = 0; i < got->count; i++) {
    const int64_t *left = got->items[i].bytes, *right = plain->items[i].bytes;
    for (int64_t element = 0; element < got->items[i].meta.numel; element++) {
      const int64_t distance = (int64_t)((uint64_t)left[element] - 3 * (uint64_t)right[element]);
      least = distance < least ? distance : least;
      most = distance > most ? distance : most;
    }
  }
  return least < most && (uint64_t)most - (uint64_t)least <= 2 * ROUNDING;
}

/* An interpolation, or a product with 2.5, is a real number that is rounded to the result: it is computed in floating
 * point on purpose. *out: three times the numbers give nearly three times the result. */
static opc_status_t rounds_result(narrow_t *narrow, struct opc_replay_tensor_arg *arg, bool *out, opc_error_t *error) {
  const opc_again_t again = {
      .context = narrow->context, .replay = narrow->values, .label = {OPC_CALL_KIND_WITH_OTHERS, "other numbers"}};
  OPC_SCOPED(opc_result_clear) opc_result_t thrice = {0};
  int64_t *numbers = arg->bytes;
  for (int64_t i = 0; i < arg->numel; i++) numbers[i] *= 3;
  const opc_status_t status = opc_again_try(&again, &thrice, out, error);
  for (int64_t i = 0; i < arg->numel; i++) numbers[i] /= 3;
  *out = *out && are_thrice(&thrice, narrow->plain);
  return status;
}

/* With a real number among the arguments (a scale, a slope) it is computed in floating point on purpose, too. */
static bool takes_real_number(const opc_sample_t *sample) {
  for (size_t i = 0; i < sample->argument_count; i++)
    if (!(sample->absent && sample->absent[i]) && sample->arguments[i].kind == OPC_VALUE_FLOAT) return true;
  return false;
}

/* *out: a finding was reported. */
static opc_status_t check_rounding(narrow_t *narrow, size_t index, const char *path, opc_finding_t *finding, bool *out,
                                   opc_error_t *error) {
  bool counts = false;
  *out = false;
  if (!gives_int64_only(narrow->plain) || takes_real_number(narrow->context->sample)) return OPC_OK;
  OPC_RETURN_IF_ERROR(counts_ones(narrow, &narrow->values->tensor_args[index], &counts, error));
  if (counts) {
    bool rounded = false;
    OPC_RETURN_IF_ERROR(rounds_result(narrow, &narrow->values->tensor_args[index], &rounded, error));
    counts = !rounded;
  }
  for (size_t i = 0; i < sizeof roundings / sizeof *roundings && counts && !*out; i++) {
    OPC_RETURN_IF_ERROR(rounds(narrow, index, &roundings[i], out, error));
    if (!*out) continue;
    opc_finding_fail(finding, OPC_RULE_equivalent_rounded_integer,
                     "with %s added to every number of %s, 1 or %s more makes no difference to the result, but 2^20 "
                     "does; 1 more does for the sample's own numbers: int64 numbers are computed in %s, it seems",
                     roundings[i].base_text, path, roundings[i].lost_text, roundings[i].dtype);
  }
  return OPC_OK;
}

static opc_status_t check_tensors_and_numbers(narrow_t *narrow, const opc_call_t *call, opc_finding_t *finding,
                                              opc_error_t *error) {
  const opc_again_t again = {
      .context = narrow->context, .replay = narrow->values, .label = {OPC_CALL_KIND_OPERATOR, "again"}};
  bool random = false, half = false, rounded = false;
  bool compared = false;
  for (size_t i = 0; i < call->tensor_arg_count && i < narrow->values->count && !half; i++) {
    const opc_tensor_arg_t *arg = &call->tensor_args[i];
    if (!is_data(narrow->context, arg) || narrow->values->tensor_args[i].dtype != OPC_DTYPE_INT64 ||
        !are_in_range(&narrow->values->tensor_args[i]))
      continue;
    compared = true;
    OPC_RETURN_IF_ERROR(reads_half(narrow, i, &half, error));
    if (!half && !rounded) OPC_RETURN_IF_ERROR(check_rounding(narrow, i, arg->path, finding, &rounded, error));
    if (half) OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, narrow->plain, &random, error));
    if (!half) continue;
    if (random) opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
    else
      opc_finding_fail(finding, OPC_RULE_equivalent_truncated_integer,
                       "with 2^32 added to every number of %s the result has the same bits, and with 3 times 2^32, but "
                       "not with 1 or 2^20: of its int64 numbers the operator reads 32 bits",
                       arg->path);
  }
  if (half) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_equivalent_integer(narrow->context, narrow->values, &compared, finding, error));
  if (compared) return opc_finding_pass(finding, "int64 numbers are not read as 32 bits");
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                          "no tensor holds int64 numbers that refer to nothing, and no Scalar is an integer");
}

opc_status_t opc_equivalent_narrow(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t plain = {0};
  narrow_t narrow = {.context = context, .plain = &plain, .values = &values};
  const opc_again_t again = {.context = context, .replay = &values, .label = {OPC_CALL_KIND_OPERATOR, "again"}};
  size_t rows = 0;
  if (!opc_case_call_keeping(context, &values, &call, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_take(&plain, &call, OPC_RESULT_ARGUMENTS, error));
  if (!context->id.dtype[0]) /* the own dtype */
    OPC_RETURN_IF_ERROR(opc_equivalent_padding(&again, &call, true, &rows, finding, error));
  if (!context->id.dtype[0] && !finding->decided)
    OPC_RETURN_IF_ERROR(opc_equivalent_nan(context, &plain, finding, error));
  if (finding->decided) return OPC_OK;
  if (opc_result_numel(&plain) > 0 && !gives_narrow_integers(&plain))
    return check_tensors_and_numbers(&narrow, &call, finding, error);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the result is no number that 64 bits could change");
}
