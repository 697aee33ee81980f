/* Runs the cases of an operator under compute-sanitizer, each stretch of them in a process of its own. The tool reports
 * only when a process has ended, without times: results wait for that report. If it holds records, cases are run again
 * and halved, until only the first one that shows them is left. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/case/verdict.h"
#include "model/json/json_write.h"
#include "supervise/evidence/external_tool.h"
#include "supervise/jobs/task_phases.h"
#include "supervise/tools/sanitize.h"

enum { ENDS_MAX = 3, HALVED_MAX = 4 };
/* What the next process runs: the cases that are left; half of the last process's, for a record; the case found so,
 * alone; the case of a check's finding, alone. */
enum { STEP_REST = 0, STEP_HALVE, STEP_ALONE, STEP_AGAIN };

typedef struct outcome {
  json_t *results; /* array */
  bool spent;      /* the process could not continue after the last result; another one can */
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
  json_t *told;                /* object: rules whose first case is known */
};

static void outcome_clear(outcome_t *outcome) {
  json_decref(outcome->results);
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
  json_decref(state->told);
  free(state);
  task->sanitized = NULL;
}

/* ---- one process ---- */

static outcome_t *sanitize_task_present(opc_sanitized_t *state) {
  return state->step == STEP_REST ? &state->rest : &state->again;
}

static opc_status_t sanitize_task_prepare(opc_sanitized_t *state, int step, opc_error_t *error) {
  state->step = step;
  outcome_clear(sanitize_task_present(state));
  sanitize_task_present(state)->results = json_array();
  return sanitize_task_present(state)->results ? OPC_OK : opc_out_of_memory(error);
}

opc_status_t opc_sanitize_begin(opc_task_t *task, opc_error_t *error) {
  task->phase = &opc_phase_sanitize;
  task->sanitized = calloc(1, sizeof *task->sanitized);
  if (!task->sanitized) return opc_out_of_memory(error);
  task->sanitized->told = json_object();
  return sanitize_task_prepare(task->sanitized, STEP_REST, error);
}

static double sanitize_task_seconds(const opc_task_t *task) { return task->session->options->timeout; }

static const char *case_at(const json_t *results, size_t index) {
  return opc_json_text_of(json_array_get(results, index), "case");
}

static void restrict_to(json_t *command, const char *key, const char *case_id) {
  if (case_id) json_object_set_new(command, key, json_string(case_id));
}

static opc_status_t sanitize_task_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  const opc_sanitized_t *state = task->sanitized;
  const json_t *results = state->rest.results;
  const char *only = task->session->has_only ? task->session->options->case_id : NULL;
  task->session->current = task->op->name;
  *out = opc_task_cases_command(task, json_array_size(task->skips), 0);
  if (!*out) return opc_out_of_memory(error);
  if (state->step == STEP_HALVE) {
    restrict_to(*out, "from", case_at(results, state->halves.low));
    restrict_to(*out, "to", case_at(results, opc_bisection_middle(&state->halves) - 1));
  } else if (state->step == STEP_REST && !only) {
    restrict_to(*out, "after", state->last[0] != '\0' ? state->last : NULL);
  } else {
    restrict_to(*out, "only",
                state->step == STEP_REST    ? only
                : state->step == STEP_ALONE ? case_at(results, state->halves.low)
                                            : case_at(results, state->result));
  }
  return OPC_OK;
}

static bool is_result_of(const opc_task_t *task, const json_t *message) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  return opc_case_result_decode(message, &result, NULL) == OPC_OK &&
         strcmp(result->id.operator_name, task->op->name) == 0;
}

static opc_status_t message(opc_task_t *task, json_t *message, opc_error_t *error) {
  const char *type = opc_json_text_of(message, "t"), *why = opc_json_text_of(message, "message");
  outcome_t *out = sanitize_task_present(task->sanitized);
  (void)error;
  if (!type || task->child->leaving) return OPC_OK;
  if (strcmp(type, "result") == 0 && is_result_of(task, message)) {
    const size_t count = json_array_size(out->results);
    if (count == 0 || strcmp(case_at(out->results, count - 1), opc_json_text_of(message, "case")) != 0)
      json_array_append(out->results, message); /* a case has one result */
    return OPC_OK;
  }
  out->spent |= strcmp(type, "spent") == 0;
  if (strcmp(type, "refused") == 0) out->refused = opc_string_copy(why ? why : "the worker refuses");
  /* The child stays the task's until its process has ended: the report is complete only then. */
  if (out->spent || out->refused || strcmp(type, "done") == 0) opc_child_leave(task->child);
  return OPC_OK;
}

/* If nothing was called, there is nothing to report. */
static bool has_called(const outcome_t *outcome) {
  size_t i;
  json_t *result;
  json_array_foreach(outcome->results, i, result) {
    const char *reason = opc_json_text_of(result, "reason");
    bool rejected = reason && strcmp(reason, opc_skip_reason_name(OPC_SKIP_REJECTED)) == 0;
    if (strcmp(opc_json_text_of(result, "verdict"), opc_verdict_name(OPC_VERDICT_SKIP)) != 0 || rejected) return true;
  }
  return false;
}

