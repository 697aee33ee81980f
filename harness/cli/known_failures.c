/* Known failures of a run: what --baseline and --xfail list goes to the journal, and --write-baseline and
 * --update-xfail write the files. */
#include <string.h>

#include "cli/execution.h"
#include "model/json/json_write.h"
#include "reports/baseline.h"

/* ---- what is known ---- */

static opc_status_t add_xfail_problems(opc_execution_t *execution, opc_error_t *error) {
  opc_xfail_t *list = NULL;
  OPC_RETURN_IF_ERROR(opc_xfail_read(execution->options.xfail_file, &list, error));
  for (size_t i = 0; i < list->count; i++) {
    const opc_xfail_entry_t *entry = &list->entries[i];
    if (!*entry->problem) continue;
    opc_json_append(&execution->known,
                    json_pack("{s:s, s:s, s:s, s:o, s:i, s:o, s:s*}", "t", "known", "problem", entry->problem, "by",
                              "xfail", "file", opc_json_string(list->file), "line", entry->line, "reason",
                              opc_json_string(entry->reason), "expired", entry->expired ? entry->expires : NULL));
  }
  opc_xfail_free(list);
  return execution->known ? OPC_OK : opc_out_of_memory(error);
}

/* Lines are removed by their numbers, which an editor changes. */
static void stamp(const char *file, struct stat *out) {
  if (!file || stat(file, out) != 0) *out = (struct stat){0};
}

static bool is_edited(const char *file, const struct stat *before) {
  struct stat now;
  stamp(file, &now);
  return now.st_ino != before->st_ino || now.st_size != before->st_size ||
         now.st_mtim.tv_sec != before->st_mtim.tv_sec || now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

opc_status_t opc_known_begin(opc_execution_t *execution, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_execution_check_target("--write-baseline", execution->write_baseline, error));
  json_decref(execution->known);
  execution->known = NULL;
  execution->baseline_file = execution->xfail_file = (opc_known_file_t){0};
  execution->known_kept = NULL;
  stamp(execution->baseline, &execution->baseline_before);
  stamp(execution->options.xfail_file, &execution->xfail_before);
  if (execution->baseline) OPC_RETURN_IF_ERROR(opc_baseline_read(execution->baseline, &execution->known, error));
  else execution->known = json_array();
  return execution->options.xfail_file ? add_xfail_problems(execution, error) : OPC_OK;
}

opc_status_t opc_known_to_journal(const opc_execution_t *execution, opc_error_t *error) {
  const bool whole = opc_run_is_whole(&execution->options);
  size_t index;
  json_t *record;
  json_array_foreach(execution->known, index, record) {
    if (json_object_set_new(record, "whole", json_boolean(whole)) != 0) return opc_out_of_memory(error);
    OPC_RETURN_IF_ERROR(opc_execution_append(execution, json_incref(record), error));
  }
  return OPC_OK;
}

/* ---- what is written ---- */

static opc_status_t accept(opc_execution_t *execution, opc_problems_t *problems, const opc_problem_t *problem,
                           opc_error_t *error) {
  for (size_t i = 0; i < opc_baseline_id_count(problem); i++) {
    const char *id = opc_baseline_id(problem, i);
    json_t *record = json_pack("{s:s, s:s, s:s, s:o}", "t", "known", "problem", id, "by", "baseline", "file",
                               opc_json_string(execution->write_baseline));
    if (json_object_set_new(problems->known, id, record) != 0) return opc_out_of_memory(error);
    OPC_RETURN_IF_ERROR(opc_execution_append(execution, json_incref(record), error));
  }
  return OPC_OK;
}

/* All that was found is known from now on, and in this run's reports, too. */
static opc_status_t accept_all(opc_execution_t *execution, opc_problems_t *problems, opc_error_t *error) {
  for (size_t i = 0; i < problems->fresh; i++)
    OPC_RETURN_IF_ERROR(accept(execution, problems, &problems->items[i], error));
  return opc_problems_take_known(problems, error);
}

static opc_status_t rewrite_without(const char *file, const char *target, json_t *lines, opc_error_t *error) {
  const opc_rewrite_t change = {.file = file, .lines = lines};
  const opc_report_source_t source = {.rewrite = &change};
  return opc_report_finish(&opc_report_rewrite, &source, target, error);
}

