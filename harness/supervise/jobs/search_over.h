/* What both phases of a search share: what it may take, and what is done when it is over.
 *
 * Ownership: see below. Threads: one. */
#ifndef OPC_SUPERVISE_JOBS_SEARCH_OVER_H
#define OPC_SUPERVISE_JOBS_SEARCH_OVER_H

#include "supervise/jobs/task.h"

/* Each hang takes seconds; an operator that hung in an earlier round is given fewer. */
bool opc_task_search_has_hung(const opc_task_t *task);
/* Tries are counted and not timed; only an operator that takes seconds a try comes to this. */
bool opc_task_search_has_used_its_time(const opc_task_t *task);
double opc_task_search_seconds(const opc_task_t *task); /* a try's time: opc_phase_t.seconds */
/* The present child's processor time becomes the search's. */
void opc_task_search_count_child(opc_task_t *task);
/* The digest of a "tried" message; 0: it has none. */
uint64_t opc_search_digest_of(const json_t *message);
/* The search is over and its samples were tried again; all of it goes to the session. */
opc_status_t opc_task_search_over(opc_task_t *task, opc_error_t *error) OPC_CHECKED;

#endif
