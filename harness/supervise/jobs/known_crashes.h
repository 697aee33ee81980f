/* What an operator is known to crash or hang on, so that its other cases are not run into the same again: arguments
 * (task->crashed), and checks with too many crashes on input of a rank (task->skips).
 *
 * A crash that does not show again when its case is confirmed is forgotten here, and rerun.h runs what it cost. */
#ifndef OPC_SUPERVISE_JOBS_KNOWN_CRASHES_H
#define OPC_SUPERVISE_JOBS_KNOWN_CRASHES_H

#include "supervise/jobs/task.h"

/* Counts the crash. by_arguments: the case's own arguments caused it, so the other checks leave them out. suspect: the
 * crash's result among the suspects; NULL: it is none, and cannot be forgotten. */
opc_status_t opc_known_crashes_note(opc_task_t *task, const opc_case_id_t *id, const opc_crash_t *crash,
                                    bool by_arguments, opc_suspect_t *suspect, opc_error_t *error) OPC_CHECKED;
/* Forgets the crashes of all suspects that are `gone`, and makes both lists again. False: there were none. */
bool opc_known_crashes_forget(opc_task_t *task);

#endif
