/* Known crashes and hangs of an operator, so that its other cases do not repeat them: arguments (task->crashed), and
 * checks with too many crashes at an input rank (task->skips).
 *
 * If a crash does not show again in its confirmation, it is removed here, and rerun.h runs the cases that it cost. */
#pragma once

#include "supervise/jobs/task.h"

/* Counts the crash. by_arguments: the case's own arguments caused it, so the other checks omit them. suspect: the
 * crash's result among the suspects; NULL: none, the crash cannot be removed. */
opc_status_t opc_known_crashes_note(opc_task_t *task, const opc_case_id_t *id, const opc_crash_t *crash,
                                    bool by_arguments, opc_suspect_t *suspect, opc_error_t *error) OPC_CHECKED;
/* Removes the crashes of all suspects that are `gone`, and rebuilds both lists. False: there were none. */
bool opc_known_crashes_forget(opc_task_t *task);
