/* Confirms findings. A finding is run again, alone, in a fresh child, in the same way as with --case. If it vanishes,
 * the cases that its child ran before it are run again first. They are halved until one is left: the case that the
 * finding depends on. If it still vanishes, it becomes a warning that says so.
 *
 * Of the findings of one check and rule, the simplest is confirmed first; that is the one that reports show. The others
 * follow in the same child and say so ("confirmed_after"): hundreds of processes would show no more. A finding that
 * does not show there gets a child of its own. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/severity.h"
#include "model/case/case.h"
#include "model/case/verdict.h"
#include "model/json/json_write.h"
#include "supervise/jobs/rerun.h"
#include "supervise/jobs/task_phases.h"
#include "supervise/session/judge.h"

enum { ALONE_RUNS_MAX = 3, BISECTIONS_MAX = 8 };
enum { STEP_ALONE = 0, STEP_STRETCH, STEP_HALVE, STEP_CONTROL };

static bool is_hang(const json_t *result) {
  const char *rule = opc_json_text_of(result, "rule");
  return rule != NULL && strcmp(rule, "timeout") == 0;
}

/* A hang is confirmed once with the whole limit. An operator that never returns does not return for its other cases
 * either. */
static double seconds(const opc_task_t *task) {
  bool known = task->confirming < task->suspect_count && is_hang(task->suspects[task->confirming].result) &&
               task->hang_confirmed;
  return known || task->step == STEP_CONTROL ? opc_task_case_seconds(task) : task->session->options->timeout;
}

static bool over(const opc_task_t *task) { return task->confirming == task->suspect_count; }

static opc_suspect_t *present(opc_task_t *task) { return &task->suspects[task->confirming]; }

static void forget_outcome(opc_task_t *task) {
  json_decref(task->outcome);
  task->outcome = NULL;
}

size_t opc_bisection_middle(const opc_bisection_t *bisection) {
  return bisection->low + (bisection->high - bisection->low) / 2;
}

bool opc_bisection_narrow(opc_bisection_t *bisection, bool from_middle) {
  *(from_middle ? &bisection->low : &bisection->high) = opc_bisection_middle(bisection);
  return bisection->high - bisection->low <= 1;
}

/* The first case of the stretch. */
static size_t stretch_start(const opc_task_t *task) {
  return task->step == STEP_HALVE ? opc_bisection_middle(&task->halves) : task->halves.low;
}

static bool is_of(const json_t *left, const json_t *right) {
  static const char *const keys[] = {"rule", "severity", "verdict"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!json_equal(json_object_get(left, keys[i]), json_object_get(right, keys[i]))) return false;
  return true;
}

static int in_groups(const void *left, const void *right) {
  const opc_suspect_t *a = left, *b = right;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  if (a->complexity != b->complexity) return a->complexity < b->complexity ? -1 : 1;
  return (a->position > b->position) - (a->position < b->position);
}

/* Orders groups by their first cases. Groups of cases that were run again come last. */
static void arrange(opc_task_t *task) {
  opc_case_id_t id, first;
  const size_t begin = task->arranged;
  task->arranged = task->suspect_count;
  for (size_t i = begin; i < task->suspect_count; i++) {
    opc_suspect_t *suspect = &task->suspects[i];
    suspect->group = i;
    if (opc_case_id_parse(opc_json_text_of(suspect->result, "case"), &id, NULL) != OPC_OK) continue;
    suspect->complexity = opc_case_id_complexity(&id);
    for (size_t k = begin; k < i; k++) {
      const json_t *other = task->suspects[k].result;
      if (task->suspects[k].group != k || !is_of(other, suspect->result) ||
          opc_case_id_parse(opc_json_text_of(other, "case"), &first, NULL) != OPC_OK ||
          strcmp(first.check, id.check) != 0)
        continue;
      suspect->group = k;
      break;
    }
  }
  if (task->suspect_count > begin)
    qsort(&task->suspects[begin], task->suspect_count - begin, sizeof *task->suspects, in_groups);
}

/* ---- controls ---- */

/* The case id of the suspect with another variant. */
static void case_with_variant(const opc_case_id_t *id, const char *variant, char out[OPC_CASE_ID_SIZE]) {
  opc_case_id_t other = *id;
  opc_string_put(other.variant, sizeof other.variant, variant);
  opc_case_id_format(&other, out);
}

/* "x.repeated0" for "x.expanded0": the same values in plain layout. NULL: no element is repeated. */
static char *repeated_variant(const char *variant) {
  const char *at = strstr(variant, ".expanded");
  if (at == NULL) return NULL;
  return opc_string_format("%.*s.repeated%s", (int)(at - variant), variant, at + strlen(".expanded"));
}

