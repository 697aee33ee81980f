/* Changes a result according to the errors that Valgrind saw during its case. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/rules.h"
#include "model/case/verdict.h"
#include "model/json/json_write.h"
#include "model/sample/tried.h"
#include "supervise/evidence/external_tool.h"
#include "supervise/tools/memcheck_state.h"

static opc_severity_t memcheck_judge_severity_of(const char *rule_name) {
  const opc_rule_t *rule = opc_rule_find(rule_name);
  return rule ? rule->severity : OPC_SEVERITY_ERROR;
}

static void add_counts(json_t *finding, uint64_t errors, uint64_t places, bool earlier) {
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  json_t *valgrind = json_object_get(finding, "valgrind");
  opc_text_add(&words, opc_json_text_of(finding, "message"));
  if (earlier) opc_text_add(&words, ", as it was first seen in an earlier case");
  if (errors > 1) opc_text_addf(&words, "; %llu such errors", (unsigned long long)errors);
  if (places > 1) opc_text_addf(&words, " at %llu places", (unsigned long long)places);
  json_object_set_new(finding, "message", json_string(opc_text_c(&words)));
  json_object_set_new(valgrind, "errors", json_integer((json_int_t)errors));
  json_object_set_new(valgrind, "places", json_integer((json_int_t)places));
}

json_t *opc_memcheck_findings(const opc_memcheck_hits_t *hits, uint64_t number, const opc_memcheck_view_t *view) {
  static const opc_severity_t order[] = {OPC_SEVERITY_ERROR, OPC_SEVERITY_WARNING};
  json_t *findings = json_array(), *told = json_object();
  for (size_t s = 0; s < sizeof order / sizeof order[0]; s++) {
    for (size_t i = 0; i < hits->count; i++) {
      const char *rule = opc_memcheck_rule(hits->items[i].error->kind);
      uint64_t errors = 0, places = 0;
      if (memcheck_judge_severity_of(rule) != order[s] || json_object_get(told, rule)) continue;
      for (size_t k = i; k < hits->count; k++) {
        if (strcmp(opc_memcheck_rule(hits->items[k].error->kind), rule) != 0) continue;
        errors += hits->items[k].count;
        places++;
      }
      json_t *finding = opc_memcheck_describe(hits->items[i].error, view);
      add_counts(finding, errors, places, hits->items[i].error->number != number);
      json_object_set_new(told, rule, json_true());
      json_array_append_new(findings, finding);
    }
  }
  json_decref(told);
  return findings;
}

static void merge_findings(json_t *result, const opc_memcheck_hits_t *hits, uint64_t number,
                           const opc_memcheck_view_t *view) {
  json_auto_t *findings = opc_memcheck_findings(hits, number, view);
  opc_external_tool_merge(result, findings);
}

/* Something is wrong with the case, but the cause is unknown. */
static void memcheck_judge_lose(opc_memcheck_t *memcheck, json_t *result, const opc_error_t *why) {
  if (memcheck->lost.code == OPC_OK) memcheck->lost = *why;
  if (opc_verdict_find(opc_json_text_of(result, "verdict")) == OPC_VERDICT_ERROR) return;
  json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_ERROR)));
  json_object_set_new(result, "severity", json_string(opc_severity_name(OPC_SEVERITY_ERROR)));
  json_object_set_new(result, "reason", json_null());
  json_object_set_new(result, "rule", json_string("harness"));
  json_object_set_new(result, "message", json_string(why->message));
  json_object_set_new(json_object_get(result, "evidence"), "witnessed", json_true());
}

/* Uses the same words as guarded memory does for a try without Valgrind. */
static void soil(json_t *answer, const opc_memcheck_hits_t *hits) {
  for (size_t i = 0; i < hits->count; i++) {
    bool write = strcmp(hits->items[i].error->kind, "InvalidWrite") == 0;
    if (!write && strcmp(hits->items[i].error->kind, "InvalidRead") != 0) continue;
    json_object_set_new(answer, "outcome", json_string(opc_try_outcome_name(OPC_TRY_UNCLEAN)));
    json_object_set_new(
        answer, "message",
        json_sprintf("with these arguments it %s outside its tensors' memory", write ? "writes" : "reads"));
  }
}

opc_status_t opc_memcheck_judge(opc_memcheck_t *memcheck, const opc_child_t *child, const opc_memcheck_view_t *view,
                                json_t *message, opc_error_t *error) {
  json_auto_t *told = json_incref(json_object_get(message, "memcheck"));
  json_t *evidence = json_object_get(message, "evidence");
  const char *type = opc_json_text_of(message, "t");
  OPC_SCOPED(opc_memcheck_hits_clear) opc_memcheck_hits_t hits = {0};
  json_object_del(message, "memcheck");
  json_object_del(evidence, "witnessed"); /* the child may not set this */
  uint64_t errors = (uint64_t)json_integer_value(json_object_get(told, "errors"));
  bool result = type && strcmp(type, "result") == 0 && json_is_object(evidence) && opc_json_text_of(message, "message");
  bool answer = type && strcmp(type, "tried") == 0;
  if (!memcheck || errors == 0 || !(result || answer)) return OPC_OK;
  opc_error_t why = {0};
  const opc_status_t read = opc_memcheck_hits_of_message(memcheck, child, told, &hits, &why);
  if (read == OPC_ERR_IO) {
    if (result) memcheck_judge_lose(memcheck, message, &why);
    return OPC_OK;
  }
  if (read != OPC_OK) return opc_error_set(error, read, "%s", why.message);
  if (answer) soil(message, &hits);
  if (result) {
    merge_findings(message, &hits, (uint64_t)json_integer_value(json_object_get(told, "number")), view);
    memcheck->errors += errors;
    memcheck->cases++;
  }
  return OPC_OK;
}
