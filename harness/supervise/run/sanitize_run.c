/* Runs the cases of an operator under compute-sanitizer, stretch by stretch, each in a process of its own. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "model/case/verdict.h"
#include "model/json/json_write.h"
#include "supervise/common/interrupt.h"
#include "supervise/evidence/external_tool.h"
#include "supervise/jobs/task_phases.h"
#include "supervise/symbols/frames.h"
#include "supervise/tools/sanitize.h"

enum { ENDS_MAX = 3, HALVED_MAX = 4, POLL_MILLISECONDS = 200, TAIL_SIZE = 600 };

typedef struct operator_run {
  opc_session_t *session;
  const opc_operator_t *op;
  opc_task_t *task; /* its samples */
  opc_worker_command_t command;
  uint64_t processes;
  json_t *told; /* object: rules whose first case is known */
} operator_run_t;

/* The cases to run; all NULL: all. */
typedef struct stretch {
  const char *only, *after, *from, *to;
} stretch_t;

typedef struct outcome {
  json_t *results; /* array */
  bool done;       /* the stretch is complete */
  bool spent;      /* the process could not continue after the last result; another one can */
  char *refused;   /* the worker refused the command; NULL: it did not */
  bool crashed;
  char crashed_case[OPC_CRASH_RECORD_CASE_SIZE]; /* "": none ran */
  opc_crash_t crash;
  opc_sanitize_records_t records;
  char *lost; /* why the report is unusable; NULL: it can be used, or none is needed (a crash, or no call) */
} outcome_t;

static void outcome_clear(outcome_t *outcome) {
  json_decref(outcome->results);
  if (outcome->crashed) opc_crash_clear(&outcome->crash);
  opc_sanitize_records_clear(&outcome->records);
  free(outcome->refused);
  free(outcome->lost);
  *outcome = (outcome_t){0};
}

/* ---- one process ---- */

static opc_status_t send_command(operator_run_t *run, opc_child_t *child, const stretch_t *stretch,
                                 opc_error_t *error) {
  json_t *command = opc_task_cases_command(run->task, json_array_size(run->task->skips), 0);
  if (command == NULL) return opc_out_of_memory(error);
  if (stretch->only != NULL) json_object_set_new(command, "only", json_string(stretch->only));
  if (stretch->after != NULL) json_object_set_new(command, "after", json_string(stretch->after));
  if (stretch->from != NULL) json_object_set_new(command, "from", json_string(stretch->from));
  if (stretch->to != NULL) json_object_set_new(command, "to", json_string(stretch->to));
  /* If the child is already gone, its end is reported. */
  if (opc_channel_send(&child->channel, command, NULL, 0, NULL) != OPC_OK) opc_child_kill(child, OPC_END_CHANNEL);
  json_decref(command);
  return OPC_OK;
}

static void take_message(operator_run_t *run, opc_child_t *child, json_t *message, outcome_t *out) {
  const char *type = opc_json_text_of(message, "t"), *why = opc_json_text_of(message, "message");
  if (type == NULL || out->done) return;
  if (strcmp(type, "result") == 0 && opc_result_valid(message, run->op)) {
    size_t count = json_array_size(out->results);
    const char *last = opc_json_text_of(json_array_get(out->results, count - 1), "case");
    opc_frames_name_accesses(message, run->session->symboliser, &child->maps, run->op->library);
    if (count == 0 || strcmp(last, opc_json_text_of(message, "case")) != 0)
      json_array_append(out->results, message); /* a case has one result */
    return;
  }
  out->spent |= strcmp(type, "spent") == 0;
  if (strcmp(type, "refused") == 0) out->refused = opc_string_copy(why != NULL ? why : "the worker refuses");
  out->done = out->spent || out->refused != NULL || strcmp(type, "done") == 0;
  if (out->done) opc_child_leave(child);
}

