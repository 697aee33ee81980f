/* The event loop of a run: tasks, their children, the worker and the timers, in one thread.
 *
 * Ownership: nothing outlives the call. */
#pragma once

#include "supervise/session/session.h"

/* Runs one task per operator, `jobs` at a time. */
opc_status_t opc_schedule_run(opc_session_t *session, const opc_operator_t *const *operators, size_t count, int jobs,
                              opc_error_t *error) OPC_CHECKED;