static opc_status_t report(opc_task_t *task, const opc_child_t *child, opc_error_t *error) {
  outcome_t *out = sanitize_task_present(task->sanitized);
  return opc_sanitize_report(task->session->sanitize, child, has_called(out), &out->records, &out->lost, error);
}

/* ---- which case a record belongs to ---- */

static const char *rule_of(const opc_task_t *task, const outcome_t *outcome, size_t record) {
  return opc_sanitize_rule(opc_sanitize_tool(task->session->sanitize), &outcome->records.items[record]);
}

static bool shows(const opc_task_t *task, const outcome_t *outcome, const char *rule) {
  for (size_t i = 0; i < outcome->records.count; i++)
    if (strcmp(rule_of(task, outcome, i), rule) == 0) return true;
  return false;
}

static void add_text(json_t *finding, const char *text) {
  OPC_SCOPED(opc_scope_free) char *message = opc_string_format("%s%s", opc_json_text_of(finding, "message"), text);
  json_object_set_new(finding, "message", opc_json_string(message));
}

/* The case gets the records of the process that ran it alone. If nothing showed then, it gets those of all cases. */
static opc_status_t blame(opc_task_t *task, size_t index, const outcome_t *alone, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  const bool own = alone->records.count > 0;
  json_t *result = json_array_get(state->rest.results, index), *finding;
  json_auto_t *findings =
      opc_sanitize_findings(opc_sanitize_tool(task->session->sanitize), own ? &alone->records : &state->rest.records);
  size_t i;
  if (!findings) return opc_out_of_memory(error);
  json_array_foreach(findings, i, finding) {
    json_object_set_new(state->told, opc_json_text_of(finding, "rule"), json_true());
    if (!own)
      add_text(finding, ". It happened in a process that ran other cases before this one, but not in this case alone");
  }
  opc_external_tool_merge(result, findings);
  json_object_set_new(json_object_get(result, "evidence"), "confirmed", json_boolean(own));
  if (index < state->first) state->first = index;
  return OPC_OK;
}

/* A case after one with records in the same process: its own records are not known. */
static void sanitize_task_set_aside(json_t *result, const char *first) {
  if (opc_verdict_find(opc_json_text_of(result, "verdict")) != OPC_VERDICT_PASS) return;
  char *text =
      opc_string_format("compute-sanitizer's records of this process are reported with %s; run this case alone", first);
  json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_SKIP)));
  json_object_set_new(result, "reason", json_string(opc_skip_reason_name(OPC_SKIP_AFTER_CRASH)));
  json_object_set_new(result, "message", opc_json_string(text));
  free(text);
}

static opc_status_t write_results(opc_task_t *task, opc_error_t *error);

static opc_status_t attribute(opc_task_t *task, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  const outcome_t *rest = &state->rest;
  const size_t count = json_array_size(rest->results);
  /* The case that broke the process was the last; its report is read with it. */
  const bool last = count == 1 || rest->spent;
  if (last && count > 0 && rest->records.count > 0) {
    OPC_RETURN_IF_ERROR(blame(task, count - 1, rest, error));
  }
  for (; !last && count > 0 && state->record < rest->records.count && state->halved < HALVED_MAX; state->record++) {
    if (json_object_get(state->told, rule_of(task, rest, state->record))) continue;
    state->halved++;
    state->halves = (opc_bisection_t){.high = count};
    return sanitize_task_prepare(state, STEP_HALVE, error);
  }
  const bool found = state->first < count;
  const char *told_at = found ? case_at(rest->results, state->first) : "an earlier case";
  if (rest->records.count > 0 && !rest->spent)
    for (size_t i = found ? state->first + 1 : 0; i < count; i++)
      sanitize_task_set_aside(json_array_get(rest->results, i), told_at);
  return write_results(task, error);
}

/* A run up to the case shows the rule; a run up to the one before does not. */
static opc_status_t halve(opc_task_t *task, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  const char *rule = rule_of(task, &state->rest, state->record);
  const bool found = opc_bisection_narrow(&state->halves, !shows(task, &state->again, rule));
  return sanitize_task_prepare(state, found ? STEP_ALONE : STEP_HALVE, error);
}

/* ---- the checks' own findings ---- */

/* A finding is run again alone, as without compute-sanitizer. Of each rule only the first is run, for all. */
static bool needs_confirmation(const opc_sanitized_t *state, const json_t *result) {
  const int verdict = opc_verdict_find(opc_json_text_of(result, "verdict"));
  const char *rule = opc_json_text_of(result, "rule");
  return (verdict == OPC_VERDICT_FAIL || verdict == OPC_VERDICT_ERROR) && rule &&
         !json_is_true(json_object_get(json_object_get(result, "evidence"), "witnessed")) &&
         !json_object_get(state->told, rule);
}

