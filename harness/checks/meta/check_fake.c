/* fake: with --python, the operator on FakeTensors with symbolic sizes, forward and backward. FakeTensors exist only in
 * Python, so host_fake.py makes the calls and compares; the real call is made here. */
#include <string.h>

#include "checks/framework/case_run.h"
#include "checks/framework/outcome.h"

/* A finding keeps the pointer. NULL: host_fake.py names a rule that this check does not have. */
static const char *rule_of(const json_t *json) {
  static const char *const rules[] = {"fake.rejects", "fake.result", "fake.backward"};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (json_is_string(json) && strcmp(json_string_value(json), rules[i]) == 0) return rules[i];
  return NULL;
}

/* Check symbolic decides about Meta kernels in C++, which get symbols in place of sizes there, too. */
static bool is_in_cpp(const opc_kernel_t *kernel) {
  return kernel && !kernel->fallthrough && !opc_kernel_is_python(kernel);
}

static opc_status_t report(const opc_operator_t *op, const json_t *answer, opc_finding_t *finding, opc_error_t *error) {
  const char *skipped = json_string_value(json_object_get(answer, "skip"));
  const char *passed = json_string_value(json_object_get(answer, "pass"));
  const json_t *failed = json_object_get(answer, "fail");
  for (size_t i = 0; i < json_array_size(failed); i++) {
    const json_t *one = json_array_get(failed, i);
    const char *rule = rule_of(json_array_get(one, 0));
    if (!rule) return opc_error_set(error, OPC_ERR_PROTOCOL, "host_fake.py names a rule that check fake does not have");
    if (strcmp(rule, "fake.rejects") == 0 && is_in_cpp(opc_operator_kernel(op, "Meta")))
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
  opc_status_t status = opc_bridge_ask_interpreter("trace", "", &text, error);
  if (status != OPC_OK) return status;
  json_t *answer = json_loads(opc_text_c(&text), 0, NULL);
  if (answer) status = report(context->op, answer, finding, error);
  else status = opc_error_set(error, OPC_ERR_PROTOCOL, "host_fake.py answered \"%s\"", opc_text_c(&text));
  json_decref(answer);
  return status;
}

static void run(opc_case_context_t *context, opc_finding_t *finding) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t nothing = {0};
  opc_error_t error = {0};
  if (!context->op->library) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "it is libtorch's own, and so is what torch.compile makes of it");
    return;
  }
  opc_status_t status = opc_bridge_ask_interpreter("watch", context->op->name, &nothing, &error);
  if (status == OPC_OK && opc_case_call(context, false, &call, finding)) status = trace(context, finding, &error);
  else if (status == OPC_OK) status = opc_bridge_ask_interpreter("leave", "", &nothing, &error);
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
}

const opc_check_t opc_check_fake = {.name = "fake", .run = run};
