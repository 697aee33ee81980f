/* Confirms findings. A finding is run again, alone, in a fresh child, in the same way as with --case. If it vanishes,
 * the cases that its child ran before it are run again first. They are halved until one is left: the case that the
 * finding depends on. If it still vanishes, it becomes a warning that says so.
 *
 * Of the findings of one check and rule, the simplest is confirmed first; that is the one that reports show. The others
 * follow in the same child and say so ("confirmed_after"): hundreds of processes would show no more. A finding that
 * does not show there gets a child of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "supervise/jobs/task.h"

enum { ALONE_RUNS_MAX = 3, BISECTIONS_MAX = 8 };
enum { STEP_ALONE = 0, STEP_STRETCH, STEP_HALVE, STEP_CONTROL };

struct opc_confirming {
  size_t index;    /* of the suspect */
  size_t arranged; /* how many suspects are sorted for confirmation */
  int step;
  bool in_company; /* the suspect runs after others of its group, in the child of the first of them */
  size_t leader;   /* that first one */
  int alone_runs, bisections;
  opc_bisection_t halves;
  opc_case_result_t *outcome; /* this run's result for the suspect's case */
  opc_case_result_t *shown;   /* that result, while its control runs */
};

static void confirm_forget(opc_task_t *task) {
  if (!task->confirming) return;
  opc_case_result_free(task->confirming->outcome);
  opc_case_result_free(task->confirming->shown);
  free(task->confirming);
  task->confirming = NULL;
}

static bool confirm_over(const opc_task_t *task) { return task->confirming->index == task->suspect_count; }

/* What its skipped cases wait for: that no suspect is left. */
static opc_status_t begin_rerun(opc_task_t *task, opc_error_t *error) {
  return confirm_over(task) ? opc_rerun_begin(task, error) : OPC_OK;
}

static bool is_hang(const opc_case_result_t *result) { return result->rule == OPC_RULE_timeout; }

/* Found by a search, or a sample with one argument changed against the others. */
static bool is_on_unvouched_input(const opc_case_result_t *result) {
  return !opc_provenance_is_valid(&result->provenance);
}

/* A hang on input that nobody vouches for is a warning, unless strangers may send it: it gets twice the operator's own
 * limit, not the whole one. On tensors of gigabytes the operator may only be slow: it gets the whole one. */
static double unvouched_hang_seconds(const opc_task_t *task, const char *variant) {
  enum { LEAST = 2, LIMITS = 2 };
  const double most = task->session->options->timeout, least = LEAST * opc_run_pace(task->session->options);
  if (task->session->options->untrusted_input || opc_variant_family(variant) == OPC_VARIANT_LARGE) return most;
  return fmin(most, fmax(least, LIMITS * opc_task_case_seconds(task)));
}

/* A hang is confirmed once with the whole limit. An operator that never returns does not return for its other cases
 * either. */
static double confirm_seconds(const opc_task_t *task) {
  const opc_confirming_t *confirming = task->confirming;
  const opc_case_result_t *suspect =
      confirming->index < task->suspect_count ? task->suspects[confirming->index].result : NULL;
  const bool hung = suspect && is_hang(suspect), unvouched = suspect && is_on_unvouched_input(suspect),
             known = hung && (task->hang_confirmed[false] || task->hang_confirmed[unvouched]);
  if (known || confirming->step == STEP_CONTROL) return opc_task_case_seconds(task);
  return hung && unvouched ? unvouched_hang_seconds(task, suspect->id.variant) : task->session->options->timeout;
}

static opc_suspect_t *confirm_present(opc_task_t *task) { return &task->suspects[task->confirming->index]; }

static void forget_outcome(opc_task_t *task) {
  opc_case_result_free(task->confirming->outcome);
  task->confirming->outcome = NULL;
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
  return task->confirming->step == STEP_HALVE ? opc_bisection_middle(&task->confirming->halves)
                                              : task->confirming->halves.low;
}

