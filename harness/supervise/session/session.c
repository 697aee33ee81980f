/* Final results: expected failures, counters, and the command line that reproduces a case. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/rules.h"
#include "model/case/verdict.h"
#include "model/json/json_write.h"
#include "supervise/session/judge.h"
#include "supervise/session/session.h"

json_t *opc_result_new(const char *case_id, const char *verdict, const char *severity, const char *rule,
                       const char *reason, const char *message, json_t *evidence, double seconds) {
  return json_pack("{s:o, s:s, s:s, s:s?, s:s?, s:o, s:o, s:f}", "case", opc_json_string(case_id), "verdict", verdict,
                   "severity", severity, "rule", rule, "reason", reason, "message", opc_json_string(message),
                   "evidence", evidence != NULL ? evidence : json_object(), "seconds", seconds);
}

bool opc_result_valid(const json_t *message, const opc_operator_t *op) {
  const char *id = opc_json_text_of(message, "case"), *verdict = opc_json_text_of(message, "verdict");
  opc_case_id_t parsed;
  if (id == NULL || verdict == NULL || opc_json_text_of(message, "message") == NULL || opc_verdict_find(verdict) < 0 ||
      opc_case_id_parse(id, &parsed, NULL) != OPC_OK)
    return false;
  int kind = opc_verdict_find(verdict);
  bool finding = kind == OPC_VERDICT_FAIL || kind == OPC_VERDICT_ERROR;
  return strcmp(parsed.operator_name, op->name) == 0 && (!finding || opc_json_text_of(message, "rule") != NULL);
}

static void shell_text(opc_text_t *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
    opc_text_add(out, word);
    return;
  }
  opc_text_add(out, "'");
  for (const char *at = word; *at != '\0'; at++) {
    if (*at == '\'') opc_text_add(out, "'\\''");
    else opc_text_add_bytes(out, at, 1);
  }
  opc_text_add(out, "'");
}

static void shell_word(opc_text_t *out, const char *word) {
  opc_text_add(out, " ");
  shell_text(out, word);
}

static void shell_option(opc_text_t *out, const char *option, const char *value) {
  opc_text_addf(out, " %s", option);
  shell_word(out, value);
}

/* Another search may find other samples: a crash, or memory that nobody wrote, need not look the same twice. */
static bool was_searched(const opc_session_t *session, const opc_operator_t *op) {
  for (size_t i = 0; op != NULL && i < session->found_samples.count; i++)
    if (strcmp(session->found_samples.samples[i].operator_name, op->name) == 0) return true;
  return false;
}

char *opc_repro_line(const opc_session_t *session, const opc_operator_t *op, const char *case_id) {
  const opc_run_options_t *options = session->options;
  opc_run_options_t plain;
  opc_text_t line = {0};
  opc_run_options_default(&plain);
  plain.timeout *= opc_run_pace(options);
  plain.operator_time *= opc_run_pace(options);
  shell_text(&line,
             options->argc > 0 ? options->argv[0] : "opcheck-c"); /* as the user called it: it may not be on the PATH */
  opc_text_add(&line, options->package != NULL ? " package" : " run");
  if (options->memcheck) opc_text_add(&line, " --tool memcheck");
  if (options->sanitize != NULL) shell_option(&line, "--sanitize", options->sanitize);
  for (size_t i = 0; i < options->sample_file_count; i++) shell_option(&line, "--samples", options->sample_files[i]);
  if (was_searched(session, op)) shell_option(&line, "--samples", options->found_samples);
  for (size_t i = 0; i < options->recipe_file_count; i++) shell_option(&line, "--recipes", options->recipe_files[i]);
  for (size_t i = 0; i < options->reference_count; i++) shell_option(&line, "--reference", options->references[i]);
  if (options->seed != plain.seed) opc_text_addf(&line, " --seed %llu", (unsigned long long)options->seed);
  if (case_id == NULL && options->neighbours != plain.neighbours)
    opc_text_addf(&line, " --neighbours %lld", (long long)options->neighbours);
  if (options->timeout < plain.timeout || options->timeout > plain.timeout)
    opc_text_addf(&line, " --timeout %g", options->timeout);
  if (options->operator_time < plain.operator_time || options->operator_time > plain.operator_time)
    opc_text_addf(&line, " --operator-time %g", options->operator_time);
  if (options->memory_mib != plain.memory_mib) opc_text_addf(&line, " --memory %d", options->memory_mib);
  if (options->torch_root != NULL) shell_option(&line, "--torch", options->torch_root);
  if (options->untrusted_input) opc_text_add(&line, " --untrusted-input");
  if (options->xfail_file != NULL) shell_option(&line, "--xfail", options->xfail_file);
  for (size_t i = 0; i < options->preload_count; i++) shell_option(&line, "--preload", options->preloads[i]);
  for (size_t i = 0; i < options->namespace_count; i++) shell_option(&line, "--namespace", options->namespaces[i]);
  for (size_t i = 0; i < options->device_count; i++) {
    bool told = options->package == NULL || strcmp(options->devices[i], OPC_MODE_SIMULATED) ==
                                                0; /* a package says itself which real device it is for */
    if (told) shell_option(&line, "--device", options->devices[i]);
  }
  if (options->cuda_architecture != NULL) shell_option(&line, "--cuda-arch", options->cuda_architecture);
  if (case_id != NULL) {
    opc_text_add(&line,
                 " --case"); /* always quoted: ids contain brackets and the like, and users paste them elsewhere too */
    opc_text_add(&line, strchr(case_id, '\'') == NULL ? " '" : "");
    if (strchr(case_id, '\'') == NULL) opc_text_addf(&line, "%s'", case_id);
    else shell_word(&line, case_id);
  } else {
    shell_option(&line, "--op", op->name);
  }
  for (size_t i = 0; i < session->loaded.library_count; i++) {
    const opc_library_t *library = &session->loaded.libraries[i];
    if (library->state != OPC_LIBRARY_LOADED) continue;
    if (options->package != NULL && !library->package) shell_option(&line, "--library", library->path);
    else if (library->module) shell_option(&line, "--python", library->path);
    else shell_word(&line, library->path);
  }
  if (options->python != NULL) shell_option(&line, "--python-executable", options->python);
  return opc_text_take(&line);
}

