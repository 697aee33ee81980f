#include "supervise/jobs/suspects.h"

#include "base/text.h"
#include "model/json/json_write.h"
#include "supervise/session/judge.h"

opc_status_t opc_suspects_note_case(opc_task_t *task, const char *case_id, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(task->order, task->order_count)) return opc_out_of_memory(error);
  task->order[task->order_count] = opc_string_copy(case_id);
  if (task->order[task->order_count] == NULL) return opc_out_of_memory(error);
  task->order_count++;
  return OPC_OK;
}

opc_status_t opc_suspects_write(opc_task_t *task, const json_t *result, opc_error_t *error) {
  json_t *record = json_copy((json_t *)result);
  opc_case_id_t id;
  if (record != NULL && opc_case_id_parse(opc_json_text_of(result, "case"), &id, NULL) == OPC_OK) {
    OPC_SCOPED(opc_scope_free) char *repro = opc_repro_line(task->session, task->op, opc_json_text_of(result, "case"));
    json_object_set_new(record, "t", json_string("suspect"));
    json_object_set_new(record, "operator", json_string(task->op->name));
    json_object_set_new(record, "check", json_string(id.check));
    json_object_set_new(record, "repro", opc_json_string(repro));
    /* A run that stops early reports it as it is known now. */
    json_t *evidence = json_deep_copy(json_object_get(result, "evidence"));
    if (evidence != NULL) json_object_set_new(record, "evidence", evidence);
    opc_result_judge(record, &id, task->session->options->untrusted_input);
  }
  return opc_journal_write(task->session->journal, record, error);
}

opc_status_t opc_suspects_add(opc_task_t *task, json_t *result, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(task->suspects, task->suspect_count)) {
    json_decref(result);
    return opc_out_of_memory(error);
  }
  task->suspects[task->suspect_count++] = (opc_suspect_t){.result = result,
                                                          .first = task->first,
                                                          .position = task->order_count - 1,
                                                          .skips = json_array_size(task->skips),
                                                          .crashed = json_array_size(task->crashed)};
  return opc_suspects_write(task, result, error);
}
