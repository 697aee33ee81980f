#include "supervise/jobs/turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double turn_least = 0.1; /* seconds: a turn costs a process and its plan */

opc_status_t opc_turns_begin(opc_session_t *session, opc_error_t *error) {
  if (session->options->budget <= 0) return OPC_OK;
  opc_turns_t *turns = session->turns = calloc(1, sizeof *turns);
  if (!turns) return opc_out_of_memory(error);
  turns->ends = session->began + session->options->budget;
  return OPC_OK;
}

void opc_turns_end(opc_session_t *session) {
  opc_turns_t *turns = session->turns;
  for (size_t i = 0; turns && i < turns->paused_count; i++) opc_task_free(turns->paused[i]);
  if (turns) free(turns->paused);
  free(turns);
  session->turns = NULL;
}

bool opc_turns_are_over(const opc_session_t *session) { return session->turns && opc_clock() >= session->turns->ends; }

bool opc_turns_search_is_over(const opc_session_t *session) {
  const opc_turns_t *turns = session->turns;
  return turns && opc_clock() >= (turns->search_ends > 0 ? turns->search_ends : turns->ends);
}

void opc_turn_begin(opc_task_t *task, size_t waiting, size_t jobs) {
  opc_turns_t *turns = task->session->turns;
  const double now = opc_clock();
  task->turn++;
  if (!turns) return;
  const double left = fmax(0, turns->ends - now);
  if (task->is_search && turns->search_ends <= 0) turns->search_ends = now + left / 2;
  const double ends = task->is_search ? turns->search_ends : turns->ends;
  const double share = (ends - now) * (double)jobs / (double)(waiting + 1);
  task->turn_ends = fmin(ends, now + fmax(turn_least, share));
  task->goes_on = !task->is_search && !task->session->has_only;
}

bool opc_turn_is_over(const opc_task_t *task) { return task->goes_on && opc_clock() >= task->turn_ends; }

double opc_turn_seconds(const opc_task_t *task, double began, double otherwise) {
  return task->session->turns ? fmin(otherwise, task->turn_ends - began) : otherwise;
}

opc_status_t opc_turns_pause(opc_task_t *task, opc_error_t *error) {
  opc_turns_t *turns = task->session->turns;
  if (!OPC_ARRAY_GROW(turns->paused, turns->paused_count)) return opc_out_of_memory(error);
  turns->paused[turns->paused_count++] = task;
  return OPC_OK;
}

opc_task_t *opc_turns_resume(opc_session_t *session) {
  opc_turns_t *turns = session->turns;
  opc_task_t *task = turns->paused[0];
  memmove(&turns->paused[0], &turns->paused[1], --turns->paused_count * sizeof *turns->paused);
  return task;
}

const char *opc_turns_reason(void) {
  return "the time of the run was up by then (--budget), for this case and all others of the check that have no result";
}

void opc_turns_note(opc_task_t *task, uint64_t cases) {
  if (!task->session->turns) return;
  task->session->left_out_cases += cases;
  task->session->left_out_operators += !task->left_out;
  task->left_out = true;
}

json_t *opc_turns_to_json(const opc_session_t *session) {
  if (!session->turns) return NULL;
  return json_pack("{s:f, s:{s:I, s:I}}", "seconds", session->options->budget, "left_out", "cases",
                   (json_int_t)session->left_out_cases, "operators", (json_int_t)session->left_out_operators);
}