/* An expected failure becomes a skip. A pass of a case that was expected to fail becomes a failure. */
static void apply_xfail(opc_session_t *session, json_t *result, const char *id, opc_verdict_kind_t *verdict) {
  bool finding = *verdict == OPC_VERDICT_FAIL || *verdict == OPC_VERDICT_ERROR;
  if (!finding && *verdict != OPC_VERDICT_PASS) return;
  opc_xfail_entry_t *entry = opc_xfail_match(session->xfail, id, finding ? opc_json_text_of(result, "rule") : NULL);
  if (entry == NULL || (!finding && entry->glob)) return;
  char *message;
  if (finding) {
    entry->findings++;
    *verdict = OPC_VERDICT_SKIP;
    message = opc_string_format("%s (expected: %s)", opc_json_text_of(result, "message"), entry->reason);
    json_object_set_new(result, "reason", json_string(opc_skip_reason_name(OPC_SKIP_XFAIL)));
    json_object_set(json_object_get(result, "evidence"), "rule", json_object_get(result, "rule"));
    json_object_set_new(result, "rule", json_null());
  } else {
    *verdict = OPC_VERDICT_FAIL;
    message = opc_string_format("passes, although line %d of %s expects a failure (%s): remove the line", entry->line,
                                session->xfail->file, entry->reason);
    json_object_set_new(result, "rule", json_string("xfail.unexpected_pass"));
    json_object_set_new(json_object_get(result, "evidence"), "why",
                        json_string("the file of expected failures names it"));
  }
  json_object_set_new(result, "severity", json_string(opc_severity_name(OPC_SEVERITY_ERROR)));
  json_object_set_new(result, "verdict", json_string(opc_verdict_name(*verdict)));
  json_object_set_new(result, "message", opc_json_string(message));
  free(message);
}

static bool hold_pass(opc_session_t *session, const opc_operator_t *op, json_t *result, const char *id) {
  opc_xfail_entry_t *entry = opc_xfail_match(session->xfail, id, NULL);
  if (entry == NULL || !entry->glob || entry->findings > 0 || entry->held != NULL) return false;
  entry->held = result;
  entry->held_operator = op;
  return true;
}

opc_status_t opc_session_release(opc_session_t *session, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  for (size_t i = 0; session->xfail != NULL && i < session->xfail->count && status == OPC_OK; i++) {
    opc_xfail_entry_t *entry = &session->xfail->entries[i];
    json_t *result = entry->held;
    if (result == NULL) continue;
    /* No case that it matched has failed: this pass is as unexpected as that of a single case. */
    if (entry->findings == 0) entry->glob = false;
    status = opc_session_result(session, entry->held_operator, result, NULL, error);
    entry->held = NULL;
  }
  return status;
}

opc_status_t opc_session_result(opc_session_t *session, const opc_operator_t *op, json_t *result, const char *repro,
                                opc_error_t *error) {
  opc_case_id_t id;
  char *made = NULL;
  const char *case_id = opc_json_text_of(result, "case"), *reason = opc_json_text_of(result, "reason");
  if (case_id == NULL || opc_case_id_parse(case_id, &id, error) != OPC_OK) {
    json_decref(result);
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a result");
  }
  opc_verdict_kind_t verdict = (opc_verdict_kind_t)opc_verdict_find(opc_json_text_of(result, "verdict"));
  if (verdict == OPC_VERDICT_PASS && hold_pass(session, op, result, case_id)) return OPC_OK;
  int check = opc_check_info_find(id.check);
  /* A refused sample was still used in a call. */
  bool rejected = reason != NULL && strcmp(reason, opc_skip_reason_name(OPC_SKIP_REJECTED)) == 0;
  if (check >= 0 && opc_check_infos[check].calls && (verdict != OPC_VERDICT_SKIP || rejected)) session->called++;
  if (verdict == OPC_VERDICT_FAIL || verdict == OPC_VERDICT_ERROR) {
    opc_result_judge(result, &id, session->options->untrusted_input);
    verdict = (opc_verdict_kind_t)opc_verdict_find(opc_json_text_of(result, "verdict"));
  }
  apply_xfail(session, result, case_id, &verdict);
  bool finding = verdict == OPC_VERDICT_FAIL || verdict == OPC_VERDICT_ERROR;
  const char *severity = opc_json_text_of(result, "severity");
  session->results++;
  session->cases_done++;
  session->findings += finding;
  session->broken += finding && (severity == NULL || strcmp(severity, opc_severity_name(OPC_SEVERITY_WARNING)) != 0);
  if (finding && repro == NULL) repro = made = opc_repro_line(session, op, case_id);
  json_object_set_new(result, "t", json_string("result"));
  json_object_set_new(result, "operator", json_string(op->name));
  json_object_set_new(result, "check", json_string(id.check));
  if (finding && repro != NULL) json_object_set_new(result, "repro", opc_json_string(repro));
  free(made);
  return opc_journal_write(session->journal, result, error);
}
