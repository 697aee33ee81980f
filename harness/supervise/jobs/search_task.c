/* Searches arguments for an operator without samples, or beside its samples. It makes one try after the other; a crash
 * costs a child. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "supervise/jobs/searching.h"

enum { WATCHED_CRASHES_MAX = 20 };

/* Found samples are tried once more in a fresh child. */
static opc_status_t finish(opc_task_t *task, opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  OPC_RETURN_IF_ERROR(opc_search_samples(searching->search, &searching->samples, searching->digests, error));
  if (!opc_search_is_clean(searching->search) || searching->samples.count == 0)
    return opc_searching_end(task, &opc_phase_search, error);
  opc_searching_count_child(searching);
  opc_task_enter(task, &opc_phase_search_confirm);
  return OPC_OK;
}

/* Under Valgrind a new child takes half a second. */
static bool is_tired(const opc_task_t *task) {
  return opc_searching_has_hung(task) || opc_searching_has_used_its_time(task) ||
         (task->session->memcheck && task->searching->crashes >= WATCHED_CRASHES_MAX);
}

static opc_status_t next_try(opc_task_t *task, json_t **out, opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  if (!searching->has_try && (is_tired(task) || !opc_search_next(searching->search, &searching->trying))) {
    opc_sample_clear(&searching->trying);
    return finish(task, error);
  }
  searching->has_try = true;
  *out = opc_task_try(task, opc_search_device(task->session, task->op), &searching->trying, false,
                      searching->without_meta);
  return *out ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t search_task_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  const double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  if (!task->searching) OPC_RETURN_IF_ERROR(opc_searching_begin(task, error));
  OPC_RETURN_IF_ERROR(next_try(task, out, error));
  if (task->searching) task->searching->cpu += opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began;
  return OPC_OK;
}

static void search_task_tell(opc_searching_t *searching, const opc_tried_t *tried) {
  if (!searching || !searching->has_try) return; /* an answer without a try: a hostile child */
  const double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  opc_search_report(searching->search, tried);
  searching->cpu += opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began;
  opc_sample_clear(&searching->trying);
  searching->has_try = false;
}

typedef struct widest {
  const char *path;
  int64_t numel;
} widest_t;

static void search_task_see_tensor(const char *path, opc_value_t *tensor, void *context) {
  widest_t *widest = context;
  const int64_t numel = tensor->tensor ? opc_tensor_spec_numel(tensor->tensor) : 0;
  if (strcmp(path, widest->path) == 0 && numel > widest->numel) widest->numel = numel;
}

/* Elements of the largest tensor that was returned or changed. */
static int64_t largest(opc_task_t *task, const opc_tried_t *tried) {
  const opc_sample_t *sample = &task->searching->trying;
  widest_t widest = {.numel = tried->output_numel};
  for (size_t i = 0; i < tried->changed_count; i++) {
    widest.path = tried->changed[i];
    for (size_t k = 0; k < sample->argument_count && k < task->op->argument_count; k++)
      opc_value_visit_tensors(task->op->arguments[k].name, &sample->arguments[k], search_task_see_tensor, &widest);
  }
  return widest.numel;
}

static opc_status_t search_task_tried(opc_task_t *task, opc_tried_t *tried, opc_error_t *error) {
  (void)error;
  if (!task->searching || !task->searching->has_try) return OPC_OK;
  task->searching->child_cpu = tried->cpu_seconds;
  tried->output_numel = largest(task, tried);
  search_task_tell(task->searching, tried);
  return OPC_OK;
}

static opc_status_t search_task_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                      opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  opc_tried_t outcome = {.outcome = OPC_TRY_CRASHED,
                         .message = opc_text_c(&crash->message),
                         .said = opc_text_c(&crash->said),
                         .site = crash->place};
  (void)case_id;
  (void)error;
  if (!searching) return OPC_OK;
  opc_searching_count_child(searching);
  if (crash->asked_meta && !searching->without_meta) { /* the same arguments are tried again */
    searching->without_meta = true;
    return OPC_OK;
  }
  searching->crashes++;
  if (crash->rule == OPC_RULE_timeout) {
    outcome.outcome = OPC_TRY_TIMEOUT;
    /* Other arguments may be compiled anew. */
    if (task->slowest_try > 0) task->slowest_try = fmax(task->slowest_try, task->session->options->timeout);
    searching->timeouts++;
  } else if (crash->rule == OPC_RULE_memory) {
    outcome.outcome = OPC_TRY_OUT_OF_MEMORY;
  } else if (crash->unwatchable) {
    outcome.outcome = OPC_TRY_REJECTED;
  }
  search_task_tell(searching, &outcome);
  return OPC_OK; /* the task wants a child again and is then asked for its next command */
}

const opc_phase_t opc_phase_search = {.command = search_task_command,
                                      .tried = search_task_tried,
                                      .crash = search_task_crash,
                                      .forget = opc_searching_forget,
                                      .seconds = opc_task_try_seconds,
                                      .searches = true};

/* Runs each sample that a search found once more, in a child that has run nothing else. This shows samples that were
 * accepted only because of what earlier tries left behind. Small outputs are kept for other operators' searches. */

static opc_status_t search_confirm_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  const opc_searching_t *searching = task->searching;
  if (searching->fresh >= searching->samples.count) return opc_searching_end(task, &opc_phase_search, error);
  *out = opc_task_try(task, opc_search_device(task->session, task->op), &searching->samples.samples[searching->fresh],
                      true, true);
  return *out ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t search_confirm_tried(opc_task_t *task, opc_tried_t *tried, opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  const size_t index = searching->fresh;
  (void)error;
  if (index >= searching->samples.count) return OPC_OK;
  opc_retried_t *retried = &searching->retried[index];
  searching->child_cpu = tried->cpu_seconds;
  /* With another option an operator may forget what it otherwise does not forget: the sample is there to show that. */
  const bool forgot = searching->samples.samples[index].varied && tried->outcome == OPC_TRY_UNINITIALISED;
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
  if (searching->fresh < searching->samples.count) searching->retried[searching->fresh++].lost = true;
  return OPC_OK; /* the task wants a child again and is then asked for its next command */
}

const opc_phase_t opc_phase_search_confirm = {.command = search_confirm_command,
                                              .tried = search_confirm_tried,
                                              .crash = search_confirm_crash,
                                              .forget = opc_searching_forget,
                                              .seconds = opc_task_try_seconds,
                                              .searches = true};
