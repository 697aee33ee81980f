/* Results as JSON: read from a message or a journal, written to a journal. */
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "result/case_result.h"

#define AT(result, type, offset) ((type *)(void *)((char *)(result) + (offset)))

typedef struct field {
  const char *key; /* in evidence */
  size_t offset;   /* in opc_case_result_t */
} field_t;

static const field_t flag_fields[] = {{"every_input", offsetof(opc_case_result_t, every_input)},
                                      {"uneven_lists", offsetof(opc_case_result_t, uneven_lists)},
                                      {"lone_tensor", offsetof(opc_case_result_t, lone_tensor)},
                                      {"fits", offsetof(opc_case_result_t, fits)},
                                      {"unasked_dtype", offsetof(opc_case_result_t, unasked_dtype)},
                                      {"index_beyond", offsetof(opc_case_result_t, index_beyond)},
                                      {"clean_reference", offsetof(opc_case_result_t, clean_reference)},
                                      {"check_given_up", offsetof(opc_case_result_t, check_given_up)},
                                      {"had_returned", offsetof(opc_case_result_t, had_returned)},
                                      {"witnessed", offsetof(opc_case_result_t, witnessed)}};
static const field_t text_fields[] = {{"depends_on", offsetof(opc_case_result_t, depends_on)},
                                      {"argument", offsetof(opc_case_result_t, argument)},
                                      {"confirmed_after", offsetof(opc_case_result_t, confirmed_after)},
                                      {"crashed_before", offsetof(opc_case_result_t, crashed_before)}};
enum { FLAGS = sizeof flag_fields / sizeof *flag_fields, TEXTS = sizeof text_fields / sizeof *text_fields };

/* ---- reading ---- */

typedef struct reader {
  const char *case_id;
  opc_error_t *error;
} reader_t;

static opc_status_t mistake(const reader_t *reader, const char *field, const char *expected) {
  return opc_error_set(reader->error, OPC_ERR_INPUT, "the result of case %s: %s is not %s", reader->case_id, field,
                       expected);
}

/* *out: the member's text; NULL: absent or null. */
static opc_status_t read_text(const reader_t *reader, const json_t *object, const char *key, const char **out) {
  const json_t *value = json_object_get(object, key);
  *out = json_string_value(value);
  return *out || !value || json_is_null(value) ? OPC_OK : mistake(reader, key, "a text");
}

static opc_status_t read_copy(const reader_t *reader, const json_t *object, const char *key, char **out) {
  const char *text;
  OPC_RETURN_IF_ERROR(read_text(reader, object, key, &text));
  *out = opc_string_copy(text);
  return *out || !text ? OPC_OK : opc_out_of_memory(reader->error);
}

static opc_status_t read_flag(const reader_t *reader, const json_t *object, const char *key, bool *out) {
  const json_t *value = json_object_get(object, key);
  *out = json_is_true(value);
  return !value || json_is_boolean(value) ? OPC_OK : mistake(reader, key, "true or false");
}

static opc_status_t read_rule(const reader_t *reader, const json_t *object, const char *key, opc_rule_id_t *out) {
  const char *name;
  const opc_status_t status = read_text(reader, object, key, &name);
  *out = opc_rule_id(name);
  return status != OPC_OK || *out || !name ? status : mistake(reader, key, "the name of a rule");
}

/* Absent: the usual one of the rule. */
static opc_status_t read_severity(const reader_t *reader, const json_t *object, opc_rule_id_t rule, opc_severity_t *out,
                                  bool *out_stated) {
  const char *name;
  OPC_RETURN_IF_ERROR(read_text(reader, object, "severity", &name));
  *out_stated = name;
  *out = opc_rule_of(rule)->severity;
  if (!name) return OPC_OK;
  for (int i = OPC_SEVERITY_ERROR; i <= OPC_SEVERITY_WARNING; i++) {
    if (strcmp(opc_severity_name((opc_severity_t)i), name) != 0) continue;
    *out = (opc_severity_t)i;
    return OPC_OK;
  }
  return mistake(reader, "severity", "error or warning");
}

