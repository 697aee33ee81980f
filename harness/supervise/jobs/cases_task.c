/* Runs the cases of an operator. Results go to the journal as they arrive; findings wait for their confirmation. A dead
 * child is replaced by one that continues after the case that killed it. */
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "supervise/jobs/parts.h"
#include "supervise/jobs/turns.h"

enum { STILLBORN_MAX = 3 };

struct opc_cases {
  opc_case_result_t *held; /* the last result, until it is known that its child survived it */
  double began;
  int out_of_time; /* they took too long in total: 1: variants are skipped, 2: all others too */
  bool themselves; /* the child runs unmodified samples only */
  bool continues;  /* the next child continues after a part of the cases: no crash ended the last one */
  int stillborn;   /* consecutive children that died before any case */
};

/* A child may die before it gets its first command. */
static opc_status_t cases_task_begin(opc_task_t *task, opc_error_t *error) {
  if (!task->cases) task->cases = calloc(1, sizeof *task->cases);
  return task->cases ? OPC_OK : opc_out_of_memory(error);
}

static void cases_task_forget(opc_task_t *task) {
  opc_parts_free(task);
  if (task->cases) opc_case_result_free(task->cases->held);
  free(task->cases);
  task->cases = NULL;
}

/* How many times the operator has used up its time. After the first time only samples themselves still run; after the
 * second, or when the time of the run is up, nothing does. A single case loses nothing: its own time is bounded, and
 * the user asked for it. */
static int times_used(const opc_task_t *task) {
  const double used = opc_clock() - task->cases->began, time = task->session->options->operator_time;
  if (task->session->has_only) return 0;
  if (opc_turns_are_over(task->session)) return 2;
  if (used <= time) return 0;
  return used <= 2 * time ? 1 : 2;
}

static json_t *why_out_of_time(const opc_task_t *task) {
  if (opc_turns_are_over(task->session)) return json_string(opc_turns_reason());
  return json_sprintf("the operator's cases had taken more than %g s by then (--operator-time)",
                      task->session->options->operator_time);
}

/* The next turn of --budget, and what follows a part, must know what the sample itself gave. A process after a crash,
 * or one with other memory on the device, finds out anew: what an earlier one corrupted is gone. */
static void tell_or_forget_past(opc_task_t *task, json_t *command) {
  const bool continues = task->cases->continues;
  task->cases->continues = false;
  if (task->session->turns && task->found_plain) json_object_set(command, "found", task->found_plain);
  if (continues) opc_task_tell_past(task, command);
  if (continues || task->session->turns) return;
  opc_parts_drop(task);
  task->stretch = task->order_count;
  json_object_clear(task->found_plain);
}

static opc_status_t cases_task_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  task->first = task->order_count;
  OPC_RETURN_IF_ERROR(cases_task_begin(task, error));
  if (task->cases->began <= 0) task->cases->began = opc_clock();
  task->cases->out_of_time = times_used(task);
  *out = opc_task_cases_command(task, json_array_size(task->skips), json_array_size(task->crashed));
  if (!*out) return opc_out_of_memory(error);
  if (task->session->has_only) json_object_set_new(*out, "only", json_string(task->session->options->case_id));
  else if (task->cases->out_of_time > 0) json_object_set_new(*out, "out_of_time", why_out_of_time(task));
  if (task->cases->out_of_time > 1) json_object_set_new(*out, "out_of_time_for_all", json_true());
  task->cases->themselves = task->turn == 1 && task->goes_on && task->cases->out_of_time == 0;
  if (task->cases->themselves) json_object_set_new(*out, "themselves_only", json_true());
  tell_or_forget_past(task, *out);
  if (!task->session->has_only && task->reached > 0)
    json_object_set_new(*out, "after", json_string(task->order[task->reached - 1]));
  return OPC_OK;
}

static opc_status_t cases_task_note_case(opc_task_t *task, const char *case_id, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_suspects_note_case(task, case_id, error));
  task->reached = task->order_count;
  return OPC_OK;
}

static opc_status_t note_found(opc_task_t *task, const opc_case_result_t *result, opc_error_t *error) {
  const opc_case_id_t *id = &result->id;
  if (!result->rule || id->dtype[0] != '\0' || strcmp(id->variant, "plain") != 0) return OPC_OK;
  if (!task->found_plain) task->found_plain = json_object();
  const int failed = json_object_set_new(task->found_plain, result->case_id, json_string(opc_rule_name(result->rule)));
  return failed ? opc_out_of_memory(error) : OPC_OK;
}

/* A check that calls nothing reads data that every child has from the worker. A run alone would give the same
 * result. */
static bool is_static(const opc_case_result_t *result) {
  const int check = opc_check_info_find(result->id.check);
  return check >= 0 && !opc_check_infos[check].calls && result->verdict != OPC_VERDICT_ERROR;
}

