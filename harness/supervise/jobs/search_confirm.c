/* Runs each sample that a search found once more, in a child that has run nothing else. This shows samples that were
 * accepted only because of what earlier tries left behind. Small outputs are kept for other operators' searches. */
#include "supervise/jobs/searching.h"

static opc_status_t search_confirm_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  const opc_searching_t *searching = task->searching;
  if (searching->fresh >= task->samples.count) return opc_searching_end(task, error);
  task->session->current = task->op->name;
  *out = opc_task_try(task, opc_search_device(task->session, task->op), &task->samples.samples[searching->fresh], true,
                      true);
  return *out ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t search_confirm_tried(opc_task_t *task, opc_tried_t *tried, opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  const size_t index = searching->fresh;
  (void)error;
  if (index >= task->samples.count) return OPC_OK;
  opc_retried_t *retried = &searching->retried[index];
  searching->child_cpu = tried->cpu_seconds;
  /* With another option an operator may forget what it otherwise does not forget: the sample is there to show that. */
  const bool forgot = task->samples.samples[index].varied && tried->outcome == OPC_TRY_UNINITIALISED;
  retried->lost = tried->outcome != OPC_TRY_RETURNED && !forgot;
  retried->changed = searching->digests[index] != 0 && tried->digest != searching->digests[index];
  if (!retried->lost) {
    retried->outputs = tried->outputs;
    retried->output_count = tried->output_count;
    tried->outputs = NULL;
    tried->output_count = 0;
  }
  searching->fresh++;
  return OPC_OK;
}

static opc_status_t search_confirm_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                         opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  (void)case_id;
  (void)crash;
  (void)error;
  opc_searching_count_child(searching);
  if (searching->fresh < task->samples.count) searching->retried[searching->fresh++].lost = true;
  return OPC_OK; /* the task wants a child again and is then asked for its next command */
}

const opc_phase_t opc_phase_search_confirm = {.command = search_confirm_command,
                                              .tried = search_confirm_tried,
                                              .crash = search_confirm_crash,
                                              .forget = opc_searching_forget,
                                              .seconds = opc_task_try_seconds,
                                              .searches = true};
