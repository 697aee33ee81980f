/* The searches of a run, before its cases: rounds, each with more tries and with what the rounds before found for other
 * operators.
 *
 * Ownership: opc_search_rounds_end releases session->found and session->library. Threads: one. */
#ifndef OPC_SUPERVISE_JOBS_SEARCH_ROUNDS_H
#define OPC_SUPERVISE_JOBS_SEARCH_ROUNDS_H

#include "supervise/session/session.h"

/* Searches arguments for those of the operators that have no sample, and, where they are not found at once, for the
 * operators of the same library that may help. */
opc_status_t opc_search_rounds_run(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                                   int jobs, opc_error_t *error) OPC_CHECKED;
void opc_search_rounds_end(opc_session_t *session);

#endif
