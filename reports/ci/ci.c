#include "reports/ci/ci.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/case/hash_set.h"
#include "reports/problems/problem_merge.h"
#include "reports/text/finding_text.h"
#include "reports/text/screen.h"

enum { TITLE_LIMIT = 400 };

/* ---- texts ---- */

void opc_ci_text(opc_text_t *out, const char *text, size_t limit) {
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  const size_t length = strlen(text), read = opc_xml_text_cut(text, length, limit);
  opc_xml_text_add(&clean, text, read);
  const size_t kept = opc_xml_text_cut(opc_text_c(&clean), clean.length, limit);
  opc_text_add_bytes(out, opc_text_c(&clean), kept);
  if (read < length || kept < clean.length) opc_text_add(out, "…");
}

void opc_ci_line(opc_text_t *out, const char *text, size_t limit) {
  const size_t before = out->length;
  opc_ci_text(out, text, limit);
  for (size_t i = before; i < out->length; i++)
    if (out->data[i] == '\n' || out->data[i] == '\t') out->data[i] = ' ';
}

opc_status_t opc_ci_write(FILE *stream, const char *before, json_t *value, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  json_decref(value);
  if (!text) return opc_out_of_memory(error);
  if (fputs(before, stream) < 0 || fputs(text, stream) < 0)
    return opc_error_set(error, OPC_ERR_IO, "cannot write the report");
  return OPC_OK;
}

/* ---- places ---- */

static bool has_git(const char *folder) {
  OPC_SCOPED(opc_scope_free) char *git = opc_string_format("%s/.git", folder);
  return git && access(git, F_OK) == 0;
}

static opc_status_t find_repository(char **out, opc_error_t *error) {
  char current[PATH_MAX], folder[PATH_MAX];
  if (!getcwd(current, sizeof current))
    return opc_error_set(error, OPC_ERR_IO, "the current folder cannot be found: %s", strerror(errno));
  opc_string_put(folder, sizeof folder, current);
  while (!has_git(folder)) {
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder) return opc_string_copy_to(current, out, error);
    *slash = '\0';
  }
  return opc_string_copy_to(folder, out, error);
}

opc_status_t opc_ci_root(const opc_report_source_t *source, char **out, opc_error_t *error) {
  if (!source->source_root) return find_repository(out, error);
  *out = realpath(source->source_root, NULL);
  return *out ? OPC_OK
              : opc_error_set(error, OPC_ERR_USAGE, "--source-root %s: %s", source->source_root, strerror(errno));
}

static bool has_parent_step(const char *path) {
  return opc_string_begins(path, "../") || strstr(path, "/../") || opc_string_ends(path, "/..");
}

/* The longest end of the path that is a file below root. The name alone is too little for a file in a folder: most
 * projects have a "setup.py". */
static bool add_by_end(const char *root, const char *file, opc_text_t *out) {
  const bool bare = !strchr(file, '/');
  for (const char *end = file; end; end = strchr(end, '/')) {
    while (*end == '/') end++;
    if (!bare && !strchr(end, '/')) return false;
    OPC_SCOPED(opc_scope_free) char *whole = has_parent_step(end) ? NULL : opc_string_format("%s/%s", root, end);
    if (!whole || access(whole, F_OK) != 0) continue;
    opc_text_add(out, end);
    return true;
  }
  return false;
}

bool opc_ci_path(const char *root, const char *file, opc_text_t *out) {
  const size_t length = strlen(root);
  OPC_SCOPED(opc_scope_free) char *real = *file ? realpath(file, NULL) : NULL;
  if (!*file) return false;
  if (real && strncmp(real, root, length) == 0 && real[length] == '/') {
    opc_text_add(out, real + length + 1);
    return true;
  }
  return add_by_end(root, file, out);
}

/* "/src/copy.cpp:12" and "copy.cpp:12 (in a block)" name a file and a line. */
static int split_place(const char *place, opc_text_t *out_file) {
  for (const char *colon = strchr(place, ':'); colon; colon = strchr(colon + 1, ':')) {
    char *end;
    if (!isdigit((unsigned char)colon[1])) continue;
    const long line = strtol(colon + 1, &end, 10);
    if (line < 1 || line > INT_MAX || (*end && *end != ' ')) continue;
    opc_text_add_bytes(out_file, place, (size_t)(colon - place));
    return (int)line;
  }
  return 0;
}

/* ---- problems ---- */

typedef struct ci_view {
  const opc_report_source_t *source;
  char *root;
  opc_hash_set_t fingerprints;
  opc_text_t title, message, repro, path;
  opc_ci_problem_t problem;
} ci_view_t;