/* The case that says whether the layout is to blame for a finding: an access outside tensors, a crash or a hang. If
 * elements are repeated, it has the same values in plain layout. Otherwise it is the sample itself, which has run
 * before unless only one case runs. False: there is none, or it need not run. */
static bool wants_control(const opc_task_t *task, const json_t *result, char out[OPC_CASE_ID_SIZE]) {
  opc_case_id_t id;
  if (task->session->memcheck != NULL || !opc_rule_needs_valid_input(opc_json_text_of(result, "rule")) ||
      opc_case_id_parse(opc_json_text_of(result, "case"), &id, NULL) != OPC_OK)
    return false;
  const opc_standing_t standing = opc_result_standing(result, &id);
  const bool same_values = standing.change == OPC_INPUT_SAME_VALUES;
  OPC_SCOPED(opc_scope_free) char *repeated = repeated_variant(id.variant);
  if (repeated != NULL && !same_values) case_with_variant(&id, repeated, out);
  else if (task->session->has_only && same_values && !standing.plain && strcmp(id.variant, "plain") != 0)
    case_with_variant(&id, "plain", out);
  else return false;
  return true;
}

/* A finding of a case on the unmodified sample, with the case's own arguments. A finding with "variants" in its
 * evidence does not count: the check itself called the operator with variants of the sample. */
static bool is_of_sample(const opc_suspect_t *suspect, opc_case_id_t *out_id) {
  const json_t *result = suspect->result;
  if (opc_case_id_parse(opc_json_text_of(result, "case"), out_id, NULL) != OPC_OK) return false;
  const opc_standing_t standing = opc_result_standing(result, out_id);
  return standing.plain && standing.change == OPC_INPUT_SAME_VALUES && out_id->variant[0] != '\0' &&
         json_object_get(json_object_get(result, "evidence"), "variants") == NULL;
}

/* False: under some check the sample itself went out of bounds, crashed or hung, or it shows the same rule. Then
 * another layout of it is not to blame. */
static bool sample_is_clean(const opc_task_t *task, const opc_case_id_t *of, const char *rule) {
  for (size_t i = 0; i < task->suspect_count; i++) {
    const opc_suspect_t *suspect = &task->suspects[i];
    const char *its = opc_json_text_of(suspect->result, "rule");
    opc_case_id_t id;
    const bool counts = opc_rule_needs_valid_input(its) || (its != NULL && rule != NULL && strcmp(its, rule) == 0);
    if (!suspect->gone && counts && is_of_sample(suspect, &id) && strcmp(id.sample, of->sample) == 0 &&
        strcmp(id.device, of->device) == 0)
      return false;
  }
  return true;
}

/* Some sample shows the rule as it is, and the rule only warns of what a search found: the operator does the same to
 * other input, so another layout need not be to blame either. */
static bool other_input_shows(const opc_task_t *task, const opc_case_id_t *of, const char *rule) {
  for (size_t i = 0; opc_rule_warns_on_searched(rule) && i < task->suspect_count; i++) {
    const opc_suspect_t *suspect = &task->suspects[i];
    const char *its = opc_json_text_of(suspect->result, "rule");
    opc_case_id_t id;
    if (!suspect->gone && its != NULL && strcmp(its, rule) == 0 &&
        opc_case_id_parse(opc_json_text_of(suspect->result, "case"), &id, NULL) == OPC_OK &&
        opc_result_standing(suspect->result, &id).plain && strcmp(id.device, of->device) == 0)
      return true;
  }
  return false;
}

/* A layout of the sample goes out of bounds, although the operator follows the strides: an index is too large. In other
 * layouts it may meet another element. */
static bool has_index_beyond(const opc_task_t *task, const opc_case_id_t *of) {
  for (size_t i = 0; i < task->suspect_count; i++) {
    const json_t *result = task->suspects[i].result;
    opc_case_id_t id;
    if (!task->suspects[i].gone && opc_rule_needs_valid_input(opc_json_text_of(result, "rule")) &&
        opc_case_id_parse(opc_json_text_of(result, "case"), &id, NULL) == OPC_OK &&
        strcmp(id.sample, of->sample) == 0 && strcmp(id.device, of->device) == 0 &&
        opc_result_standing(result, &id).change == OPC_INPUT_SAME_VALUES &&
        opc_kept_layouts_has(&task->kept_layouts, &id))
      return true;
  }
  return false;
}

/* The layout is not to blame for this access, crash or hang. */
static bool is_of_an_index(const opc_task_t *task, const opc_case_id_t *id, const char *rule) {
  return opc_rule_needs_valid_input(rule) && has_index_beyond(task, id);
}

