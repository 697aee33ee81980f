/* Runs the cases of an operator. Results go to the journal as they arrive; findings wait for their confirmation. A dead
 * child is replaced by one that continues after the case that killed it. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/rules.h"
#include "model/case/verdict.h"
#include "model/json/json_write.h"
#include "supervise/jobs/known_crashes.h"
#include "supervise/jobs/rerun.h"
#include "supervise/jobs/suspects.h"
#include "supervise/jobs/task_phases.h"

enum { STILLBORN_MAX = 3 };

static double seconds(const opc_task_t *task) { return opc_task_case_seconds(task); }

/* How many times the operator has used up its time. After the first time only samples themselves still run; after the
 * second nothing does. A single case loses nothing: its own time is bounded, and the user asked for it. */
static int times_used(const opc_task_t *task) {
  const double used = opc_clock() - task->cases_began, time = task->session->options->operator_time;
  if (task->session->has_only || used <= time) return 0;
  return used <= 2 * time ? 1 : 2;
}

static opc_status_t command(opc_task_t *task, json_t **out, opc_error_t *error) {
  task->session->current = task->op->name;
  task->first = task->order_count;
  if (task->cases_began <= 0) task->cases_began = opc_clock();
  task->out_of_time = times_used(task);
  *out = opc_task_cases_command(task, json_array_size(task->skips), json_array_size(task->crashed));
  if (*out == NULL) return opc_out_of_memory(error);
  if (task->session->has_only) json_object_set_new(*out, "only", json_string(task->session->options->case_id));
  else if (task->out_of_time > 0)
    json_object_set_new(*out, "out_of_time", json_real(task->session->options->operator_time));
  if (task->out_of_time > 1) json_object_set_new(*out, "out_of_time_for_all", json_true());
  if (!task->session->has_only && task->order_count > 0)
    json_object_set_new(*out, "after", json_string(task->order[task->order_count - 1]));
  return OPC_OK;
}

/* A check that calls nothing reads data that every child has from the worker. A run alone would give the same
 * result. */
static bool is_static(const json_t *result) {
  opc_case_id_t id;
  int check =
      opc_case_id_parse(opc_json_text_of(result, "case"), &id, NULL) == OPC_OK ? opc_check_info_find(id.check) : -1;
  return check >= 0 && !opc_check_infos[check].calls &&
         strcmp(opc_json_text_of(result, "verdict"), opc_verdict_name(OPC_VERDICT_ERROR)) != 0;
}

/* Under Valgrind a run alone takes half a second. Valgrind's own findings need none. Of the checks' own findings, the
 * first of a rule is run alone for all of that rule. */
static bool is_settled(const opc_task_t *task, const json_t *result) {
  if (is_static(result)) return true;
  if (task->session->memcheck == NULL) return false;
  bool settled = json_is_true(json_object_get(json_object_get(result, "evidence"), "witnessed"));
  for (size_t i = 0; i < task->suspect_count && !settled; i++) {
    settled = json_equal(json_object_get(task->suspects[i].result, "rule"), json_object_get(result, "rule"));
  }
  return settled;
}

/* The held result stands: its child did not die before another case began. It is final, or a suspect. */
static opc_status_t settle(opc_task_t *task, opc_error_t *error) {
  json_t *result = task->held;
  if (result == NULL) return OPC_OK;
  task->held = NULL;
  int verdict = opc_verdict_find(opc_json_text_of(result, "verdict"));
  bool finding = verdict == OPC_VERDICT_FAIL || verdict == OPC_VERDICT_ERROR;
  if (finding && !is_settled(task, result)) return opc_suspects_add(task, result, error);
  opc_task_explain_no_sample(task, result);
  bool kept = false;
  opc_status_t status = opc_rerun_keep(task, result, &kept, error);
  return status == OPC_OK && !kept ? opc_session_result(task->session, task->op, result, NULL, error) : status;
}

/* Nothing is left to run: the findings are confirmed now. */
static opc_status_t end(opc_task_t *task, opc_error_t *error) {
  opc_task_enter(task, &opc_phase_confirm);
  return opc_rerun_begin(task, error);
}

/* Records how long the operator takes. The fastest case on a sample itself makes one call or a few. */
static void note_seconds(opc_task_t *task, const json_t *result) {
  opc_case_id_t id;
  double took = json_number_value(json_object_get(result, "seconds"));
  int verdict = opc_verdict_find(opc_json_text_of(result, "verdict"));
  if (verdict == OPC_VERDICT_SKIP || opc_case_id_parse(opc_json_text_of(result, "case"), &id, NULL) != OPC_OK) return;
  if (took <= 0 || strcmp(id.variant, "plain") != 0) return;
  if (took > task->slowest) task->slowest = took;
  if (task->fastest <= 0 || took < task->fastest) task->fastest = took;
}

static opc_status_t on_result(opc_task_t *task, json_t *message, opc_error_t *error) {
  opc_status_t status = settle(task, error);
  /* A case has one result: only a hostile child sends a second one. */
  bool again = task->order_count > task->first &&
               strcmp(task->order[task->order_count - 1], opc_json_text_of(message, "case")) == 0;
  if (status != OPC_OK || again) return status;
  task->held = json_incref(message);
  task->stillborn = 0;
  note_seconds(task, message);
  opc_kept_layouts_note(&task->kept_layouts, message);
  opc_every_input_note(&task->every_input, message, &task->samples, task->op);
  status = opc_suspects_note_case(task, opc_json_text_of(message, "case"), error);
  if (status != OPC_OK || times_used(task) <= task->out_of_time) return status;
  opc_task_release(task); /* the next child starts after this case and skips the rest */
  return settle(task, error);
}

