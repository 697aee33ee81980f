/* Verdicts of a case: the first failure comes first, all others are listed with it. */
#include <stdlib.h>
#include <string.h>

#include "checks/framework/check.h"

static void text_set(opc_text_t *text, const char *format, va_list arguments) {
  char buffer[2048];
  vsnprintf(buffer, sizeof buffer, format, arguments);
  opc_words_out(buffer);
  opc_text_reset(text);
  opc_text_add(text, buffer);
}

void opc_finding_evidence(opc_finding_t *finding, const char *key, json_t *value) {
  if (!finding->evidence) finding->evidence = json_object();
  if (!finding->evidence || json_object_set_new(finding->evidence, key, value) != 0)
    return; /* out of memory: less evidence */
}

void opc_finding_note_variant(opc_finding_t *finding, const char *variant) {
  json_t *list = json_object_get(finding->evidence, "variants"), *noted;
  size_t i;
  if (!list) {
    list = json_array();
    opc_finding_evidence(finding, "variants", list);
  }
  json_array_foreach(list, i, noted) if (strcmp(json_string_value(noted), variant) == 0) return;
  json_array_append_new(list, json_string(variant));
}

static void finding_add_also(opc_finding_t *finding, opc_rule_id_t rule, const char *message) {
  if (!finding->evidence) finding->evidence = json_object();
  json_t *also = json_object_get(finding->evidence, "also");
  if (!also) {
    also = json_array();
    if (json_object_set_new(finding->evidence, "also", also) != 0) return;
  }
  /* invalid bytes in a message must not lose the finding */
  json_t *entry = json_pack("{s:s, s:s}", "rule", opc_rule_name(rule), "message", message);
  if (entry) json_array_append_new(also, entry);
}

static bool finding_is_violation(const opc_finding_t *finding) {
  return finding->decided && (finding->verdict == OPC_VERDICT_FAIL || finding->verdict == OPC_VERDICT_ERROR);
}

/* A violation is never replaced by a finding that proves less. */
static void finding_settle(opc_finding_t *finding, opc_verdict_kind_t verdict, opc_skip_reason_t reason,
                           const char *format, va_list arguments) {
  if (finding_is_violation(finding)) return;
  text_set(&finding->message, format, arguments);
  finding->decided = true;
  finding->verdict = verdict;
  finding->reason = reason;
  finding->rule = OPC_RULE_NONE;
}

opc_status_t opc_finding_pass(opc_finding_t *finding, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  finding_settle(finding, OPC_VERDICT_PASS, OPC_SKIP_NONE, format, arguments);
  va_end(arguments);
  return OPC_OK;
}

opc_status_t opc_finding_skip(opc_finding_t *finding, opc_skip_reason_t reason, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  finding_settle(finding, OPC_VERDICT_SKIP, reason, format, arguments);
  va_end(arguments);
  return OPC_OK;
}

static void finding_violation(opc_finding_t *finding, opc_verdict_kind_t verdict, opc_rule_id_t rule,
                              const char *format, va_list arguments) {
  const opc_severity_t severity = opc_rules[rule].severity;
  opc_text_t message = {0};
  text_set(&message, format, arguments);

  if (finding_is_violation(finding)) {
    bool hidden_by_warning = finding->severity == OPC_SEVERITY_WARNING && severity == OPC_SEVERITY_ERROR;
    if (!hidden_by_warning) {
      finding_add_also(finding, rule, opc_text_c(&message));
      opc_text_clear(&message);
      return;
    }
    finding_add_also(finding, finding->rule, opc_text_c(&finding->message));
  }
  opc_text_clear(&finding->message);
  finding->message = message;
  finding->decided = true;
  finding->verdict = verdict;
  finding->severity = severity;
  finding->reason = OPC_SKIP_NONE;
  finding->rule = rule;
}

opc_status_t opc_finding_fail(opc_finding_t *finding, opc_rule_id_t rule, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  finding_violation(finding, OPC_VERDICT_FAIL, rule, format, arguments);
  va_end(arguments);
  return OPC_OK;
}

opc_status_t opc_finding_error(opc_finding_t *finding, opc_rule_id_t rule, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  finding_violation(finding, OPC_VERDICT_ERROR, rule, format, arguments);
  va_end(arguments);
  return OPC_OK;
}

json_t *opc_sample_evidence(const opc_operator_t *op, const opc_sample_t *sample) {
  json_t *input = json_object();
  for (size_t i = 0; input && i < sample->argument_count && i < op->argument_count; i++) {
    if (sample->absent && sample->absent[i]) continue;
    char text[512];
    opc_value_describe(&sample->arguments[i], text, sizeof text);
    json_object_set_new(input, op->arguments[i].name ? op->arguments[i].name : "", json_string(text));
  }
  return input;
}

/* Whether a call is valid often depends on what an index or offsets hold: " (0, 1, 3)" after a few integers. */
static void add_small_integers(const opc_tensor_spec_t *spec, const char *path, uint64_t seed, opc_text_t *out) {
  enum { MOST = 8, WIDEST = 8 };
  unsigned char bytes[MOST * WIDEST];
  char word[32];
  const opc_dtype_class_t kind = opc_dtype_class(spec->dtype);
  const int64_t count = opc_tensor_spec_numel(spec);
  const size_t size = opc_dtype_size(spec->dtype);
  if ((kind != OPC_CLASS_SIGNED && kind != OPC_CLASS_UNSIGNED) || count < 1 || count > MOST || size > WIDEST) return;
  if (opc_fill_logical(spec, path, seed, bytes, NULL) != OPC_OK) return;
  opc_text_add(out, " (");
  for (int64_t i = 0; i < count; i++)
    opc_text_addf(out, "%s%s", i ? ", " : "",
                  opc_number_format(spec->dtype, bytes + (size_t)i * size, word, sizeof word));
  opc_text_add(out, ")");
}

json_t *opc_case_evidence(const opc_case_context_t *context) {
  const opc_sample_t *sample = context->sample;
  json_t *input = opc_sample_evidence(context->op, sample);
  for (size_t i = 0; input && i < sample->argument_count && i < context->op->argument_count; i++) {
    const char *name = context->op->arguments[i].name;
    const json_t *known = name ? json_object_get(input, name) : NULL;
    if (!known || sample->arguments[i].kind != OPC_VALUE_TENSOR) continue;
    OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
    opc_text_add(&text, json_string_value(known));
    add_small_integers(sample->arguments[i].tensor, name, context->seed, &text);
    json_object_set_new(input, name, json_string(opc_text_c(&text)));
  }
  return input;
}

void opc_finding_clear(opc_finding_t *finding) {
  opc_text_clear(&finding->message);
  json_decref(finding->evidence);
  *finding = (opc_finding_t){0};
}
