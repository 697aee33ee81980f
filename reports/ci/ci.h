/* What the reports for CI systems (SARIF, GitLab, TAP, GitHub) share: a problem with its place in the repository, what
 * is wrong with the run as a whole, and texts of bounded length without control characters.
 *
 * Whether something is an error is what the exit code says: warnings are errors with --strict only, and known failures
 * are none. Ownership: what a visit function is given is valid during the call. Threads: one. */
#pragma once

#include "reports/format/report.h"

enum { OPC_CI_TEXT_LIMIT = 4096 /* bytes */ };

typedef struct opc_ci_problem {
  const json_t *json; /* opc_problem_to_json */
  const opc_case_result_t *result;
  bool error;                  /* it counts for the exit code */
  const json_t *known;         /* opc_problem_t's: a baseline or an xfail file lists it; NULL: none does */
  char fingerprint[32];        /* the problem's id, with a number after it if several problems have that id */
  const char *title;           /* "my_ops::scale and 2 more: stride.wrong_result" */
  const char *message, *repro; /* of bounded length, without control characters; repro may be "" */
  const char *path; /* relative to the repository, with slashes; of the library where no source file is known */
  bool is_source;   /* the path names a source file */
  int line;         /* from 1 */
} opc_ci_problem_t;

typedef opc_status_t opc_ci_problem_visit_t(const opc_ci_problem_t *problem, void *context, opc_error_t *error);
/* Every problem of the source, the most important first. An error of visit ends it and is passed on. */
opc_status_t opc_ci_each_problem(const opc_report_source_t *source, opc_ci_problem_visit_t *visit, void *context,
                                 opc_error_t *error) OPC_CHECKED;
size_t opc_ci_error_count(const opc_report_source_t *source);

/* What makes the run as a whole fail: a library that was not loaded, a run that stopped early… */
typedef struct opc_ci_trouble {
  const char *rule; /* "load.missing_library", "harness.incomplete" */
  const char *message;
  const char *path; /* of the library, as in opc_ci_problem_t; NULL: it is about the run */
} opc_ci_trouble_t;

typedef opc_status_t opc_ci_trouble_visit_t(const opc_ci_trouble_t *trouble, void *context, opc_error_t *error);
opc_status_t opc_ci_each_trouble(const opc_report_source_t *source, opc_ci_trouble_visit_t *visit, void *context,
                                 opc_error_t *error) OPC_CHECKED;
/* The exit code of a run whose journal, or whose caller, says `code`: known problems, warnings and unchecked operators
 * change it. All reports that say whether a run passed take it from here. */
int opc_ci_exit_code(const opc_report_source_t *source, int code);
/* The trouble that is about the run: its rule, and its message appended; NULL: none. */
const char *opc_ci_run_trouble(const opc_report_source_t *source, opc_text_t *out_message);

/* Appends text without control characters (opc_xml_text_add), cut after so many bytes. */
void opc_ci_text(opc_text_t *out, const char *text, size_t limit);
/* The same in one line. */
void opc_ci_line(opc_text_t *out, const char *text, size_t limit);
/* Writes a JSON value as one line without a newline, with text before it. Takes the reference. */
opc_status_t opc_ci_write(FILE *stream, const char *before, json_t *value, opc_error_t *error) OPC_CHECKED;

/* The folder that paths are relative to: source->source_root, else the folder with .git in or above the current one,
 * else the current one. The caller frees. */
opc_status_t opc_ci_root(const opc_report_source_t *source, char **out, opc_error_t *error) OPC_CHECKED;
/* Appends the path of `file` below root, as the compiler, the loader or Python has named it. A file of another machine
 * is found by the end of its path. False: it is none of the repository's files, and nothing was appended. */
bool opc_ci_path(const char *root, const char *file, opc_text_t *out);
