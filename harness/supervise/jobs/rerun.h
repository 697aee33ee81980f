/* Holds cases skipped because of a crash until the crash is confirmed. If it does not show again, they are run after
 * all, one by one: on a busy machine a case may exceed its time limit once, which must not cost the operator its other
 * checks. */
#pragma once

#include "supervise/jobs/task.h"

/* True: its case was skipped because of a crash. */
bool opc_rerun_wants(const opc_case_result_t *result);
/* Keeps such a result (takes it). */
opc_status_t opc_rerun_keep(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) OPC_CHECKED;
/* After every suspect is settled: writes the skipped cases to the journal, or enters the phase that runs them, which
 * interrupts the present one, the confirmation. */
opc_status_t opc_rerun_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
