/* Runs the cases of an operator under compute-sanitizer, each stretch of them in a process of its own. The tool reports
 * only when a process has ended, without times: results wait for that report. If it holds records, cases are run again
 * and halved, until only the first one that shows them is left. */
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "supervise/evidence/external_tool.h"
#include "supervise/jobs/task.h"
#include "supervise/tools/sanitize.h"

enum { ENDS_MAX = 3, HALVED_MAX = 4 };
/* What the next process runs: the cases that are left; half of the last process's, for a record; the case found so,
 * alone; the case of a check's finding, alone. */
enum { STEP_REST = 0, STEP_HALVE, STEP_ALONE, STEP_AGAIN };

typedef struct outcome {
  opc_case_result_t **results;
  size_t count;
  bool spent; /* the process could not continue after the last result; another one can */
  bool crashed;
  char *refused; /* the worker refused the command; NULL: it did not */
  opc_sanitize_records_t records;
  char *lost; /* why the report is unusable; NULL: it can be used, or none is needed (a crash, or no call) */
} outcome_t;

struct opc_sanitized {
  int step;
  outcome_t rest, again; /* of the last STEP_REST, and of a later step */
  size_t record, result; /* of `rest`: those that are being attributed and confirmed */
  size_t first;          /* index of the first result that got records */
  opc_bisection_t halves;
  int halved, ends;
  char last[OPC_CASE_ID_SIZE]; /* the case after which the next process begins; "": the first */
  bool told[OPC_RULE_END];     /* rules whose first case is known */
};

static void outcome_clear(outcome_t *outcome) {
  for (size_t i = 0; i < outcome->count; i++) opc_case_result_free(outcome->results[i]);
  free(outcome->results);
  opc_sanitize_records_clear(&outcome->records);
  free(outcome->refused);
  free(outcome->lost);
  *outcome = (outcome_t){0};
}

static void sanitize_task_forget(opc_task_t *task) {
  opc_sanitized_t *state = task->sanitized;
  if (!state) return;
  outcome_clear(&state->rest);
  outcome_clear(&state->again);
  free(state);
  task->sanitized = NULL;
}

/* ---- one process ---- */

static outcome_t *sanitize_task_present(opc_sanitized_t *state) {
  return state->step == STEP_REST ? &state->rest : &state->again;
}

static void sanitize_task_prepare(opc_sanitized_t *state, int step) {
  state->step = step;
  outcome_clear(sanitize_task_present(state));
}

opc_status_t opc_sanitize_begin(opc_task_t *task, opc_error_t *error) {
  task->phase = &opc_phase_sanitize;
  task->sanitized = calloc(1, sizeof *task->sanitized);
  return task->sanitized ? OPC_OK : opc_out_of_memory(error);
}

static double sanitize_task_seconds(const opc_task_t *task) { return task->session->options->timeout; }

/* Of STEP_REST. */
static const char *case_at(const opc_sanitized_t *state, size_t index) { return state->rest.results[index]->case_id; }

static void restrict_to(json_t *command, const char *key, const char *case_id) {
  if (case_id) json_object_set_new(command, key, json_string(case_id));
}

static opc_status_t sanitize_task_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  const opc_sanitized_t *state = task->sanitized;
  const char *only = task->session->has_only ? task->session->options->case_id : NULL;
  *out = opc_task_cases_command(task, json_array_size(task->skips), 0);
  if (!*out) return opc_out_of_memory(error);
  if (state->step == STEP_HALVE) {
    restrict_to(*out, "from", case_at(state, state->halves.low));
    restrict_to(*out, "to", case_at(state, opc_bisection_middle(&state->halves) - 1));
  } else if (state->step == STEP_REST && !only) {
    restrict_to(*out, "after", state->last[0] != '\0' ? state->last : NULL);
  } else {
    restrict_to(*out, "only",
                state->step == STEP_REST    ? only
                : state->step == STEP_ALONE ? case_at(state, state->halves.low)
                                            : case_at(state, state->result));
  }
  return OPC_OK;
}

static opc_status_t sanitize_task_result(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *own = result;
  outcome_t *out = sanitize_task_present(task->sanitized);
  const bool again = out->count > 0 && strcmp(out->results[out->count - 1]->case_id, own->case_id) == 0;
  if (task->child->leaving || again) return OPC_OK; /* a case has one result */
  if (!OPC_ARRAY_GROW(out->results, out->count)) return opc_out_of_memory(error);
  OPC_MOVE(&out->results[out->count++], own);
  return OPC_OK;
}

/* The child stays the task's until its process has ended: the report is complete only then. */
static opc_status_t sanitize_task_ended(opc_task_t *task, opc_batch_end_t end, const char *why, opc_error_t *error) {
  outcome_t *out = sanitize_task_present(task->sanitized);
  (void)error;
  if (task->child->leaving) return OPC_OK;
  out->spent = end == OPC_BATCH_SPENT;
  if (end == OPC_BATCH_REFUSED) out->refused = opc_string_copy(why ? why : "the worker refuses");
  opc_child_leave(task->child);
  return OPC_OK;
}

