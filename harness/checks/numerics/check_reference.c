/* reference: another operator, which the sample names, computes the same. */
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"
#include "memory/cpu_memory.h"

/* Two correct operators may add in another order, and use other functions: as between CPU and CUDA. */
enum { REFERENCE_ULPS = 8 + OPC_TOLERANCE_ULPS };

typedef struct reference {
  opc_case_context_t *context; /* of the operator */
  opc_case_context_t own;      /* the same case of the reference */
  opc_operator_t op;
  opc_op_handle_t *handle;
  opc_sample_t sample; /* its arguments */
} reference_t;

static void reference_clear(reference_t *reference) {
  opc_sample_clear(&reference->sample);
  opc_op_free(reference->handle);
  opc_operator_clear(&reference->op);
}

/* ---- its arguments ---- */

/* Values come from a stream named after the argument: they stay the same under the reference's names. */
static void keep_stream(const char *path, opc_value_t *value, void *context) {
  opc_tensor_spec_t *spec = value->tensor;
  if (spec && !spec->stream && !(spec->stream = opc_string_copy(path))) *(bool *)context = false;
}

static bool same_default(const opc_argument_t *left, const opc_argument_t *right) {
  return left->has_default && right->has_default && left->default_text && right->default_text &&
         strcmp(left->default_text, right->default_text) == 0;
}

/* Argument `to` of the reference gets argument `from` of the operator. */
static opc_status_t pass(reference_t *reference, size_t to, size_t from, opc_error_t *error) {
  const opc_operator_t *op = reference->context->op;
  const opc_sample_t *sample = reference->context->sample;
  bool room = true;
  if (sample->absent[from]) {
    reference->sample.absent[to] = true;
    if (same_default(&op->arguments[from], &reference->op.arguments[to])) return OPC_OK;
    return opc_error_set(
        error, OPC_ERR_NOT_FOUND, "the sample leaves %s out, and %s has no such default for %s: give %s a value",
        op->arguments[from].name, reference->op.name, reference->op.arguments[to].name, op->arguments[from].name);
  }
  opc_value_clear(&reference->sample.arguments[to]);
  OPC_RETURN_IF_ERROR(opc_value_copy(&sample->arguments[from], &reference->sample.arguments[to], error));
  opc_value_visit_tensors(op->arguments[from].name, &reference->sample.arguments[to], keep_stream, &room);
  reference->sample.absent[to] = false;
  return room ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t pass_named(reference_t *reference, const struct opc_reference_argument *one, opc_error_t *error) {
  const int to = opc_operator_argument(&reference->op, one->name);
  if (to < 0)
    return opc_error_set(error, OPC_ERR_NOT_FOUND, "%s has no argument \"%s\"", reference->op.name, one->name);
  if (one->from)
    return pass(reference, (size_t)to, (size_t)opc_operator_argument(reference->context->op, one->from), error);
  reference->sample.absent[to] = false;
  opc_value_clear(&reference->sample.arguments[to]);
  return opc_value_copy(&one->value, &reference->sample.arguments[to], error);
}

static opc_status_t pass_all(reference_t *reference, opc_error_t *error) {
  const opc_expect_t *expect = &reference->context->base->expect;
  const size_t own = reference->context->op->argument_count, its = reference->op.argument_count;
  const size_t count = expect->reference_argument_count;
  OPC_SCOPED(opc_scope_free) bool *given = calloc(its + 1, sizeof *given);
  if (!given) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_sample_init(&reference->sample, &reference->op, error));
  if (count == 0 && own > its)
    return opc_error_set(error, OPC_ERR_NOT_FOUND,
                         "%s takes %zu argument%s, and %s has %zu: say in expect.arguments what they get",
                         reference->op.name, its, its == 1 ? "" : "s", reference->context->op->name, own);
  for (size_t i = 0; i < (count ? count : own); i++) {
    OPC_RETURN_IF_ERROR(count ? pass_named(reference, &expect->reference_arguments[i], error)
                              : pass(reference, i, i, error));
    given[count ? (size_t)opc_operator_argument(&reference->op, expect->reference_arguments[i].name) : i] = true;
  }
  for (size_t i = 0; i < its; i++)
    if (!given[i] && !reference->op.arguments[i].has_default)
      return opc_error_set(error, OPC_ERR_NOT_FOUND, "nothing is given for %s of %s", reference->op.arguments[i].name,
                           reference->op.name);
  return OPC_OK;
}