static opc_status_t read_channels(operator_run_t *run, opc_child_t *child, const stretch_t *stretch, outcome_t *out,
                                  opc_error_t *error) {
  json_t *message = NULL;
  opc_status_t status = OPC_OK;
  opc_channel_event_t event;
  while (status == OPC_OK && opc_channel_next(&child->control, &message) == OPC_CHANNEL_LINE) {
    const char *type = opc_json_text_of(message, "t");
    child->heard = opc_clock();
    if (type != NULL && strcmp(type, "ready") == 0) {
      json_int_t pid = json_integer_value(json_object_get(message, "pid")); /* compute-sanitizer is between */
      if (opc_maps_read(&child->maps, pid > 0 ? (pid_t)pid : child->pid, NULL) != OPC_OK) opc_maps_clear(&child->maps);
      status = send_command(run, child, stretch, error);
    }
    json_decref(message);
    message = NULL;
  }
  json_decref(message);
  while (status == OPC_OK && !child->closed &&
         (event = opc_channel_next(&child->channel, &message)) != OPC_CHANNEL_NOTHING) {
    if (event == OPC_CHANNEL_LINE) {
      child->heard = opc_clock();
      take_message(run, child, message, out);
    } else {
      child->closed = true;
      child->closed_at = opc_clock();
      if (event == OPC_CHANNEL_GARBAGE) opc_child_kill(child, OPC_END_GARBAGE);
    }
    json_decref(message);
    message = NULL;
  }
  return status;
}

static void wait_for_something(opc_child_t *child, double seconds) {
  struct pollfd fds[] = {{.fd = child->closed ? -1 : child->channel.fd, .events = POLLIN},
                         {.fd = child->control.ended ? -1 : child->control.fd, .events = POLLIN},
                         {.fd = child->pidfd, .events = POLLIN}};
  int milliseconds = seconds * 1e3 < POLL_MILLISECONDS ? (int)(seconds * 1e3) + 1 : POLL_MILLISECONDS;
  (void)poll(fds, sizeof fds / sizeof fds[0], milliseconds);
}

/* compute-sanitizer ends with its own exit code; a fault of the worker is in the crash record. */
static opc_status_t describe_crash(const operator_run_t *run, opc_child_t *child, outcome_t *out, opc_error_t *error) {
  const opc_run_options_t *options = run->session->options;
  opc_crash_limits_t limits = {.seconds = options->timeout,
                               .memory_mib = options->memory_mib,
                               .library = run->op->library,
                               .maps = &child->maps};
  opc_case_id_t id;
  int signal_number = child->crash_record->signal;
  if (child->cause == OPC_END_BY_ITSELF && child->crash_record->crashed == 1 && signal_number > 0 &&
      signal_number < NSIG)
    child->status = signal_number;
  if (!opc_child_case(child, out->crashed_case) || opc_case_id_parse(out->crashed_case, &id, NULL) != OPC_OK ||
      strcmp(id.operator_name, run->op->name) != 0)
    out->crashed_case[0] = '\0';
  opc_status_t status = opc_crash_describe(child, run->session->symboliser, &limits, &out->crash, error);
  out->crashed = status == OPC_OK;
  return status;
}

/* If nothing was called, there is nothing to report. */
static bool has_called(const outcome_t *outcome) {
  size_t i;
  json_t *result;
  json_array_foreach(outcome->results, i, result) {
    const char *reason = opc_json_text_of(result, "reason");
    bool rejected = reason != NULL && strcmp(reason, opc_skip_reason_name(OPC_SKIP_REJECTED)) == 0;
    if (strcmp(opc_json_text_of(result, "verdict"), opc_verdict_name(OPC_VERDICT_SKIP)) != 0 || rejected) return true;
  }
  return false;
}

/* A crashed or killed process may lose its report; whatever is left is read anyway. */
static opc_status_t read_report(const char *path, const opc_child_t *child, outcome_t *out, opc_error_t *error) {
  enum { FOUND = 86 }; /* --error-exitcode */
  opc_error_t why;
  opc_status_t status = opc_sanitize_xml_read(path, &out->records, &why);
  bool says_found = WIFEXITED(child->status) && WEXITSTATUS(child->status) == FOUND;
  if (status == OPC_ERR_MEMORY) return opc_error_set(error, status, "%s", why.message);
  if (status == OPC_OK && says_found && out->records.count == 0) {
    out->lost = opc_string_copy("it ends with the exit code for errors, and its report holds none");
  } else if (status != OPC_OK && !out->crashed && (has_called(out) || says_found)) {
    OPC_SCOPED(opc_text_clear) opc_text_t tail = {0};
    opc_output_tail(child->output, TAIL_SIZE, &tail);
    out->lost =
        opc_string_format("%s%s%s", why.message, tail.length > 0 ? "; its last output: " : "", opc_text_c(&tail));
  }
  return OPC_OK;
}