/* If nothing was called, there is nothing to report. */
static bool has_called(const outcome_t *outcome) {
  for (size_t i = 0; i < outcome->count; i++)
    if (outcome->results[i]->verdict != OPC_VERDICT_SKIP || outcome->results[i]->reason == OPC_SKIP_REJECTED)
      return true;
  return false;
}

static opc_status_t report(opc_task_t *task, const opc_child_t *child, opc_error_t *error) {
  outcome_t *out = sanitize_task_present(task->sanitized);
  return opc_sanitize_report(task->session->sanitize, child, has_called(out), &out->records, &out->lost, error);
}

/* ---- which case a record belongs to ---- */

static opc_rule_id_t rule_of(const opc_task_t *task, const outcome_t *outcome, size_t record) {
  return opc_sanitize_rule(opc_sanitize_tool(task->session->sanitize), &outcome->records.items[record]);
}

static bool shows(const opc_task_t *task, const outcome_t *outcome, opc_rule_id_t rule) {
  for (size_t i = 0; i < outcome->records.count; i++)
    if (rule_of(task, outcome, i) == rule) return true;
  return false;
}

/* The case gets the records of the process that ran it alone. If nothing showed then, it gets those of all cases. */
static opc_status_t blame(opc_task_t *task, size_t index, const outcome_t *alone, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  const bool own = alone->records.count > 0;
  opc_case_result_t *result = state->rest.results[index];
  OPC_SCOPED(opc_also_list_clear) opc_also_list_t findings = {0};
  OPC_RETURN_IF_ERROR(opc_sanitize_findings(opc_sanitize_tool(task->session->sanitize),
                                            own ? &alone->records : &state->rest.records, &findings, error));
  for (size_t i = 0; i < findings.count; i++) {
    opc_also_t *finding = &findings.items[i];
    state->told[finding->rule] = true;
    if (own) continue;
    char *message = opc_string_format(
        "%s. It happened in a process that ran other cases before this one, but not in this case alone",
        finding->message);
    if (!message) return opc_out_of_memory(error);
    free(finding->message);
    finding->message = message;
  }
  OPC_RETURN_IF_ERROR(opc_external_tool_merge(result, &findings, error));
  result->confirmed = own ? OPC_CONFIRMED_YES : OPC_CONFIRMED_NO;
  if (index < state->first) state->first = index;
  return OPC_OK;
}

/* A case after one with records in the same process: its own records are not known. */
static void sanitize_task_set_aside(opc_case_result_t *result, const char *first) {
  if (result->verdict != OPC_VERDICT_PASS) return;
  OPC_SCOPED(opc_scope_free)
  char *text =
      opc_string_format("compute-sanitizer's records of this process are reported with %s; run this case alone", first);
  result->verdict = OPC_VERDICT_SKIP;
  result->reason = OPC_SKIP_AFTER_CRASH;
  opc_case_result_say(result, text);
}

static opc_status_t write_results(opc_task_t *task, opc_error_t *error);

static opc_status_t attribute(opc_task_t *task, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  const outcome_t *rest = &state->rest;
  const size_t count = rest->count;
  /* The case that broke the process was the last; its report is read with it. */
  const bool last = count == 1 || rest->spent;
  if (last && count > 0 && rest->records.count > 0) {
    OPC_RETURN_IF_ERROR(blame(task, count - 1, rest, error));
  }
  for (; !last && count > 0 && state->record < rest->records.count && state->halved < HALVED_MAX; state->record++) {
    if (state->told[rule_of(task, rest, state->record)]) continue;
    state->halved++;
    state->halves = (opc_bisection_t){.high = count};
    sanitize_task_prepare(state, STEP_HALVE);
    return OPC_OK;
  }
  const bool found = state->first < count;
  const char *told_at = found ? case_at(state, state->first) : "an earlier case";
  if (rest->records.count > 0 && !rest->spent)
    for (size_t i = found ? state->first + 1 : 0; i < count; i++) sanitize_task_set_aside(rest->results[i], told_at);
  return write_results(task, error);
}

/* A run up to the case shows the rule; a run up to the one before does not. */
static void halve(opc_task_t *task) {
  opc_sanitized_t *state = task->sanitized;
  const opc_rule_id_t rule = rule_of(task, &state->rest, state->record);
  const bool found = opc_bisection_narrow(&state->halves, !shows(task, &state->again, rule));
  sanitize_task_prepare(state, found ? STEP_ALONE : STEP_HALVE);
}

/* ---- the checks' own findings ---- */

/* A finding is run again alone, as without compute-sanitizer. Of each rule only the first is run, for all. */
static bool needs_confirmation(const opc_sanitized_t *state, const opc_case_result_t *result) {
  return opc_case_result_is_finding(result) && !result->witnessed && !state->told[result->rule];
}

