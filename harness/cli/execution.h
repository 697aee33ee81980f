/* A run as started by `run` and `list`: choose the journal, test the report targets first, execute the run, then write
 * the reports from the journal, whether or not the run succeeded.
 *
 * Ownership: the caller's strings outlive the call. Threads: one. */
#pragma once

#include <sys/stat.h>

#include "cli/cli.h"
#include "supervise/run/run.h"

/* A progress line on the terminal. Not shown if stderr is not a terminal. */
typedef struct opc_progress {
  opc_screen_t screen;
  bool enabled, shown;
} opc_progress_t;

opc_progress_t opc_progress_start(void);
/* Appends the line: "3 of 12 operators, 2 findings, about 40 s left; 12 s on my_ops::scale". */
void opc_progress_text(const opc_run_progress_t *state, opc_text_t *line);
/* For opc_run_options_t.progress; context is the opc_progress_t. */
void opc_progress_show(const opc_run_progress_t *state, void *context);
/* Erases the line; call before printing anything else. */
void opc_progress_clear(opc_progress_t *progress);

typedef struct opc_report_target {
  const opc_report_t *report;
  const char *file; /* "" for a report on standard output */
  bool written;     /* holds the final report */
} opc_report_target_t;

enum { OPC_REPORT_TARGETS = 8 };

/* A file of known failures that the run writes. */
typedef struct opc_known_file {
  size_t removed; /* lines */
  bool failed;    /* it could not be written */
} opc_known_file_t;

/* Keys of the options shared by all commands that run something; a command's own keys begin at OPC_KEY_OWN. */
enum {
  OPC_KEY_SAMPLES = 256,
  OPC_KEY_PRELOAD,
  OPC_KEY_CUDA_ARCH,
  OPC_KEY_SEED,
  OPC_KEY_MEMORY,
  OPC_KEY_TIMEOUT,
  OPC_KEY_TORCH,
  OPC_KEY_PYTHON,
  OPC_KEY_PYTHON_EXECUTABLE,
  OPC_KEY_JSON,
  OPC_KEY_JUNIT,
  OPC_KEY_SARIF,
  OPC_KEY_GITLAB,
  OPC_KEY_TAP,
  OPC_KEY_GITHUB,
  OPC_KEY_SOURCE_ROOT,
  OPC_KEY_HTML,
  OPC_KEY_OWN
};

typedef struct opc_execution {
  opc_run_options_t options; /* opc_execution_run fills in the journal */
  const char *journal; /* --journal; NULL: a temporary one, removed after a complete run; its path is printed after a
                          failed one */
  opc_report_target_t targets[OPC_REPORT_TARGETS];
  size_t target_count;
  char *found_samples; /* "report.found-samples.json" in the folder of the JSON or HTML report; NULL: there is none */
  opc_strings_t libraries, preloads, samples, modules; /* opc_execution_options copies them into the options */
  opc_junit_cases_t junit_cases;
  const char *since;                     /* --since: the report of an earlier run; NULL: not given */
  const char *before;                    /* the journal of the run before, of --watch; NULL: this is the first one */
  const char *source_root;               /* --source-root; NULL: not given */
  const char *baseline, *write_baseline; /* --baseline, --write-baseline; NULL: not given */
  json_t *known;                         /* records for the journal (opc_known_begin); owned */
  opc_known_file_t baseline_file, xfail_file; /* what became of --write-baseline and --update-xfail */
  const char *known_kept; /* why neither was written; NULL: they were, or there is nothing to write */
  struct stat baseline_before, xfail_before; /* the files that are read, at the beginning */
  json_t *shard_times;                       /* --shard-times; NULL: not given; owned */
  bool timeout_given;
  int required;             /* --require-checked: percent of operators and classes; 0: no minimum */
  opc_progress_t *progress; /* (optional) shown during the run */
  /* Shows the finished (or failed) run on stdout; exit_code is the program's exit code. */
  opc_status_t (*show)(const opc_problems_t *problems, int exit_code, void *context, opc_error_t *error);
  void *context;
} opc_execution_t;

/* The report of an earlier run, whose results are taken over. */
typedef struct opc_since {
  opc_earlier_t earlier;
  FILE *stream;
  char *found_samples;
} opc_since_t;

/* Opens it, and names it in the options; does nothing without --since and a run before. OPC_ERR_INPUT: it is none.
 * execution_since.c */
