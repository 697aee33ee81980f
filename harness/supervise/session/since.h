/* --since: an operator whose kernels are as they were when an earlier run checked it is not checked again. The results
 * of that run are written to the journal in place of new ones, marked as taken over.
 *
 * A library is unchanged if it has the digest that it had then, and nothing that it uses has changed: no library from
 * which it takes a symbol, and none with an operator whose name it contains. If anything else that counts for
 * all operators has changed (basis.h), nothing is taken over, and a note says why.
 *
 * Ownership: the session's. Threads: one. */
#pragma once

#include "supervise/session/session.h"

/* Reads options->earlier, and removes from the list what it takes over. operators: those selected; the first
 * *searchable take arguments. OPC_ERR_INPUT: the file is no report, or is cut off. */
opc_status_t opc_since_take(opc_session_t *session, const opc_operator_t **operators, size_t *count, size_t *searchable,
                            opc_error_t *error) OPC_CHECKED;

/* The libraries of this run: which ones have changed, or use one that has.
 * Ownership: opc_since_libraries_clear; a zeroed one is empty. since_libraries.c */

typedef struct opc_since_libraries {
  const opc_loaded_t *loaded;
  bool *changed;   /* by index of loaded->libraries: not as it was then */
  bool *affected;  /* it, or something that it uses */
  json_t *digests; /* object: path of a library then -> its digest */
} opc_since_libraries_t;

/* then: "libraries" of the report; operators: its "operators" by name. */
opc_status_t opc_since_libraries_compare(const opc_loaded_t *loaded, const json_t *then, const json_t *operators,
                                         opc_since_libraries_t *out, opc_error_t *error) OPC_CHECKED;
void opc_since_libraries_clear(opc_since_libraries_t *libraries);
/* Index of the library with this path, as given or as loaded; library_count: none. */
size_t opc_since_library(const opc_since_libraries_t *libraries, const char *path);
/* It is one of this run, is unaffected, and was called `then` in the earlier run. */
bool opc_since_library_is(const opc_since_libraries_t *libraries, const char *now, const char *then);
/* None of its libraries was there then. */
bool opc_since_libraries_are_others(const opc_since_libraries_t *libraries);
/* A changed library with kernels for operators that none of the libraries defines, such as libtorch's; NULL: none. */
const char *opc_since_changes_others(const opc_since_libraries_t *libraries, const json_t *operators);
