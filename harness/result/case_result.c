#include "result/case_result.h"

#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define X(constant, text) text,
static const char *const effects[] = {OPC_EFFECTS(X)};
#undef X

opc_effect_t opc_effect_find(const char *name) {
  for (int i = OPC_EFFECT_NONE + 1; name && i < OPC_EFFECT_COUNT; i++)
    if (strcmp(effects[i], name) == 0) return (opc_effect_t)i;
  return OPC_EFFECT_NONE;
}

const char *opc_effect_name(opc_effect_t effect) { return effects[effect]; }

/* ---- further findings ---- */

void opc_also_clear(opc_also_t *also) {
  free(also->message);
  json_decref(also->rest);
}

opc_status_t opc_also_add(opc_also_list_t *list, opc_also_t also, opc_error_t *error) {
  if (!also.message || !OPC_ARRAY_GROW(list->items, list->count)) {
    opc_also_clear(&also);
    return opc_out_of_memory(error);
  }
  list->items[list->count++] = also;
  return OPC_OK;
}

void opc_also_list_clear(opc_also_list_t *list) {
  for (size_t i = 0; i < list->count; i++) opc_also_clear(&list->items[i]);
  free(list->items);
  *list = (opc_also_list_t){0};
}

/* ---- results ---- */

bool opc_case_result_is_finding(const opc_case_result_t *result) {
  return result->verdict == OPC_VERDICT_FAIL || result->verdict == OPC_VERDICT_ERROR;
}

bool opc_case_result_is_verdict(const opc_case_result_t *result) {
  if (result->verdict == OPC_VERDICT_SKIP) return result->reason == OPC_SKIP_REJECTED || result->reason == OPC_SKIP_OFF;
  return result->rule == OPC_RULE_NONE || !opc_rule_is_of(result->rule, "search");
}

void opc_case_result_put(char **field, const char *text) {
  char *copy = opc_string_copy(text);
  free(*field);
  *field = copy;
}

void opc_case_result_say(opc_case_result_t *result, const char *message) {
  opc_case_result_put(&result->message, message);
  opc_words_out(result->message);
}

void opc_case_result_add(opc_case_result_t *result, const char *text) {
  char *message = opc_string_format("%s%s", result->message, text);
  if (message) opc_words_out(message + strlen(result->message));
  free(result->message);
  result->message = message;
}

void opc_case_result_free(opc_case_result_t *result) {
  if (!result) return;
  char *const texts[] = {result->message,     result->repro,    result->depends_on,      result->control,
                         result->broken_base, result->argument, result->confirmed_after, result->crashed_before};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
  for (size_t i = 0; i < result->access_count; i++) free(result->accesses[i].frames.items);
  free(result->accesses);
  free(result->frames.items);
  opc_also_list_clear(&result->also);
  json_decref(result->evidence);
  free(result);
}

void opc_scope_case_result(opc_case_result_t **result) { opc_case_result_free(*result); }
