/* The aggregate case: what calls leave behind for later ones, several threads, and whether a tag for random numbers is
 * true. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "checks/compare/object_addresses.h"
#include "checks/determinism/determinism_asynchronous.h"
#include "checks/determinism/determinism_generators.h"
#include "checks/determinism/determinism_once.h"
#include "checks/determinism/determinism_threads.h"
#include "checks/framework/outcome.h"

typedef struct once {
  opc_case_context_t *context;
  opc_finding_t *finding;
  opc_error_t *error;
  size_t returned;       /* samples that were called */
  bool nondeterministic; /* non-deterministic by itself: the samples' own cases report it */
  bool random;           /* takes numbers from a generator */
  bool follows_seed;     /* another seed gives other bits */
  bool given_generator;  /* a sample passes its own generator */
  bool callable[OPC_SUBPROCESS_SAMPLES];
  int64_t compared;
  opc_text_t done; /* for the text of a pass */
} once_t;

static size_t sample_count(const once_t *once) {
  size_t count = once->context->sample_count;
  return count < OPC_SUBPROCESS_SAMPLES ? count : OPC_SUBPROCESS_SAMPLES;
}

static bool holds(const opc_value_t *value, opc_value_kind_t kind) {
  bool found = value->kind == kind;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    found |= holds(&value->list.items[i], kind);
  return found;
}

static bool sample_holds(const opc_sample_t *sample, opc_value_kind_t kind) {
  bool found = false;
  for (size_t i = 0; i < sample->argument_count; i++) found |= holds(&sample->arguments[i], kind);
  return found;
}

static void add_done(once_t *once, const char *words) {
  opc_text_addf(&once->done, "%s%s", once->done.length ? ", " : "", words);
}

/* ---- each sample unmodified ---- */

/* These arguments were accepted before. If a call is refused and the repeated call is not, earlier calls left something
 * behind that caused the refusal. */
static opc_status_t see_refusal(once_t *once, const opc_trial_t *trial, const opc_trial_outcome_t *first) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  bool any_refused = opc_call_count().refused > 1;
  opc_status_t status = opc_trial_run(trial, &again, once->error);
  const char *message = opc_text_c(&first->message);
  if (status == OPC_OK && first->outcome == OPC_CALL_REJECTED && again.outcome == OPC_CALL_RETURNED)
    opc_finding_fail(once->finding, any_refused ? "determinism.after_failure" : "determinism.run_to_run",
                     "%s a call on sample %s throws, and the same call made again returns: %.*s",
                     any_refused ? "after calls that threw" : "after calls that returned", trial->sample->name,
                     (int)strcspn(message, "\n"), message);
  return status;
}

/* A copy in which every argument that accepts a generator gets one. False: there is none. */
static bool give_generators(const opc_operator_t *op, opc_sample_t *sample) {
  bool any = false;
  for (size_t i = 0; i < sample->argument_count; i++) {
    const opc_type_t *type = &op->arguments[i].type;
    if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
    if (type->kind != OPC_TYPE_GENERATOR) continue;
    opc_value_clear(&sample->arguments[i]);
    sample->arguments[i] = (opc_value_t){.kind = OPC_VALUE_GENERATOR};
    sample->absent[i] = false;
    any = true;
  }
  return any;
}

/* It draws from the default generator; if it is given a generator, it must draw from that one. */
static opc_status_t see_given_generator(once_t *once, const opc_sample_t *sample) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t given = {0};
  opc_trial_t trial = {
      .context = once->context, .sample = &given, .label = {OPC_CALL_KIND_CALL, "with a generator given"}};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t outcome = {0};
  OPC_SCOPED(opc_generators_clear) opc_generators_t generators = {0};
  bool used = false;
  opc_status_t status = opc_sample_copy(sample, &given, once->error);
  if (status != OPC_OK || !give_generators(once->context->op, &given)) return status;
  status = opc_generators_keep(once->context, &generators, once->error);
  if (status == OPC_OK) status = opc_trial_run(&trial, &outcome, once->error);
  if (status == OPC_OK) status = opc_generators_used(once->context, &generators, &used, once->error);
  if (status == OPC_OK && used && outcome.outcome == OPC_CALL_RETURNED)
    opc_finding_fail(
        once->finding, "determinism.generator_ignored",
        "sample %s with a generator given: the call takes numbers from the default generator and changes its state",
        sample->name);
  return status;
}

