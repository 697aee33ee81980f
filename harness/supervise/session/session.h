/* What the parts of a run share: options, journal, what was loaded, what was selected, and the counters that the exit
 * code is made of.
 *
 * Ownership: run.c owns everything inside. Threads: one. */
#ifndef OPC_SUPERVISE_SESSION_SESSION_H
#define OPC_SUPERVISE_SESSION_SESSION_H

#include "model/case/case.h"
#include "search/draft/search_library.h"
#include "search/recipe/recipe.h"
#include "supervise/common/journal.h"
#include "supervise/common/run_options.h"
#include "supervise/common/xfail.h"
#include "supervise/load/load.h"
#include "supervise/symbols/symbolise.h"
#include "supervise/tools/memcheck.h"

typedef struct opc_session {
  const opc_run_options_t *options;
  opc_journal_t *journal;
  opc_loaded_t loaded;
  opc_sample_set_t samples; /* of the files; those that a search found are added with --save-samples */
  opc_recipe_set_t recipes;
  struct opc_searched
      *found; /* an entry an operator of `loaded`: what its search came to; NULL: there was none (searched.h) */
  opc_search_library_t *library; /* what searches found for one another; NULL as well */
  opc_class_t *classes;          /* of `loaded` */
  size_t class_count;
  bool searching;     /* tasks search, and run no cases */
  opc_xfail_t *xfail; /* NULL: none */
  opc_symboliser_t *symboliser;
  opc_memcheck_t *memcheck;      /* NULL: the run is without Valgrind */
  struct opc_sanitize *sanitize; /* NULL: the run is without compute-sanitizer */
  opc_maps_t maps;               /* of the worker */
  json_t *checks;                /* array of names */
  json_t *devices;               /* array of names that can be run on */
  json_t *absent;                /* object: device that was asked for and is not here -> why */
  bool calls;                    /* a check that calls the operator is among the checks */
  bool has_only;                 /* --case */
  opc_case_id_t only;

  const char *current; /* for the progress line; the operators' strings */
  uint64_t operators_done, operators_total, cases_done, findings;
  uint64_t results, called, broken; /* results: not of unsuitable ones; called: cases that called an operator; broken:
                                       fail or error that count */
  bool trouble;                     /* a part of the run could not be done; a note says which */
} opc_session_t;

/* Writes a final result: takes the reference to `result` (a "result" message with case, verdict, severity, rule,
 * reason, message, evidence, seconds). Adds operator, check and repro, applies the expected failures, counts. repro:
 * NULL makes the --case line where the result is a finding. */
opc_status_t opc_session_result(opc_session_t *session, const opc_operator_t *op, json_t *result, const char *repro,
                                opc_error_t *error) OPC_CHECKED;
/* Reads the recipe files. read_recipes.c */
opc_status_t opc_session_read_recipes(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* At the end: the passes that wait for whether their expected failure came elsewhere. */
opc_status_t opc_session_release(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* A result that the supervisor makes itself; message may hold any bytes. */
json_t *opc_result_new(const char *case_id, const char *verdict, const char *severity, const char *rule,
                       const char *reason, const char *message, json_t *evidence, double seconds);
/* True when a message of a child has the form of a result for a case of this operator. */
bool opc_result_valid(const json_t *message, const opc_operator_t *op);

/* The line that reproduces: "opcheck-c run … --case 'ID' LIB…"; case_id NULL: the whole operator ("--op NAME"). The
 * caller frees; NULL: out of memory. */
char *opc_repro_line(const opc_session_t *session, const opc_operator_t *op, const char *case_id);

#endif
