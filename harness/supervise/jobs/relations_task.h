/* The phase of a task that learns the relations between arguments (search/relations), and its start.
 *
 * Ownership: the task's. Threads: one. */
#pragma once

#include "supervise/jobs/task_phases.h"

/* For a task that starts with its cases: enters the relations phase first, if its samples have something to learn.
 * Writes the sample_source record once the samples are complete. */
opc_status_t opc_relations_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
/* False: nothing can be tried on the CPU, whose memory is guarded, or a try takes too long. */
bool opc_relations_are_possible(const opc_task_t *task);
