/* The event loop of a run: tasks, their children, the worker and the timers, in one thread.
 *
 * Ownership: nothing outlives the call. */
#pragma once

#include "supervise/session/session.h"

/* Runs one task per operator, `jobs` at a time. */
opc_status_t opc_schedule_run(opc_session_t *session, const opc_operator_t *const *operators, size_t count, int jobs,
                              opc_error_t *error) OPC_CHECKED;

/* The searches of a run, before its cases: in rounds, each with more tries and with what earlier rounds found for
 * other operators.
 *
 * Ownership: opc_search_rounds_end releases session->found and session->library. */

/* Searches arguments for operators without a sample. If some are not found at once, also for helpful operators of the
 * same library. */
opc_status_t opc_search_rounds_run(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                                   int jobs, opc_error_t *error) OPC_CHECKED;
void opc_search_rounds_end(opc_session_t *session);
