/* Findings that await confirmation, and the order in which cases ran, which confirmation needs. */
#pragma once

#include "supervise/jobs/task.h"

/* The case has ended: appends its id to task->order. */
opc_status_t opc_suspects_note_case(opc_task_t *task, const char *case_id, opc_error_t *error) OPC_CHECKED;
/* Writes the result as a journal record that counts only if no result of its case follows. So a killed run loses
 * nothing. */
opc_status_t opc_suspects_write(opc_task_t *task, const opc_case_result_t *result, opc_error_t *error) OPC_CHECKED;
/* Adds a finding (takes it) of the last case in task->order. */
opc_status_t opc_suspects_add(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) OPC_CHECKED;
