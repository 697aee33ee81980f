#include "cli/execution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/package.h"
#include "reports/ci/ci.h"
#include "supervise/common/devices.h"
#include "supervise/emit/program.h"

/* The first record of a run's journal. The run overwrites it with its own; the early reports are made from this one. */
static json_t *early_record(const opc_run_options_t *options) {
  char started[32];
  time_t now = time(NULL);
  struct tm utc;
  strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  json_t *argv = json_array();
  for (size_t i = 0; i < options->argc; i++) {
    json_t *argument = json_string(options->argv[i]); /* NULL: not UTF-8 */
    json_array_append_new(argv, argument ? argument : json_string("?"));
  }
  return json_pack("{s:s, s:s, s:s, s:o, s:I, s:s}", "t", "run", "format", "opcheck-c/journal/1", "version",
                   OPC_VERSION, "argv", argv, "seed", (json_int_t)options->seed, "started", started);
}

static opc_status_t choose_journal(opc_execution_t *execution, char **out, opc_error_t *error) {
  *out = NULL;
  if (execution->journal) {
    FILE *file = fopen(execution->journal, "we");
    if (!file)
      return opc_error_set(error, OPC_ERR_IO, "cannot write journal %s: %s; give another file with --journal",
                           execution->journal, strerror(errno));
    struct stat info;
    bool regular = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
    fclose(file);
    /* The reports are generated from it. */
    if (!regular) return opc_error_set(error, OPC_ERR_USAGE, "--journal %s: give a regular file", execution->journal);
    return opc_string_copy_to(execution->journal, out, error);
  }
  const char *folder = getenv("TMPDIR"), *suffix = ".jsonl";
  char *path = opc_string_format("%s/opcheck-c-XXXXXX%s", folder && *folder ? folder : "/tmp", suffix);
  int file = path ? mkstemps(path, (int)strlen(suffix)) : -1;
  if (file < 0) {
    opc_status_t status =
        path ? opc_error_set(error, OPC_ERR_IO,
                             "cannot write a temporary journal %s: %s; set TMPDIR, or give one with --journal", path,
                             strerror(errno))
             : opc_out_of_memory(error);
    free(path);
    return status;
  }
  close(file);
  *out = path;
  return OPC_OK;
}

static opc_report_source_t execution_source(const opc_execution_t *execution, const opc_problems_t *problems) {
  return (opc_report_source_t){
      .journal = problems->journal,
      .problems = problems,
      .junit_cases = execution->junit_cases,
      .source_root = execution->source_root,
      .strict = execution->options.strict,
      .required = execution->required,
      .updated = !execution->known_kept && (execution->write_baseline || execution->options.update_xfail)};
}

static opc_status_t begin_reports(const opc_execution_t *execution, opc_error_t *error) {
  OPC_SCOPED(opc_scope_journal_reader) opc_journal_reader_t *reader = NULL;
  OPC_SCOPED(opc_problems_clear) opc_problems_t problems = {0};
  OPC_RETURN_IF_ERROR(opc_execution_append(execution, early_record(&execution->options), error));
  OPC_RETURN_IF_ERROR(opc_journal_reader_open(execution->options.journal, &reader, error));
  OPC_RETURN_IF_ERROR(opc_problems_make(reader, &problems, error));
  const opc_report_source_t source = execution_source(execution, &problems);
  for (size_t i = 0; i < execution->target_count; i++)
    OPC_RETURN_IF_ERROR(opc_report_begin(execution->targets[i].report, &source, execution->targets[i].file, error));
  return OPC_OK;
}

/* Tries every report, so that one full disk does not affect the others; keeps the first error. */
static opc_status_t finish_reports(opc_execution_t *execution, const opc_problems_t *problems, opc_error_t *error) {
  opc_status_t first = OPC_OK;
  const opc_report_source_t source = execution_source(execution, problems);
  for (size_t i = 0; i < execution->target_count; i++) {
    opc_error_t own;
    opc_report_target_t *target = &execution->targets[i];
    const opc_status_t status = opc_report_finish(target->report, &source, target->file, &own);
    target->written = !status;
    if (status != OPC_OK && !first) first = opc_error_set(error, status, "%s", own.message);
  }
  return first;
}

static opc_status_t find_problems(const opc_execution_t *execution, opc_journal_reader_t **out_reader,
                                  opc_problems_t *out, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(
      opc_journal_reader_open_known(execution->options.journal, execution->options.kept, out_reader, error));
  return opc_problems_make(*out_reader, out, error);
}