static opc_status_t confirm(opc_task_t *task, const opc_crash_t *crash, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  opc_case_result_t *result = state->rest.results[state->result];
  const bool same = (crash && crash->rule == result->rule) ||
                    (state->again.count > 0 && state->again.results[0]->rule == result->rule);
  state->told[result->rule] = true;
  result->confirmed = same ? OPC_CONFIRMED_YES : OPC_CONFIRMED_NO;
  if (!same) {
    result->severity = OPC_SEVERITY_WARNING;
    opc_case_result_add(result, ". It happened once, but not again when the case ran alone");
  }
  return write_results(task, error);
}

static opc_status_t write_results(opc_task_t *task, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  const outcome_t *rest = &state->rest;
  const size_t count = rest->count;
  const bool ended = rest->crashed || rest->spent;
  for (; state->result < count; state->result++) {
    opc_case_result_t *result = rest->results[state->result];
    if (needs_confirmation(state, result)) {
      sanitize_task_prepare(state, STEP_AGAIN);
      return OPC_OK;
    }
    opc_task_explain_no_sample(task, result);
    OPC_RETURN_IF_ERROR(opc_session_result(task->session, task->op, result, NULL, error));
  }
  if (count > 0) snprintf(state->last, sizeof state->last, "%s", case_at(state, count - 1));
  if (ended && ++state->ends == ENDS_MAX)
    json_array_extend(task->skips, task->session->checks); /* the rest would end in the same way */
  if (ended && !task->session->has_only) sanitize_task_prepare(state, STEP_REST);
  else opc_task_enter(task, NULL);
  return OPC_OK;
}

/* ---- a process has ended ---- */

/* Cases that ran without a report cannot be called clean. */
static opc_status_t sanitize_task_lose(opc_task_t *task, opc_error_t *error) {
  const outcome_t *rest = &task->sanitized->rest;
  OPC_SCOPED(opc_scope_free)
  char *words = opc_string_format("compute-sanitizer left no report that says how this case went: %s", rest->lost);
  task->session->trouble = true;
  for (size_t i = 0; i < rest->count; i++) {
    opc_case_result_t *result = rest->results[i];
    if (result->verdict != OPC_VERDICT_PASS) continue;
    result->verdict = OPC_VERDICT_ERROR;
    result->rule = OPC_RULE_harness;
    opc_case_result_say(result, words);
    result->witnessed = true;
  }
  return opc_journal_note(task->session->journal, error, "%s: %s", task->op->name, words ? words : "out of memory");
}

/* The process ended in a case, or right after one. */
static opc_status_t take_crash(const opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                               opc_error_t *error) {
  outcome_t *rest = &task->sanitized->rest;
  const size_t count = rest->count;
  const char *last = count > 0 ? case_at(task->sanitized, count - 1) : NULL;
  const bool after = last && (case_id[0] == '\0' || strcmp(case_id, last) == 0);
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  OPC_RETURN_IF_ERROR(opc_task_crash_result(task, after ? last : case_id, crash, &result, error));
  if (after) opc_case_result_add(result, ", after the operator had returned");
  if (after) opc_case_result_free(rest->results[--rest->count]);
  if (!OPC_ARRAY_GROW(rest->results, rest->count)) return opc_out_of_memory(error);
  OPC_MOVE(&rest->results[rest->count++], result);
  rest->crashed = true;
  return OPC_OK;
}

static opc_status_t sanitize_task_give_up(opc_task_t *task, bool stillborn, const char *why, opc_error_t *error) {
  task->session->trouble |= !task->session->has_only || stillborn;
  opc_status_t status =
      opc_journal_note(task->session->journal, error,
                       "%s: the rest of its cases could not be run under compute-sanitizer: %s", task->op->name, why);
  opc_task_enter(task, NULL);
  return status;
}

static opc_status_t rest_ended(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  const outcome_t *rest = &state->rest;
  if (crash && case_id[0] == '\0' && rest->count == 0) {
    const char *output = opc_json_text_of(crash->evidence, "output");
    return sanitize_task_give_up(task, true, output ? output : opc_text_c(&crash->message), error);
  }
  if (rest->refused) return sanitize_task_give_up(task, false, rest->refused, error);
  if (crash) OPC_RETURN_IF_ERROR(take_crash(task, case_id, crash, error));
  if (rest->lost) OPC_RETURN_IF_ERROR(sanitize_task_lose(task, error));
  state->record = state->result = 0;
  state->halved = 0;
  state->first = rest->count;
  return attribute(task, error);
}

static opc_status_t sanitize_task_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                        opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  if (state->step == STEP_REST) return rest_ended(task, case_id, crash, error);
  if (state->step == STEP_AGAIN) return confirm(task, crash, error);
  if (state->step == STEP_HALVE) {
    halve(task);
    return OPC_OK;
  }
  OPC_RETURN_IF_ERROR(blame(task, state->halves.low, &state->again, error));
  state->record++;
  return attribute(task, error);
}

const opc_phase_t opc_phase_sanitize = {.command = sanitize_task_command,
                                        .result = sanitize_task_result,
                                        .ended = sanitize_task_ended,
                                        .crash = sanitize_task_crash,
                                        .seconds = sanitize_task_seconds,
                                        .report = report,
                                        .forget = sanitize_task_forget};
