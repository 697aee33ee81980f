/* The event loop of a run: tasks, their children, the worker and the timers, in one thread.
 *
 * Ownership: nothing outlives the call. */
#pragma once

#include "supervise/jobs/agenda.h"

/* Runs this part of the agenda, a task for each entry, `jobs` at a time. */
opc_status_t opc_schedule_run(opc_session_t *session, opc_agenda_t *agenda, opc_agenda_part_t part, int jobs,
                              opc_error_t *error) OPC_CHECKED;
