/* Final results: expected failures, counters, and the command line that reproduces a case. */
#include <stdlib.h>
#include <string.h>

#include "supervise/session/kernel_place.h"
#include "supervise/session/session.h"

void opc_shell_text(opc_text_t *out, const char *word) {
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
  opc_shell_text(out, word);
}

static void shell_option(opc_text_t *out, const char *option, const char *value) {
  opc_text_addf(out, " %s", option);
  shell_word(out, value);
}

/* Another search may find other samples: a crash, or memory that nobody wrote, need not look the same twice. A case of
 * a sample that a file declares needs none of those found beside it. */
static bool needs_found(const opc_session_t *session, const opc_operator_t *op, const char *case_id) {
  opc_case_id_t id = {0};
  opc_error_t ignored;
  if (case_id && opc_case_id_parse(case_id, &id, &ignored) != OPC_OK) id.sample[0] = '\0';
  for (size_t i = 0; op && i < session->found_samples.count; i++) {
    const opc_sample_t *sample = &session->found_samples.samples[i];
    if (strcmp(sample->operator_name, op->name) == 0 && (id.sample[0] == '\0' || strcmp(sample->name, id.sample) == 0))
      return true;
  }
  return false;
}

/* With --samples, those beside the libraries are not read. */
static void add_sample_files(const opc_session_t *session, const opc_operator_t *op, const char *case_id,
                             opc_text_t *line) {
  const opc_run_options_t *options = session->options;
  const bool found = needs_found(session, op, case_id);
  for (size_t i = 0; i < options->sample_file_count; i++) shell_option(line, "--samples", options->sample_files[i]);
  for (size_t i = 0; found && options->sample_file_count == 0 && i < session->files_beside_count; i++)
    shell_option(line, "--samples", session->files_beside[i]);
  if (found) shell_option(line, "--samples", options->found_samples);
}

char *opc_repro_line(const opc_session_t *session, const opc_operator_t *op, const char *case_id) {
  const opc_run_options_t *options = session->options;
  opc_run_options_t plain;
  opc_text_t line = {0};
  opc_run_options_default(&plain);
  plain.timeout *= opc_run_pace(options);
  plain.operator_time *= opc_run_pace(options);
  opc_shell_text(
      &line, options->argc > 0 ? options->argv[0] : "opcheck-c"); /* as the user called it: it may not be on the PATH */
  opc_text_add(&line, options->package ? " package" : " run");
  if (options->memcheck) opc_text_add(&line, " --tool memcheck");
  if (options->sanitize) shell_option(&line, "--sanitize", options->sanitize);
  add_sample_files(session, op, case_id, &line);
  for (size_t i = 0; i < options->recipe_file_count; i++) shell_option(&line, "--recipes", options->recipe_files[i]);
  for (size_t i = 0; i < options->reference_count; i++) shell_option(&line, "--reference", options->references[i]);
  if (options->seeds > 1 && !needs_found(session, op, case_id)) opc_text_addf(&line, " --seeds %d", options->seeds);
  if (options->seed != plain.seed) opc_text_addf(&line, " --seed %llu", (unsigned long long)options->seed);
  if (!case_id && options->neighbours != plain.neighbours)
    opc_text_addf(&line, " --neighbours %lld", (long long)options->neighbours);
  if (options->timeout < plain.timeout || options->timeout > plain.timeout)
    opc_text_addf(&line, " --timeout %g", options->timeout);
  if (options->operator_time < plain.operator_time || options->operator_time > plain.operator_time)
    opc_text_addf(&line, " --operator-time %g", options->operator_time);
  if (options->memory_mib != plain.memory_mib) opc_text_addf(&line, " --memory %d", options->memory_mib);
  if (options->torch_root) shell_option(&line, "--torch", options->torch_root);
  if (options->no_sandbox) opc_text_add(&line, " --no-sandbox");
  if (options->untrusted_input) opc_text_add(&line, " --untrusted-input");
  if (options->xfail_file) shell_option(&line, "--xfail", options->xfail_file);
  for (size_t i = 0; i < options->preload_count; i++) shell_option(&line, "--preload", options->preloads[i]);
  for (size_t i = 0; i < options->namespace_count; i++) shell_option(&line, "--namespace", options->namespaces[i]);
  for (size_t i = 0; i < options->device_count; i++) {
    bool told = !options->package || strcmp(options->devices[i], OPC_MODE_SIMULATED) ==
                                         0; /* a package says itself which real device it is for */
    if (told) shell_option(&line, "--device", options->devices[i]);
  }
  if (options->cuda_architecture) shell_option(&line, "--cuda-arch", options->cuda_architecture);
  if (case_id) {
    opc_text_add(&line,
                 " --case"); /* always quoted: ids contain brackets and the like, and users paste them elsewhere too */
    opc_text_add(&line, !strchr(case_id, '\'') ? " '" : "");
    if (!strchr(case_id, '\'')) opc_text_addf(&line, "%s'", case_id);
    else shell_word(&line, case_id);
  } else {
    shell_option(&line, "--op", op->name);
  }
  for (size_t i = 0; i < session->loaded.library_count; i++) {
    const opc_library_t *library = &session->loaded.libraries[i];
    if (library->state != OPC_LIBRARY_LOADED) continue;
    if (options->package && !library->package) shell_option(&line, "--library", library->path);
    else if (library->module) shell_option(&line, "--python", library->path);
    else shell_word(&line, library->path);
  }
  if (options->python) shell_option(&line, "--python-executable", options->python);
  return opc_text_take(&line);
}

