/* A run from beginning to end: start workers, load the libraries, list them, find inputs, run the cases, confirm what
 * they found, write the journal. The command line (harness/cli) fills in the options; reports are made from the journal
 * afterwards.
 *
 * Ownership: options and their strings belong to the caller and outlive the call. Threads: one run a process. The call
 * forks and executes. */
#ifndef OPC_SUPERVISE_RUN_H
#define OPC_SUPERVISE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "plan/kept_records.h"

typedef struct opc_run_progress { /* for a terminal; called a few times a second at most, and at the end */
  uint64_t operators_done, operators_total, cases_done, findings;
  const char *current; /* operator name, "loading LIB", "searching inputs for OP" */
} opc_run_progress_t;

typedef struct opc_run_options {
  const char *const *libraries; /* in the order given; none: libtorch's own operators, of the namespaces */
  size_t library_count;
  const char *const *preloads;
  size_t preload_count;
  const char *package;    /* MODEL.pt2, loaded after the libraries; only its models are run. NULL: none */
  const char *torch_root; /* --torch; NULL: the worker's own */
  const char *worker;     /* path of opcheck-worker; NULL: beside the running program, else ../libexec/opcheck-c */
  bool list_only;         /* load and list; no case runs */
  const char *const
      *sample_files; /* none: LIB without ".so" + ".samples.json" beside each library is used when it exists */
  size_t sample_file_count;
  const char *const
      *recipe_files; /* none: LIB without ".so" + ".recipes.json" beside each library is used when it exists */
  size_t recipe_file_count;
  const char *save_samples;    /* NULL: not */
  const char *const *op_globs; /* fnmatch over the operator's name; none: all. A glob without "::" is matched against
                                  the part after it too */
  size_t op_glob_count;
  const char *const *namespaces; /* operators of libtorch itself ("aten") are there when their namespace is named */
  size_t namespace_count;
  const char *const *checks; /* names; none: all */
  size_t check_count;
  const char *const *devices; /* "cpu", "cuda", "cuda-sim", "all"; none: cpu, and cuda where there is one */
  size_t device_count;
  const char
      *cuda_architecture; /* of the simulated devices: "sm_90"; NULL: that, or one that the libraries have code for */
  uint64_t seed;
  int jobs;                     /* 0: as many as processors */
  double timeout;               /* seconds a case */
  double operator_time;         /* seconds for all cases of one operator, and half of it for a round of its search */
  int memory_mib;               /* a child */
  int shard_index, shard_count; /* 1-based; 0/0: no shards; operators are dealt out by a hash of their name */
  const char *case_id;          /* --case: exactly this case; NULL: all */
  const char *xfail_file;
  bool memcheck;        /* --tool memcheck: the worker runs under Valgrind. Whoever sets it sets `timeout` accordingly
                           (OPC_MEMCHECK_PACE) */
  const char *sanitize; /* --sanitize: the tool of compute-sanitizer that the worker runs under; NULL: none. `timeout`
                           accordingly (OPC_SANITIZE_PACE) */
  const char *const *argv; /* the command line, for the journal and the repro lines */
  size_t argc;
  const char *journal;      /* path; the caller has chosen it (a temporary one without --journal) */
  opc_kept_records_t *kept; /* gets the first results of the journal; NULL: not wanted */
  void (*progress)(const opc_run_progress_t *progress, void *context); /* may be NULL */
  void *progress_context;
} opc_run_options_t;

/* Default values: 10 s, 300 s an operator, 4096 MiB, seed 0. */
void opc_run_options_default(opc_run_options_t *options);

/* Runs. The journal is complete (its "end" record written) when this returns OPC_OK, whatever the verdicts;
 * *out_exit_code follows DESIGN.md
 * ("Exit"; with --strict applied by the caller from the summary). Otherwise the error says what the harness could not
 * do and the journal holds what was done until then. SIGINT and SIGTERM end the run in good order: children killed,
 * journal ended as incomplete, OPC_ERR_SYSTEM "interrupted". */
opc_status_t opc_run_execute(const opc_run_options_t *options, int *out_exit_code, opc_error_t *error) OPC_CHECKED;

#endif
