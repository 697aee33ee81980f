/* Parts of an operator's cases that idle jobs run ahead of its task: each has a task and a child of its own, and keeps
 * its results. A part begins where the plan comes to the variants of another check, and goes on to the next part. When
 * the task comes to a part, it takes the results as if its own child had sent them, and the child too, if that still
 * runs. A crash changes what the cases after it do: then all parts are given up. So the results are those of a run
 * without parts.
 *
 * Ownership: the task owns its parts, the scheduler the tasks that run them. Threads: one. */
#pragma once

#include "supervise/jobs/task.h"

/* Where a part can begin. */
typedef struct opc_part_begin {
  char *case_id;
  size_t position; /* in the plan */
} opc_part_begin_t;

typedef struct opc_part {
  const opc_part_begin_t *begin;
  opc_task_t *owner; /* whose cases they are */
  opc_task_t *task;  /* that runs it; NULL: it has ended */
  bool complete;     /* it has a result for each case */
  opc_case_result_t **results;
  size_t count;
  struct opc_part *next; /* in the order of the plan */
} opc_part_t;

/* If the cases that the task runs take much longer, divides them once more: *out is the task that runs the new part,
 * the caller's; NULL: there is none. */
opc_status_t opc_parts_divide(opc_task_t *task, opc_task_t **out, opc_error_t *error) OPC_CHECKED;
/* True: the task's next part begins with the case, and has results. Gives a part up that begins with it and has none.
 */
bool opc_parts_has(opc_task_t *task, const char *case_id);
/* Takes the next part, without its task; NULL: there is none. The part's child becomes the task's, if it still runs. */
opc_part_t *opc_parts_take(opc_task_t *task);
void opc_part_free(opc_part_t *part);
/* Gives all parts up. */
void opc_parts_drop(opc_task_t *task);
void opc_parts_free(opc_task_t *task);

extern const opc_phase_t opc_phase_part;