static bool is_of(const opc_case_result_t *left, const opc_case_result_t *right) {
  return left->rule == right->rule && left->severity == right->severity && left->verdict == right->verdict &&
         strcmp(left->id.check, right->id.check) == 0;
}

static int in_groups(const void *left, const void *right) {
  const opc_suspect_t *a = left, *b = right;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  if (a->complexity != b->complexity) return a->complexity < b->complexity ? -1 : 1;
  return (a->position > b->position) - (a->position < b->position);
}

/* Orders groups by their first cases. Groups of cases that were run again come last. */
static void arrange(opc_task_t *task) {
  const size_t begin = task->confirming->arranged;
  task->confirming->arranged = task->suspect_count;
  for (size_t i = begin; i < task->suspect_count; i++) {
    opc_suspect_t *suspect = &task->suspects[i];
    suspect->group = i;
    suspect->complexity = opc_case_id_complexity(&suspect->result->id);
    for (size_t k = begin; k < i && suspect->group == i; k++)
      if (task->suspects[k].group == k && is_of(task->suspects[k].result, suspect->result)) suspect->group = k;
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
  if (!at) return NULL;
  return opc_string_format("%.*s.repeated%s", (int)(at - variant), variant, at + strlen(".expanded"));
}

/* The case that says whether the layout is to blame for a finding: an access outside tensors, a crash or a hang. If
 * elements are repeated, it has the same values in plain layout. Otherwise it is the sample itself, which has run
 * before unless only one case runs. False: there is none, or it need not run. */
static bool wants_control(const opc_task_t *task, const opc_case_result_t *result, char out[OPC_CASE_ID_SIZE]) {
  if (task->session->memcheck || !opc_rule_needs_valid_input(result->rule)) return false;
  const opc_provenance_t *provenance = &result->provenance;
  const bool same_values = provenance->change == OPC_INPUT_SAME_VALUES;
  OPC_SCOPED(opc_scope_free) char *repeated = repeated_variant(result->id.variant);
  if (repeated && !same_values) case_with_variant(&result->id, repeated, out);
  else if (task->session->has_only && same_values && !provenance->plain) case_with_variant(&result->id, "plain", out);
  else return false;
  return true;
}

/* A finding of a case on the unmodified sample, with the case's own arguments: the check did not call the operator with
 * variants of the sample. */
static bool is_of_sample(const opc_case_result_t *result) {
  return result->provenance.plain && result->provenance.change == OPC_INPUT_SAME_VALUES &&
         result->id.variant[0] != '\0' && !result->own_variants;
}

static bool is_on_sample(const opc_case_result_t *result, const opc_case_id_t *of) {
  return strcmp(result->id.sample, of->sample) == 0 && strcmp(result->id.device, of->device) == 0;
}

/* False: under some check the sample itself went out of bounds, crashed or hung, or it shows the same rule. Then
 * another layout of it is not to blame. */
static bool sample_is_clean(const opc_task_t *task, const opc_case_id_t *of, opc_rule_id_t rule) {
  for (size_t i = 0; i < task->suspect_count; i++) {
    const opc_case_result_t *result = task->suspects[i].result;
    const bool counts = opc_rule_needs_valid_input(result->rule) || (result->rule && result->rule == rule);
    if (!task->suspects[i].gone && counts && is_of_sample(result) && is_on_sample(result, of)) return false;
  }
  return true;
}

/* Some sample shows the rule as it is, and the rule only warns of what a search found: the operator does the same to
 * other input, so another layout need not be to blame either. */
static bool other_input_shows(const opc_task_t *task, const opc_case_id_t *of, opc_rule_id_t rule) {
  for (size_t i = 0; opc_rule_warns_on_searched(rule) && i < task->suspect_count; i++) {
    const opc_case_result_t *result = task->suspects[i].result;
    if (!task->suspects[i].gone && result->rule == rule && result->provenance.plain &&
        strcmp(result->id.device, of->device) == 0)
      return true;
  }
  return false;
}

/* A layout of the sample goes out of bounds, although the operator follows the strides: an index is too large. In other
 * layouts it may meet another element. */
static bool has_index_beyond(const opc_task_t *task, const opc_case_id_t *of) {
  for (size_t i = 0; i < task->suspect_count; i++) {
    const opc_case_result_t *result = task->suspects[i].result;
    if (!task->suspects[i].gone && opc_rule_needs_valid_input(result->rule) && is_on_sample(result, of) &&
        result->provenance.change == OPC_INPUT_SAME_VALUES && opc_kept_layouts_has(&task->kept_layouts, &result->id))
      return true;
  }
  return false;
}

/* The layout is not to blame for this access, crash or hang. */
static bool is_of_an_index(const opc_task_t *task, const opc_case_id_t *id, opc_rule_id_t rule) {
  return opc_rule_needs_valid_input(rule) && has_index_beyond(task, id);
}

/* The sample itself has run before, in the same way. It is the control for other layouts of its values. If the sample
 * is broken, the findings of its variants need no wrong argument either. */
static void note_plain_control(const opc_task_t *task, opc_case_result_t *result) {
  char control[OPC_CASE_ID_SIZE];
  const opc_provenance_t *provenance = &result->provenance;
  if (provenance->source == OPC_SOURCE_NONE) return;
  if (opc_goes_outside(result->rule)) result->every_input |= opc_every_input_holds(&task->every_input);
  result->index_beyond |= has_index_beyond(task, &result->id);
  const bool clean = sample_is_clean(task, &result->id, result->rule);
  if (provenance->plain && result->id.dtype[0] == '\0') return; /* the sample itself */
  case_with_variant(&result->id, "plain", control);
  if (!clean) {
    opc_case_result_put(&result->broken_base, control);
  } else if (!provenance->plain && provenance->change == OPC_INPUT_SAME_VALUES &&
             !other_input_shows(task, &result->id, result->rule) && !is_of_an_index(task, &result->id, result->rule) &&
             !result->control) {
    opc_case_result_put(&result->control, control);
    result->control_held = true;
  }
}

/* The operator accepted the control's values without a wrong access, crash or hang. A skipped control vouches for
 * nothing: the operator refused its values, or another check sees it leave the tensors. */
static bool control_is_clean(const opc_case_result_t *outcome) {
  return (outcome->verdict == OPC_VERDICT_PASS || outcome->verdict == OPC_VERDICT_FAIL) &&
         !opc_rule_needs_valid_input(outcome->rule);
}

/* The control has run. If it is clean, the layout is to blame. Repeated values then count like the sample's. */
static void note_run_control(const opc_task_t *task, opc_case_result_t *result) {
  char control[OPC_CASE_ID_SIZE];
  if (!wants_control(task, result, control)) return;
  const bool same_values = result->provenance.change == OPC_INPUT_SAME_VALUES;
  /* Check stride has no case on the sample itself. */
  if (same_values && !task->confirming->outcome) return;
  result->control_held = task->confirming->outcome && control_is_clean(task->confirming->outcome) &&
                         !is_of_an_index(task, &result->id, result->rule);
  if (!same_values) result->provenance.change = result->control_held ? OPC_INPUT_SAME_VALUES : OPC_INPUT_ALONE;
  opc_case_result_put(&result->control, control);
}

/* Of suspects that were confirmed in earlier turns. */
static opc_status_t write_held(opc_task_t *task, opc_error_t *error) {
  for (size_t i = 0; i < task->settled; i++) {
    opc_suspect_t *suspect = &task->suspects[i];
    if (!suspect->held) continue;
    note_plain_control(task, suspect->held);
    OPC_RETURN_IF_ERROR(opc_session_result(task->session, task->op, suspect->held, suspect->repro, error));
    opc_case_result_free(suspect->held);
    suspect->held = NULL;
  }
  return OPC_OK;
}

opc_status_t opc_confirm_begin(opc_task_t *task, opc_error_t *error) {
  opc_task_enter(task, &opc_phase_confirm);
  task->confirming = calloc(1, sizeof *task->confirming);
  if (!task->confirming) return opc_out_of_memory(error);
  task->confirming->index = task->confirming->arranged = task->settled;
  if (!task->goes_on) OPC_RETURN_IF_ERROR(write_held(task, error));
  return begin_rerun(task, error);
}

/* ---- steps ---- */

static opc_status_t confirm_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  if (task->confirming->arranged < task->suspect_count) arrange(task);
  if (confirm_over(task)) {
    opc_task_finish(task);
    return OPC_OK;
  }
  const opc_suspect_t *suspect = confirm_present(task);
  const char *case_id = suspect->result->case_id;
  char control[OPC_CASE_ID_SIZE];
  forget_outcome(task);
  bool controls = task->confirming->step == STEP_CONTROL && wants_control(task, suspect->result, control);
  bool alone = task->confirming->step == STEP_ALONE || task->confirming->step == STEP_CONTROL;
  *out = opc_task_cases_command(task, alone ? 0 : suspect->skips, alone ? 0 : suspect->crashed);
  if (!*out) return opc_out_of_memory(error);
  if (alone) {
    task->confirming->alone_runs += !task->confirming->in_company;
    json_object_set_new(*out, "only", json_string(controls ? control : case_id));
    json_object_set_new(*out, "only_ran", json_true());
  } else {
    json_object_set_new(*out, "from", json_string(task->order[stretch_start(task)]));
    json_object_set_new(*out, "to", json_string(case_id));
  }
  return OPC_OK;
}