/* An expected failure becomes a skip. A pass of a case that was expected to fail becomes a failure. */
static void apply_xfail(opc_session_t *session, opc_case_result_t *result) {
  const bool finding = opc_case_result_is_finding(result);
  if (result->verdict == OPC_VERDICT_SKIP) opc_xfail_skip(session->xfail, result->case_id, result->reason);
  if (!finding && result->verdict != OPC_VERDICT_PASS) return;
  opc_xfail_entry_t *entry = opc_xfail_match(session->xfail, result->case_id, finding ? result->rule : OPC_RULE_NONE);
  if (!entry || (!finding && entry->glob)) return;
  OPC_SCOPED(opc_scope_free) char *message = NULL;
  if (finding && entry->expired) {
    entry->findings++;
    message = opc_string_format("line %d of %s expired on %s: %s", entry->line, opc_base_name(session->xfail->file),
                                entry->expires, result->message);
    opc_case_result_say(result, message);
    return;
  }
  if (!finding && session->options->update_xfail) {
    entry->passed = true;
    return;
  }
  result->severity = OPC_SEVERITY_ERROR;
  if (finding) {
    entry->findings++;
    message = opc_string_format("%s (expected: %s)", result->message, entry->reason);
    json_object_set_new(result->evidence, "rule", json_string(opc_rule_name(result->rule)));
    result->verdict = OPC_VERDICT_SKIP;
    result->reason = OPC_SKIP_XFAIL;
    result->rule = OPC_RULE_NONE;
  } else {
    message = opc_string_format("passes, although line %d of %s expects a failure (%s): remove the line", entry->line,
                                session->xfail->file, entry->reason);
    json_object_set_new(result->evidence, "why", json_string("the file of expected failures names it"));
    result->verdict = OPC_VERDICT_FAIL;
    result->rule = OPC_RULE_xfail_unexpected_pass;
  }
  opc_case_result_say(result, message);
}

/* *out_held: the pass waits for a failure of another case that the same glob matches. */
static opc_status_t hold_pass(opc_session_t *session, const opc_operator_t *op, const opc_case_result_t *result,
                              bool *out_held, opc_error_t *error) {
  *out_held = false;
  if (result->verdict != OPC_VERDICT_PASS) return OPC_OK;
  opc_xfail_entry_t *entry = opc_xfail_match(session->xfail, result->case_id, OPC_RULE_NONE);
  if (!entry || !entry->glob || entry->findings > 0 || entry->held) return OPC_OK;
  *out_held = true;
  entry->held_operator = op;
  return opc_case_result_copy(result, &entry->held, error);
}

opc_status_t opc_session_release(opc_session_t *session, opc_error_t *error) {
  for (size_t i = 0; session->xfail && i < session->xfail->count; i++) {
    opc_xfail_entry_t *entry = &session->xfail->entries[i];
    if (!entry->held) continue;
    const bool failed = entry->findings > 0 || session->left_out_cases > 0;
    /* No case that it matched has failed: this pass is as unexpected as that of a single case. */
    if (!failed && !entry->skipped) entry->glob = false;
    else if (!failed) entry->passed = true;
    OPC_RETURN_IF_ERROR(opc_session_result(session, entry->held_operator, entry->held, NULL, error));
  }
  return OPC_OK;
}

/* The program of --emit shows it, whether or not it is expected. */
static opc_status_t keep_shown(opc_session_t *session, const opc_operator_t *op, const opc_case_result_t *result,
                               opc_error_t *error) {
  if (!session->options->emit_file || session->shown || !opc_case_result_is_finding(result)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_case_result_copy(result, &session->shown, error));
  free(session->shown->repro);
  session->shown->repro = opc_repro_line(session, op, result->case_id);
  return OPC_OK;
}

static void session_count_call(opc_session_t *session, const opc_case_result_t *result) {
  const int check = opc_check_info_find(result->id.check);
  session->called += opc_case_result_is_verdict(result) && check >= 0 && opc_check_infos[check].calls;
}

/* Returns whether it is a finding. */
static bool session_count_result(opc_session_t *session, const opc_case_result_t *result) {
  const bool finding = opc_case_result_is_finding(result);
  session->results++;
  session->findings += finding;
  session->broken += finding && result->severity == OPC_SEVERITY_ERROR;
  return finding;
}

opc_status_t opc_session_result(opc_session_t *session, const opc_operator_t *op, opc_case_result_t *result,
                                const char *repro, opc_error_t *error) {
  bool held;
  OPC_RETURN_IF_ERROR(hold_pass(session, op, result, &held, error));
  if (held) return OPC_OK;
  session_count_call(session, result);
  opc_case_result_judge_chosen(result, session->options->untrusted_input, session->options->choices);
  OPC_RETURN_IF_ERROR(keep_shown(session, op, result, error));
  apply_xfail(session, result);
  const bool finding = session_count_result(session, result);
  if (finding) OPC_RETURN_IF_ERROR(opc_kernel_place_add(session, op, result, error));
  if (finding && repro) opc_case_result_put(&result->repro, repro);
  if (finding && !repro) {
    free(result->repro);
    result->repro = opc_repro_line(session, op, result->case_id);
  }
  result->suspect = false;
  return opc_journal_write(session->journal, opc_case_result_encode(result), error);
}

/* Where the report of this run goes, its file of found samples goes too, and the line names that one. */
opc_status_t opc_session_take_over(opc_session_t *session, const opc_operator_t *op, opc_case_result_t *result,
                                   opc_error_t *error) {
  session_count_call(session, result);
  (void)session_count_result(session, result);
  const bool alone = !result->depends_on && result->confirmed != OPC_CONFIRMED_NO;
  const char *case_id = alone ? result->case_id : NULL;
  if (result->repro && needs_found(session, op, case_id)) {
    free(result->repro);
    result->repro = opc_repro_line(session, op, case_id);
  }
  result->taken_over = true;
  return opc_journal_write(session->journal, opc_case_result_encode(result), error);
}
