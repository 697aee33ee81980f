#include "supervise/evidence/external_tool.h"

/* A crash stays the result, but not a kernel's fault: the external tool knows what the kernel did. What the check
 * proved also stays if the external tool only warns. */
static bool is_worse(const opc_case_result_t *result, const opc_also_t *finding) {
  if (result->verdict == OPC_VERDICT_ERROR) return result->rule == OPC_RULE_launch_asynchronous_error;
  return result->verdict != OPC_VERDICT_FAIL || result->severity == OPC_SEVERITY_WARNING ||
         finding->severity != OPC_SEVERITY_WARNING;
}

/* Wrong memory explains wrong values, but not the other way round. *finding becomes the result's own, or none. */
static void external_tool_become(opc_case_result_t *result, opc_also_t *finding) {
  opc_also_t own = {0};
  if (opc_case_result_is_finding(result))
    own =
        (opc_also_t){.rule = result->rule, .message = result->message, .severity = opc_rule_of(result->rule)->severity};
  else free(result->message);
  json_object_update(result->evidence, finding->rest);
  json_decref(finding->rest);
  result->verdict = OPC_VERDICT_FAIL;
  result->severity = finding->severity;
  result->reason = OPC_SKIP_NONE;
  result->rule = finding->rule;
  result->message = finding->message;
  *finding = own;
}

opc_status_t opc_external_tool_merge(opc_case_result_t *result, opc_also_list_t *findings, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  const bool replaces = findings->count > 0 && is_worse(result, &findings->items[0]);
  if (replaces) external_tool_become(result, &findings->items[0]);
  for (size_t i = 0; i < findings->count && !status; i++) {
    opc_also_t *also = &findings->items[(i + replaces) % findings->count]; /* the result's own comes last */
    if (also->message) status = opc_also_add(&result->also, *also, error);
    *also = (opc_also_t){0};
  }
  opc_also_list_clear(findings);
  result->witnessed = true;
  return status;
}