/* The status of both; `error` has that of the first. */
static opc_status_t keep_first_failure(opc_status_t first, opc_status_t second, const opc_error_t *own,
                                       opc_error_t *error) {
  return first != OPC_OK || !second ? first : opc_error_set(error, second, "%s", own->message);
}

/* *out_worth: the run was aborted, or a report could not be written, and the journal has results. */
static int make_reports(opc_execution_t *execution, opc_status_t run_status, int code, bool *out_worth) {
  opc_error_t error, own;
  OPC_SCOPED(opc_scope_journal_reader) opc_journal_reader_t *reader = NULL;
  opc_journal_summary_t summary = {0};
  OPC_SCOPED(opc_problems_clear) opc_problems_t problems = {0};
  opc_status_t status = find_problems(execution, &reader, &problems, &error);
  const bool found = !status;
  if (reader) opc_journal_reader_summary(reader, &summary);
  if (found && !run_status) status = opc_known_finish(execution, &problems, &error);
  const opc_report_source_t source = execution_source(execution, &problems);
  if (reader && problems.journal) code = opc_ci_exit_code(&source, code);
  if (found) status = keep_first_failure(status, finish_reports(execution, &problems, &own), &own, &error);
  /* An invalid sample file is reported in one line: there are no results to show. */
  bool reached = summary.libraries > 0 && opc_exit_code(run_status) != OPC_EXIT_USAGE;
  if (problems.journal && (!run_status || reached)) {
    const int shown = status != OPC_OK ? OPC_EXIT_HARNESS : code;
    status = keep_first_failure(status, execution->show(&problems, shown, execution->context, &own), &own, &error);
  }
  fflush(stdout);
  if (status != OPC_OK) opc_complain("%s", error.message);
  *out_worth = reached && (status != OPC_OK || !summary.complete);
  return status != OPC_OK ? OPC_EXIT_HARNESS : code;
}

static opc_status_t execution_begin(opc_execution_t *execution, char **out_journal, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_known_begin(execution, error));
  OPC_RETURN_IF_ERROR(choose_journal(execution, out_journal, error));
  execution->options.journal = *out_journal;
  OPC_RETURN_IF_ERROR(opc_execution_check_target("--save-samples", execution->options.save_samples, error));
  OPC_RETURN_IF_ERROR(opc_execution_check_target("--init-samples", execution->options.init_samples, error));
  if (execution->options.init_samples && access(execution->options.init_samples, F_OK) == 0)
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--init-samples %s: the file exists, and its samples may be yours: name another, or delete it",
                         execution->options.init_samples);
  OPC_RETURN_IF_ERROR(opc_execution_check_target("--emit", execution->options.emit_file, error));
  if (execution->options.emit_file && !opc_program_may_replace(execution->options.emit_file))
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--emit %s: the file exists, and --emit did not write it: name another after the language, or "
                         "delete it",
                         execution->options.emit_file);
  return begin_reports(execution, error);
}

static int execute(opc_execution_t *execution, bool *out_worth) {
  opc_error_t error = {0};
  int code = OPC_EXIT_HARNESS;
  if (execution->progress) {
    execution->options.progress = opc_progress_show;
    execution->options.progress_context = execution->progress;
  }
  const opc_status_t status = opc_run_execute(&execution->options, &code, &error);
  if (execution->progress) opc_progress_clear(execution->progress);
  if (status != OPC_OK) {
    code = opc_exit_code(status);
    opc_complain("%s", error.message);
    /* The reports say why they are incomplete. If this cannot be written, they still say that they are. */
    opc_error_t ignored;
    if (opc_execution_append(execution, json_pack("{s:s, s:s}", "t", "note", "message", error.message), &ignored) !=
        OPC_OK)
      errno = 0;
  }
  const opc_status_t listed = opc_known_to_journal(execution, &error);
  if (listed != OPC_OK) opc_complain("%s", error.message);
  code = make_reports(execution, status, code, out_worth);
  return listed != OPC_OK ? OPC_EXIT_HARNESS : code;
}

int opc_execution_run_once(opc_execution_t *execution) {
  opc_error_t error = {0};
  OPC_SCOPED(opc_scope_free) char *journal = NULL;
  OPC_SCOPED(opc_kept_clear) opc_kept_records_t kept = {0};
  OPC_SCOPED(opc_since_end) opc_since_t since = {0};
  int code;
  bool worth = false;
  opc_visible_devices_take();
  execution->options.kept = &kept;
  opc_status_t status = opc_since_begin(execution, &since, &error);
  if (!status) status = execution_begin(execution, &journal, &error);
  if (status != OPC_OK) {
    opc_complain("%s", error.message);
    code = opc_exit_code(status);
  } else {
    code = execute(execution, &worth);
  }
  if (journal && worth) opc_complain("what was found is in the journal %s (opcheck-c report render shows it)", journal);
  if (journal && !worth && !execution->journal) unlink(journal);
  return code;
}