static opc_status_t run_stretch(operator_run_t *run, const stretch_t *stretch, outcome_t *out, opc_error_t *error) {
  char report[PATH_MAX + 32];
  opc_session_t *session = run->session;
  opc_child_t *child = NULL;
  *out = (outcome_t){.results = json_array()};
  opc_status_t status = opc_sanitize_launcher(session->sanitize, &run->command.launcher, report, error);
  if (status == OPC_OK) status = opc_child_open(++run->processes, run, &child, error);
  if (status == OPC_OK) child->pace = opc_run_pace(session->options);
  if (status == OPC_OK) status = opc_child_execute(child, &run->command, session->options->memory_mib, error);
  while (status == OPC_OK && !child->reaped) {
    if (opc_interrupted()) status = opc_error_set(error, OPC_ERR_SYSTEM, "interrupted");
    if (status == OPC_OK) status = read_channels(run, child, stretch, out, error);
    if (status == OPC_OK) wait_for_something(child, opc_child_watch(child, session->options->timeout));
    if (status == OPC_OK && opc_child_reap(child)) status = read_channels(run, child, stretch, out, error);
  }
  if (status == OPC_OK && !out->done) status = describe_crash(run, child, out, error);
  if (status == OPC_OK) status = read_report(report, child, out, error);
  opc_child_close(child);
  return status;
}

/* ---- which case a record belongs to ---- */

static bool shows(const opc_session_t *session, const outcome_t *outcome, const char *rule) {
  for (size_t i = 0; i < outcome->records.count; i++) {
    if (strcmp(opc_sanitize_rule(opc_sanitize_tool(session->sanitize), &outcome->records.items[i]), rule) == 0)
      return true;
  }
  return false;
}

static const char *case_at(const json_t *results, size_t index) {
  return opc_json_text_of(json_array_get(results, index), "case");
}

/* Finds the first of these cases that shows the rule, by halving. A run up to it shows the rule; a run up to the one
 * before does not. */
static opc_status_t find_first(operator_run_t *run, const json_t *results, const char *rule, size_t *out,
                               opc_error_t *error) {
  opc_bisection_t cases = {.high = json_array_size(results)};
  opc_status_t status = OPC_OK;
  for (bool found = cases.high == 1; status == OPC_OK && !found;) {
    stretch_t half = {.from = case_at(results, cases.low), .to = case_at(results, opc_bisection_middle(&cases) - 1)};
    outcome_t outcome;
    status = run_stretch(run, &half, &outcome, error);
    found = opc_bisection_narrow(&cases, status != OPC_OK || !shows(run->session, &outcome, rule));
    outcome_clear(&outcome);
  }
  *out = cases.low;
  return status;
}

/* Runs the case alone, so its report is its own. If nothing shows then, the case gets the records of its process. */
static opc_status_t blame(operator_run_t *run, json_t *result, const outcome_t *whole, bool alone_already,
                          opc_error_t *error) {
  const char *tool = opc_sanitize_tool(run->session->sanitize);
  outcome_t outcome = {0};
  stretch_t alone = {.only = opc_json_text_of(result, "case")};
  opc_status_t status = alone_already ? OPC_OK : run_stretch(run, &alone, &outcome, error);
  bool own = alone_already || outcome.records.count > 0;
  json_t *findings = status == OPC_OK
                         ? opc_sanitize_findings(tool, outcome.records.count > 0 ? &outcome.records : &whole->records)
                         : NULL,
         *finding;
  size_t i;
  json_array_foreach(findings, i, finding) {
    json_object_set_new(run->told, opc_json_text_of(finding, "rule"), json_true());
    if (!own)
      opc_task_result_add(
          finding, ". It happened in a process that ran other cases before this one, but not in this case alone");
  }
  if (findings != NULL) opc_external_tool_merge(result, findings);
  if (findings != NULL) json_object_set_new(json_object_get(result, "evidence"), "confirmed", json_boolean(own));
  json_decref(findings);
  outcome_clear(&outcome);
  return status;
}

/* A case after one with records in the same process: its own records are not known. */
static void set_aside(json_t *result, const char *first) {
  if (opc_verdict_find(opc_json_text_of(result, "verdict")) != OPC_VERDICT_PASS) return;
  char *text =
      opc_string_format("compute-sanitizer's records of this process are reported with %s; run this case alone", first);
  json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_SKIP)));
  json_object_set_new(result, "reason", json_string(opc_skip_reason_name(OPC_SKIP_AFTER_CRASH)));
  json_object_set_new(result, "message", opc_json_string(text));
  free(text);
}

