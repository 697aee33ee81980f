/* Shared by both search phases: limits, and the end of a search.
 *
 * Ownership: see below. Threads: one. */
#pragma once

#include "supervise/jobs/task.h"

/* True if it has hung too often: each hang takes seconds. An operator that was searched in an earlier round may hang
 * less often. */
bool opc_task_search_has_hung(const opc_task_t *task);
/* The budget counts tries, not time; only an operator that needs seconds per try reaches this limit. */
bool opc_task_search_has_used_its_time(const opc_task_t *task);
/* Adds the current child's processor time to the search's. */
void opc_task_search_count_child(opc_task_t *task);
/* The digest in a "tried" message; 0: none. */
uint64_t opc_search_digest_of(const json_t *message);
/* Call when the search is over and its samples were tried again: passes everything to the session. */
opc_status_t opc_task_search_over(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
