/* The search beside an operator's samples: for inputs of other kinds than those of its samples. It comes after their
 * relations are known, and keeps to them. What is found has the provenance "searched". */
#include <string.h>

#include "plan/cases/planner.h"
#include "supervise/jobs/searching.h"

/* A search was made before, and what it found is in a file; or the only case that runs needs nothing of it. */
static bool is_complete(const opc_task_t *task) {
  const opc_session_t *session = task->session;
  bool known = session->has_only && session->only.sample[0] == '\0', callable = false;
  for (size_t i = 0; i < task->samples.count; i++) {
    const opc_sample_t *sample = &task->samples.samples[i];
    callable |= opc_sample_is_callable(sample);
    known |= sample->brief || (session->has_only && strcmp(sample->name, session->only.sample) == 0);
  }
  return known || !callable;
}

/* A recipe says what the arguments are: a number of dimensions that it does not know is not one of them. */
static bool beside_is_wanted(const opc_task_t *task) {
  return !task->session->options->no_search && opc_search_is_guarded(task->session, task->op) && !is_complete(task) &&
         !opc_recipe_find(&task->session->recipes, task->op->name);
}

opc_status_t opc_beside_begin(opc_task_t *task, opc_error_t *error) {
  const bool later = task->goes_on && task->turn == 1; /* with --budget, the samples of all operators come first */
  if (later || !beside_is_wanted(task)) return opc_cases_begin(task, error);
  opc_task_enter(task, &opc_phase_search);
  return opc_searching_begin(task, error);
}