static opc_status_t attribute(operator_run_t *run, outcome_t *outcome, opc_error_t *error) {
  const char *tool = opc_sanitize_tool(run->session->sanitize);
  size_t count = json_array_size(outcome->results), first = count, halved = 0;
  opc_status_t status = OPC_OK;
  for (size_t i = 0; i < outcome->records.count && count > 0 && status == OPC_OK; i++) {
    const char *rule = opc_sanitize_rule(tool, &outcome->records.items[i]);
    size_t index = count - 1;
    /* The case that broke the process was the last; its report is read with it. */
    bool last = count == 1 || outcome->spent;
    if (json_object_get(run->told, rule) != NULL && !last) continue;
    if (!last && ++halved > HALVED_MAX) break;
    if (!last) status = find_first(run, outcome->results, rule, &index, error);
    if (status == OPC_OK) status = blame(run, json_array_get(outcome->results, index), outcome, last, error);
    if (index < first) first = index;
    if (last) break;
  }
  const char *told_at = first < count ? case_at(outcome->results, first) : "an earlier case";
  for (size_t i = outcome->records.count == 0 || outcome->spent ? count
                  : first < count                               ? first + 1
                                                                : 0;
       i < count; i++) {
    set_aside(json_array_get(outcome->results, i), told_at);
  }
  return status;
}

/* ---- the checks' own findings ---- */

/* A finding is run again alone, as without compute-sanitizer. Of each rule only the first is run, for all. */
static opc_status_t confirm(operator_run_t *run, json_t *result, opc_error_t *error) {
  int verdict = opc_verdict_find(opc_json_text_of(result, "verdict"));
  json_t *evidence = json_object_get(result, "evidence");
  const char *rule = opc_json_text_of(result, "rule");
  if ((verdict != OPC_VERDICT_FAIL && verdict != OPC_VERDICT_ERROR) ||
      json_is_true(json_object_get(evidence, "witnessed")) || rule == NULL)
    return OPC_OK;
  if (json_object_get(run->told, rule) != NULL) return OPC_OK;
  outcome_t outcome;
  stretch_t alone = {.only = opc_json_text_of(result, "case")};
  opc_status_t status = run_stretch(run, &alone, &outcome, error);
  const json_t *again = status == OPC_OK ? json_array_get(outcome.results, 0) : NULL;
  bool same = (outcome.crashed && strcmp(outcome.crash.rule, rule) == 0) ||
              json_equal(json_object_get(again, "rule"), json_object_get(result, "rule"));
  if (status == OPC_OK) {
    json_object_set_new(run->told, rule, json_true());
    json_object_set_new(evidence, "confirmed", json_boolean(same));
    if (!same) {
      json_object_set_new(result, "severity", json_string("warning"));
      opc_task_result_add(result, ". It happened once, but not again when the case ran alone");
    }
  }
  outcome_clear(&outcome);
  return status;
}

/* ---- an operator ---- */

/* Cases that ran without a report cannot be called clean. */
static opc_status_t lose(operator_run_t *run, outcome_t *outcome, opc_error_t *error) {
  size_t i;
  json_t *result;
  OPC_SCOPED(opc_scope_free)
  char *words = opc_string_format("compute-sanitizer left no report that says how this case went: %s", outcome->lost);
  run->session->trouble = true;
  json_array_foreach(outcome->results, i, result) {
    if (opc_verdict_find(opc_json_text_of(result, "verdict")) != OPC_VERDICT_PASS) continue;
    json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_ERROR)));
    json_object_set_new(result, "rule", json_string("harness"));
    json_object_set_new(result, "message", opc_json_string(words));
    json_object_set_new(json_object_get(result, "evidence"), "witnessed", json_true());
  }
  opc_status_t status =
      opc_journal_note(run->session->journal, error, "%s: %s", run->op->name, words != NULL ? words : "out of memory");
  return status;
}

static opc_status_t write_results(operator_run_t *run, json_t *results, opc_error_t *error) {
  size_t i;
  json_t *result;
  opc_status_t status = OPC_OK;
  json_array_foreach(results, i, result) {
    if (status == OPC_OK) status = confirm(run, result, error);
    if (status != OPC_OK) break;
    opc_task_explain_no_sample(run->task, result);
    status = opc_session_result(run->session, run->op, json_incref(result), NULL, error);
  }
  return status;
}

