/* Learns how the arguments of an operator's samples relate to each other, before its cases are planned. It makes one
 * try after the other in guarded memory, as a search does. A crash costs a child, a hang costs a second. */
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "plan/cases/planner.h"
#include "supervise/jobs/relations_task.h"
#include "supervise/jobs/searched.h"

enum {
  LEARNED_MAX = 4 /* samples of an operator that it learns from; others take over what applies to them */,
  CRASHES_MAX = 20
};

/* ---- which sample is next ---- */

/* They are learned on the CPU, whose memory is guarded, for every device. */
bool opc_relations_are_possible(const opc_task_t *task) {
  const opc_session_t *session = task->session;
  /* Under Valgrind a try takes fifty times as long. */
  return session->calls && session->memcheck == NULL && session->sanitize == NULL && task->op->schema != NULL &&
         task->op->kind == OPC_OPERATOR && opc_operator_serves(task->op, OPC_DEVICE_CPU) &&
         strcmp(opc_search_device(session, task->op), OPC_MODE_CPU) == 0;
}

/* Takes over what an earlier sample taught, if it applies. */
static opc_status_t transfer(opc_task_t *task, opc_sample_t *sample, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  for (size_t i = 0; i < task->samples.count && status == OPC_OK && sample->relations == NULL; i++) {
    const opc_sample_t *other = &task->samples.samples[i];
    if (other == sample) return OPC_OK;
    status = opc_relations_transfer(task->op, other, sample, &sample->relations, error);
  }
  return status;
}

/* The learner of the next sample that can teach something; NULL: none is left. */
static opc_status_t next_learner(opc_task_t *task, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  for (; task->learning < task->samples.count && task->learner == NULL && status == OPC_OK; task->learning++) {
    opc_sample_t *sample = &task->samples.samples[task->learning];
    if (sample->relations != NULL || !opc_sample_is_callable(sample) || !opc_learner_is_worth_it(task->op, sample))
      continue;
    status = transfer(task, sample, error);
    if (status != OPC_OK || sample->relations != NULL || task->learned == LEARNED_MAX) continue;
    task->learned++;
    status = opc_learner_new(task->op, sample, task->session->options->seed, task->hung, &task->learner, error);
    if (task->crashes >= CRASHES_MAX && task->learner != NULL) opc_learner_stop(task->learner);
    if (task->learner != NULL) return status;
  }
  return status;
}

/* ---- the end ---- */

/* Files of samples get the session's copies. */
static opc_status_t keep_for_file(const opc_task_t *task, opc_sample_set_t *kept, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  for (size_t i = 0; i < kept->count && status == OPC_OK; i++) {
    opc_sample_t *copy = &kept->samples[i];
    if (copy->relations != NULL || strcmp(copy->operator_name, task->op->name) != 0) continue;
    for (size_t k = 0; k < task->samples.count && status == OPC_OK && copy->relations == NULL; k++) {
      const opc_sample_t *own = &task->samples.samples[k];
      if (strcmp(own->name, copy->name) == 0) status = opc_relations_copy(own->relations, &copy->relations, error);
    }
  }
  return status;
}

static opc_status_t go_on(opc_task_t *task, opc_error_t *error) {
  opc_session_t *session = task->session;
  opc_status_t status = OPC_OK;
  if (session->options->save_samples != NULL) status = keep_for_file(task, &session->samples, error);
  if (status == OPC_OK) status = keep_for_file(task, &session->found_samples, error);
  if (status == OPC_OK) status = opc_task_tell_samples(task, error);
  task->crashes = 0;
  opc_task_enter(task, &opc_phase_cases);
  return status;
}

static opc_status_t finish_sample(opc_task_t *task, opc_error_t *error) {
  opc_sample_t *sample = &task->samples.samples[task->learning];
  opc_status_t status = opc_learner_take(task->learner, &sample->relations, error);
  task->relation_tries += opc_learner_tries(task->learner);
  opc_learner_hung(task->learner, task->hung);
  opc_learner_free(task->learner);
  task->learner = NULL;
  task->learning++;
  return status;
}