/* Under Valgrind a run alone takes half a second. Valgrind's own findings need none. Of the checks' own findings, the
 * first of a rule is run alone for all of that rule. */
static bool is_settled(const opc_task_t *task, const opc_case_result_t *result) {
  if (is_static(result)) return true;
  if (!task->session->memcheck) return false;
  bool settled = result->witnessed;
  for (size_t i = 0; i < task->suspect_count && !settled; i++) settled = task->suspects[i].result->rule == result->rule;
  return settled;
}

/* The held result stands: its child did not die before another case began. It is final, or a suspect. */
static opc_status_t cases_task_settle(opc_task_t *task, opc_error_t *error) {
  opc_case_result_t *result = task->cases->held;
  if (!result) return OPC_OK;
  task->cases->held = NULL;
  const opc_status_t noted = note_found(task, result, error);
  if (noted != OPC_OK) opc_case_result_free(result);
  OPC_RETURN_IF_ERROR(noted);
  if (opc_case_result_is_finding(result) && !is_settled(task, result)) return opc_suspects_add(task, result, error);
  opc_task_explain_no_sample(task, result);
  const bool cut = task->cases->out_of_time > 1 || task->samples.count == 0;
  if (cut && result->reason == OPC_SKIP_BUDGET) opc_turns_note(task, 1);
  if (opc_rerun_wants(result)) return opc_rerun_keep(task, result, error);
  return opc_task_write_final(task, result, error);
}

/* Nothing is left to run, or not in this turn: the findings are confirmed now. */
static opc_status_t end(opc_task_t *task, opc_error_t *error) {
  if (task->inputs_seen.record && !task->session->has_only && !task->goes_on)
    OPC_RETURN_IF_ERROR(
        opc_journal_write(task->session->journal, opc_inputs_seen_record(&task->inputs_seen, task->op), error));
  return opc_confirm_begin(task, error);
}

static opc_status_t note_input(opc_task_t *task, const opc_case_result_t *result, bool crashed, opc_error_t *error) {
  return opc_inputs_seen_note(&task->inputs_seen, result, crashed, &task->samples, task->op, error);
}

/* Records how long the operator takes. The fastest case on a sample itself makes one call or a few. */
static void note_seconds(opc_task_t *task, const opc_case_result_t *result) {
  const double took = result->seconds;
  if (result->verdict == OPC_VERDICT_SKIP || took <= 0 || strcmp(result->id.variant, "plain") != 0) return;
  if (took > task->slowest) task->slowest = took;
  if (task->fastest <= 0 || took < task->fastest) task->fastest = took;
}

static opc_status_t cases_task_note_result(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  const opc_status_t status = cases_task_settle(task, error);
  /* A case has one result: only a hostile child sends a second one. */
  if (status != OPC_OK ||
      (task->order_count > task->first && strcmp(task->order[task->order_count - 1], result->case_id) == 0)) {
    opc_case_result_free(result);
    return status;
  }
  task->cases->held = result;
  task->cases->stillborn = 0;
  note_seconds(task, result);
  opc_kept_layouts_note(&task->kept_layouts, result);
  opc_every_input_note(&task->every_input, result, &task->samples, task->op);
  OPC_RETURN_IF_ERROR(note_input(task, result, false, error));
  return cases_task_note_case(task, result->case_id, error);
}

static void scope_part(opc_part_t **part) { opc_part_free(*part); }

/* The results of the parts that follow the task's last case, up to one that is not complete. */
static opc_status_t take_parts(opc_task_t *task, opc_error_t *error) {
  bool complete = true;
  while (complete) {
    OPC_RETURN_IF_ERROR(cases_task_settle(task, error));
    opc_task_release(task);
    OPC_SCOPED(scope_part) opc_part_t *part = opc_parts_take(task);
    if (!part) return end(task, error);
    task->first = task->order_count;
    for (size_t i = 0; i < part->count; i++) {
      opc_case_result_t *result = part->results[i];
      part->results[i] = NULL;
      OPC_RETURN_IF_ERROR(cases_task_note_result(task, result, error));
    }
    complete = part->complete;
  }
  task->cases->continues = !task->child;
  return OPC_OK;
}

static opc_status_t cases_task_take_result(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  if (opc_parts_has(task, result->case_id)) {
    opc_case_result_free(result); /* the child is beyond its own cases */
    return take_parts(task, error);
  }
  OPC_RETURN_IF_ERROR(cases_task_note_result(task, result, error));
  const bool later = opc_turn_is_over(task) && !opc_turns_are_over(task->session);
  if (!later && times_used(task) <= task->cases->out_of_time) return OPC_OK;
  opc_task_release(task); /* the next child starts after this case and skips the rest */
  OPC_RETURN_IF_ERROR(cases_task_settle(task, error));
  return later ? end(task, error) : OPC_OK;
}