static opc_status_t confirm(opc_task_t *task, const opc_crash_t *crash, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  json_t *result = json_array_get(state->rest.results, state->result);
  const char *rule = opc_json_text_of(result, "rule");
  const bool same =
      (crash && strcmp(crash->rule, rule) == 0) ||
      json_equal(json_object_get(json_array_get(state->again.results, 0), "rule"), json_object_get(result, "rule"));
  json_object_set_new(state->told, rule, json_true());
  json_object_set_new(json_object_get(result, "evidence"), "confirmed", json_boolean(same));
  if (!same) {
    json_object_set_new(result, "severity", json_string("warning"));
    add_text(result, ". It happened once, but not again when the case ran alone");
  }
  return write_results(task, error);
}

static opc_status_t write_results(opc_task_t *task, opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  const outcome_t *rest = &state->rest;
  const size_t count = json_array_size(rest->results);
  const bool ended = rest->crashed || rest->spent;
  for (; state->result < count; state->result++) {
    json_t *result = json_array_get(rest->results, state->result);
    if (needs_confirmation(state, result)) return sanitize_task_prepare(state, STEP_AGAIN, error);
    OPC_SCOPED(opc_scope_case_result) opc_case_result_t *final = NULL;
    OPC_RETURN_IF_ERROR(opc_case_result_decode(result, &final, error));
    opc_task_explain_no_sample(task, final);
    OPC_RETURN_IF_ERROR(opc_session_result(task->session, task->op, final, NULL, error));
  }
  if (count > 0) snprintf(state->last, sizeof state->last, "%s", case_at(rest->results, count - 1));
  if (ended && ++state->ends == ENDS_MAX)
    json_array_extend(task->skips, task->session->checks); /* the rest would end in the same way */
  if (ended && !task->session->has_only) return sanitize_task_prepare(state, STEP_REST, error);
  opc_task_enter(task, NULL);
  return OPC_OK;
}

/* ---- a process has ended ---- */

/* Cases that ran without a report cannot be called clean. */
static opc_status_t sanitize_task_lose(opc_task_t *task, opc_error_t *error) {
  size_t i;
  json_t *result;
  OPC_SCOPED(opc_scope_free)
  char *words = opc_string_format("compute-sanitizer left no report that says how this case went: %s",
                                  task->sanitized->rest.lost);
  task->session->trouble = true;
  json_array_foreach(task->sanitized->rest.results, i, result) {
    if (opc_verdict_find(opc_json_text_of(result, "verdict")) != OPC_VERDICT_PASS) continue;
    json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_ERROR)));
    json_object_set_new(result, "rule", json_string("harness"));
    json_object_set_new(result, "message", opc_json_string(words));
    json_object_set_new(json_object_get(result, "evidence"), "witnessed", json_true());
  }
  return opc_journal_note(task->session->journal, error, "%s: %s", task->op->name, words ? words : "out of memory");
}

/* The process ended in a case, or right after one. */
static opc_status_t take_crash(const opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                               opc_error_t *error) {
  outcome_t *rest = &task->sanitized->rest;
  const size_t count = json_array_size(rest->results);
  const char *last = count > 0 ? case_at(rest->results, count - 1) : NULL;
  const bool after = last && (case_id[0] == '\0' || strcmp(case_id, last) == 0);
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  OPC_RETURN_IF_ERROR(opc_task_crash_result(task, after ? last : case_id, crash, &result, error));
  if (after) opc_case_result_add(result, ", after the operator had returned");
  if (after) json_array_remove(rest->results, count - 1);
  json_array_append_new(rest->results, opc_case_result_encode(result));
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
  if (crash && case_id[0] == '\0' && json_array_size(rest->results) == 0) {
    const char *output = opc_json_text_of(crash->evidence, "output");
    return sanitize_task_give_up(task, true, output ? output : opc_text_c(&crash->message), error);
  }
  if (rest->refused) return sanitize_task_give_up(task, false, rest->refused, error);
  if (crash) OPC_RETURN_IF_ERROR(take_crash(task, case_id, crash, error));
  if (rest->lost) OPC_RETURN_IF_ERROR(sanitize_task_lose(task, error));
  state->record = state->result = 0;
  state->halved = 0;
  state->first = json_array_size(rest->results);
  return attribute(task, error);
}

static opc_status_t sanitize_task_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                        opc_error_t *error) {
  opc_sanitized_t *state = task->sanitized;
  if (state->step == STEP_REST) return rest_ended(task, case_id, crash, error);
  if (state->step == STEP_HALVE) return halve(task, error);
  if (state->step == STEP_AGAIN) return confirm(task, crash, error);
  OPC_RETURN_IF_ERROR(blame(task, state->halves.low, &state->again, error));
  state->record++;
  return attribute(task, error);
}

const opc_phase_t opc_phase_sanitize = {.command = sanitize_task_command,
                                        .message = message,
                                        .crash = sanitize_task_crash,
                                        .seconds = sanitize_task_seconds,
                                        .report = report,
                                        .forget = sanitize_task_forget};