/* Adds the lines of a file that nothing needs any more. */
static void add_stale(const opc_problems_t *problems, const char *by, json_t *lines) {
  const char *id;
  json_t *known;
  json_object_foreach(problems->known, id, known) {
    const opc_known_state_t state = opc_known_state(problems, known);
    OPC_SCOPED(opc_scope_free)
    char *line = opc_string_format("%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(known, "line")));
    if (line && strcmp(opc_record_text(known, "by"), by) == 0 &&
        (state == OPC_KNOWN_FIXED || state == OPC_KNOWN_REMOVED))
      json_object_set_new(lines, line, json_null());
  }
}

static opc_status_t update_baseline(opc_execution_t *execution, opc_problems_t *problems, opc_error_t *error) {
  json_auto_t *lines = json_object();
  if (!lines) return opc_out_of_memory(error);
  if (execution->baseline) {
    add_stale(problems, "baseline", lines);
    execution->baseline_file.removed = json_object_size(lines);
    return rewrite_without(execution->baseline, execution->write_baseline, lines, error);
  }
  const opc_report_source_t source = {.journal = problems->journal, .problems = problems};
  OPC_RETURN_IF_ERROR(opc_report_finish(&opc_report_baseline, &source, execution->write_baseline, error));
  return accept_all(execution, problems, error);
}

static opc_status_t update_xfail(opc_execution_t *execution, const opc_problems_t *problems, opc_error_t *error) {
  json_auto_t *lines = json_object(), *end = NULL;
  size_t index;
  json_t *number;
  if (!lines) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_journal_reader_first(problems->journal, "end", &end, error));
  json_array_foreach(json_object_get(end, "outdated_lines"), index, number) {
    char line[24];
    snprintf(line, sizeof line, "%" JSON_INTEGER_FORMAT, json_integer_value(number));
    json_object_set_new(lines, line, json_null());
  }
  add_stale(problems, "xfail", lines);
  execution->xfail_file.removed = json_object_size(lines);
  if (execution->xfail_file.removed == 0) return OPC_OK;
  return rewrite_without(execution->options.xfail_file, execution->options.xfail_file, lines, error);
}

static const char *why_kept(const opc_execution_t *execution, const opc_problems_t *problems) {
  opc_journal_summary_t summary;
  opc_journal_reader_summary(problems->journal, &summary);
  if (!summary.complete || summary.libraries_failed > 0)
    return "the run stopped early, or a library could not be loaded";
  if (summary.exit_code == OPC_EXIT_NOTHING) return "nothing could be checked";
  if ((execution->write_baseline && is_edited(execution->baseline, &execution->baseline_before)) ||
      (execution->options.update_xfail && is_edited(execution->options.xfail_file, &execution->xfail_before)))
    return "a file of known failures was edited during the run; run again";
  return NULL;
}

opc_status_t opc_known_finish(opc_execution_t *execution, opc_problems_t *problems, opc_error_t *error) {
  if (!execution->write_baseline && !execution->options.update_xfail) return OPC_OK;
  execution->known_kept = why_kept(execution, problems);
  if (execution->known_kept) return OPC_OK;
  opc_error_t own;
  opc_status_t status = execution->write_baseline ? update_baseline(execution, problems, error) : OPC_OK;
  execution->baseline_file.failed = status != OPC_OK;
  if (!execution->options.update_xfail) return status;
  const opc_status_t updated = update_xfail(execution, problems, &own);
  execution->xfail_file.failed = updated != OPC_OK;
  return status != OPC_OK || !updated ? status : opc_error_set(error, updated, "%s", own.message);
}

static void say_lines(const opc_screen_t *screen, const char *file, const opc_known_file_t *what, const char *kept) {
  opc_screen_text(screen, OPC_TONE_PLAIN, file);
  if (what->failed) fprintf(screen->stream, ": not written\n");
  else if (what->removed)
    fprintf(screen->stream, ": %zu line%s removed\n", what->removed, what->removed == 1 ? "" : "s");
  else fprintf(screen->stream, ": %s\n", kept);
}

void opc_known_list(const opc_execution_t *execution, const opc_problems_t *problems, const opc_screen_t *screen) {
  OPC_SCOPED(opc_text_clear) opc_text_t written = {0}, kept = {0};
  opc_text_addf(&kept, "not written: %s", execution->known_kept ? execution->known_kept : "");
  const char *unchanged = execution->known_kept ? opc_text_c(&kept) : "no line is out of date";
  opc_text_addf(&written, "written, with %zu known problem%s", problems->count, problems->count == 1 ? "" : "s");
  if (execution->write_baseline)
    say_lines(screen, execution->write_baseline, &execution->baseline_file,
              execution->known_kept || execution->baseline ? unchanged : opc_text_c(&written));
  if (execution->options.update_xfail)
    say_lines(screen, execution->options.xfail_file, &execution->xfail_file, unchanged);
}