static opc_status_t cases_task_give_up(opc_task_t *task, const char *why, opc_error_t *error) {
  task->session->trouble = true;
  task->goes_on = false;
  OPC_RETURN_IF_ERROR(end(task, error));
  return opc_journal_note(task->session->journal, error, "%s: the rest of its cases could not be run: %s",
                          task->op->name, why);
}

/* The process ends, and another one continues after its last case. If the case broke the process, its check is given up
 * after a few times. */
static opc_status_t spent(opc_task_t *task, opc_error_t *error) {
  const opc_case_result_t *held = task->cases->held;
  if (!held)
    return cases_task_give_up(task, "the worker says that a case broke its process, but it has run none", error);
  if (held->rule == OPC_RULE_launch_asynchronous_error) {
    opc_crash_t fault = {.rule = held->rule};
    opc_provenance_format(&held->provenance, fault.provenance);
    OPC_RETURN_IF_ERROR(opc_known_crashes_note(task, &held->id, &fault, false, NULL, error));
  }
  OPC_RETURN_IF_ERROR(cases_task_settle(task, error));
  if (task->session->has_only) return end(task, error);
  opc_task_release(task);
  return OPC_OK;
}

/* The result of a crash is a suspect, unless Valgrind could not watch it. Takes it. */
static opc_status_t add_crash(opc_task_t *task, opc_case_result_t *result, const opc_crash_t *crash,
                              opc_error_t *error) {
  return crash->unwatchable ? opc_task_write_final(task, result, error) : opc_suspects_add(task, result, error);
}

/* The child died in a case, right after its last result, or before it began. */
static opc_status_t cases_task_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                     opc_error_t *error) {
  OPC_RETURN_IF_ERROR(cases_task_begin(task, error));
  const bool after = task->cases->held && (case_id[0] == '\0' || strcmp(case_id, task->cases->held->case_id) == 0);
  if (!after) OPC_RETURN_IF_ERROR(cases_task_settle(task, error));
  if (!after && case_id[0] == '\0') {
    if (++task->cases->stillborn < STILLBORN_MAX) return OPC_OK;
    const char *output =
        opc_json_text_of(crash->evidence, "output"); /* a child that could not be set up gives the reason there */
    return cases_task_give_up(task, output ? output : opc_text_c(&crash->message), error);
  }
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  OPC_RETURN_IF_ERROR(opc_task_crash_result(task, after ? task->cases->held->case_id : case_id, crash, &result, error));
  const opc_case_id_t id = result->id;
  if (after && !crash->unwatchable) {
    opc_case_result_add(result, ", after the operator had returned");
    result->had_returned = true;
  }
  if (after) {
    opc_case_result_free(task->cases->held);
    task->cases->held = NULL;
  } else {
    OPC_RETURN_IF_ERROR(cases_task_note_case(task, case_id, error));
  }
  task->cases->stillborn = 0;
  OPC_RETURN_IF_ERROR(note_input(task, result, true, error));
  opc_case_result_t *crashed = result;
  result = NULL;
  OPC_RETURN_IF_ERROR(add_crash(task, crashed, crash, error));
  /* An aggregating case has no arguments of its own. If the operator had already returned, its arguments need not be to
   * blame. */
  OPC_RETURN_IF_ERROR(opc_known_crashes_note(task, &id, crash, !after && crash->own_call && id.sample[0] != '\0',
                                             crash->unwatchable ? NULL : &task->suspects[task->suspect_count - 1],
                                             error));
  return task->session->has_only ? end(task, error) : OPC_OK;
}

static opc_status_t cases_task_ended(opc_task_t *task, opc_batch_end_t how, const char *why, opc_error_t *error) {
  if (how == OPC_BATCH_SPENT) return spent(task, error);
  OPC_RETURN_IF_ERROR(cases_task_settle(task, error));
  task->goes_on &= how == OPC_BATCH_DONE && task->cases->themselves;
  if (how == OPC_BATCH_DONE) return end(task, error);
  if (!task->session->has_only) return cases_task_give_up(task, why ? why : "the worker refuses", error);
  OPC_RETURN_IF_ERROR(end(task, error));
  return opc_journal_note(task->session->journal, error, "--case %s: there is no such case: %s%s",
                          task->session->options->case_id, why ? why : "",
                          !task->search_record
                              ? ""
                              : "; the search found other inputs this time. With --json FILE a run keeps those that "
                                "it finds, and its repro lines name them");
}

const opc_phase_t opc_phase_cases = {.command = cases_task_command,
                                     .left_out = opc_turns_note,
                                     .result = cases_task_take_result,
                                     .ended = cases_task_ended,
                                     .crash = cases_task_crash,
                                     .seconds = opc_task_case_seconds,
                                     .forget = cases_task_forget};

opc_status_t opc_cases_begin(opc_task_t *task, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_task_tell_samples(task, error));
  opc_task_enter(task, &opc_phase_cases);
  return OPC_OK;
}