static void ci_view_clear(ci_view_t *view) {
  free(view->root);
  opc_hash_set_clear(&view->fingerprints);
  opc_text_clear(&view->title);
  opc_text_clear(&view->message);
  opc_text_clear(&view->repro);
  opc_text_clear(&view->path);
}

static const opc_journal_operator_t *operator_of(const ci_view_t *view, const opc_problem_t *problem,
                                                 const opc_case_result_t *result, size_t *out_index) {
  opc_journal_reader_t *journal = view->source->journal;
  *out_index = problem->operators[0].index;
  for (size_t i = 0; i < problem->operator_count; i++)
    if (strcmp(opc_journal_reader_operator(journal, problem->operators[i].index)->name, result->id.operator_name) == 0)
      *out_index = problem->operators[i].index;
  return opc_journal_reader_operator(journal, *out_index);
}

static bool take_file(ci_view_t *view, const char *file, int line) {
  if (!*file || !opc_ci_path(view->root, file, &view->path)) return false;
  view->problem.line = line > 0 ? line : 1;
  view->problem.is_source = true;
  return true;
}

/* The place in the code, else the registration. Where neither is a file of the repository: a relative name as it is
 * (the sources are elsewhere), else the library. */
static void find_place(ci_view_t *view, const opc_case_result_t *result, const json_t *op, const char *library) {
  OPC_SCOPED(opc_text_clear) opc_text_t registered = {0};
  opc_code_place_t place;
  const bool known = opc_code_place_of(result, library, &place) && *place.file;
  const int line = split_place(opc_finding_registration(result, op), &registered);
  const char *file = opc_text_c(&registered);
  if ((known && take_file(view, place.file, place.line)) || take_file(view, file, line)) return;
  view->problem.line = 1;
  view->problem.is_source = *file && *file != '/' && !has_parent_step(file);
  if (view->problem.is_source) {
    opc_ci_line(&view->path, file, PATH_MAX);
    view->problem.line = line;
  } else if (!library || !opc_ci_path(view->root, library, &view->path)) {
    opc_ci_line(&view->path, library ? opc_base_name(library) : "opcheck-c", PATH_MAX);
  }
}

static opc_status_t name_fingerprint(ci_view_t *view, const char *id, opc_error_t *error) {
  bool added = false;
  for (int number = 1; !added; number++) {
    char *out = view->problem.fingerprint;
    if (number == 1) opc_string_put(out, sizeof view->problem.fingerprint, id);
    else snprintf(out, sizeof view->problem.fingerprint, "%s-%d", id, number);
    OPC_RETURN_IF_ERROR(opc_hash_set_add(&view->fingerprints, out, strlen(out), &added, error));
  }
  return OPC_OK;
}

static void describe_problem(ci_view_t *view, const json_t *json) {
  OPC_SCOPED(opc_text_clear) opc_text_t title = {0};
  const json_t *operators = json_object_get(json, "operators");
  const size_t count = json_array_size(operators);
  opc_text_add(&title, json_string_value(json_array_get(operators, 0)));
  if (count > 1) opc_text_addf(&title, " and %zu more", count - 1);
  opc_text_addf(&title, ": %s", opc_record_text(json, "rule"));
  opc_ci_line(&view->title, opc_text_c(&title), TITLE_LIMIT);
  opc_ci_text(&view->message, opc_record_text(json, "message"), OPC_CI_TEXT_LIMIT);
  opc_ci_line(&view->repro, opc_record_text(json, "repro"), OPC_CI_TEXT_LIMIT);
}

static opc_status_t visit_problem(ci_view_t *view, const opc_problem_t *problem, opc_ci_problem_visit_t *visit,
                                  void *context, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  json_auto_t *json = NULL, *op = NULL;
  size_t index;
  OPC_RETURN_IF_ERROR(opc_problem_to_json(view->source->problems, problem, &json, &result, error));
  const char *library = operator_of(view, problem, result, &index)->library;
  OPC_RETURN_IF_ERROR(opc_journal_reader_operator_record(view->source->journal, index, &op, error));
  opc_text_reset(&view->title);
  opc_text_reset(&view->message);
  opc_text_reset(&view->repro);
  opc_text_reset(&view->path);
  view->problem = (opc_ci_problem_t){.json = json, .result = result};
  view->problem.known = problem->known;
  view->problem.error = !problem->known && (view->source->strict || !problem->warning);
  OPC_RETURN_IF_ERROR(name_fingerprint(view, problem->id, error));
  describe_problem(view, json);
  find_place(view, result, op, library);
  view->problem.title = opc_text_c(&view->title);
  view->problem.message = opc_text_c(&view->message);
  view->problem.repro = opc_text_c(&view->repro);
  view->problem.path = opc_text_c(&view->path);
  return visit(&view->problem, context, error);
}