static opc_status_t give_up(opc_task_t *task, const char *why, opc_error_t *error) {
  task->session->trouble = true;
  opc_status_t status = end(task, error);
  if (status != OPC_OK) return status;
  return opc_journal_note(task->session->journal, error, "%s: the rest of its cases could not be run: %s",
                          task->op->name, why);
}

/* The process ends, and another one continues after its last case. If the case broke the process, its check is given up
 * after a few times. */
static opc_status_t spent(opc_task_t *task, opc_error_t *error) {
  opc_case_id_t id;
  opc_crash_t fault = {0};
  if (task->held == NULL)
    return give_up(task, "the worker says that a case broke its process, but it has run none", error);
  opc_string_put(fault.standing, sizeof fault.standing,
                 opc_json_text_of(task->held, "standing") != NULL ? opc_json_text_of(task->held, "standing") : "");
  snprintf(fault.rule, sizeof fault.rule, "%.31s",
           opc_json_text_of(task->held, "rule") != NULL ? opc_json_text_of(task->held, "rule") : "");
  opc_status_t status = opc_case_id_parse(opc_json_text_of(task->held, "case"), &id, error);
  if (status == OPC_OK && strcmp(fault.rule, "launch.asynchronous_error") == 0)
    status = opc_known_crashes_note(task, &id, &fault, false, NULL, error);
  if (status == OPC_OK) status = settle(task, error);
  if (status == OPC_OK && task->session->has_only) return end(task, error);
  opc_task_release(task);
  return status;
}

/* The child died in a case, right after its last result, or before it began. */
static opc_status_t crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  opc_case_id_t id;
  char blamed[OPC_CASE_ID_SIZE];
  opc_status_t status = OPC_OK;
  const char *held = opc_json_text_of(task->held, "case");
  bool after = held != NULL && (case_id[0] == '\0' || strcmp(case_id, held) == 0);
  if (!after) status = settle(task, error);
  if (status != OPC_OK) return status;
  if (!after && case_id[0] == '\0') {
    if (++task->stillborn < STILLBORN_MAX) return OPC_OK;
    const char *output =
        opc_json_text_of(crash->evidence, "output"); /* a child that could not be set up gives the reason there */
    return give_up(task, output != NULL ? output : opc_text_c(&crash->message), error);
  }
  snprintf(blamed, sizeof blamed, "%s", after ? held : case_id);
  json_t *result = opc_task_crash_result(blamed, crash, task);
  if (after && !crash->unwatchable) {
    OPC_SCOPED(opc_scope_free)
    char *text = opc_string_format("%s, after the operator had returned", opc_json_text_of(result, "message"));
    json_object_set_new(result, "message", opc_json_string(text));
    json_object_set_new(json_object_get(result, "evidence"), "had_returned", json_true());
  }
  if (after) {
    json_decref(task->held);
    task->held = NULL;
  } else {
    status = opc_suspects_note_case(task, blamed, error);
  }
  task->stillborn = 0;
  if (status == OPC_OK && crash->unwatchable) status = opc_session_result(task->session, task->op, result, NULL, error);
  else if (status == OPC_OK) status = opc_suspects_add(task, result, error);
  else json_decref(result);
  if (status == OPC_OK) status = opc_case_id_parse(blamed, &id, error);
  /* An aggregating case has no arguments of its own. If the operator had already returned, its arguments need not be to
   * blame. */
  if (status == OPC_OK)
    status = opc_known_crashes_note(task, &id, crash, !after && crash->own_call && id.sample[0] != '\0',
                                    crash->unwatchable ? NULL : &task->suspects[task->suspect_count - 1], error);
  return status == OPC_OK && task->session->has_only ? end(task, error) : status;
}

static opc_status_t message(opc_task_t *task, json_t *message, opc_error_t *error) {
  const char *type = opc_json_text_of(message, "t"), *why = opc_json_text_of(message, "message");
  opc_status_t status = OPC_OK;
  if (type == NULL) return OPC_OK;
  if (strcmp(type, "result") == 0 && opc_result_valid(message, task->op)) return on_result(task, message, error);
  if (strcmp(type, "done") == 0) {
    status = settle(task, error);
    if (status == OPC_OK) status = end(task, error);
  } else if (strcmp(type, "spent") == 0) {
    status = spent(task, error);
  } else if (strcmp(type, "refused") == 0) {
    status = settle(task, error);
    if (status == OPC_OK && task->session->has_only) {
      status = end(task, error);
      if (status != OPC_OK) return status;
      return opc_journal_note(
          task->session->journal, error, "--case %s: there is no such case: %s%s", task->session->options->case_id,
          why != NULL ? why : "",
          task->search_record == NULL
              ? ""
              : "; the search found other inputs this time. With --json FILE a run keeps those that "
                "it finds, and its repro lines name them");
    }
    if (status == OPC_OK) status = give_up(task, why != NULL ? why : "the worker refuses", error);
  }
  return status;
}

const opc_phase_t opc_phase_cases = {.command = command, .message = message, .crash = crash, .seconds = seconds};