opc_status_t opc_since_begin(opc_execution_t *execution, opc_since_t *out, opc_error_t *error) OPC_CHECKED;
void opc_since_end(opc_since_t *since);
opc_status_t opc_shard_parse(const char *text, opc_run_options_t *out, opc_error_t *error) OPC_CHECKED; /* "2/4" */
/* --shard-times: *out becomes an object, operator -> seconds; what it held before is released. shards.c */
opc_status_t opc_shard_times_read(const char *file, json_t **out, opc_error_t *error) OPC_CHECKED;
/* "report.found-samples.json" for "report.json"; the caller frees. execution_target.c */
char *opc_execution_found_samples_name(const char *report);

/* Takes the value of an option listed above. False: not one of these keys. */
bool opc_execution_option(opc_execution_t *execution, int key, const char *value, opc_status_t *out_status,
                          opc_error_t *error);
/* Tests a file that an option reads before anything is loaded: an unreadable one is a usage error. */
opc_status_t opc_execution_readable(const char *option, const char *file, opc_error_t *error) OPC_CHECKED;
/* Adds such a file to a list. */
opc_status_t opc_execution_add_input(const char *option, const char *file, opc_strings_t *list,
                                     opc_error_t *error) OPC_CHECKED;
/* Rejects an output file that another option writes too: the two would silently overwrite each other. */
opc_status_t opc_execution_claim(const opc_execution_t *execution, const char *option, const char *file,
                                 opc_error_t *error) OPC_CHECKED;
/* Tests a file that is written at the end of the run: its folder can be written, and it is a regular file, which a
 * rename replaces. NULL: not given. execution_target.c */
opc_status_t opc_execution_check_target(const char *option, const char *file, opc_error_t *error) OPC_CHECKED;
/* The two are the same file. NULL: none. */
bool opc_execution_is_same_file(const char *left, const char *right);
void opc_execution_options(opc_execution_t *execution, const opc_arguments_t *arguments);
void opc_execution_clear(opc_execution_t *execution);

/* Prints errors on stderr. Returns the exit code. With --torch all once with each installed libtorch that the libraries
 * can be loaded into, and then what differs: reports have the libtorch in their names, report.torch-2.11.json. */
int opc_execution_run(opc_execution_t *execution);
/* --torch all was given. */
bool opc_execution_is_for_every_torch(const opc_execution_t *execution);

/* A part of the above: with one libtorch. */
int opc_execution_run_once(opc_execution_t *execution);

/* --watch: a run, and another after each rebuild of a library, until an interrupt. Returns the exit code of the last
 * one. watch.c */
int opc_watch_run(opc_execution_t *execution);
/* Shows what differs between execution->before and the journal of this run. OPC_ERR_INPUT: they cannot be compared. */
opc_status_t opc_watch_show(const opc_execution_t *execution, const char *now, const opc_screen_t *screen, bool verbose,
                            opc_error_t *error) OPC_CHECKED;

/* ---- known failures: known_failures.c ---- */

/* Reads what is known, before the run. */
opc_status_t opc_known_begin(opc_execution_t *execution, opc_error_t *error) OPC_CHECKED;
/* After the run, before its journal is read: the records. */
opc_status_t opc_known_to_journal(const opc_execution_t *execution, opc_error_t *error) OPC_CHECKED;
/* Writes the files. Afterwards all problems may be known. On an error it has tried both; the first error counts. */
opc_status_t opc_known_finish(opc_execution_t *execution, opc_problems_t *problems, opc_error_t *error) OPC_CHECKED;
/* Prints a line for each of the files. */
void opc_known_list(const opc_execution_t *execution, const opc_problems_t *problems, const opc_screen_t *screen);
/* Appends a record to the journal, which no other process is writing. Takes the reference. */
opc_status_t opc_execution_append(const opc_execution_t *execution, json_t *record, opc_error_t *error) OPC_CHECKED;

/* Prints a line for each report that was written. */
void opc_execution_list_reports(const opc_execution_t *execution, const opc_screen_t *screen);
/* A file with the complete result, for what the screen has no room for; NULL: none was written. */
const char *opc_execution_whole(const opc_execution_t *execution);

/* Adds a library, or all libraries in a folder or wheel that register operators (inspect/package.h). Skips a library
 * that is the same file as an earlier one, with a message on stderr. */
opc_status_t opc_libraries_add(opc_strings_t *libraries, const char *path, opc_error_t *error) OPC_CHECKED;
