#include "supervise/evidence/external_tool.h"

#include <stdbool.h>
#include <string.h>

#include "catalogue/rules.h"
#include "model/case/verdict.h"
#include "model/json/json_write.h"

static const char *external_tool_severity_of(const json_t *finding) {
  const opc_rule_t *rule = opc_rule_find(opc_json_text_of(finding, "rule"));
  const char *own = opc_json_text_of(finding, "severity");
  return own ? own : opc_severity_name(rule ? rule->severity : OPC_SEVERITY_ERROR);
}

void opc_external_tool_also(json_t *evidence, const json_t *findings) {
  json_t *also = json_object_get(evidence, "also");
  if (!also) {
    also = json_array();
    json_object_set_new(evidence, "also", also);
  }
  json_array_extend(also, (json_t *)findings);
}

/* A crash stays the result, but not a kernel's fault: the external tool knows what the kernel did. What the check
 * proved also stays if the external tool only warns. */
static bool is_worse(const json_t *result, const json_t *finding) {
  int verdict = opc_verdict_find(opc_json_text_of(result, "verdict"));
  const char *rule = opc_json_text_of(result, "rule");
  if (verdict == OPC_VERDICT_ERROR) return rule && strcmp(rule, "launch.asynchronous_error") == 0;
  if (verdict != OPC_VERDICT_FAIL) return true;
  const char *severity = opc_json_text_of(result, "severity"), *warning = opc_severity_name(OPC_SEVERITY_WARNING);
  return (severity && strcmp(severity, warning) == 0) || strcmp(external_tool_severity_of(finding), warning) != 0;
}

/* Wrong memory explains wrong values, but not the other way round. */
static void external_tool_become(json_t *result, json_t *finding, json_t *others) {
  json_t *evidence = json_object_get(result, "evidence");
  const char *key;
  json_t *value;
  const int verdict = opc_verdict_find(opc_json_text_of(result, "verdict"));
  if (verdict == OPC_VERDICT_FAIL || verdict == OPC_VERDICT_ERROR) {
    json_array_append_new(others, json_pack("{s:O, s:O}", "rule", json_object_get(result, "rule"), "message",
                                            json_object_get(result, "message")));
  }
  json_object_foreach(finding, key, value) {
    if (strcmp(key, "rule") != 0 && strcmp(key, "message") != 0 && strcmp(key, "severity") != 0)
      json_object_set(evidence, key, value);
  }
  json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_FAIL)));
  json_object_set_new(result, "severity", json_string(external_tool_severity_of(finding)));
  json_object_set_new(result, "reason", json_null());
  json_object_set(result, "message", json_object_get(finding, "message"));
  json_object_set(result, "rule", json_object_get(finding, "rule"));
}

void opc_external_tool_merge(json_t *result, const json_t *findings) {
  json_t *others = json_copy((json_t *)findings), *first = json_incref(json_array_get(findings, 0)),
         *evidence = json_object_get(result, "evidence");
  if (first && is_worse(result, first)) {
    json_array_remove(others, 0);
    external_tool_become(result, first, others);
  }
  if (json_array_size(others) > 0) opc_external_tool_also(evidence, others);
  json_object_set_new(evidence, "witnessed", json_true());
  json_decref(first);
  json_decref(others);
}
