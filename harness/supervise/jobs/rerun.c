#include "supervise/jobs/rerun.h"

#include <string.h>

#include "base/text.h"
#include "model/case/verdict.h"
#include "model/json/json_write.h"
#include "supervise/jobs/known_crashes.h"
#include "supervise/jobs/suspects.h"
#include "supervise/jobs/task_phases.h"

opc_status_t opc_rerun_keep(opc_task_t *task, json_t *result, bool *out_kept, opc_error_t *error) {
  const json_t *evidence = json_object_get(result, "evidence");
  *out_kept =
      json_object_get(evidence, "crashed_before") != NULL || json_is_true(json_object_get(evidence, "check_given_up"));
  if (!*out_kept) return OPC_OK;
  if (json_array_append_new(task->waiting, result) != 0) return opc_out_of_memory(error);
  return opc_suspects_write(task, result, error);
}

static bool over(const opc_task_t *task) { return task->rerunning == json_array_size(task->waiting); }

static json_t *present(const opc_task_t *task) { return json_array_get(task->waiting, task->rerunning); }

static opc_status_t write_waiting(opc_task_t *task, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  for (; !over(task) && status == OPC_OK; task->rerunning++)
    status = opc_session_result(task->session, task->op, json_incref(present(task)), NULL, error);
  return status;
}

opc_status_t opc_rerun_begin(opc_task_t *task, opc_error_t *error) {
  if (task->confirming < task->suspect_count || over(task)) return OPC_OK;
  if (!opc_known_crashes_forget(task)) return write_waiting(task, error);
  task->confirmation = task->phase;
  opc_task_enter(task, &opc_phase_rerun);
  return OPC_OK;
}

static double seconds(const opc_task_t *task) { return opc_task_case_seconds(task); }

/* The lists still stand for the crashes that were confirmed: what they name is skipped again. */
static opc_status_t command(opc_task_t *task, json_t **out, opc_error_t *error) {
  *out = opc_task_cases_command(task, json_array_size(task->skips), json_array_size(task->crashed));
  if (*out == NULL) return opc_out_of_memory(error);
  json_object_set(*out, "only", json_object_get(present(task), "case"));
  json_object_set_new(*out, "only_ran", json_true());
  return OPC_OK;
}

static bool is_present_case(const opc_task_t *task, const char *case_id) {
  return case_id != NULL && strcmp(case_id, opc_json_text_of(present(task), "case")) == 0;
}

static void put_outcome(opc_task_t *task, json_t *result) {
  json_decref(task->outcome);
  task->outcome = result;
}

/* The case has come to its outcome, or stays skipped. A finding is confirmed as all others are. */
static opc_status_t next(opc_task_t *task, opc_error_t *error) {
  json_t *result = task->outcome != NULL ? task->outcome : json_incref(present(task));
  task->outcome = NULL;
  const int verdict = opc_verdict_find(opc_json_text_of(result, "verdict"));
  opc_status_t status = OPC_OK;
  task->rerunning++;
  if (verdict != OPC_VERDICT_FAIL && verdict != OPC_VERDICT_ERROR) {
    status = opc_session_result(task->session, task->op, result, NULL, error);
  } else {
    task->first = task->order_count;
    status = opc_suspects_note_case(task, opc_json_text_of(result, "case"), error);
    if (status == OPC_OK) status = opc_suspects_add(task, result, error);
    else json_decref(result);
  }
  if (status != OPC_OK) return status;
  if (over(task)) opc_task_enter(task, task->confirmation);
  else if (task->child != NULL) return opc_task_send(task, error);
  return OPC_OK;
}

static opc_status_t message(opc_task_t *task, json_t *message, opc_error_t *error) {
  const char *type = opc_json_text_of(message, "t");
  if (type == NULL) return OPC_OK;
  if (strcmp(type, "result") == 0 && opc_result_valid(message, task->op) &&
      is_present_case(task, opc_json_text_of(message, "case"))) {
    put_outcome(task, json_incref(message));
  } else if (strcmp(type, "done") == 0 || strcmp(type, "spent") == 0 || strcmp(type, "refused") == 0) {
    if (strcmp(type, "spent") == 0) opc_task_release(task);
    return next(task, error);
  }
  return OPC_OK;
}

/* Its crash counts like any other: many of them end the rest. */
static opc_status_t crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  opc_case_id_t id;
  const size_t suspects = task->suspect_count;
  const char *own = opc_json_text_of(present(task), "case");
  const bool here = is_present_case(task, case_id) || task->outcome != NULL;
  opc_status_t status = here ? opc_case_id_parse(own, &id, error) : OPC_OK;
  if (status == OPC_OK && here) put_outcome(task, opc_task_crash_result(own, crash, task));
  if (status == OPC_OK) status = next(task, error);
  if (status == OPC_OK && task->suspect_count > suspects)
    status = opc_known_crashes_note(task, &id, crash, crash->own_call && id.sample[0] != '\0',
                                    &task->suspects[suspects], error);
  return status;
}

const opc_phase_t opc_phase_rerun = {.command = command, .message = message, .crash = crash, .seconds = seconds};