static opc_status_t reference_make(reference_t *reference, opc_error_t *error) {
  const char *name = reference->context->base->expect.reference;
  OPC_RETURN_IF_ERROR(opc_op_find(name, &reference->handle, error));
  OPC_RETURN_IF_ERROR(opc_bridge_describe(name, &reference->op, error));
  reference->own = *reference->context;
  reference->own.op = &reference->op;
  reference->own.handle = reference->handle;
  reference->own.sample = reference->own.base = &reference->sample;
  return pass_all(reference, error);
}

/* ---- whether it vouches for the arguments ---- */

/* Once more on guarded memory: the same result, and nothing outside of its tensors. */
static opc_status_t stays_inside(reference_t *reference, const opc_result_t *wanted, opc_guard_side_t side, bool *out,
                                 opc_error_t *error) {
  enum { ANY = 1U << OPC_ACCESS_OUTSIDE | 1U << OPC_ACCESS_FREED };
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  bool returned = false;
  const opc_again_t again = {.context = &reference->own, .label = {OPC_CALL_KIND_REFERENCE, "on guarded memory"}};
  opc_guard_accesses_reset();
  opc_poison_pattern(side == OPC_GUARD_BEHIND ? OPC_PATTERN_FIRST : OPC_PATTERN_SECOND);
  opc_cpu_memory_guard(side);
  const opc_status_t status = opc_again_try(&again, &result, &returned, error);
  const opc_result_t own = {.items = result.items, .count = wanted->count};
  *out = returned && opc_accesses_count(ANY) == 0 && result.count >= wanted->count &&
         opc_result_compare(&own, wanted, NULL, NULL).kind == OPC_DIFFERENCE_NONE;
  opc_cpu_memory_plain();
  opc_guard_accesses_reset();
  opc_poison_pattern(OPC_PATTERN_FIRST);
  return status;
}

/* Nobody says that the arguments are valid. If the reference stays in bounds with them and gives the same result again,
 * they are valid for it, and the operator is said to do the same. Not where a NaN or another dtype was put into one of
 * them. */
static opc_status_t is_vouched_for(reference_t *reference, const opc_result_t *wanted, bool *out, opc_error_t *error) {
  const opc_case_context_t *context = reference->context;
  *out = false;
  if (opc_case_arguments_fit(context) || context->device.type != OPC_DEVICE_CPU ||
      (context->variant.families & (OPC_VARIANT_SPECIAL | OPC_VARIANT_CAST)))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(stays_inside(reference, wanted, OPC_GUARD_BEHIND, out, error));
  if (*out) OPC_RETURN_IF_ERROR(stays_inside(reference, wanted, OPC_GUARD_BEFORE, out, error));
  return OPC_OK;
}

/* ---- comparison ---- */

static void report_values(const opc_bound_t *bound, const opc_difference_t *difference, const char *name,
                          opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_difference_text(difference, bound->got, bound->reference, name, &text);
  opc_finding_fail(finding, OPC_RULE_reference_other_values, "%s", opc_text_c(&text));
  opc_finding_differences(finding, difference, bound->got, bound->reference, opc_bound_holds, (void *)(uintptr_t)bound);
  if (difference->kind != OPC_DIFFERENCE_VALUE || bound->got->items[difference->item].kind != OPC_VALUE_TENSOR) return;
  opc_finding_evidence(finding, "tolerance", opc_bound_evidence(bound, difference));
}