/* The sample itself has run before, in the same way. It is the control for other layouts of its values. If the sample
 * is broken, the findings of its variants need no wrong argument either. */
static void note_plain_control(const opc_task_t *task, json_t *result) {
  opc_case_id_t id;
  char control[OPC_CASE_ID_SIZE];
  if (opc_case_id_parse(opc_json_text_of(result, "case"), &id, NULL) != OPC_OK) return;
  opc_standing_t standing = opc_result_standing(result, &id);
  if (standing.voucher == OPC_VOUCHER_NONE) return;
  if (opc_every_input_holds(&task->every_input)) opc_result_note_every_input(result);
  const char *rule = opc_json_text_of(result, "rule");
  if (has_index_beyond(task, &id)) opc_result_note_index_beyond(result);
  const bool clean = sample_is_clean(task, &id, rule);
  if (standing.plain && id.dtype[0] == '\0') return; /* the sample itself */
  case_with_variant(&id, "plain", control);
  if (!clean) opc_result_note_broken_base(result, control);
  else if (!standing.plain && standing.change == OPC_INPUT_SAME_VALUES && !other_input_shows(task, &id, rule) &&
           !is_of_an_index(task, &id, rule) && json_object_get(json_object_get(result, "evidence"), "control") == NULL)
    opc_result_note_control(result, control, true);
}

/* The operator accepted the control's values without a wrong access, crash or hang. A skipped control vouches for
 * nothing: the operator refused its values, or another check sees it leave the tensors. */
static bool control_is_clean(const json_t *outcome) {
  const char *verdict = opc_json_text_of(outcome, "verdict");
  return (strcmp(verdict, "pass") == 0 || strcmp(verdict, "fail") == 0) &&
         !opc_rule_needs_valid_input(opc_json_text_of(outcome, "rule"));
}

/* The control has run. If it is clean, the layout is to blame. Repeated values then count like the sample's. */
static void note_run_control(const opc_task_t *task, json_t *result) {
  char control[OPC_CASE_ID_SIZE], text[OPC_STANDING_SIZE];
  opc_case_id_t id;
  bool held = task->outcome != NULL && control_is_clean(task->outcome);
  if (!wants_control(task, result, control) || opc_case_id_parse(opc_json_text_of(result, "case"), &id, NULL) != OPC_OK)
    return;
  held = held && !is_of_an_index(task, &id, opc_json_text_of(result, "rule"));
  opc_standing_t standing = opc_result_standing(result, &id);
  /* Check stride has no case on the sample itself. */
  if (standing.change == OPC_INPUT_SAME_VALUES && task->outcome == NULL) return;
  if (standing.change != OPC_INPUT_SAME_VALUES) standing.change = held ? OPC_INPUT_SAME_VALUES : OPC_INPUT_ALONE;
  opc_standing_format(&standing, text);
  json_object_set_new(result, "standing", json_string(text));
  opc_result_note_control(result, control, held);
}

/* ---- steps ---- */

static opc_status_t command(opc_task_t *task, json_t **out, opc_error_t *error) {
  if (task->arranged < task->suspect_count) arrange(task);
  if (over(task)) {
    opc_task_enter(task, NULL);
    return OPC_OK;
  }
  const opc_suspect_t *suspect = present(task);
  const char *case_id = opc_json_text_of(suspect->result, "case");
  char control[OPC_CASE_ID_SIZE];
  forget_outcome(task);
  bool controls = task->step == STEP_CONTROL && wants_control(task, suspect->result, control);
  bool alone = task->step == STEP_ALONE || task->step == STEP_CONTROL;
  *out = opc_task_cases_command(task, alone ? 0 : suspect->skips, alone ? 0 : suspect->crashed);
  if (*out == NULL) return opc_out_of_memory(error);
  if (alone) {
    task->alone_runs += !task->in_company;
    json_object_set_new(*out, "only", json_string(controls ? control : case_id));
    json_object_set_new(*out, "only_ran", json_true());
  } else {
    json_object_set_new(*out, "from", json_string(task->order[stretch_start(task)]));
    json_object_set_new(*out, "to", json_string(case_id));
  }
  return OPC_OK;
}

/* The finding is settled: `result` (taken) goes to the journal, and the next finding begins. */
static opc_status_t conclude(opc_task_t *task, json_t *result, const char *repro, opc_error_t *error) {
  note_plain_control(task, result);
  opc_status_t status = opc_session_result(task->session, task->op, result, repro, error);
  forget_outcome(task);
  task->confirming++;
  task->step = STEP_ALONE;
  task->alone_runs = 0;
  return status == OPC_OK ? opc_rerun_begin(task, error) : status;
}

