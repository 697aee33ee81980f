/* Changes a result according to the errors that Valgrind saw during its case. */
#include <stdlib.h>
#include <string.h>

#include "supervise/evidence/external_tool.h"
#include "supervise/tools/memcheck_state.h"

static void add_counts(opc_also_t *finding, uint64_t errors, uint64_t places, bool earlier) {
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  json_t *valgrind = json_object_get(finding->rest, "valgrind");
  opc_text_add(&words, finding->message);
  if (earlier) opc_text_add(&words, ", as it was first seen in an earlier case");
  if (errors > 1) opc_text_addf(&words, "; %llu such errors", (unsigned long long)errors);
  if (places > 1) opc_text_addf(&words, " at %llu places", (unsigned long long)places);
  free(finding->message);
  finding->message = opc_text_take(&words);
  json_object_set_new(valgrind, "errors", json_integer((json_int_t)errors));
  json_object_set_new(valgrind, "places", json_integer((json_int_t)places));
}

/* Adds the finding of the rule of this hit, which is its first, for all hits of that rule. */
static opc_status_t add_finding(const opc_memcheck_hits_t *hits, size_t first, uint64_t number,
                                const opc_memcheck_view_t *view, opc_also_list_t *out, opc_error_t *error) {
  const opc_memcheck_error_t *found = hits->items[first].error;
  uint64_t errors = 0, places = 0;
  for (size_t i = first; i < hits->count; i++) {
    if (opc_memcheck_rule(hits->items[i].error->kind) != opc_memcheck_rule(found->kind)) continue;
    errors += hits->items[i].count;
    places++;
  }
  opc_also_t finding = opc_memcheck_describe(found, view);
  if (finding.message) add_counts(&finding, errors, places, found->number != number);
  return opc_also_add(out, finding, error);
}

opc_status_t opc_memcheck_findings(const opc_memcheck_hits_t *hits, uint64_t number, const opc_memcheck_view_t *view,
                                   opc_also_list_t *out, opc_error_t *error) {
  bool told[OPC_RULE_COUNT] = {false};
  for (int severity = OPC_SEVERITY_ERROR; severity <= OPC_SEVERITY_WARNING; severity++) {
    for (size_t i = 0; i < hits->count; i++) {
      const opc_rule_id_t rule = opc_memcheck_rule(hits->items[i].error->kind);
      if ((int)opc_rule_of(rule)->severity != severity || told[rule]) continue;
      told[rule] = true;
      OPC_RETURN_IF_ERROR(add_finding(hits, i, number, view, out, error));
    }
  }
  return OPC_OK;
}

/* Something is wrong with the case, but the cause is unknown. */
static void memcheck_judge_lose(opc_memcheck_t *memcheck, opc_case_result_t *result, const opc_error_t *why) {
  if (memcheck->lost.code == OPC_OK) memcheck->lost = *why;
  if (result->verdict == OPC_VERDICT_ERROR) return;
  result->verdict = OPC_VERDICT_ERROR;
  result->severity = OPC_SEVERITY_ERROR;
  result->reason = OPC_SKIP_NONE;
  result->rule = OPC_RULE_harness;
  opc_case_result_say(result, why->message);
  result->witnessed = true;
}

opc_status_t opc_memcheck_judge_result(opc_memcheck_t *memcheck, const opc_child_t *child,
                                       const opc_memcheck_view_t *view, const json_t *message,
                                       opc_case_result_t *result, opc_error_t *error) {
  OPC_SCOPED(opc_memcheck_hits_clear) opc_memcheck_hits_t hits = {0};
  OPC_SCOPED(opc_also_list_clear) opc_also_list_t findings = {0};
  const opc_memcheck_told_t told = opc_memcheck_told(message);
  opc_error_t why = {0};
  result->witnessed = false; /* the child may not set this */
  if (!memcheck || told.errors == 0) return OPC_OK;
  const opc_status_t read = opc_memcheck_hits_of_message(memcheck, child, &told, &hits, &why);
  if (read == OPC_ERR_IO) memcheck_judge_lose(memcheck, result, &why);
  if (read == OPC_ERR_IO) return OPC_OK;
  if (read != OPC_OK) return opc_error_set(error, read, "%s", why.message);
  OPC_RETURN_IF_ERROR(opc_memcheck_findings(&hits, told.number, view, &findings, error));
  memcheck->errors += told.errors;
  memcheck->cases++;
  return opc_external_tool_merge(result, &findings, error);
}

/* Uses the same words as guarded memory does for a try without Valgrind. */
opc_status_t opc_memcheck_judge_tried(opc_memcheck_t *memcheck, const opc_child_t *child, const json_t *message,
                                      opc_tried_t *tried, opc_error_t *error) {
  OPC_SCOPED(opc_memcheck_hits_clear) opc_memcheck_hits_t hits = {0};
  const opc_memcheck_told_t told = opc_memcheck_told(message);
  if (!memcheck || told.errors == 0) return OPC_OK;
  opc_error_t why = {0};
  const opc_status_t read = opc_memcheck_hits_of_message(memcheck, child, &told, &hits, &why);
  if (read == OPC_ERR_IO) return OPC_OK;
  if (read != OPC_OK) return opc_error_set(error, read, "%s", why.message);
  for (size_t i = 0; i < hits.count; i++) {
    const bool write = strcmp(hits.items[i].error->kind, "InvalidWrite") == 0;
    if (!write && strcmp(hits.items[i].error->kind, "InvalidRead") != 0) continue;
    tried->outcome = OPC_TRY_UNCLEAN;
    tried->message = write ? "with these arguments it writes outside its tensors' memory"
                           : "with these arguments it reads outside its tensors' memory";
  }
  return OPC_OK;
}
