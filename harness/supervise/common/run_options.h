/* The options of a run; the command line (harness/cli) fills them in. Those that decide which cases run, or how they
 * are judged, are also part of a run's basis (supervise/session/basis.c), which --since compares.
 *
 * Ownership: options and their strings belong to the caller and outlive the run. Threads: any. */
#pragma once

#include "catalogue/rules.h"
#include "model/case/kept_records.h"
#include "result/case_result.h"

typedef struct opc_run_progress { /* for a terminal; called at most a few times per second, and at the end */
  uint64_t operators_done, operators_total, findings; /* operators_total is 0 while libraries load */
  const char *current;                                /* the operator that runs longest; "loading LIB"; NULL: none */
  double current_seconds;                             /* for how long */
  bool searching;                                     /* inputs for it */
  double seconds_left;                                /* as learned from this run; 0: not known */
} opc_run_progress_t;

/* The report of an earlier run, whose results are taken over (--since). */
typedef opc_status_t opc_earlier_visit_t(const char *list, const json_t *item, void *context, opc_error_t *error);
typedef struct opc_earlier {
  const char *name;          /* of its file, for messages */
  const char *found_samples; /* the file of the samples that it found; NULL: there is none */
  /* Calls visit with each item of each list of the report, and with each other field, as the file has them. */
  opc_status_t (*read)(const struct opc_earlier *earlier, opc_earlier_visit_t *visit, void *context,
                       opc_error_t *error);
  FILE *stream; /* for `read` */
} opc_earlier_t;

typedef struct opc_run_options {
  const char *const *libraries; /* in the given order; none: libtorch's own operators in the given namespaces */
  size_t library_count;
  const char *const *preloads;
  size_t preload_count;
  const char *const *modules; /* --python: names or files of Python modules, imported after the libraries */
  size_t module_count;
  const char *python;     /* --python-executable; NULL: PYTHON of the environment, else python3 */
  const char *package;    /* MODEL.pt2, loaded after the libraries; the run covers only its models. NULL: none */
  const char *torch_root; /* --torch; NULL: the worker's default */
  const char *worker;     /* path of opcheck-worker; NULL: next to the running program, else ../libexec/opcheck-c */
  bool list_only;         /* load and list; no case runs */
  /* (optional) --list-cases: runs no case. Called with each planned case and why it is tried (skip: why it would be
   * skipped), and with the name of each operator that would be searched first. */
  void (*planned)(const char *name, bool skip, const char *why, void *context);
  void *planned_context;
  const char *const *sample_files; /* none: next to each library, LIB without ".so" + ".samples.json", if it exists */
  size_t sample_file_count;
  const char *const *recipe_files; /* none: next to each library, LIB without ".so" + ".recipes.json", if it exists */
  size_t recipe_file_count;
  int seeds;                     /* --seeds: the search is made with so many seeds, from `seed` on. 0: with one */
  bool no_search;                /* --no-search: operators have the samples of files and recordings, and no others */
  const char *save_samples;      /* NULL: do not save */
  const char *init_samples;      /* where a skeleton of a sample file is written; NULL: nowhere */
  const char *found_samples;     /* written if a search found samples, whatever they are worth: the lines that reproduce
                                    a case read it. NULL: do not write */
  const char *const *references; /* --reference: checked pairs (below) */
  size_t reference_count;
  const char *const *op_globs; /* fnmatch patterns for operator names; none: all. A glob without "::" also matches the
                                  part after "::" */
  size_t op_glob_count;
  const char *const *namespaces; /* libtorch's own operators ("aten") are included if their namespace is named */
  size_t namespace_count;
  const char *const *checks; /* names; none: all */
  size_t check_count;
  const char *const *devices; /* "cpu", "cuda", "cuda-sim", "all"; none: cpu, and cuda if there is one */
  size_t device_count;
  const char *cuda_architecture; /* of the simulated devices: "sm_90"; NULL: chosen by the libraries' GPU code, default
                                    "sm_90" */
  uint64_t seed;
  int64_t neighbours;           /* --neighbours: cases next to each declared, recorded or recipe sample, and to the
                                   first searched one; negative: as many as it has cases of its own, or a quarter. The
                                   cases of `case_id` exist whatever it is */
  int jobs;                     /* 0: number of processors */
  double timeout;               /* seconds per case */
  double operator_time;         /* seconds for all cases of one operator; half of it for one round of its search */
  double budget;                /* --budget: seconds for the whole run; 0: no limit */
  int memory_mib;               /* per child */
  int shard_index, shard_count; /* 1-based; 0/0: no shards */
  const json_t *shard_times;    /* --shard-times: operator -> seconds that it took before; NULL: not known */
  const char *case_id;          /* --case: only this case; NULL: all */
  const char *emit_language, *emit_file; /* --emit: a program that shows the finding of `case_id`; NULL: none */
  bool no_sandbox;                       /* --no-sandbox: operators may do what they like */
  double since;                          /* when the run began, by CLOCK_REALTIME; 0: nothing runs */
  bool untrusted_input;                  /* --untrusted-input: an unchecked argument is an error */
  const opc_rule_choice_t *choices;      /* of the project, by rule; NULL: none */
  const char *settings_file;             /* .opcheck-c.json, which was read; NULL: there is none */
  const char *settings;                  /* what it says, as JSON */
  const char *xfail_file;
  bool update_xfail; /* --update-xfail: a pass that xfail_file does not expect is a pass; the caller removes the lines
                        that the record "end" of the journal names */
  bool strict;       /* --strict: warnings count (the caller sees to that), and in a whole run a line of xfail_file that
                        matches no case */
  bool memcheck;     /* --tool memcheck: the worker runs under Valgrind. Adapt `timeout` (OPC_MEMCHECK_PACE) */
  const char *sanitize;    /* --sanitize: the compute-sanitizer tool that the worker runs under; NULL: none. Adapt
                              `timeout` (OPC_SANITIZE_PACE) */
  const char *const *argv; /* the command line, for the journal and the repro lines */
  size_t argc;
  const char *journal;          /* path; chosen by the caller (a temporary file without --journal) */
  const opc_earlier_t *earlier; /* --since; NULL: not given */
  opc_kept_records_t *kept;     /* receives the first results of the journal; NULL: not needed */
  void (*progress)(const opc_run_progress_t *progress, void *context); /* may be NULL */
  void *progress_context;
} opc_run_options_t;