/* The bits differ. Only now the expensive tests: chance, rounding, or wrong. */
static opc_status_t check_difference(reference_t *reference, const opc_replay_t *values, const opc_result_t *got,
                                     const opc_result_t *wanted, opc_difference_t difference, opc_finding_t *finding,
                                     opc_error_t *error) {
  opc_case_context_t *context = reference->context;
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t tolerance = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t its_values = {0};
  opc_again_t again = {
      .context = context, .replay = (opc_replay_t *)(uintptr_t)values, .label = {OPC_CALL_KIND_OPERATOR, "again"}};
  opc_again_t its_again = {.context = &reference->own, .label = {OPC_CALL_KIND_REFERENCE, ""}};
  opc_bound_t bound = {.got = got,
                       .reference = wanted,
                       .tolerance = &tolerance,
                       .ulps = REFERENCE_ULPS,
                       .narrow = OPC_DTYPE_OTHER,
                       .any_nan = true};
  bool random = false, vouched = false;
  if (context->base->expect.has_tolerance) bound.relative = context->base->expect.tolerance;
  OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, got, &random, error));
  OPC_RETURN_IF_ERROR(opc_again_values(&its_again, &its_values, error));
  its_again.replay = &its_values;
  if (!random) OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&its_again, wanted, &random, error));
  if (!random) OPC_RETURN_IF_ERROR(opc_tolerance_measure(&tolerance, &its_again, wanted, error));
  if (random) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  if (difference.kind == OPC_DIFFERENCE_VALUE) difference = opc_result_compare(got, wanted, opc_bound_holds, &bound);
  if (difference.kind != OPC_DIFFERENCE_NONE) {
    OPC_RETURN_IF_ERROR(is_vouched_for(reference, wanted, &vouched, error));
    report_values(&bound, &difference, reference->op.name, finding);
    if (vouched) opc_finding_evidence(finding, "clean_reference", json_true());
  } else opc_finding_pass(finding, "equal to %s within its own sensitivity to the last place", reference->op.name);
  return OPC_OK;
}

static opc_status_t compare_results(reference_t *reference, const opc_replay_t *values, const opc_result_t *got,
                                    opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t wanted = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  const opc_again_t again = {.context = &reference->own, .label = {OPC_CALL_KIND_REFERENCE, ""}};
  OPC_RETURN_IF_ERROR(opc_again_run(&again, &wanted, &outcome, &message, error));
  if (outcome != OPC_CALL_RETURNED && opc_case_is_declared(reference->context))
    return opc_finding_fail(finding, OPC_RULE_reference_unusable, "%s refuses the sample: %.300s", reference->op.name,
                            opc_text_c(&message));
  if (outcome != OPC_CALL_RETURNED)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s refuses these arguments: %.300s", reference->op.name,
                            opc_text_c(&message));
  /* As many as both have. */
  const size_t count = got->count < wanted.count ? got->count : wanted.count;
  const opc_result_t left = {.items = got->items, .count = count}, right = {.items = wanted.items, .count = count};
  const int64_t numel = opc_result_numel(&left);
  const opc_difference_t difference = opc_result_compare(&left, &right, NULL, NULL);
  if (difference.kind != OPC_DIFFERENCE_NONE)
    return check_difference(reference, values, &left, &right, difference, finding, error);
  if (count == 0 || numel == 0)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "nothing is returned that could be compared");
  return opc_finding_pass(finding, "%lld values have the bits of %s's", (long long)numel, reference->op.name);
}

static opc_status_t check_against(reference_t *reference, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0};
  if (!opc_case_call_keeping(reference->context, &values, &call, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_take(&got, &call, OPC_RESULT_ARGUMENTS, error));
  return compare_results(reference, &values, &got, finding, error);
}

static opc_status_t reference_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(reference_clear) reference_t reference = {.context = context};
  const opc_status_t status = reference_make(&reference, error);
  if (status != OPC_ERR_NOT_FOUND) return status ? status : check_against(&reference, finding, error);
  if (context->unmodified) return opc_finding_fail(finding, OPC_RULE_reference_unusable, "%s", error->message);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the reference cannot be called: %s", error->message);
}

const opc_check_t opc_check_reference = {.name = "reference", .run = reference_run};
