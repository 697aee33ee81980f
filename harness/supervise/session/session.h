/* Shared state of a run: options, journal, what was loaded and selected, and the counters that determine the exit code.
 *
 * Ownership: run.c owns everything inside. Threads: one. */
#pragma once

#include "search/draft/search_library.h"
#include "search/recipe/recipe.h"
#include "supervise/load/load.h"
#include "supervise/process/hang_place.h"
#include "supervise/tools/memcheck.h"

typedef struct opc_session {
  const opc_run_options_t *options;
  opc_journal_t *journal;
  opc_loaded_t loaded;
  opc_sample_set_t samples;       /* from files; with --save-samples also those that a search found */
  opc_sample_set_t found_samples; /* that searches found, for the file of that name; empty without one */
  char **files_beside;            /* the sample files that were read because they are beside the libraries */
  size_t files_beside_count;
  opc_recipe_set_t recipes;
  json_t *given; /* object: operator -> digest of what files of samples and recipes say of it; NULL: nothing */
  json_t *basis; /* what all results depend on (basis.h); NULL: not made yet */
  struct opc_searched
      *found; /* one entry per operator of `loaded`: the result of its search; NULL: no search (searching.h) */
  opc_search_library_t *library; /* what searches found for one another; NULL: no search */
  uint64_t search_pass;          /* of --seeds: what is added to the seed of a search */
  uint64_t without;   /* families of tries that searches leave out (OPC_SEARCH_WITHOUT of scripts/bench --search) */
  opc_xfail_t *xfail; /* NULL: none */
  opc_symboliser_t *symboliser;
  opc_memcheck_t *memcheck;      /* NULL: no Valgrind */
  struct opc_sanitize *sanitize; /* NULL: no compute-sanitizer */
  opc_maps_t maps;               /* of the worker */
  opc_hang_places_t hangs;       /* where calls of this run hung */
  json_t *checks;                /* array of names */
  json_t *shard;                 /* a set of the operators of this shard; NULL: all */
  json_t *devices;               /* array of names of usable devices */
  json_t *absent;                /* object: requested device that does not exist -> why */
  bool calls;                    /* some selected check calls the operator */
  bool has_only;                 /* --case */
  opc_case_id_t only;
  opc_case_result_t *shown; /* --emit: the case's finding; NULL: it has none yet */
  opc_error_t emit_error;   /* why there is no program */
  bool emitted;             /* the program is written, or cannot be */

  double began; /* opc_clock */
  struct opc_turns
      *turns; /* how the time of --budget is shared out (supervise/jobs/turns.h); NULL: there is no budget */
  uint64_t left_out_cases, left_out_operators; /* that it had no time for */

  uint64_t operators_done, operators_total, findings;
  double job_seconds, idle_seconds; /* with operators at work; of these, with fewer than --jobs */
  uint64_t parts_taken;             /* of operators' cases, that idle jobs ran (supervise/jobs/parts.h) */
  uint64_t results, called, broken; /* results: without unsuitable ones; called: cases that called an operator; broken:
                                       fail or error that count */
  uint64_t stale_lines;             /* of the expected failures, with --strict: they match no case */
  bool finished;                    /* every case has its result; what follows only writes files */
  bool trouble;                     /* some part of the run failed; a note says which */
} opc_session_t;

/* Judges a final result, applies the expected failures, counts it, and writes it to the journal. The result stays the
 * caller's and is changed. repro: the command line that repeats it; NULL: the --case line if the result is a
 * finding. */
opc_status_t opc_session_result(opc_session_t *session, const opc_operator_t *op, opc_case_result_t *result,
                                const char *repro, opc_error_t *error) OPC_CHECKED;
/* A final result of the report of --since: counts it and writes it, as it was judged then. */
opc_status_t opc_session_take_over(opc_session_t *session, const opc_operator_t *op, opc_case_result_t *result,
                                   opc_error_t *error) OPC_CHECKED;
/* Read the sample and recipe files, named or beside the libraries; samples also from a package. read_files.c */
opc_status_t opc_session_read_samples(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_session_read_recipes(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* For a list: which operators the files have samples for, and what these say about the arguments. */
opc_status_t opc_session_tell_samples(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* The operator or constructor with this name; NULL: none. context: the session. */
const opc_operator_t *opc_session_operator(const char *name, void *context);
/* At the end: writes the passes that waited for their expected failure to occur in another case. */
opc_status_t opc_session_release(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* Appends a word as a shell reads it: in quotes where it needs them. */
void opc_shell_text(opc_text_t *out, const char *word);
/* The command line that reproduces it: "opcheck-c run … --case 'ID' LIB…"; case_id NULL: the whole operator ("--op
 * NAME"). The caller frees; NULL: out of memory. */
char *opc_repro_line(const opc_session_t *session, const opc_operator_t *op, const char *case_id);

/* Checks custom classes: each constructor is an operator of its own kind, and gets simple arguments if no sample file
 * has any and the search found none.
 *
 * Ownership: the operators are the loaded libraries', the samples the caller's. */

/* Fills class_values, and class_operators. The latter omits a class with the name of an operator. */
opc_status_t opc_classes_take(opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
/* Adds simple arguments for a constructor: several sets, so that one may fit. */
opc_status_t opc_class_samples(const opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                               opc_error_t *error) OPC_CHECKED;

/* The selection of a run: checks, devices, operators, shards.
 *
 * Ownership: fills the session's fields. */

/* Sets checks, devices, absent, calls, has_only, only. OPC_ERR_USAGE: unknown name; the message lists the known
 * ones. */
opc_status_t opc_select_plan(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* True if --op, --namespace, --shard and --case select the operator. Operators of packages that a module of --python
 * imports must be named by --op, --namespace or --case. */
bool opc_select_operator(const opc_session_t *session, const opc_operator_t *op);
/* The same whatever --shard says. */
bool opc_select_in_any_shard(const opc_session_t *session, const opc_operator_t *op);
/* --shard: sets `shard`. The operators go to the shards, longest expected time first, each to the one with the least to
 * do. All machines must have the same libraries and, if any, the same report with times. */
opc_status_t opc_select_shard(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* True if it is such an operator, and none of these options is given. */
bool opc_select_leaves_out(const opc_session_t *session, const opc_operator_t *op);
/* Notes each --op that matches nothing that was loaded, with the nearest name. */
opc_status_t opc_select_tell_unmatched(const opc_session_t *session, opc_error_t *error) OPC_CHECKED;
