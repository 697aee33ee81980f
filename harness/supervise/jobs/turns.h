/* How the time of --budget is shared out. Each task has one turn after another: first the unmodified samples of every
 * operator, those with declared samples before a search for the others; then the variants, in the order of their
 * yield. A turn has an equal share of the time that is left; a task that has not run all its cases by then pauses until
 * all others had their turn. Findings are confirmed in the turn that found them, and become final results when all
 * cases of the operator have a result: what other cases show counts for them. When no time is left, the cases that did
 * not run are skipped with reason `budget`.
 *
 * Ownership: opc_turns_end, before the session's operators. Threads: one. */
#pragma once

#include "supervise/jobs/task.h"

typedef struct opc_turns {
  double ends;        /* opc_clock */
  double search_ends; /* the search may take half of the time that is left when it begins; 0: it has not begun */
  opc_task_t **paused;
  size_t paused_count;
} opc_turns_t;

/* Does nothing without --budget. */
opc_status_t opc_turns_begin(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
void opc_turns_end(opc_session_t *session);

/* False without a budget. */
bool opc_turns_are_over(const opc_session_t *session);
bool opc_turns_search_is_over(const opc_session_t *session);
/* Begins a task's turn: its samples, its variants, or a search. waiting: tasks that wait for theirs; jobs: at once. */
void opc_turn_begin(opc_task_t *task, size_t waiting, size_t jobs);
/* The task's turn is over, and another one is to come. */
bool opc_turn_is_over(const opc_task_t *task);
/* Seconds of a turn from `began` on; without a budget `otherwise`. */
double opc_turn_seconds(const opc_task_t *task, double began, double otherwise);
/* Keeps a task that pauses (takes it). */
opc_status_t opc_turns_pause(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
/* Gives the one back that has paused longest; there must be one. */
opc_task_t *opc_turns_resume(opc_session_t *session);
/* Why no time is left: text for the results of cases that do not run. */
const char *opc_turns_reason(void);
/* Counts cases that were left out for lack of time. */
void opc_turns_note(opc_task_t *task, uint64_t cases);
/* For the journal: "seconds", and what was "left_out". NULL: there is no budget. */
json_t *opc_turns_to_json(const opc_session_t *session);