void opc_execution_list_reports(const opc_execution_t *execution, const opc_screen_t *screen) {
  for (size_t i = 0; i < execution->target_count; i++) {
    const opc_report_target_t *target = &execution->targets[i];
    if (!target->written || target->report->on_stdout) continue;
    fprintf(screen->stream, "%s report: ", target->report->name);
    opc_screen_text(screen, OPC_TONE_PLAIN, target->file);
    fputc('\n', screen->stream);
  }
}

const char *opc_execution_whole(const opc_execution_t *execution) {
  for (size_t i = 0; i < execution->target_count; i++) {
    const opc_report_target_t *target = &execution->targets[i];
    if (target->written && target->report == &opc_report_json) return target->file;
  }
  return execution->journal;
}

static opc_status_t add_library(const char *path, void *context, opc_error_t *error) {
  opc_strings_t *libraries = context;
  bool known = false;
  for (size_t i = 0; !known && i < libraries->count; i++)
    known = strcmp(libraries->items[i], path) == 0 ||
            opc_execution_is_same_file(opc_package_file(path), opc_package_file(libraries->items[i]));
  if (!known) return opc_strings_add(libraries, path, error);
  opc_complain("%s is given twice; it is loaded once", path);
  return OPC_OK;
}

opc_status_t opc_libraries_add(opc_strings_t *libraries, const char *path, opc_error_t *error) {
  const size_t before = libraries->count;
  if (opc_package_is(path)) {
    opc_status_t status = opc_package_each(path, add_library, libraries, error);
    if (status == OPC_ERR_MEMORY || libraries->count > before) return status;
    if (status != OPC_OK) opc_complain("%s", error->message);
  }
  return add_library(path, libraries, error); /* reports a package without libraries like any file that is no library */
}

/* ---- options ---- */

opc_status_t opc_execution_readable(const char *option, const char *file, opc_error_t *error) {
  return access(file, R_OK) == 0 ? OPC_OK
                                 : opc_error_set(error, OPC_ERR_USAGE, "%s %s: %s", option, file, strerror(errno));
}

opc_status_t opc_execution_add_input(const char *option, const char *file, opc_strings_t *list, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_execution_readable(option, file, error));
  return opc_strings_add(list, file, error);
}

opc_status_t opc_execution_claim(const opc_execution_t *execution, const char *option, const char *file,
                                 opc_error_t *error) {
  bool taken = (execution->journal && strcmp(execution->journal, file) == 0) ||
               (execution->options.save_samples && strcmp(execution->options.save_samples, file) == 0) ||
               (execution->options.init_samples && strcmp(execution->options.init_samples, file) == 0);
  taken |= execution->write_baseline && strcmp(execution->write_baseline, file) == 0;
  taken |= execution->options.emit_file && strcmp(execution->options.emit_file, file) == 0;
  for (size_t i = 0; i < execution->target_count; i++) taken |= strcmp(execution->targets[i].file, file) == 0;
  if (!*file) return opc_error_set(error, OPC_ERR_USAGE, "%s: name a file", option);
  if (strcmp(file, "-") == 0)
    return opc_error_set(error, OPC_ERR_USAGE, "%s -: name a file; /dev/stdout is the standard output", option);
  return taken ? opc_error_set(error, OPC_ERR_USAGE, "%s %s: another option writes this file", option, file) : OPC_OK;
}

static opc_status_t add_target(opc_execution_t *execution, const char *option, const opc_report_t *report,
                               const char *file, opc_error_t *error) {
  if (!report->on_stdout) OPC_RETURN_IF_ERROR(opc_execution_claim(execution, option, file, error));
  if (execution->target_count == OPC_REPORT_TARGETS)
    return opc_error_set(error, OPC_ERR_USAGE, "%s: more than %d reports", option, OPC_REPORT_TARGETS);
  execution->targets[execution->target_count++] = (opc_report_target_t){.report = report, .file = file};
  return OPC_OK;
}

/* Not beside a device or a pipe. */
static opc_status_t name_found_samples(opc_execution_t *execution, const char *report, opc_error_t *error) {
  struct stat there;
  if (execution->found_samples || (stat(report, &there) == 0 && !S_ISREG(there.st_mode))) return OPC_OK;
  execution->found_samples = opc_execution_found_samples_name(report);
  return execution->found_samples ? OPC_OK : opc_out_of_memory(error);
}

