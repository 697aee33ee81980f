/* tags: the operator behaves as its tags promise. Check registration compares tags with the schema alone. */
#include <string.h>

#include "checks/framework/outcome.h"
#include "checks/tags/tags.h"
#include "model/schema/functionalise.h"

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

static bool has_meta_kernel(const opc_operator_t *op) {
  const opc_kernel_t *meta = opc_operator_kernel(op, "Meta");
  return meta && !meta->fallthrough;
}

static bool is_concerned(const opc_operator_t *op, size_t test) {
  return tests[test].tag ? opc_operator_has_tag(op, tests[test].tag) : has_meta_kernel(op);
}

/* ---- on a sample ---- */

static void run_sample(opc_case_context_t *context, opc_finding_t *finding) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  opc_error_t error = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t held = {0};
  opc_status_t status = OPC_OK;
  if (!opc_case_call(context, true, &call, finding)) goto release;
  status = opc_result_take(&result, &call, OPC_RESULT_ARGUMENTS, &error);
  opc_tag_case_t tagged = {.context = context, .call = &call, .result = &result, .finding = finding};
  for (size_t i = 0; status == OPC_OK && i < TEST_COUNT; i++) {
    bool tested = false;
    if (!is_concerned(context->op, i)) continue;
    status = tests[i].test(&tagged, &tested, &error);
    const char *name = tests[i].tag ? tests[i].tag : "none that is missing";
    if (tested && !strstr(opc_text_c(&held), name)) opc_text_addf(&held, "%s%s", held.length ? ", " : "", name);
  }
  if (status != OPC_OK) goto release;
  if (held.length) opc_finding_pass(finding, "the operator does what its tags say: %s", opc_text_c(&held));
  else opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "these arguments cannot show what the tags say");

release:
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
}

/* ---- over all samples ---- */

typedef struct seen {
  opc_follows_t follows;
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

static opc_status_t see_sample(opc_case_context_t *context, const opc_sample_t *sample, seen_t *seen,
                               opc_error_t *error) {
  opc_result_t first = {0};
  opc_call_outcome_t outcome, others;
  const opc_again_t again = {.context = context, .sample = sample, .label = {OPC_CALL_KIND_OPERATOR, ""}};
  opc_status_t status = opc_again_run(&again, &first, &outcome, NULL, error);
  for (opc_other_values_t how = 0; status == OPC_OK && outcome == OPC_CALL_RETURNED && how < OPC_OTHER_COUNT; how++) {
    OPC_SCOPED(opc_result_clear) opc_result_t other = {0};
    status = opc_other_values_run(context, sample, how, &other, &others, error);
    if (status == OPC_OK && others == OPC_CALL_RETURNED) {
      seen->calls++;
      opc_follows_compare(&first, &other, &seen->follows);
    }
  }
  opc_result_clear(&first);
  return status;
}

/* Whether a tensor is returned at all may also depend on values. */
static bool returns_a_number(const opc_operator_t *op) {
  for (size_t i = 0; i < op->return_count; i++)
    if (opc_type_may_hold_tensor(&op->returns[i].type)) return false;
  return op->return_count > 0;
}

/* A tag says that something depends on values, but it never does. */
static opc_status_t check_unneeded(opc_case_context_t *context, opc_finding_t *finding, opc_text_t *held,
                                   opc_error_t *error) {
  enum { CALLS_MIN = 3 };
  bool shape = opc_operator_has_tag(context->op, "dynamic_output_shape"),
       number = opc_operator_has_tag(context->op, "data_dependent_output") && returns_a_number(context->op);
  opc_status_t status = OPC_OK;
  seen_t seen = {0};
  for (size_t i = 0; (shape || number) && status == OPC_OK && i < context->sample_count; i++) {
    if (has_integers(&context->samples[i])) continue;
    status = see_sample(context, &context->samples[i], &seen, error);
    if (status == OPC_ERR_UNSUPPORTED) status = OPC_OK; /* that sample's own cases report this */
  }
  if (status == OPC_OK && seen.calls >= CALLS_MIN) {
    const char *format = "tagged %s, but in %zu calls with other values in the same arguments no %s changed";
    if (shape && !seen.follows.shape)
      opc_finding_fail(finding, "tags.unneeded", format, "dynamic_output_shape", seen.calls, "shape");
    if (number && !seen.follows.number && !seen.follows.shape)
      opc_finding_fail(finding, "tags.unneeded", format, "data_dependent_output", seen.calls, "number");
    opc_text_addf(held, "%s", shape ? "dynamic_output_shape" : "data_dependent_output");
  }
  opc_text_clear(&seen.follows.text);
  return status;
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
    opc_finding_fail(finding, "tags.compliant", "tagged pt2_compliant_tag, but torch.compile refuses it: %s",
                     opc_text_c(&reason));
  /* Without a Meta kernel in C++, a Python module may register one: registration.no_meta_kernel warns, and nothing is
   * proved here. With --python that module is loaded, unless the library names another. */
  if (!has_meta_kernel(op) && !composite && op->in_python && !opc_operator_fake_elsewhere(op))
    opc_finding_fail(finding, "tags.compliant", "tagged pt2_compliant_tag, but it has no fake kernel");
  else if (has_meta_kernel(op) || composite) opc_text_addf(held, "%spt2_compliant_tag", held->length ? ", " : "");
}

static void run_once(opc_case_context_t *context, opc_finding_t *finding) {
  opc_error_t error = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t held = {0};
  opc_status_t status = check_unneeded(context, finding, &held, &error);
  check_pt2_compliant(context->op, finding, &held);
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
  else if (held.length) opc_finding_pass(finding, "what the tags promise over all calls holds: %s", opc_text_c(&held));
  else opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no tag promises anything that only many calls could show");
}

static void run(opc_case_context_t *context, opc_finding_t *finding) {
  if (context->sample) run_sample(context, finding);
  else run_once(context, finding);
}

const opc_check_t opc_check_tags = {.name = "tags", .run = run};