static opc_status_t read_verdict(const reader_t *reader, const json_t *record, opc_case_result_t *result) {
  const char *verdict, *reason, *provenance;
  bool stated;
  OPC_RETURN_IF_ERROR(read_text(reader, record, "verdict", &verdict));
  OPC_RETURN_IF_ERROR(read_text(reader, record, "reason", &reason));
  OPC_RETURN_IF_ERROR(read_text(reader, record, "standing", &provenance));
  OPC_RETURN_IF_ERROR(read_rule(reader, record, "rule", &result->rule));
  OPC_RETURN_IF_ERROR(read_severity(reader, record, result->rule, &result->severity, &stated));
  const int kind = opc_verdict_find(verdict);
  if (kind < 0) return mistake(reader, "verdict", "pass, fail, skip or error");
  result->verdict = (opc_verdict_kind_t)kind;
  result->reason = opc_skip_reason_find(reason);
  if (reason && result->reason == OPC_SKIP_NONE) return mistake(reader, "reason", "a reason for a skip");
  if (!opc_provenance_parse(provenance, &result->provenance) && provenance)
    return mistake(reader, "standing", "SOURCE/CHANGE of a case");
  /* In a case of a check of dtypes the sample's own dtype may be named. */
  result->provenance.plain = !*result->id.variant || strcmp(result->id.variant, "plain") == 0;
  if (opc_case_result_is_finding(result) && !result->rule) return mistake(reader, "rule", "there, but it is a finding");
  return OPC_OK;
}

static opc_status_t read_also(const reader_t *reader, opc_case_result_t *result) {
  const json_t *list = json_object_get(result->evidence, "also");
  size_t i;
  json_t *entry;
  if (list && !json_is_array(list)) return mistake(reader, "also", "a list");
  json_array_foreach((json_t *)list, i, entry) {
    opc_also_t also = {0};
    const char *message;
    OPC_RETURN_IF_ERROR(read_rule(reader, entry, "rule", &also.rule));
    OPC_RETURN_IF_ERROR(read_text(reader, entry, "message", &message));
    OPC_RETURN_IF_ERROR(read_severity(reader, entry, also.rule, &also.severity, &also.severity_stated));
    if ((!also.rule || !message)) OPC_RETURN_IF_ERROR(mistake(reader, "also", "a list of rules and messages"));
    also.message = opc_string_copy(message);
    also.rest = json_copy(entry);
    json_object_del(also.rest, "rule");
    json_object_del(also.rest, "message");
    json_object_del(also.rest, "severity");
    OPC_RETURN_IF_ERROR(opc_also_add(&result->also, also, reader->error));
  }
  return OPC_OK;
}

static const char *text_in(const json_t *object, const char *key) {
  const char *text = opc_json_text_of(object, key);
  return text ? text : "";
}

static opc_code_frame_t frame_of(const json_t *frame) {
  return (opc_code_frame_t){.module = text_in(frame, "module"),
                            .symbol = text_in(frame, "symbol"),
                            .file = text_in(frame, "file"),
                            .offset = text_in(frame, "offset"),
                            .line = (int)json_integer_value(json_object_get(frame, "line"))};
}

static opc_status_t read_frames(const json_t *list, opc_code_frames_t *out, opc_error_t *error) {
  size_t i;
  json_t *frame;
  json_array_foreach((json_t *)list, i, frame) {
    if (!OPC_ARRAY_GROW(out->items, out->count)) return opc_out_of_memory(error);
    out->items[out->count++] = frame_of(frame);
  }
  return OPC_OK;
}

static opc_status_t case_result_json_read_places(const reader_t *reader, opc_case_result_t *result) {
  size_t i;
  json_t *entry;
  OPC_RETURN_IF_ERROR(read_frames(json_object_get(result->evidence, "frames"), &result->frames, reader->error));
  json_array_foreach(json_object_get(result->evidence, "accesses"), i, entry) {
    if (!OPC_ARRAY_GROW(result->accesses, result->access_count)) return opc_out_of_memory(reader->error);
    opc_result_access_t *access = &result->accesses[result->access_count++];
    *access = (opc_result_access_t){.argument = text_in(entry, "argument"),
                                    .write = strcmp(text_in(entry, "access"), "write") == 0};
    OPC_RETURN_IF_ERROR(read_rule(reader, entry, "rule", &access->rule));
    OPC_RETURN_IF_ERROR(read_frames(json_object_get(entry, "frames"), &access->frames, reader->error));
  }
  return OPC_OK;
}

/* {"case": ID, FLAG: true or false} */
static opc_status_t read_other_case(const reader_t *reader, const json_t *evidence, const char *key, const char *flag,
                                    char **out, bool *out_flag) {
  const json_t *other = json_object_get(evidence, key);
  if (!other) return OPC_OK;
  OPC_RETURN_IF_ERROR(read_copy(reader, other, "case", out));
  OPC_RETURN_IF_ERROR(read_flag(reader, other, flag, out_flag));
  return *out ? OPC_OK : mistake(reader, key, "another case");
}

