/* tags: the operator behaves as its tags promise. Check registration compares tags with the schema alone. */
#include <string.h>

#include "checks/tags/tags.h"

static const struct {
  const char *tag; /* NULL: also for operators without tags */
  opc_tag_test_t *test;
} tests[] = {
#define OPC_TAG_PROMISE(tag, function) {tag, function},
#include "catalogue/promises.def"
#undef OPC_TAG_PROMISE
    {NULL, opc_tag_missing},
};
enum { TEST_COUNT = sizeof tests / sizeof *tests };

static bool is_concerned(const opc_operator_t *op, size_t test) {
  return tests[test].tag ? opc_operator_has_tag(op, tests[test].tag) : opc_operator_has_kernel(op, "Meta");
}

/* ---- on a sample ---- */

static opc_status_t check_tag_promises(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t held = {0};
  if (!opc_case_call(context, true, &call, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_take(&result, &call, OPC_RESULT_ARGUMENTS, error));
  opc_tag_case_t tagged = {.context = context, .call = &call, .result = &result, .finding = finding};
  for (size_t i = 0; i < TEST_COUNT; i++) {
    bool tested = false;
    if (!is_concerned(context->op, i)) continue;
    OPC_RETURN_IF_ERROR(tests[i].test(&tagged, &tested, error));
    const char *name = tests[i].tag ? tests[i].tag : "none that is missing";
    if (tested && !strstr(opc_text_c(&held), name)) opc_text_addf(&held, "%s%s", held.length ? ", " : "", name);
  }
  if (held.length) return opc_finding_pass(finding, "the operator does what its tags say: %s", opc_text_c(&held));
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "these arguments cannot show what the tags say");
}

/* ---- over all samples ---- */

typedef struct seen {
  opc_dependence_t dependence;
  size_t calls;
} seen_t;

/* Integers may be lengths or indices: changed values are a permutation, so anything that depends on their maximum
 * stays. */
static bool has_integers(const opc_sample_t *sample) {
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) {
    if (!opc_dtype_is_inexact(spec->dtype) && spec->dtype != OPC_DTYPE_BOOL) return true;
  }
  return false;
}

static opc_status_t see_other_values(opc_case_context_t *context, const opc_sample_t *sample, seen_t *seen,
                                     opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t first = {0};
  opc_call_outcome_t outcome, others;
  const opc_again_t again = {.context = context, .sample = sample, .label = {OPC_CALL_KIND_OPERATOR, ""}};
  OPC_RETURN_IF_ERROR(opc_again_run(&again, &first, &outcome, NULL, error));
  for (opc_other_values_t how = 0; outcome == OPC_CALL_RETURNED && how < OPC_OTHER_COUNT; how++) {
    OPC_SCOPED(opc_result_clear) opc_result_t other = {0};
    OPC_RETURN_IF_ERROR(opc_other_values_run(context, sample, how, &other, &others, error));
    if (others == OPC_CALL_RETURNED) {
      seen->calls++;
      opc_dependence_compare(&first, &other, &seen->dependence);
    }
  }
  return OPC_OK;
}

static void seen_clear(seen_t *seen) { opc_dependence_clear(&seen->dependence); }

/* A tag says that something depends on values, but it never does. */
static opc_status_t check_unneeded(opc_case_context_t *context, opc_finding_t *finding, opc_text_t *held,
                                   opc_error_t *error) {
  enum { CALLS_MIN = 3 };
  bool shape = opc_operator_has_tag(context->op, "dynamic_output_shape"),
       number = opc_operator_has_tag(context->op, "data_dependent_output") &&
                opc_operator_returns_numbers(context->op); /* whether there is a tensor may depend on values too */
  OPC_SCOPED(seen_clear) seen_t seen = {0};
  for (size_t i = 0; (shape || number) && i < context->sample_count; i++) {
    if (has_integers(&context->samples[i])) continue;
    OPC_RETURN_IF_ERROR(opc_status_of_sample(see_other_values(context, &context->samples[i], &seen, error)));
  }
  if (seen.calls < CALLS_MIN) return OPC_OK;
  const char *format = "tagged %s, but in %zu calls with other values in the same arguments no %s changed";
  if (shape && !seen.dependence.shape)
    opc_finding_fail(finding, OPC_RULE_tags_unneeded, format, "dynamic_output_shape", seen.calls, "shape");
  if (number && !seen.dependence.number && !seen.dependence.shape)
    opc_finding_fail(finding, OPC_RULE_tags_unneeded, format, "data_dependent_output", seen.calls, "number");
  opc_text_addf(held, "%s", shape ? "dynamic_output_shape" : "data_dependent_output");
  return OPC_OK;
}

static bool holds_tensors(const opc_operator_t *op) {
  for (size_t i = 0; i < op->argument_count; i++)
    if (opc_type_may_hold_tensor(&op->arguments[i].type)) return true;
  return false;
}

/* With this tag the library's author promises that torch.compile works. */
static void check_pt2_compliant(const opc_operator_t *op, opc_finding_t *finding, opc_text_t *held) {
  OPC_SCOPED(opc_text_clear) opc_text_t reason = {0};
  if (!opc_operator_has_tag(op, "pt2_compliant_tag") || !op->library || !op->defined_here || !holds_tensors(op)) return;
  bool composite = opc_operator_kernel(op, "CompositeImplicitAutograd") ||
                   opc_operator_kernel(op, "CompositeExplicitAutograd") ||
                   opc_operator_kernel(op, "CompositeExplicitAutogradNonFunctional");
  if (opc_functionalise_rule(op, &reason) == OPC_FUNCTIONALISE_REFUSED)
    opc_finding_fail(finding, OPC_RULE_tags_compliant, "tagged pt2_compliant_tag, but torch.compile refuses it: %s",
                     opc_text_c(&reason));
  /* Without a Meta kernel in C++, a Python module may register one: registration.no_meta_kernel warns, and nothing is
   * proved here. With --python that module is loaded, unless the library names another. */
  if (!opc_operator_has_kernel(op, "Meta") && !composite && op->in_python && !opc_operator_fake_elsewhere(op))
    opc_finding_fail(finding, OPC_RULE_tags_compliant, "tagged pt2_compliant_tag, but it has no fake kernel");
  else if (opc_operator_has_kernel(op, "Meta") || composite)
    opc_text_addf(held, "%spt2_compliant_tag", held->length ? ", " : "");
}

static opc_status_t check_all_samples(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t held = {0};
  const opc_status_t status = check_unneeded(context, finding, &held, error);
  check_pt2_compliant(context->op, finding, &held);
  OPC_RETURN_IF_ERROR(status);
  if (held.length)
    return opc_finding_pass(finding, "what the tags promise over all calls holds: %s", opc_text_c(&held));
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no tag promises anything that only many calls could show");
}

static opc_status_t run_tags(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  return context->sample ? check_tag_promises(context, finding, error) : check_all_samples(context, finding, error);
}

const opc_check_t opc_check_tags = {.name = "tags", .run = run_tags};