/* What cases of later turns show counts for the finding, too. */
static opc_status_t confirm_hold(opc_suspect_t *suspect, const opc_case_result_t *result, const char *repro,
                                 opc_error_t *error) {
  suspect->repro = opc_string_copy(repro);
  if (repro && !suspect->repro) return opc_out_of_memory(error);
  return opc_case_result_copy(result, &suspect->held, error);
}

/* The finding is settled: `result` goes to the journal, and the next finding begins. */
static opc_status_t conclude(opc_task_t *task, opc_case_result_t *result, const char *repro, opc_error_t *error) {
  if (!task->goes_on) note_plain_control(task, result);
  const opc_status_t status = task->goes_on ? confirm_hold(confirm_present(task), result, repro, error)
                                            : opc_session_result(task->session, task->op, result, repro, error);
  forget_outcome(task);
  OPC_RETURN_IF_ERROR(status);
  task->confirming->index++;
  task->confirming->step = STEP_ALONE;
  task->confirming->alone_runs = 0;
  return begin_rerun(task, error);
}

/* While CUPTI watches, the driver keeps a record in host memory of each call that a process makes after it has captured
 * a graph. Seen with CUDA 13.0. Whether CUPTI watches is not known here: a leak of the operator's own that begins with
 * a capture is missed. */