/* Moves what has a field out of the evidence. */
static opc_status_t read_evidence(const reader_t *reader, opc_case_result_t *result) {
  json_t *evidence = result->evidence;
  result->kernel = frame_of(json_object_get(evidence, "kernel"));
  if (json_object_size(evidence) == 0) return OPC_OK;
  bool broken = false;
  const char *effect = NULL;
  for (size_t i = 0; i < FLAGS; i++) {
    OPC_RETURN_IF_ERROR(read_flag(reader, evidence, flag_fields[i].key, AT(result, bool, flag_fields[i].offset)));
    json_object_del(evidence, flag_fields[i].key);
  }
  for (size_t i = 0; i < TEXTS; i++) {
    OPC_RETURN_IF_ERROR(read_copy(reader, evidence, text_fields[i].key, AT(result, char *, text_fields[i].offset)));
    json_object_del(evidence, text_fields[i].key);
  }
  OPC_RETURN_IF_ERROR(read_also(reader, result));
  OPC_RETURN_IF_ERROR(case_result_json_read_places(reader, result));
  OPC_RETURN_IF_ERROR(read_other_case(reader, evidence, "control", "held", &result->control, &result->control_held));
  OPC_RETURN_IF_ERROR(read_other_case(reader, evidence, "base", "broken", &result->broken_base, &broken));
  OPC_RETURN_IF_ERROR(read_text(reader, evidence, "seen", &effect));
  OPC_RETURN_IF_ERROR(read_rule(reader, evidence, "seen_rule", &result->effect_rule));
  result->effect = opc_effect_find(effect);
  if (effect && result->effect == OPC_EFFECT_NONE) return mistake(reader, "seen", "an effect of unchecked arguments");
  const json_t *confirmed = json_object_get(evidence, "confirmed");
  result->confirmed = json_is_true(confirmed)    ? OPC_CONFIRMED_YES
                      : json_is_false(confirmed) ? OPC_CONFIRMED_NO
                                                 : OPC_CONFIRMED_UNKNOWN;
  result->own_variants = json_object_get(evidence, "variants");
  static const char *const moved[] = {"also", "control", "base", "seen", "seen_rule", "confirmed"};
  for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) json_object_del(evidence, moved[i]);
  return OPC_OK;
}

opc_status_t opc_case_result_decode(const json_t *record, opc_case_result_t **out, opc_error_t *error) {
  const char *case_id = opc_json_text_of(record, "case");
  const json_t *evidence = json_object_get(record, "evidence"), *seconds = json_object_get(record, "seconds");
  const reader_t reader = {.case_id = case_id, .error = error};
  *out = NULL;
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = calloc(1, sizeof *result);
  if (!result) return opc_out_of_memory(error);
  if (opc_case_id_parse(case_id, &result->id, error) != OPC_OK) return OPC_ERR_INPUT;
  opc_string_put(result->case_id, sizeof result->case_id, case_id);
  if (evidence && !json_is_object(evidence)) return mistake(&reader, "evidence", "an object");
  if (seconds && !json_is_number(seconds)) return mistake(&reader, "seconds", "a number");
  OPC_RETURN_IF_ERROR(read_verdict(&reader, record, result));
  OPC_RETURN_IF_ERROR(read_copy(&reader, record, "message", &result->message));
  OPC_RETURN_IF_ERROR(read_copy(&reader, record, "repro", &result->repro));
  OPC_RETURN_IF_ERROR(read_flag(&reader, record, "taken_over", &result->taken_over));
  if (!result->message) OPC_RETURN_IF_ERROR(mistake(&reader, "message", "there"));
  result->seconds = json_number_value(seconds);
  result->suspect = strcmp(text_in(record, "t"), "suspect") == 0;
  result->evidence = json_object_size(evidence) > 0 ? json_copy((json_t *)evidence) : json_object();
  if (!result->evidence) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(read_evidence(&reader, result));
  *out = result;
  result = NULL;
  return OPC_OK;
}

