/* Learns how the arguments of an operator's samples relate to each other, before its cases are planned. It makes one
 * try after the other in guarded memory, as a search does. A crash costs a child, a hang costs a second. */
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "plan/cases/planner.h"
#include "search/relations/relation_learner.h"
#include "supervise/jobs/searching.h"

enum {
  LEARNED_MAX = 4 /* samples of an operator that it learns from; others take over what applies to them */,
  CRASHES_MAX = 20
};

struct opc_learning {
  double began;           /* opc_clock */
  opc_learner_t *learner; /* for the sample with this index; NULL: none */
  size_t sample, learned; /* learned: number of samples with tries */
  size_t tries;
  bool *hung; /* one per argument: a try hung on it */
  int crashes;
  opc_sample_t trying; /* the arguments that are tried now */
  bool has_try;
};

static void relations_task_forget(opc_task_t *task) {
  opc_learning_t *learning = task->learning;
  task->learning = NULL;
  if (!learning) return;
  opc_learner_free(learning->learner);
  if (learning->has_try) opc_sample_clear(&learning->trying);
  free(learning->hung);
  free(learning);
}

/* ---- which sample is next ---- */

/* Takes over what an earlier sample taught, if it applies. */
static opc_status_t transfer(opc_task_t *task, opc_sample_t *sample, opc_error_t *error) {
  for (size_t i = 0; i < task->samples.count && !sample->relations; i++) {
    const opc_sample_t *other = &task->samples.samples[i];
    if (other == sample) return OPC_OK;
    OPC_RETURN_IF_ERROR(opc_relations_transfer(task->op, other, sample, &sample->relations, error));
  }
  return OPC_OK;
}

/* The learner of the next sample that can teach something; NULL: none is left. */
static opc_status_t next_learner(opc_task_t *task, opc_error_t *error) {
  opc_learning_t *learning = task->learning;
  for (; learning->sample < task->samples.count && !learning->learner; learning->sample++) {
    opc_sample_t *sample = &task->samples.samples[learning->sample];
    if (sample->relations || !opc_sample_is_callable(sample) || !opc_learner_is_worth_it(task->op, sample)) continue;
    OPC_RETURN_IF_ERROR(transfer(task, sample, error));
    if (sample->relations || learning->learned == LEARNED_MAX) continue;
    learning->learned++;
    OPC_RETURN_IF_ERROR(
        opc_learner_new(task->op, sample, task->session->options->seed, learning->hung, &learning->learner, error));
    if (learning->crashes >= CRASHES_MAX && learning->learner) opc_learner_stop(learning->learner);
    if (learning->learner) return OPC_OK;
  }
  return OPC_OK;
}

/* ---- the end ---- */

/* Files of samples get the session's copies. */
static opc_status_t keep_for_file(const opc_task_t *task, opc_sample_set_t *kept, opc_error_t *error) {
  for (size_t i = 0; i < kept->count; i++) {
    opc_sample_t *copy = &kept->samples[i];
    if (copy->relations || strcmp(copy->operator_name, task->op->name) != 0) continue;
    for (size_t k = 0; k < task->samples.count && !copy->relations; k++) {
      const opc_sample_t *own = &task->samples.samples[k];
      if (strcmp(own->name, copy->name) == 0)
        OPC_RETURN_IF_ERROR(opc_relations_copy(own->relations, &copy->relations, error));
    }
  }
  return OPC_OK;
}

/* What is known about the samples' arguments, and the effort to learn it; NULL: nothing is known, and nothing was
 * tried. */
static json_t *relations_to_json(const opc_task_t *task) {
  const opc_learning_t *learning = task->learning;
  json_t *known = json_object();
  bool any = false;
  for (size_t i = 0; i < task->samples.count; i++) {
    const opc_sample_t *sample = &task->samples.samples[i];
    if (!sample->relations) continue;
    opc_json_put(&known, sample->name, opc_relations_to_json(sample->relations));
    any = true;
  }
  if (any || learning->tries > 0)
    return json_pack("{s:o, s:I, s:f}", "samples", known, "tries", (json_int_t)learning->tries, "seconds",
                     learning->tries > 0 ? opc_clock() - learning->began : 0.0);
  json_decref(known);
  return NULL;
}

static opc_status_t go_on(opc_task_t *task, opc_error_t *error) {
  opc_session_t *session = task->session;
  if (opc_run_keeps_samples(session->options)) OPC_RETURN_IF_ERROR(keep_for_file(task, &session->samples, error));
  OPC_RETURN_IF_ERROR(keep_for_file(task, &session->found_samples, error));
  task->relations = relations_to_json(task);
  return opc_beside_begin(task, error);
}