/* A report whose lines to paste name the file of found samples. */
static opc_status_t add_whole(opc_execution_t *execution, const char *option, const opc_report_t *report,
                              const char *file, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(add_target(execution, option, report, file, error));
  return name_found_samples(execution, file, error);
}

bool opc_execution_option(opc_execution_t *execution, int key, const char *value, opc_status_t *out_status,
                          opc_error_t *error) {
  opc_run_options_t *to = &execution->options;
  int64_t number = 0;
  switch (key) {
    case OPC_KEY_SAMPLES:
      *out_status = opc_execution_add_input("--samples", value, &execution->samples, error);
      return true;
    case OPC_KEY_PRELOAD:
      *out_status = opc_strings_add(&execution->preloads, value, error);
      return true;
    case OPC_KEY_CUDA_ARCH:
      *out_status = opc_cuda_architecture_check(value, error);
      to->cuda_architecture = value;
      return true;
    case OPC_KEY_SEED:
      *out_status = opc_value_integer("--seed", value, 0, INT64_MAX, &number, error);
      to->seed = (uint64_t)number;
      return true;
    case OPC_KEY_MEMORY:
      *out_status = opc_value_integer("--memory", value, 1, INT32_MAX, &number, error);
      to->memory_mib = (int)number;
      return true;
    case OPC_KEY_TIMEOUT:
      *out_status = opc_value_seconds("--timeout", value, &to->timeout, error);
      execution->timeout_given = true;
      return true;
    case OPC_KEY_TORCH:
      to->torch_root = value;
      return true;
    case OPC_KEY_PYTHON:
      *out_status = opc_strings_add(&execution->modules, value, error);
      return true;
    case OPC_KEY_PYTHON_EXECUTABLE:
      to->python = value;
      return true;
    case OPC_KEY_JSON:
      *out_status = add_whole(execution, "--json", &opc_report_json, value, error);
      return true;
    case OPC_KEY_JUNIT:
      *out_status = add_target(execution, "--junit", &opc_report_junit, value, error);
      return true;
    case OPC_KEY_SARIF:
      *out_status = add_target(execution, "--sarif", &opc_report_sarif, value, error);
      return true;
    case OPC_KEY_GITLAB:
      *out_status = add_target(execution, "--gitlab", &opc_report_gitlab, value, error);
      return true;
    case OPC_KEY_TAP:
      *out_status = add_target(execution, "--tap", &opc_report_tap, value, error);
      return true;
    case OPC_KEY_GITHUB:
      *out_status = add_target(execution, "--github", &opc_report_github, "", error);
      return true;
    case OPC_KEY_SOURCE_ROOT:
      *out_status = opc_value_folder("--source-root", value, error);
      execution->source_root = value;
      return true;
    case OPC_KEY_HTML:
      *out_status = add_whole(execution, "--html", &opc_report_html, value, error);
      return true;
    default:
      return false;
  }
}

/* The file is an input of this run, or --save-samples writes it: it is left alone. */
static bool reads_found_samples(const opc_execution_t *execution) {
  const char *found = execution->found_samples, *saved = execution->options.save_samples;
  if (found && saved && strcmp(saved, found) == 0) return true;
  for (size_t i = 0; i < execution->samples.count; i++)
    if (opc_execution_is_same_file(found, execution->samples.items[i])) return true;
  return false;
}

void opc_execution_options(opc_execution_t *execution, const opc_arguments_t *arguments) {
  opc_run_options_t *to = &execution->options;
  to->libraries = execution->libraries.items;
  to->library_count = execution->libraries.count;
  to->preloads = execution->preloads.items;
  to->preload_count = execution->preloads.count;
  to->modules = execution->modules.items;
  to->module_count = execution->modules.count;
  to->sample_files = execution->samples.items;
  to->sample_file_count = execution->samples.count;
  to->found_samples = reads_found_samples(execution) ? NULL : execution->found_samples;
  to->argv = arguments->full_argv;
  to->argc = (size_t)arguments->full_argc;
}

void opc_execution_clear(opc_execution_t *execution) {
  opc_strings_clear(&execution->libraries);
  opc_strings_clear(&execution->preloads);
  opc_strings_clear(&execution->samples);
  opc_strings_clear(&execution->modules);
  free(execution->found_samples);
  execution->found_samples = NULL;
  json_decref(execution->known);
  json_decref(execution->shard_times);
  execution->known = NULL;
}