static bool is_the_drivers(const opc_case_result_t *result, const char *on) {
  opc_case_id_t other;
  return result->rule == OPC_RULE_leak_memory && strcmp(result->id.device, OPC_MODE_CUDA) == 0 &&
         opc_case_id_parse(on, &other, NULL) == OPC_OK && strcmp(other.check, "capture") == 0;
}

static opc_status_t conclude_drivers(opc_task_t *task, opc_error_t *error) {
  opc_case_result_t *result = confirm_present(task)->result;
  confirm_present(task)->gone = true;
  result->verdict = OPC_VERDICT_SKIP;
  result->reason = OPC_SKIP_NOT_APPLICABLE;
  result->rule = OPC_RULE_NONE;
  opc_case_result_say(result,
                      "host memory grows only after a graph was captured in the same process, when the CUDA driver "
                      "keeps a record of each call");
  return conclude(task, result, NULL, error);
}

static opc_status_t conclude_depends(opc_task_t *task, size_t on, opc_error_t *error) {
  opc_case_result_t *result = confirm_present(task)->result;
  if (is_the_drivers(result, task->order[on])) return conclude_drivers(task, error);
  OPC_SCOPED(opc_scope_free)
  char *text = opc_string_format(
      ". It happens only after the case %s in the same process: what that case leaves behind changes this one",
      task->order[on]);
  OPC_SCOPED(opc_scope_free) char *repro = opc_repro_line(task->session, task->op, NULL);
  opc_case_result_add(result, text);
  result->confirmed = OPC_CONFIRMED_YES;
  opc_case_result_put(&result->depends_on, task->order[on]);
  return conclude(task, result, repro, error);
}

