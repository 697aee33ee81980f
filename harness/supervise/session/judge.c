#include "supervise/session/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/severity.h"
#include "model/case/case.h"
#include "model/json/json_write.h"
#include "supervise/process/cuda_plan.h"

opc_standing_t opc_result_standing(const json_t *result, const opc_case_id_t *id) {
  opc_standing_t standing;
  (void)opc_standing_parse(opc_json_text_of(result, "standing"), &standing);
  /* In a case of a check of dtypes the sample's own dtype may be named. */
  standing.plain = id->variant[0] == '\0' || strcmp(id->variant, "plain") == 0;
  return standing;
}

void opc_result_note_control(json_t *result, const char *control_case, bool held) {
  json_object_set_new(json_object_get(result, "evidence"), "control",
                      json_pack("{s:o, s:b}", "case", opc_json_string(control_case), "held", held));
}

void opc_result_note_broken_base(json_t *result, const char *base_case) {
  json_object_set_new(json_object_get(result, "evidence"), "base",
                      json_pack("{s:o, s:b}", "case", opc_json_string(base_case), "broken", true));
}

void opc_result_note_every_input(json_t *result) {
  const char *rule = opc_json_text_of(result, "rule");
  if (rule != NULL && strncmp(rule, "memory.out_of_bounds_", strlen("memory.out_of_bounds_")) == 0)
    json_object_set_new(json_object_get(result, "evidence"), "every_input", json_true());
}

void opc_result_note_index_beyond(json_t *result) {
  json_object_set_new(json_object_get(result, "evidence"), "index_beyond", json_true());
}

static opc_severity_t severity_in(const json_t *finding, opc_severity_t usual) {
  const char *severity = opc_json_text_of(finding, "severity");
  if (severity == NULL) return usual;
  return strcmp(severity, opc_severity_name(OPC_SEVERITY_WARNING)) == 0 ? OPC_SEVERITY_WARNING : OPC_SEVERITY_ERROR;
}

/* The only argument that the variant changed: "x" for "x.sliced", "tensors" for "tensors[1].empty0". NULL: not exactly
 * one. */
static char *varied_argument(const char *variant) {
  const size_t length = opc_case_changed_argument(variant);
  return length > 0 ? opc_string_format("%.*s", (int)length, variant) : NULL;
}

/* Moves the present rule and its text to "also"; the entry replaces them. */
static void promote(json_t *result, json_t *also, size_t index) {
  json_t *entry = json_incref(json_array_get(also, index));
  json_array_set_new(also, index,
                     json_pack("{s:O, s:O, s:O}", "rule", json_object_get(result, "rule"), "message",
                               json_object_get(result, "message"), "severity", json_object_get(result, "severity")));
  json_object_set(result, "rule", json_object_get(entry, "rule"));
  json_object_set(result, "message", json_object_get(entry, "message"));
  json_object_set(result, "severity", json_object_get(entry, "severity"));
  json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_FAIL)));
  json_decref(entry);
}

/* A side warning does not hide an error. */
static void put_errors_first(json_t *result, json_t *also) {
  if (severity_in(result, OPC_SEVERITY_ERROR) == OPC_SEVERITY_ERROR) return;
  for (size_t i = 0; i < json_array_size(also); i++) {
    if (severity_in(json_array_get(also, i), OPC_SEVERITY_ERROR) != OPC_SEVERITY_ERROR) continue;
    promote(result, also, i);
    return;
  }
}

static bool is_base_broken(const json_t *evidence) {
  return json_is_true(json_object_get(json_object_get(evidence, "base"), "broken"));
}

/* "x.scalar": another number of dimensions for x alone. */
static bool has_other_rank(const char *variant) {
  const char *transformation = strrchr(variant, '.');
  return transformation != NULL && strcmp(transformation, ".scalar") == 0 && strncmp(variant, "all.", 4) != 0;
}

/* If the sample itself shows the same, the variant's changed argument is not to blame. */
static void note_unchecked(json_t *result, const opc_case_id_t *id, const char *rule, const char *seen) {
  json_t *evidence = json_object_get(result, "evidence");
  char *argument = is_base_broken(evidence) ? NULL : varied_argument(id->variant);
  json_object_set_new(evidence, "seen", json_string(seen));
  json_object_set_new(evidence, "seen_rule", json_string(rule));
  if (argument != NULL) json_object_set_new(evidence, "argument", opc_json_string(argument));
  json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_FAIL)));
  free(argument);
}

void opc_result_judge(json_t *result, const opc_case_id_t *id, bool untrusted_input) {
  json_t *evidence = json_object_get(result, "evidence"), *also = json_object_get(evidence, "also"), *entry;
  const json_t *control = json_object_get(evidence, "control");
  opc_judgement_asked_t asked = {.operator_name = id->operator_name,
                                 .standing = opc_result_standing(result, id),
                                 .control_held = json_is_true(json_object_get(control, "held")),
                                 .every_input = json_is_true(json_object_get(evidence, "every_input")),
                                 .other_rank = has_other_rank(id->variant),
                                 .after_other = json_object_get(evidence, "depends_on") != NULL,
                                 .uneven_lists = json_is_true(json_object_get(evidence, "uneven_lists")),
                                 .lone_tensor = json_is_true(json_object_get(evidence, "lone_tensor")),
                                 .unasked_dtype = json_is_true(json_object_get(evidence, "unasked_dtype")),
                                 .index_beyond = json_is_true(json_object_get(evidence, "index_beyond")),
                                 .clean_reference = json_is_true(json_object_get(evidence, "clean_reference")),
                                 .on_gpu = strcmp(id->device, OPC_MODE_CUDA) == 0,
                                 .untrusted_input = untrusted_input};
  size_t i;
  char rule[64];
  /* What a variant of a broken sample shows is judged as on the sample itself. This does not apply to a sample that a
   * search found: nobody vouches for it. */
  if (asked.standing.voucher != OPC_VOUCHER_SEARCHED && is_base_broken(evidence))
    asked.standing.change = OPC_INPUT_SAME_VALUES;
  if (asked.standing.voucher == OPC_VOUCHER_NONE || opc_json_text_of(result, "rule") == NULL) return;
  json_array_foreach(also, i, entry) {
    asked.rule = opc_json_text_of(entry, "rule");
    if (asked.rule == NULL) continue;
    asked.severity = severity_in(entry, opc_rule_severity(asked.rule));
    opc_judgement_t judged = opc_rule_judge(&asked);
    json_object_set_new(entry, "severity", json_string(opc_severity_name(judged.severity)));
    json_object_set_new(entry, "rule", json_string(judged.rule));
  }
  opc_string_put(rule, sizeof rule, opc_json_text_of(result, "rule"));
  asked.rule = rule;
  asked.severity = severity_in(result, opc_rule_severity(rule));
  opc_judgement_t judged = opc_rule_judge(&asked);
  json_object_set_new(result, "severity", json_string(opc_severity_name(judged.severity)));
  json_object_set_new(result, "rule", json_string(judged.rule));
  if (judged.seen != NULL) note_unchecked(result, id, rule, judged.seen);
  put_errors_first(result, also);
}