/* While CUPTI watches, the driver keeps a record in host memory of each call that a process makes after it has captured
 * a graph. Seen with CUDA 13.0. Whether CUPTI watches is not known here: a leak of the operator's own that begins with
 * a capture is missed. */
static bool is_the_drivers(const json_t *result, const char *on) {
  opc_case_id_t id, other;
  return strcmp(opc_json_text_of(result, "rule"), "leak.memory") == 0 &&
         opc_case_id_parse(opc_json_text_of(result, "case"), &id, NULL) == OPC_OK &&
         opc_case_id_parse(on, &other, NULL) == OPC_OK && strcmp(id.device, OPC_MODE_CUDA) == 0 &&
         strcmp(other.check, "capture") == 0;
}

static opc_status_t conclude_drivers(opc_task_t *task, opc_error_t *error) {
  json_t *result = json_incref(present(task)->result);
  present(task)->gone = true;
  json_object_set_new(result, "verdict", json_string(opc_verdict_name(OPC_VERDICT_SKIP)));
  json_object_set_new(result, "reason", json_string(opc_skip_reason_name(OPC_SKIP_NOT_APPLICABLE)));
  json_object_set_new(result, "rule", json_null());
  json_object_set_new(result, "severity", json_null());
  json_object_set_new(result, "message",
                      json_string("host memory grows only after a graph was captured in the same process, when the "
                                  "CUDA driver keeps a record of each call"));
  return conclude(task, result, NULL, error);
}

static opc_status_t conclude_depends(opc_task_t *task, size_t on, opc_error_t *error) {
  if (is_the_drivers(present(task)->result, task->order[on])) return conclude_drivers(task, error);
  json_t *result = json_incref(present(task)->result), *evidence = json_object_get(result, "evidence");
  char *words = opc_string_format(
      ". It happens only after the case %s in the same process: what that case leaves behind changes this one",
      task->order[on]);
  OPC_SCOPED(opc_scope_free) char *repro = opc_repro_line(task->session, task->op, NULL);
  opc_task_result_add(result, words);
  json_object_set_new(evidence, "confirmed", json_true());
  json_object_set_new(evidence, "depends_on", json_string(task->order[on]));
  opc_status_t status = conclude(task, result, repro, error);
  free(words);
  return status;
}

static opc_status_t conclude_unconfirmed(opc_task_t *task, opc_error_t *error) {
  present(task)->gone = true;
  json_t *result = json_incref(present(task)->result);
  json_t *also = json_object_get(json_object_get(result, "evidence"), "also"), *entry;
  size_t i;
  opc_task_result_add(result, ". It happened once and could not be reproduced, alone or after the cases before it");
  json_object_set_new(result, "severity", json_string("warning"));
  json_array_foreach(also, i, entry) json_object_set_new(entry, "severity", json_string("warning"));
  json_object_set_new(json_object_get(result, "evidence"), "confirmed", json_false());
  OPC_SCOPED(opc_scope_free) char *repro = opc_repro_line(task->session, task->op, NULL);
  opc_status_t status = conclude(task, result, repro, error);
  return status;
}

static bool showed_again(const opc_task_t *task) {
  const json_t *result = task->suspects[task->confirming].result;
  return task->outcome != NULL &&
         json_equal(json_object_get(result, "verdict"), json_object_get(task->outcome, "verdict")) &&
         json_equal(json_object_get(result, "rule"), json_object_get(task->outcome, "rule"));
}

/* A crash knows its input only if its case ran alone or last. The finding may come from a run of all cases. */
static void learn_input(const opc_task_t *task) {
  json_t *known = json_object_get(task->suspects[task->confirming].result, "evidence");
  json_t *input = json_object_get(json_object_get(task->outcome, "evidence"), "input");
  if (input != NULL && json_object_get(known, "input") == NULL) json_object_set(known, "input", input);
}

/* The finding showed again. The next of its group follows in the same child, unless that child has ended. */
static opc_status_t conclude_confirmed(opc_task_t *task, opc_error_t *error) {
  json_t *evidence = json_object_get(task->outcome, "evidence");
  size_t done = task->confirming;
  task->hang_confirmed |= is_hang(task->outcome);
  json_object_set_new(evidence, "confirmed", json_true());
  if (task->in_company)
    json_object_set(evidence, "confirmed_after", json_object_get(task->suspects[task->leader].result, "case"));
  else task->leader = done;
  opc_status_t status = conclude(task, json_incref(task->outcome), NULL, error);
  task->in_company = task->child != NULL && task->confirming < task->suspect_count &&
                     present(task)->group == task->suspects[done].group;
  if (status == OPC_OK && task->in_company) return opc_task_send(task, error);
  opc_task_release(task);
  return status;
}