static opc_status_t conclude_unconfirmed(opc_task_t *task, opc_error_t *error) {
  opc_case_result_t *result = confirm_present(task)->result;
  confirm_present(task)->gone = true;
  opc_case_result_add(result, ". It happened once and could not be reproduced, alone or after the cases before it");
  result->severity = OPC_SEVERITY_WARNING;
  result->confirmed = OPC_CONFIRMED_NO;
  for (size_t i = 0; i < result->also.count; i++) {
    result->also.items[i].severity = OPC_SEVERITY_WARNING;
    result->also.items[i].severity_stated = true;
  }
  OPC_SCOPED(opc_scope_free) char *repro = opc_repro_line(task->session, task->op, NULL);
  return conclude(task, result, repro, error);
}

static bool showed_again(const opc_task_t *task) {
  const opc_case_result_t *result = task->suspects[task->confirming->index].result,
                          *outcome = task->confirming->outcome;
  return outcome && result->verdict == outcome->verdict && result->rule == outcome->rule;
}

/* A crash knows its input only if its case ran alone or last. The finding may come from a run of all cases. */
static void learn_input(const opc_task_t *task) {
  json_t *known = task->suspects[task->confirming->index].result->evidence;
  json_t *input = json_object_get(task->confirming->outcome->evidence, "input");
  if (input && !json_object_get(known, "input")) json_object_set(known, "input", input);
}

/* The outcome of this run is the result. */
static opc_status_t conclude_outcome(opc_task_t *task, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = task->confirming->outcome;
  task->confirming->outcome = NULL;
  return conclude(task, result, NULL, error);
}

/* The finding showed again. The next of its group follows in the same child, unless that child has ended. */
static opc_status_t conclude_confirmed(opc_task_t *task, opc_error_t *error) {
  opc_case_result_t *outcome = task->confirming->outcome;
  size_t done = task->confirming->index;
  task->hang_confirmed[is_on_unvouched_input(outcome)] |= is_hang(outcome);
  outcome->confirmed = OPC_CONFIRMED_YES;
  if (task->confirming->in_company)
    opc_case_result_put(&outcome->confirmed_after, task->suspects[task->confirming->leader].result->case_id);
  else task->confirming->leader = done;
  OPC_RETURN_IF_ERROR(conclude_outcome(task, error));
  task->confirming->in_company = task->child && task->confirming->index < task->suspect_count &&
                                 confirm_present(task)->group == task->suspects[done].group;
  if (task->confirming->in_company) return opc_task_send(task, error);
  opc_task_release(task);
  return OPC_OK;
}

static opc_status_t conclude_slow(opc_task_t *task, opc_error_t *error) {
  confirm_present(task)->gone = task->confirming->outcome->verdict != OPC_VERDICT_ERROR;
  if (task->confirming->outcome->rule)
    task->confirming->outcome->confirmed = OPC_CONFIRMED_YES; /* it ran alone, in a fresh child */
  opc_status_t status = conclude_outcome(task, error);
  opc_task_release(task);
  return status;
}