/* The process ended in a case, or right after one. */
static void take_crash(const operator_run_t *run, outcome_t *outcome) {
  size_t count = json_array_size(outcome->results);
  const char *last = count > 0 ? case_at(outcome->results, count - 1) : NULL;
  bool after = last != NULL && (outcome->crashed_case[0] == '\0' || strcmp(outcome->crashed_case, last) == 0);
  json_t *result = opc_task_crash_result(after ? last : outcome->crashed_case, &outcome->crash, run->task);
  if (after) opc_task_result_add(result, ", after the operator had returned");
  if (after) json_array_remove(outcome->results, count - 1);
  json_array_append_new(outcome->results, result);
}

static opc_status_t run_operator(operator_run_t *run, opc_error_t *error) {
  char last[OPC_CASE_ID_SIZE] = "";
  int ends = 0;
  opc_status_t status = OPC_OK;
  for (bool more = true; more && status == OPC_OK;) {
    stretch_t rest = {.after = last[0] != '\0' ? last : NULL};
    if (run->session->has_only) rest = (stretch_t){.only = run->session->options->case_id};
    outcome_t outcome;
    status = run_stretch(run, &rest, &outcome, error);
    bool stillborn = outcome.crashed && outcome.crashed_case[0] == '\0' && json_array_size(outcome.results) == 0;
    if (status == OPC_OK && (stillborn || outcome.refused != NULL)) {
      const char *output = outcome.crashed ? opc_json_text_of(outcome.crash.evidence, "output") : NULL;
      const char *why = outcome.refused != NULL ? outcome.refused
                        : output != NULL        ? output
                                                : opc_text_c(&outcome.crash.message);
      run->session->trouble |= !run->session->has_only || stillborn;
      status = opc_journal_note(run->session->journal, error,
                                "%s: the rest of its cases could not be run under compute-sanitizer: %s", run->op->name,
                                why);
      outcome_clear(&outcome);
      break;
    }
    if (status == OPC_OK && outcome.crashed) take_crash(run, &outcome);
    if (status == OPC_OK && outcome.lost != NULL) status = lose(run, &outcome, error);
    if (status == OPC_OK) status = attribute(run, &outcome, error);
    size_t count = json_array_size(outcome.results);
    if (count > 0) snprintf(last, sizeof last, "%s", case_at(outcome.results, count - 1));
    if (status == OPC_OK) status = write_results(run, outcome.results, error);
    bool ended = outcome.crashed || outcome.spent;
    more = ended && !run->session->has_only;
    if (ended && ++ends == ENDS_MAX)
      json_array_extend(run->task->skips, run->session->checks); /* the rest would end in the same way */
    outcome_clear(&outcome);
  }
  return status;
}

opc_status_t opc_sanitize_run(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                              opc_error_t *error) {
  const char **paths = NULL;
  operator_run_t run = {.session = session};
  opc_status_t status = opc_load_command(session->options, &session->loaded, &run.command, &paths, error);
  size_t kernels = opc_sanitize_kernels(session->sanitize);
  if (status == OPC_OK && kernels == 0) {
    status = opc_journal_note(
        session->journal, error,
        "sanitize: no names of kernels can be read from the libraries, or too many: compute-sanitizer watches every "
        "kernel, libtorch's too, which takes longer");
  }
  opc_worker_stop(&session->loaded.worker);
  for (size_t i = 0; i < count && status == OPC_OK; i++) {
    run.op = operators[i];
    run.told = json_object();
    session->current = run.op->name;
    status = opc_task_new(session, run.op, &opc_phase_cases, &run.task, error);
    if (status == OPC_OK) status = run_operator(&run, error);
    opc_task_free(run.task);
    run.task = NULL;
    json_decref(run.told);
    session->operators_done++;
  }
  if (status == OPC_OK) {
    status = opc_journal_note(session->journal, error,
                              "sanitize: compute-sanitizer's %s watched %llu process%s, %zu name%s of kernels",
                              opc_sanitize_tool(session->sanitize), (unsigned long long)run.processes,
                              run.processes == 1 ? "" : "es", kernels, kernels == 1 ? "" : "s");
  }
  free(paths);
  return status;
}