opc_status_t opc_relations_begin(opc_task_t *task, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  task->hung = calloc(task->op->argument_count + 1, sizeof *task->hung);
  if (task->hung == NULL) return opc_out_of_memory(error);
  task->relations_began = opc_clock();
  if (opc_relations_are_possible(task)) status = next_learner(task, error);
  if (status != OPC_OK || task->learner == NULL) return status == OPC_OK ? go_on(task, error) : status;
  task->phase = &opc_phase_relations;
  return OPC_OK;
}

/* ---- tries ---- */

json_t *opc_relations_try(const opc_task_t *task, const opc_sample_t *sample) {
  return json_pack("{s:s, s:s, s:s, s:o, s:I, s:b}", "t", "try", "operator", task->op->name, "device", OPC_MODE_CPU,
                   "sample", opc_sample_to_json(sample, task->op), "seed", (json_int_t)task->session->options->seed,
                   "without_meta", 1);
}

static opc_status_t command(opc_task_t *task, json_t **out, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  task->session->current = task->op->name;
  while (!task->attempting && task->learner != NULL && status == OPC_OK) {
    memset(&task->attempt, 0, sizeof task->attempt);
    task->attempting = opc_learner_next(task->learner, &task->attempt);
    if (task->attempting) break;
    status = finish_sample(task, error);
    if (status == OPC_OK) status = next_learner(task, error);
  }
  if (status != OPC_OK || !task->attempting) return status == OPC_OK ? go_on(task, error) : status;
  *out = opc_relations_try(task, &task->attempt);
  return *out != NULL ? OPC_OK : opc_out_of_memory(error);
}

static void tell(opc_task_t *task, opc_learn_outcome_t outcome) {
  if (!task->attempting || task->learner == NULL) return; /* an answer without a try: a hostile child */
  opc_learner_tell(task->learner, outcome);
  opc_sample_clear(&task->attempt);
  task->attempting = false;
}

static opc_learn_outcome_t outcome_of(const json_t *message) {
  static const struct {
    const char *name;
    opc_learn_outcome_t outcome;
  } outcomes[] = {{"returned", OPC_LEARN_CLEAN},          {"rejected", OPC_LEARN_REFUSED},
                  {"internal_assert", OPC_LEARN_REFUSED}, {"out_of_memory", OPC_LEARN_THREW},
                  {"foreign_exception", OPC_LEARN_THREW}, {"uninitialised", OPC_LEARN_POISON}};
  const char *name = opc_json_text_of(message, "outcome");
  const json_t *access = json_object_get(message, "access");
  for (size_t i = 0; name != NULL && i < sizeof outcomes / sizeof outcomes[0]; i++)
    if (strcmp(name, outcomes[i].name) == 0) return outcomes[i].outcome;
  if (name == NULL || strcmp(name, "unclean") != 0) return OPC_LEARN_NONE;
  if (access == NULL) return OPC_LEARN_POISON;
  return json_is_true(json_object_get(access, "write")) ? OPC_LEARN_WROTE : OPC_LEARN_READ;
}

static opc_status_t message(opc_task_t *task, json_t *message, opc_error_t *error) {
  const char *type = opc_json_text_of(message, "t");
  const bool tried = type != NULL && strcmp(type, "tried") == 0;
  if (!tried && (type == NULL || strcmp(type, "refused") != 0)) return OPC_OK; /* not an answer */
  tell(task, tried ? outcome_of(message) : OPC_LEARN_NONE);
  return opc_task_send(task, error);
}

static opc_status_t crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  (void)case_id;
  (void)error;
  const bool hung = strcmp(crash->rule, "timeout") == 0;
  tell(task, hung ? OPC_LEARN_HUNG : OPC_LEARN_CRASHED);
  if (++task->crashes >= CRASHES_MAX && task->learner != NULL) opc_learner_stop(task->learner);
  return OPC_OK; /* the task wants a child again and is then asked for its next command */
}

const opc_phase_t opc_phase_relations = {
    .command = command, .message = message, .crash = crash, .seconds = opc_task_try_seconds, .searches = true};