opc_status_t opc_case_result_new(const char *case_id, opc_verdict_kind_t verdict, opc_rule_id_t rule,
                                 const char *message, json_t *evidence, opc_case_result_t **out, opc_error_t *error) {
  json_auto_t *record = json_pack("{s:o, s:s, s:s*, s:o, s:o}", "case", opc_json_string(case_id), "verdict",
                                  opc_verdict_name(verdict), "rule", opc_rule_name(rule), "message",
                                  opc_json_string(message), "evidence", evidence ? evidence : json_object());
  *out = NULL;
  if (!record) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_case_result_decode(record, out, error));
  opc_words_out((*out)->message);
  return OPC_OK;
}

/* ---- writing ---- */

json_t *opc_also_list_json(const opc_also_list_t *list) {
  json_t *array = json_array();
  for (size_t i = 0; i < list->count; i++) {
    const opc_also_t *also = &list->items[i];
    json_t *entry = json_object();
    opc_json_put(&entry, "rule", json_string(opc_rule_name(also->rule)));
    opc_json_put(&entry, "message", opc_json_string(also->message));
    if (also->severity_stated) opc_json_put(&entry, "severity", json_string(opc_severity_name(also->severity)));
    if (entry && also->rest) json_object_update_missing(entry, also->rest);
    opc_json_append(&array, entry);
  }
  return array;
}

json_t *opc_case_result_evidence(const opc_case_result_t *result) {
  json_t *evidence = json_copy(result->evidence);
  for (size_t i = 0; i < FLAGS; i++)
    if (*AT(result, bool, flag_fields[i].offset)) opc_json_put(&evidence, flag_fields[i].key, json_true());
  if (result->also.count > 0) opc_json_put(&evidence, "also", opc_also_list_json(&result->also));
  if (result->control)
    opc_json_put(&evidence, "control",
                 json_pack("{s:o, s:b}", "case", opc_json_string(result->control), "held", result->control_held));
  if (result->broken_base)
    opc_json_put(&evidence, "base",
                 json_pack("{s:o, s:b}", "case", opc_json_string(result->broken_base), "broken", true));
  if (result->effect != OPC_EFFECT_NONE) opc_json_put(&evidence, "seen", json_string(opc_effect_name(result->effect)));
  if (result->effect_rule) opc_json_put(&evidence, "seen_rule", json_string(opc_rule_name(result->effect_rule)));
  if (result->confirmed != OPC_CONFIRMED_UNKNOWN)
    opc_json_put(&evidence, "confirmed", json_boolean(result->confirmed == OPC_CONFIRMED_YES));
  for (size_t i = 0; i < TEXTS; i++) {
    const char *text = *AT(result, char *, text_fields[i].offset);
    if (text) opc_json_put(&evidence, text_fields[i].key, opc_json_string(text));
  }
  return evidence;
}

/* After its kind it has the fields of the JSON report's results, in their order, so that a report copies the line. */
json_t *opc_case_result_encode(const opc_case_result_t *result) {
  char provenance[OPC_PROVENANCE_SIZE];
  json_t *record = json_object();
  opc_provenance_format(&result->provenance, provenance);
  opc_json_put(&record, "t", json_string(result->suspect ? "suspect" : "result"));
  opc_json_put(&record, "operator", opc_json_string(result->id.operator_name));
  opc_json_put(&record, "check", opc_json_string(result->id.check));
  opc_json_put(&record, "case", opc_json_string(result->case_id));
  opc_json_put(&record, "verdict", json_string(opc_verdict_name(result->verdict)));
  opc_json_put(&record, "severity", json_string(opc_severity_name(result->severity)));
  opc_json_put(&record, "rule", opc_json_text(opc_rule_name(result->rule)));
  opc_json_put(&record, "reason",
               result->reason == OPC_SKIP_NONE ? json_null() : json_string(opc_skip_reason_name(result->reason)));
  opc_json_put(&record, "message", opc_json_string(result->message));
  opc_json_put(&record, "standing", *provenance ? json_string(provenance) : json_null());
  opc_json_put(&record, "evidence", opc_case_result_evidence(result));
  if (opc_case_result_is_finding(result)) opc_json_put(&record, "repro", opc_json_text(result->repro));
  if (result->suspect) opc_json_put(&record, "confirmed", json_false());
  if (result->taken_over) opc_json_put(&record, "taken_over", json_true());
  opc_json_put(&record, "seconds", json_real(result->seconds));
  return record;
}

opc_status_t opc_case_result_copy(const opc_case_result_t *result, opc_case_result_t **out, opc_error_t *error) {
  json_auto_t *record = opc_case_result_encode(result);
  return record ? opc_case_result_decode(record, out, error) : opc_out_of_memory(error);
}