opc_status_t opc_ci_each_problem(const opc_report_source_t *source, opc_ci_problem_visit_t *visit, void *context,
                                 opc_error_t *error) {
  OPC_SCOPED(ci_view_clear) ci_view_t view = {.source = source};
  OPC_RETURN_IF_ERROR(opc_ci_root(source, &view.root, error));
  for (size_t i = 0; i < source->problems->count; i++)
    OPC_RETURN_IF_ERROR(visit_problem(&view, &source->problems->items[i], visit, context, error));
  return OPC_OK;
}

size_t opc_ci_error_count(const opc_report_source_t *source) {
  return source->strict ? source->problems->fresh : source->problems->errors;
}

/* ---- the run as a whole ---- */

int opc_ci_exit_code(const opc_report_source_t *source, int code) {
  enum { GOOD = 0, BROKEN = 1, NOTHING = 5 };
  const opc_coverage_t coverage = opc_coverage_of(source->journal);
  const bool too_few = coverage.checked < opc_coverage_required(&coverage, source->required);
  code = opc_known_exit_code(source->problems, code, source->strict, source->updated);
  return too_few && (code == GOOD || code == NOTHING) ? BROKEN : code;
}

const char *opc_ci_run_trouble(const opc_report_source_t *source, opc_text_t *out_message) {
  opc_journal_summary_t summary;
  const opc_coverage_t coverage = opc_coverage_of(source->journal);
  opc_journal_reader_summary(source->journal, &summary);
  if (!summary.complete) {
    opc_text_add(out_message, summary.damaged ? "the journal has damaged lines: results are missing"
                                              : "the run stopped early: results are missing");
    return "harness.incomplete";
  }
  if (summary.exit_code == 3) {
    opc_text_add(out_message, "the harness could not do its work");
    return "harness.failed";
  }
  if (summary.stale_lines > 0 || (source->strict && !source->updated && opc_known_stale(source->problems) > 0)) {
    opc_text_add(out_message, "a line of known problems or of the xfail file is out of date (--strict)");
    return "harness.outdated_line";
  }
  if (coverage.checked < opc_coverage_required(&coverage, source->required)) {
    opc_text_addf(out_message,
                  "too few operators and classes were checked: %" PRIu64 " of %" PRIu64 ", and %d %% are required",
                  coverage.checked, coverage.total, source->required);
    return "harness.too_few_checked";
  }
  if (summary.exit_code == 5) {
    opc_text_add(out_message, "nothing was checked: no operators, none selected, or none could be called");
    return "harness.nothing_ran";
  }
  return NULL;
}

typedef struct trouble_view {
  const opc_report_source_t *source;
  char *root;
  opc_ci_trouble_visit_t *visit;
  void *context;
  opc_status_t status;
  opc_error_t *error;
} trouble_view_t;

static bool ci_visit_library(const json_t *record, void *context) {
  trouble_view_t *view = context;
  OPC_SCOPED(opc_text_clear) opc_text_t rule = {0}, message = {0}, path = {0};
  const char *file = opc_record_text(record, "path");
  const json_t *cause = json_object_get(record, "error");
  const char *kind = opc_record_text(cause, "kind");
  if (strcmp(opc_record_text(record, "status"), "failed") != 0) return true;
  opc_text_addf(&rule, "load.%s", *kind ? kind : "failed");
  opc_ci_text(&message, opc_record_text(cause, "message"), OPC_CI_TEXT_LIMIT);
  if (!opc_ci_path(view->root, file, &path)) opc_ci_line(&path, opc_base_name(file), PATH_MAX);
  view->status = view->visit(&(opc_ci_trouble_t){opc_text_c(&rule), opc_text_c(&message), opc_text_c(&path)},
                             view->context, view->error);
  return !view->status;
}

opc_status_t opc_ci_each_trouble(const opc_report_source_t *source, opc_ci_trouble_visit_t *visit, void *context,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *root = NULL;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  OPC_RETURN_IF_ERROR(opc_ci_root(source, &root, error));
  trouble_view_t view = {.source = source, .root = root, .visit = visit, .context = context, .error = error};
  OPC_RETURN_IF_ERROR(opc_journal_reader_each(source->journal, "library", ci_visit_library, &view, error));
  OPC_RETURN_IF_ERROR(view.status);
  const char *rule = opc_ci_run_trouble(source, &message);
  return rule ? visit(&(opc_ci_trouble_t){rule, opc_text_c(&message), NULL}, context, error) : OPC_OK;
}