/* One run is over: decides what to do next with this finding. */
static opc_status_t evaluate(opc_task_t *task, opc_error_t *error) {
  const opc_suspect_t *suspect = confirm_present(task);
  char control[OPC_CASE_ID_SIZE];
  if (task->confirming->step == STEP_CONTROL) {
    note_run_control(task, task->confirming->shown);
    forget_outcome(task);
    task->confirming->outcome = task->confirming->shown;
    task->confirming->shown = NULL;
    opc_task_release(task);
    return conclude_confirmed(task, error);
  }
  bool again = showed_again(task), has_stretch = suspect->first < suspect->position,
       alone = !task->confirming->in_company;
  if (again) learn_input(task);
  if (again && task->confirming->step == STEP_ALONE && wants_control(task, task->confirming->outcome, control)) {
    task->confirming->shown = task->confirming->outcome;
    task->confirming->outcome = NULL;
    task->confirming->step = STEP_CONTROL;
    opc_task_release(task);
    return OPC_OK;
  }
  if (again && task->confirming->step == STEP_ALONE) return conclude_confirmed(task, error);
  /* It was slow but did not hang: the outcome of this run is its result. */
  if (task->confirming->step == STEP_ALONE && is_hang(suspect->result) && task->confirming->outcome &&
      !task->confirming->in_company)
    return conclude_slow(task, error);
  opc_task_release(task);
  task->confirming->in_company = false;
  if (!alone) return OPC_OK; /* the next run is alone */
  if (task->confirming->step == STEP_ALONE) {
    if (task->confirming->alone_runs == 1 && has_stretch) {
      task->confirming->step = STEP_STRETCH;
      task->confirming->halves = (opc_bisection_t){.low = suspect->first, .high = suspect->position};
    } else if (task->confirming->alone_runs >= ALONE_RUNS_MAX) {
      return conclude_unconfirmed(task, error);
    }
    return OPC_OK;
  }
  if (task->confirming->step == STEP_STRETCH && !again) {
    task->confirming->step = STEP_ALONE;
    return OPC_OK;
  }
  bool found = task->confirming->step == STEP_STRETCH
                   ? ++task->confirming->bisections > BISECTIONS_MAX ||
                         task->confirming->halves.high - task->confirming->halves.low <= 1
                   : opc_bisection_narrow(&task->confirming->halves, again);
  task->confirming->step = STEP_HALVE;
  return found ? conclude_depends(task, task->confirming->halves.low, error) : OPC_OK;
}

static bool confirm_is_present_case(const opc_task_t *task, const char *case_id) {
  char control[OPC_CASE_ID_SIZE];
  const opc_case_result_t *result = task->suspects[task->confirming->index].result;
  if (task->confirming->step == STEP_CONTROL)
    return wants_control(task, result, control) && strcmp(case_id, control) == 0;
  return strcmp(case_id, result->case_id) == 0;
}

static opc_status_t confirm_take_result(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  (void)error;
  if (confirm_over(task) || !confirm_is_present_case(task, result->case_id)) {
    opc_case_result_free(result);
    return OPC_OK;
  }
  forget_outcome(task);
  task->confirming->outcome = result;
  return OPC_OK;
}

static opc_status_t confirm_ended(opc_task_t *task, opc_batch_end_t how, const char *why, opc_error_t *error) {
  (void)why;
  if (confirm_over(task)) return OPC_OK;
  if (how == OPC_BATCH_SPENT) opc_task_release(task); /* that child can run nothing more */
  return evaluate(task, error);
}

static opc_status_t confirm_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  /* Nothing was running any more, and this case was the last that ran. */
  const bool after = case_id[0] == '\0' && task->confirming->outcome;
  if (after || confirm_is_present_case(task, case_id)) {
    char own[OPC_CASE_ID_SIZE];
    opc_string_put(own, sizeof own, after ? task->confirming->outcome->case_id : case_id);
    forget_outcome(task);
    OPC_RETURN_IF_ERROR(opc_task_crash_result(task, own, crash, &task->confirming->outcome, error));
    if (after) opc_case_result_add(task->confirming->outcome, ", after the operator had returned");
  }
  return evaluate(task, error);
}

static void lost(opc_task_t *task) { task->confirming->in_company = false; }

const opc_phase_t opc_phase_confirm = {.command = confirm_command,
                                       .result = confirm_take_result,
                                       .ended = confirm_ended,
                                       .crash = confirm_crash,
                                       .seconds = confirm_seconds,
                                       .over = confirm_over,
                                       .lost = lost,
                                       .forget = confirm_forget};