/* All operators and checks, and time for all of them: a line of known failures that nothing matches is out of date
 * then. */
bool opc_run_is_whole(const opc_run_options_t *options);

/* Defaults: as many neighbours as cases, 10 s per case, 300 s per operator, 4096 MiB, seed 0. */
void opc_run_options_default(opc_run_options_t *options);

/* Slowdown factors: for the default time limit per case, and for the harness's other time limits. */
enum { OPC_MEMCHECK_PACE = 50, OPC_SANITIZE_PACE = 10 };
/* The factor of the tool in use; 1 without a tool. */
double opc_run_pace(const opc_run_options_t *options);

/* Signals during a run: SIGINT and SIGTERM are recorded (opc_interrupted); SIGPIPE and SIGXFSZ become errors of the
 * call. Threads: one run per process. */

void opc_interrupt_begin(void);
void opc_interrupt_end(void); /* restores the previous handlers */

/* True if SIGINT or SIGTERM came since opc_interrupt_begin; every wait checks this. */
bool opc_interrupted(void);

/* Expected failures: a text file with one `PATTERN [rule=NAME] [expires=YYYY-MM-DD] reason words` per line; `#` starts
 * a comment line. In place of PATTERN and rule, problem=ID stands for all findings of a problem: the run does not know
 * it, and whoever makes reports of the run excuses it. After the date, in UTC, a line excuses nothing. PATTERN is an
 * fnmatch glob for case ids ('*' also matches '/'). A plain id must fail. Of the cases that match a glob at least one
 * must fail; the others may pass.
 *
 * Ownership: opc_xfail_free; entries belong to the list. NULL: an empty list. */

typedef struct opc_xfail_entry {
  char *pattern;      /* "" if it is of a problem */
  char *problem;      /* its id; "": none */
  opc_rule_id_t rule; /* OPC_RULE_NONE: any rule */
  char expires[11];   /* "2026-01-31"; "": never */
  bool expired;
  char *reason;
  int line;
  bool used;     /* it matched a finding or a pass */
  bool skipped;  /* it matched a case that could not be tried in this run */
  bool glob;     /* not a plain case id */
  bool passed;   /* with update_xfail: only passes matched it */
  bool outdated; /* nothing needs it any more */
  uint64_t findings;
  /* The first pass that matched a glob: only at the end is it clear whether it is unexpected. */
  struct opc_case_result *held;
  const struct opc_operator *held_operator;
} opc_xfail_entry_t;

typedef struct opc_xfail {
  char *file;
  opc_xfail_entry_t *entries;
  size_t count;
} opc_xfail_t;

/* OPC_ERR_INPUT: "FILE:LINE: what is wrong" (missing reason); OPC_ERR_IO: unreadable. */
opc_status_t opc_xfail_read(const char *file, opc_xfail_t **out, opc_error_t *error) OPC_CHECKED;
void opc_xfail_free(opc_xfail_t *list);
/* The first entry for the case, one that has not expired if there is any. OPC_RULE_NONE: the case passed; matches
 * entries with any rule. Marks the entry as used. NULL: none. */
opc_xfail_entry_t *opc_xfail_match(opc_xfail_t *list, const char *case_id, opc_rule_id_t rule);
/* The case was skipped: marks all entries that it may be needed by, if the reason is one of this run. In another run,
 * with more time, samples or devices, the case may fail. */
void opc_xfail_skip(opc_xfail_t *list, const char *case_id, opc_skip_reason_t reason);
/* The pattern can match cases of the operator, whichever there are. */
bool opc_xfail_is_of(const opc_xfail_entry_t *entry, const char *operator_name);

/* Samples that the search finds are kept to the end of the run, because a file of them is written. */
bool opc_run_keeps_samples(const opc_run_options_t *options);

/* --reference OPERATOR=REFERENCE: another operator computes what is right. A `*` on both sides stands for the same
 * text: my_ops::fast_*=my_ops::slow_*. */

/* OPC_ERR_USAGE: it is not of that form; the error says what is. */
opc_status_t opc_reference_pair_check(const char *pair, opc_error_t *error) OPC_CHECKED;
/* The reference of this operator by the pair, for the caller to free. NULL: the pair is about other operators, or there
 * is no memory. */
char *opc_reference_of_pair(const char *pair, const char *operator_name);
/* Gives the sample the reference of the first pair that names its operator. Leaves a reference of its own, and a sample
 * that must be rejected. */
void opc_reference_give(const opc_run_options_t *options, opc_sample_t *sample);