static opc_status_t finish_sample(opc_task_t *task, opc_error_t *error) {
  opc_learning_t *learning = task->learning;
  opc_status_t status = opc_learner_take(learning->learner, &task->samples.samples[learning->sample].relations, error);
  learning->tries += opc_learner_tries(learning->learner);
  opc_learner_hung(learning->learner, learning->hung);
  opc_learner_free(learning->learner);
  learning->learner = NULL;
  learning->sample++;
  return status;
}

opc_status_t opc_relations_begin(opc_task_t *task, opc_error_t *error) {
  opc_learning_t *learning = task->learning = calloc(1, sizeof *learning);
  if (!learning) return opc_out_of_memory(error);
  task->phase = &opc_phase_relations;
  learning->hung = calloc(task->op->argument_count + 1, sizeof *learning->hung);
  if (!learning->hung) return opc_out_of_memory(error);
  learning->began = opc_clock();
  if (opc_search_is_guarded(task->session, task->op)) OPC_RETURN_IF_ERROR(next_learner(task, error));
  return learning->learner ? OPC_OK : go_on(task, error);
}

/* ---- tries ---- */

static opc_status_t relations_task_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  opc_learning_t *learning = task->learning;
  while (!learning->has_try && learning->learner) {
    learning->trying = (opc_sample_t){0};
    learning->has_try = opc_learner_next(learning->learner, &learning->trying);
    if (learning->has_try) break;
    OPC_RETURN_IF_ERROR(finish_sample(task, error));
    OPC_RETURN_IF_ERROR(next_learner(task, error));
  }
  if (!learning->has_try) return go_on(task, error);
  *out = opc_task_try(task, OPC_MODE_CPU, &learning->trying, false, true);
  return *out ? OPC_OK : opc_out_of_memory(error);
}

static void relations_task_tell(opc_learning_t *learning, opc_learn_outcome_t outcome) {
  if (!learning->has_try || !learning->learner) return; /* an answer without a try: a hostile child */
  opc_learner_tell(learning->learner, outcome);
  opc_sample_clear(&learning->trying);
  learning->has_try = false;
}

static opc_learn_outcome_t relations_task_outcome_of(const opc_tried_t *tried) {
  static const opc_learn_outcome_t outcomes[OPC_TRY_OUTCOME_COUNT] = {[OPC_TRY_RETURNED] = OPC_LEARN_CLEAN,
                                                                      [OPC_TRY_REJECTED] = OPC_LEARN_REFUSED,
                                                                      [OPC_TRY_INTERNAL_ASSERT] = OPC_LEARN_REFUSED,
                                                                      [OPC_TRY_OUT_OF_MEMORY] = OPC_LEARN_THREW,
                                                                      [OPC_TRY_FOREIGN_EXCEPTION] = OPC_LEARN_THREW,
                                                                      [OPC_TRY_UNINITIALISED] = OPC_LEARN_POISON,
                                                                      [OPC_TRY_UNCLEAN] = OPC_LEARN_POISON,
                                                                      [OPC_TRY_CRASHED] = OPC_LEARN_CRASHED,
                                                                      [OPC_TRY_TIMEOUT] = OPC_LEARN_HUNG};
  if (tried->outcome == OPC_TRY_UNCLEAN && tried->access.argument)
    return tried->access.write ? OPC_LEARN_WROTE : OPC_LEARN_READ;
  return outcomes[tried->outcome]; /* OPC_LEARN_NONE for all others */
}

static opc_status_t relations_task_tried(opc_task_t *task, opc_tried_t *tried, opc_error_t *error) {
  (void)error;
  relations_task_tell(task->learning, relations_task_outcome_of(tried));
  return OPC_OK;
}

static opc_status_t relations_task_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                         opc_error_t *error) {
  opc_learning_t *learning = task->learning;
  (void)case_id;
  (void)error;
  relations_task_tell(learning, crash->rule == OPC_RULE_timeout ? OPC_LEARN_HUNG : OPC_LEARN_CRASHED);
  if (++learning->crashes >= CRASHES_MAX && learning->learner) opc_learner_stop(learning->learner);
  return OPC_OK; /* the task wants a child again and is then asked for its next command */
}

const opc_phase_t opc_phase_relations = {.command = relations_task_command,
                                         .tried = relations_task_tried,
                                         .crash = relations_task_crash,
                                         .forget = relations_task_forget,
                                         .seconds = opc_task_try_seconds,
                                         .searches = true};
