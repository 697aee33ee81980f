/* The phase of a task that asks which words its string arguments take, before the relations are learned.
 *
 * Ownership: the task's. Threads: one. */
#pragma once

#include "supervise/jobs/task_phases.h"

/* For a task that starts with its cases: asks, if a declared sample has a string argument, and goes on with
 * opc_relations_begin. */
opc_status_t opc_words_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
