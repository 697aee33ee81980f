#include "supervise/jobs/task.h"

#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"

struct opc_rerunning {
  size_t index;                    /* in `waiting`, of the case that runs */
  opc_case_result_t *outcome;      /* its result; NULL: none yet */
  const opc_phase_t *confirmation; /* which these cases interrupt: it keeps its state */
};

bool opc_rerun_wants(const opc_case_result_t *result) { return result->crashed_before || result->check_given_up; }

opc_status_t opc_rerun_keep(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(task->waiting, task->waiting_count)) {
    opc_case_result_free(result);
    return opc_out_of_memory(error);
  }
  task->waiting[task->waiting_count++] = result;
  return opc_suspects_write(task, result, error);
}

static bool rerun_over(const opc_task_t *task) { return task->rerunning->index == task->waiting_count; }

static opc_case_result_t *rerun_present(const opc_task_t *task) { return task->waiting[task->rerunning->index]; }

static opc_status_t write_waiting(opc_task_t *task, opc_error_t *error) {
  for (size_t i = 0; i < task->waiting_count; i++) {
    opc_case_result_t *result = task->waiting[i];
    task->waiting[i] = NULL;
    OPC_RETURN_IF_ERROR(opc_task_write_final(task, result, error));
  }
  task->waiting_count = 0;
  return OPC_OK;
}

opc_status_t opc_rerun_begin(opc_task_t *task, opc_error_t *error) {
  if (task->waiting_count == 0) return OPC_OK;
  if (!opc_known_crashes_forget(task)) return write_waiting(task, error);
  task->rerunning = calloc(1, sizeof *task->rerunning);
  if (!task->rerunning) return opc_out_of_memory(error);
  task->rerunning->confirmation = task->phase;
  opc_task_release(task);
  task->phase = &opc_phase_rerun;
  return OPC_OK;
}

static const opc_phase_t *release(opc_task_t *task) {
  const opc_phase_t *confirmation = task->rerunning->confirmation;
  opc_case_result_free(task->rerunning->outcome);
  free(task->rerunning);
  task->rerunning = NULL;
  return confirmation;
}

static void rerun_forget(opc_task_t *task) { release(task)->forget(task); }

/* All cases have their outcome: what they found is confirmed now. */
static void rerun_leave(opc_task_t *task) {
  task->waiting_count = 0;
  opc_task_release(task);
  task->phase = release(task);
}

/* The lists still stand for the crashes that were confirmed: what they name is skipped again. */
static opc_status_t rerun_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  *out = opc_task_cases_command(task, json_array_size(task->skips), json_array_size(task->crashed));
  if (!*out) return opc_out_of_memory(error);
  json_object_set_new(*out, "only", json_string(rerun_present(task)->case_id));
  json_object_set_new(*out, "only_ran", json_true());
  json_object_set_new(*out, "only_if_quick", json_true());
  return OPC_OK;
}

static bool rerun_is_present_case(const opc_task_t *task, const char *case_id) {
  return strcmp(case_id, rerun_present(task)->case_id) == 0;
}

static void put_outcome(opc_task_t *task, opc_case_result_t *result) {
  opc_case_result_free(task->rerunning->outcome);
  task->rerunning->outcome = result;
}

/* The case has come to its outcome, or stays skipped. A finding is confirmed as all others are. */
static opc_status_t next(opc_task_t *task, opc_error_t *error) {
  opc_case_result_t *result = rerun_present(task);
  task->waiting[task->rerunning->index++] = NULL;
  if (task->rerunning->outcome) {
    opc_case_result_free(result);
    result = task->rerunning->outcome;
    task->rerunning->outcome = NULL;
  }
  if (!opc_case_result_is_finding(result)) {
    OPC_RETURN_IF_ERROR(opc_task_write_final(task, result, error));
  } else {
    task->first = task->order_count;
    const opc_status_t status = opc_suspects_note_case(task, result->case_id, error);
    if (status != OPC_OK) opc_case_result_free(result);
    OPC_RETURN_IF_ERROR(status);
    OPC_RETURN_IF_ERROR(opc_suspects_add(task, result, error));
  }
  if (rerun_over(task)) rerun_leave(task);
  else if (task->child) return opc_task_send(task, error);
  return OPC_OK;
}

static opc_status_t rerun_take_result(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  (void)error;
  if (rerun_is_present_case(task, result->case_id)) put_outcome(task, result);
  else opc_case_result_free(result);
  return OPC_OK;
}

static opc_status_t rerun_ended(opc_task_t *task, opc_batch_end_t how, const char *why, opc_error_t *error) {
  (void)why;
  if (how == OPC_BATCH_SPENT) opc_task_release(task);
  return next(task, error);
}

/* Its crash counts like any other: many of them end the rest. */
static opc_status_t rerun_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  const size_t suspects = task->suspect_count;
  const opc_case_id_t id = rerun_present(task)->id;
  if (rerun_is_present_case(task, case_id) || task->rerunning->outcome) {
    opc_case_result_t *result;
    OPC_RETURN_IF_ERROR(opc_task_crash_result(task, rerun_present(task)->case_id, crash, &result, error));
    put_outcome(task, result);
  }
  OPC_RETURN_IF_ERROR(next(task, error));
  if (task->suspect_count == suspects) return OPC_OK;
  return opc_known_crashes_note(task, &id, crash, crash->own_call && id.sample[0] != '\0', &task->suspects[suspects],
                                error);
}

const opc_phase_t opc_phase_rerun = {.command = rerun_command,
                                     .result = rerun_take_result,
                                     .ended = rerun_ended,
                                     .crash = rerun_crash,
                                     .seconds = opc_task_case_seconds,
                                     .forget = rerun_forget};