static opc_status_t see_sample(once_t *once, size_t number) {
  opc_case_context_t *context = once->context;
  const opc_sample_t *sample = &context->samples[number];
  opc_trial_t trial = {.context = context, .sample = sample, .label = {OPC_CALL_KIND_OPERATOR, ""}};
  opc_trial_outcome_t first = {0}, again = {0}, other = {0};
  opc_generators_t generators = {0};
  bool used = false;
  opc_status_t status = opc_generators_keep(context, &generators, once->error);
  if (status == OPC_OK) status = opc_trial_run(&trial, &first, once->error);
  if (status == OPC_OK) status = opc_generators_used(context, &generators, &used, once->error);
  opc_generators_clear(&generators);
  if (status == OPC_OK && first.outcome != OPC_CALL_RETURNED) status = see_refusal(once, &trial, &first);
  if (status != OPC_OK || first.outcome != OPC_CALL_RETURNED) goto release;
  once->returned++;
  once->random |= used;
  once->given_generator |= sample_holds(sample, OPC_VALUE_GENERATOR);
  if (number < OPC_SUBPROCESS_SAMPLES) once->callable[number] = true;
  if (used && context->device.type == OPC_DEVICE_CPU)
    status = see_given_generator(once, sample); /* generators passed as arguments are CPU generators */
  if (status != OPC_OK) goto release;
  trial.conditions = OPC_TRIAL_ELSEWHERE;
  status = opc_trial_run(&trial, &again, once->error);
  once->nondeterministic |= status == OPC_OK && opc_trial_differ(&first, &again, "", NULL);
  if (status != OPC_OK || used || !opc_operator_has_tag(context->op, "nondeterministic_seeded")) goto release;
  trial.conditions = OPC_TRIAL_OTHER_SEED;
  status = opc_trial_run(&trial, &other, once->error);
  once->follows_seed |= status == OPC_OK && opc_trial_differ(&first, &other, "", NULL);

release:
  opc_trial_outcome_clear(&first);
  opc_trial_outcome_clear(&again);
  opc_trial_outcome_clear(&other);
  return status == OPC_ERR_UNSUPPORTED ? OPC_OK : status; /* that sample's own cases report this */
}

static void check_seeded_tag(once_t *once, const opc_subprocess_t *subprocess) {
  if (subprocess && opc_subprocess_random(subprocess)) return;
  if (!opc_operator_has_tag(once->context->op, "nondeterministic_seeded") || !once->returned || once->random ||
      once->follows_seed || once->given_generator)
    return;
  opc_finding_fail(once->finding, "determinism.seeded_tag",
                   "it is tagged nondeterministic_seeded; on %zu samples no call took a number from the default "
                   "generator, and another "
                   "seed gave the same bits",
                   once->returned);
}

/* ---- against the subprocess ---- */

/* Addresses of objects may differ between processes and calls; that has its own warning. */
static const char *rule_of(const char *rule, const opc_trial_outcome_t *left, const opc_trial_outcome_t *right) {
  const bool returned = left->outcome == OPC_CALL_RETURNED && right->outcome == OPC_CALL_RETURNED;
  return returned && opc_results_are_handles(&left->result, &right->result) ? "determinism.handle" : rule;
}

static void report_apart(once_t *once, const char *rule, const opc_trial_outcome_t *left,
                         const opc_trial_outcome_t *right, const char *right_name, const char *before, size_t sample) {
  opc_text_t text = {0};
  opc_trial_differ(left, right, right_name, &text);
  opc_finding_fail(once->finding, rule_of(rule, left, right), "%s, %s; sample %s, on other values than its own", before,
                   opc_text_c(&text), once->context->samples[sample].name);
  opc_text_clear(&text);
}

