/* The options of a run, as the command line (harness/cli) fills them in.
 *
 * Ownership: options and their strings belong to the caller and outlive the run. Threads: any. */
#ifndef OPC_SUPERVISE_COMMON_RUN_OPTIONS_H
#define OPC_SUPERVISE_COMMON_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/case/kept_records.h"

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
  /* (optional) --list-cases: no case runs. It is given each planned case and why it is tried (skip: why it would be
   * skipped), and the name of each operator that would be searched first. */
  void (*planned)(const char *name, bool skip, const char *why, void *context);
  void *planned_context;
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
  bool untrusted_input;         /* --untrusted-input: an argument that is not checked is an error */
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

/* How many times longer everything may take: the time limit of a case, where the user gives none, and the harness's own
 * patience. */
enum { OPC_MEMCHECK_PACE = 50, OPC_SANITIZE_PACE = 10 };
/* That of the tool that the run is under; 1 without. */
double opc_run_pace(const opc_run_options_t *options);

#endif
