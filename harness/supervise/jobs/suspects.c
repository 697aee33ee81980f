#include "supervise/jobs/task.h"

#include <stdlib.h>

opc_status_t opc_suspects_note_case(opc_task_t *task, const char *case_id, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(task->order, task->order_count)) return opc_out_of_memory(error);
  task->order[task->order_count] = opc_string_copy(case_id);
  if (!task->order[task->order_count]) return opc_out_of_memory(error);
  task->order_count++;
  return OPC_OK;
}

opc_status_t opc_suspects_write(opc_task_t *task, const opc_case_result_t *result, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *copy = NULL;
  OPC_RETURN_IF_ERROR(opc_case_result_copy(result, &copy, error));
  free(copy->repro);
  copy->repro = opc_repro_line(task->session, task->op, copy->case_id);
  copy->suspect = true;
  /* A run that stops early reports it as it is known now. */
  opc_case_result_judge(copy, task->session->options->untrusted_input);
  return opc_journal_write(task->session->journal, opc_case_result_encode(copy), error);
}

opc_status_t opc_suspects_add(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(task->suspects, task->suspect_count)) {
    opc_case_result_free(result);
    return opc_out_of_memory(error);
  }
  task->suspects[task->suspect_count++] = (opc_suspect_t){.result = result,
                                                          .first = task->first,
                                                          .position = task->order_count - 1,
                                                          .skips = json_array_size(task->skips),
                                                          .crashed = json_array_size(task->crashed)};
  return opc_suspects_write(task, result, error);
}