/* Compares within that process. True: nothing more can be said. */
static bool compare_within(once_t *once, const opc_subprocess_t *subprocess, size_t sample) {
  const opc_trial_outcome_t *stages[OPC_SUBPROCESS_STAGES];
  for (int stage = 0; stage < OPC_SUBPROCESS_STAGES; stage++)
    stages[stage] = opc_subprocess_outcome(subprocess, (opc_subprocess_stage_t)stage, sample);
  const opc_trial_outcome_t *first = stages[OPC_SUBPROCESS_FIRST], *second = stages[OPC_SUBPROCESS_SECOND],
                            *third = stages[OPC_SUBPROCESS_THIRD];
  if (!first || !second || !third || opc_trial_differ(second, third, "", NULL)) return true;
  if (opc_trial_differ(first, second, "", NULL)) {
    report_apart(once, "determinism.order", first, second, "the second one", "in the first call of a process", sample);
    return true;
  }
  for (int stage = OPC_SUBPROCESS_AFTER_OTHERS; stage <= OPC_SUBPROCESS_AFTER_REFUSED; stage++) {
    if (!stages[stage] || !opc_trial_differ(stages[stage], second, "", NULL)) continue;
    char before[600];
    bool refused = stage == OPC_SUBPROCESS_AFTER_REFUSED, others = stage == OPC_SUBPROCESS_AFTER_OTHERS;
    snprintf(before, sizeof before, "after %.560s",
             others ? "a call with other values" : opc_subprocess_before(subprocess));
    opc_finding_note_variant(once->finding, others ? "a call with other values" : opc_subprocess_changed(subprocess));
    report_apart(once, refused ? "determinism.after_failure" : "determinism.order", stages[stage], second,
                 "before that it", before, sample);
    return true;
  }
  return false;
}

/* The same calls in this process, where the operator was called many times before. */
static opc_status_t compare_here(once_t *once, const opc_subprocess_t *subprocess, size_t sample) {
  opc_case_context_t *context = once->context;
  OPC_SCOPED(opc_replay_clear) opc_replay_t other = {0};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t here = {0}, elsewhere = {0};
  bool changed = false;
  opc_trial_t trial = {.context = context,
                       .sample = &context->samples[sample],
                       .values = &other,
                       .label = {OPC_CALL_KIND_CALL_OF_OTHERS, "with other values"}};
  const opc_trial_outcome_t *apart_first = opc_subprocess_outcome(subprocess, OPC_SUBPROCESS_FIRST, sample);
  opc_status_t status = opc_trial_other_values(context, &context->samples[sample], &other, &changed, once->error);
  if (status == OPC_OK) status = opc_trial_run(&trial, &here, once->error);
  trial.conditions = OPC_TRIAL_ELSEWHERE;
  if (status == OPC_OK) status = opc_trial_run(&trial, &elsewhere, once->error);
  if (status != OPC_OK || !apart_first || opc_trial_differ(&here, &elsewhere, "", NULL))
    return status; /* check address reports the latter */
  once->compared += opc_result_numel(&here.result);
  if (opc_trial_differ(&here, apart_first, "", NULL))
    report_apart(once, "determinism.order", &here, apart_first, "as the first call of a process it",
                 "after calls with other values", sample);
  return status;
}

static void compare_turned(once_t *once, const opc_subprocess_t *subprocess, opc_turn_t turn) {
  const opc_trial_outcome_t *first = opc_subprocess_outcome(subprocess, OPC_SUBPROCESS_TURNED_FIRST, turn),
                            *after = opc_subprocess_outcome(subprocess, OPC_SUBPROCESS_TURNED_AFTER, turn);
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  if (!first || !after) return;
  opc_trial_differ(after, first, "as the only call of a process it", &text);
  opc_finding_note_variant(once->finding, opc_subprocess_turned(subprocess, turn));
  opc_finding_fail(once->finding, rule_of("determinism.order", after, first),
                   "%s, after calls as the sample is: %s; sample %s", opc_subprocess_turned(subprocess, turn),
                   opc_text_c(&text), once->context->samples[0].name);
}

static void report_signal(once_t *once, const opc_subprocess_t *subprocess) {
  opc_subprocess_stage_t stage;
  int number = opc_subprocess_signal(subprocess, &stage);
  if (!number) return;
  bool refused = stage == OPC_SUBPROCESS_AFTER_REFUSED, changed = stage == OPC_SUBPROCESS_AFTER_CHANGED;
  const char *before = refused || changed                     ? opc_subprocess_before(subprocess)
                       : stage == OPC_SUBPROCESS_AFTER_OTHERS ? "calls with other values"
                                                              : "a call like it";
  if (refused || changed) opc_finding_note_variant(once->finding, opc_subprocess_changed(subprocess));
  opc_finding_fail(once->finding, refused ? "determinism.after_failure" : "determinism.order",
                   "after %s the process ends with signal %d (%s) in a call that otherwise returns", before, number,
                   strsignal(number));
}

