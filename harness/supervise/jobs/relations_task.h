/* The phase of a task in which the relations between arguments are learned (search/relations), and its beginning.
 *
 * Ownership: the task's. Threads: one. */
#ifndef OPC_SUPERVISE_JOBS_RELATIONS_TASK_H
#define OPC_SUPERVISE_JOBS_RELATIONS_TASK_H

#include "supervise/jobs/task_phases.h"

/* A task whose first phase are its cases, before anything is asked of it: where there is something to learn of its
 * samples that comes first. Writes the sample_source record once the samples are complete. */
opc_status_t opc_relations_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;

#endif
