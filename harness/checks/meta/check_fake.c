/* fake: with --python, the operator on FakeTensors with symbolic sizes, forward and backward. FakeTensors exist only in
 * Python, so host_fake.py makes the calls and compares; the real call is made here. */
#include <string.h>

#include "checks/meta/sample_fits.h"

/* OPC_RULE_NONE: host_fake.py names a rule that this check does not have. */
static opc_rule_id_t fake_rule(const json_t *json) {
  static const opc_rule_id_t rules[] = {OPC_RULE_fake_rejects, OPC_RULE_fake_result, OPC_RULE_fake_backward};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (json_is_string(json) && strcmp(json_string_value(json), opc_rule_name(rules[i])) == 0) return rules[i];
  return OPC_RULE_NONE;
}

/* Check symbolic decides about Meta kernels in C++, which get symbols in place of sizes there, too. */
static bool is_in_cpp(const opc_kernel_t *kernel) {
  return kernel && !kernel->fallthrough && !opc_kernel_is_python(kernel);
}

static opc_status_t report_answer(const opc_operator_t *op, const json_t *answer, opc_finding_t *finding,
                                  opc_error_t *error) {
  const char *skipped = json_string_value(json_object_get(answer, "skip"));
  const char *passed = json_string_value(json_object_get(answer, "pass"));
  const json_t *failed = json_object_get(answer, "fail");
  for (size_t i = 0; i < json_array_size(failed); i++) {
    const json_t *one = json_array_get(failed, i);
    const opc_rule_id_t rule = fake_rule(json_array_get(one, 0));
    if (!rule) return opc_error_set(error, OPC_ERR_PROTOCOL, "host_fake.py names a rule that check fake does not have");
    if (rule == OPC_RULE_fake_rejects && is_in_cpp(opc_operator_kernel(op, "Meta")))
      opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "its Meta kernel is in C++: see check symbolic");
    else opc_finding_fail(finding, rule, "%s", json_string_value(json_array_get(one, 1)));
  }
  if (skipped) opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", skipped);
  if (passed) opc_finding_pass(finding, "%s", passed);
  return OPC_OK;
}

static opc_status_t trace(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  context->announce(OPC_CALL_LABEL(ON_COPIES, "FakeTensors"));
  OPC_RETURN_IF_ERROR(opc_bridge_ask_interpreter("trace", "", &text, error));
  json_auto_t *answer = json_loads(opc_text_c(&text), 0, NULL);
  if (answer) return report_answer(context->op, answer, finding, error);
  return opc_error_set(error, OPC_ERR_PROTOCOL, "host_fake.py answered \"%s\"", opc_text_c(&text));
}

static opc_status_t watch(const opc_case_context_t *context, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t nothing = {0};
  return opc_bridge_ask_interpreter("watch", context->op->name, &nothing, error);
}

static opc_status_t leave(opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t nothing = {0};
  return opc_bridge_ask_interpreter("leave", "", &nothing, error);
}

static opc_status_t agree_on_fakes(opc_case_context_t *context, bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_finding_clear) opc_finding_t finding = {0};
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_ON_OTHERS, "arguments that fit together"}};
  *out = false;
  OPC_RETURN_IF_ERROR(watch(context, error));
  const opc_status_t status = opc_again_call(&again, &call, error);
  if (status != OPC_OK || call.outcome != OPC_CALL_RETURNED) {
    opc_error_t ignored;
    (void)leave(&ignored);
    return status;
  }
  OPC_RETURN_IF_ERROR(trace(context, &finding, error));
  *out = finding.decided && finding.verdict == OPC_VERDICT_PASS;
  return OPC_OK;
}

static opc_status_t check_fake(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  bool fits = false;
  OPC_RETURN_IF_ERROR(watch(context, error));
  if (!opc_case_call(context, false, &call, finding)) return leave(error);
  OPC_RETURN_IF_ERROR(trace(context, finding, error));
  if (!finding->rule || !opc_sample_is_only_searched(context)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_fits(context, &call, agree_on_fakes, &fits, error));
  if (fits) opc_finding_evidence(finding, "fits", json_true());
  return OPC_OK;
}

static opc_status_t run_fake(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  if (context->op->library) return check_fake(context, finding, error);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                          "it is libtorch's own, and so is what torch.compile makes of it");
}

const opc_check_t opc_check_fake = {.name = "fake", .run = run_fake};