static opc_status_t check_order(once_t *once, const opc_subprocess_t *subprocess) {
  opc_status_t status = OPC_OK;
  bool decided = opc_subprocess_strays(subprocess);
  for (size_t i = 0; status == OPC_OK && !decided && i < sample_count(once); i++) {
    if (!once->callable[i]) continue;
    decided = compare_within(once, subprocess, i);
    if (!decided) status = compare_here(once, subprocess, i);
  }
  for (opc_turn_t turn = 0; turn < OPC_TURNS; turn++)
    if (status == OPC_OK && !once->finding->decided && !opc_subprocess_strays(subprocess))
      compare_turned(once, subprocess, turn);
  if (status == OPC_OK) report_signal(once, subprocess);
  if (once->compared) add_done(once, "in other orders");
  if (once->compared && opc_subprocess_refused(subprocess)) add_done(once, "after calls that threw");
  return status;
}

/* ---- threads ---- */

static opc_status_t check_threads(once_t *once, const opc_subprocess_t *subprocess) {
  opc_case_context_t *context = once->context;
  const opc_sample_t *sample = &context->samples[0];
  opc_enlargement_t large, medium;
  opc_grown_t grown = {0};
  int64_t counted = 0, met = 0;
  opc_subprocess_enlargement(subprocess, &large, &medium);
  opc_status_t status = opc_grown_make(context, sample, &large, false, &grown, once->error);
  if (status == OPC_OK) status = opc_thread_counts_check(context, &grown, &counted, once->finding, once->error);
  opc_grown_clear(&grown);
  bool alone = !once->random && !opc_operator_has_tag(context->op, "nondeterministic_seeded") &&
               !sample_holds(sample, OPC_VALUE_OBJECT) && !sample_holds(sample, OPC_VALUE_GENERATOR);
  if (status == OPC_OK && alone) status = opc_grown_make(context, sample, &medium, true, &grown, once->error);
  if (status == OPC_OK && alone) status = opc_concurrent_check(context, &grown, &met, once->finding, once->error);
  opc_grown_clear(&grown);
  once->compared += counted + met;
  if (counted) add_done(once, "with several intra-op threads");
  if (met) add_done(once, "from two threads at once");
  return status == OPC_ERR_UNSUPPORTED ? OPC_OK : status;
}

void opc_determinism_run_once(opc_case_context_t *context, opc_subprocess_t *subprocess, opc_finding_t *finding) {
  opc_error_t error = {0};
  once_t once = {.context = context, .finding = finding, .error = &error};
  opc_status_t status = OPC_OK;
  for (size_t i = 0; status == OPC_OK && i < context->sample_count; i++) status = see_sample(&once, i);
  if (subprocess) {
    context->announce(OPC_CALL_LABEL(OTHERWISE, "in a process of its own"));
    opc_subprocess_join(subprocess);
  }
  if (status == OPC_OK) check_seeded_tag(&once, subprocess);
  bool comparable = subprocess && !opc_operator_has_tag(context->op, "nondeterministic_bitwise") &&
                    !once.nondeterministic && !opc_asynchronous_found() && !opc_trial_strays();
  if (status == OPC_OK && comparable) status = check_order(&once, subprocess);
  if (status == OPC_OK && comparable && !finding->decided && once.callable[0])
    status = check_threads(&once, subprocess);

  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
  else if (once.compared)
    opc_finding_pass(finding, "%lld values have the same bits %s", (long long)once.compared, opc_text_c(&once.done));
  else if (!once.returned) opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no sample's call returned");
  else if (opc_operator_has_tag(context->op, "nondeterministic_bitwise"))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it is tagged nondeterministic_bitwise");
  else if (!subprocess)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "this process cannot be forked: it has threads of the library, uses CUDA, or runs under Valgrind");
  else
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     opc_asynchronous_found() ? "its results are written after the call has returned"
                     : once.nondeterministic  ? "the same call gives other results when repeated"
                                              : "the operator returns nothing that could be compared");
  opc_subprocess_clear(subprocess);
  opc_text_clear(&once.done);
}