static opc_status_t conclude_slow(opc_task_t *task, opc_error_t *error) {
  present(task)->gone = strcmp(opc_json_text_of(task->outcome, "verdict"), "error") != 0;
  if (opc_json_text_of(task->outcome, "rule") != NULL) /* it ran alone, in a fresh child */
    json_object_set_new(json_object_get(task->outcome, "evidence"), "confirmed", json_true());
  opc_status_t status = conclude(task, json_incref(task->outcome), NULL, error);
  opc_task_release(task);
  return status;
}

/* One run is over: decides what to do next with this finding. */
static opc_status_t evaluate(opc_task_t *task, opc_error_t *error) {
  const opc_suspect_t *suspect = present(task);
  char control[OPC_CASE_ID_SIZE];
  if (task->step == STEP_CONTROL) {
    note_run_control(task, task->shown);
    forget_outcome(task);
    task->outcome = task->shown;
    task->shown = NULL;
    opc_task_release(task);
    return conclude_confirmed(task, error);
  }
  bool again = showed_again(task), has_stretch = suspect->first < suspect->position, alone = !task->in_company;
  if (again) learn_input(task);
  if (again && task->step == STEP_ALONE && wants_control(task, task->outcome, control)) {
    task->shown = task->outcome;
    task->outcome = NULL;
    task->step = STEP_CONTROL;
    opc_task_release(task);
    return OPC_OK;
  }
  if (again && task->step == STEP_ALONE) return conclude_confirmed(task, error);
  /* It was slow but did not hang: the outcome of this run is its result. */
  if (task->step == STEP_ALONE && is_hang(suspect->result) && task->outcome != NULL && !task->in_company)
    return conclude_slow(task, error);
  opc_task_release(task);
  task->in_company = false;
  if (!alone) return OPC_OK; /* the next run is alone */
  if (task->step == STEP_ALONE) {
    if (task->alone_runs == 1 && has_stretch) {
      task->step = STEP_STRETCH;
      task->halves = (opc_bisection_t){.low = suspect->first, .high = suspect->position};
    } else if (task->alone_runs >= ALONE_RUNS_MAX) {
      return conclude_unconfirmed(task, error);
    }
    return OPC_OK;
  }
  if (task->step == STEP_STRETCH && !again) {
    task->step = STEP_ALONE;
    return OPC_OK;
  }
  bool found = task->step == STEP_STRETCH
                   ? ++task->bisections > BISECTIONS_MAX || task->halves.high - task->halves.low <= 1
                   : opc_bisection_narrow(&task->halves, again);
  task->step = STEP_HALVE;
  return found ? conclude_depends(task, task->halves.low, error) : OPC_OK;
}

static bool is_present_case(const opc_task_t *task, const char *case_id) {
  char control[OPC_CASE_ID_SIZE];
  if (task->step == STEP_CONTROL)
    return case_id != NULL && wants_control(task, task->suspects[task->confirming].result, control) &&
           strcmp(case_id, control) == 0;
  return case_id != NULL && strcmp(case_id, opc_json_text_of(task->suspects[task->confirming].result, "case")) == 0;
}

static opc_status_t message(opc_task_t *task, json_t *message, opc_error_t *error) {
  const char *type = opc_json_text_of(message, "t");
  if (type == NULL || over(task)) return OPC_OK;
  if (strcmp(type, "result") == 0 && opc_result_valid(message, task->op) &&
      is_present_case(task, opc_json_text_of(message, "case"))) {
    forget_outcome(task);
    task->outcome = json_incref(message);
  } else if (strcmp(type, "done") == 0 || strcmp(type, "spent") == 0 || strcmp(type, "refused") == 0) {
    if (strcmp(type, "spent") == 0) opc_task_release(task); /* that child can run nothing more */
    return evaluate(task, error);
  }
  return OPC_OK;
}

static opc_status_t crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  const char *own = task->step == STEP_CONTROL ? case_id : opc_json_text_of(present(task)->result, "case");
  /* Nothing was running any more, and this case was the last that ran. */
  bool after = case_id[0] == '\0' && task->outcome != NULL;
  if (after || is_present_case(task, case_id)) {
    forget_outcome(task);
    task->outcome = opc_task_crash_result(own, crash, task);
    if (after) opc_task_result_add(task->outcome, ", after the operator had returned");
  }
  return evaluate(task, error);
}

const opc_phase_t opc_phase_confirm = {
    .command = command, .message = message, .crash = crash, .seconds = seconds, .over = over};
