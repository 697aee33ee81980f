/* The aggregate case: what calls leave behind for later ones, several threads, and whether a tag for random numbers is
 * true. */
#include <signal.h>
#include <string.h>

#include "checks/compare/compare.h"
#include "checks/determinism/determinism.h"

typedef struct aggregate {
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
} aggregate_t;

static size_t sample_count(const aggregate_t *run) {
  size_t count = run->context->sample_count;
  return count < OPC_SUBPROCESS_SAMPLES ? count : OPC_SUBPROCESS_SAMPLES;
}

static bool value_has_kind(const opc_value_t *value, opc_value_kind_t kind) {
  bool found = value->kind == kind;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    found |= value_has_kind(&value->list.items[i], kind);
  return found;
}

static bool sample_has_kind(const opc_sample_t *sample, opc_value_kind_t kind) {
  bool found = false;
  for (size_t i = 0; i < sample->argument_count; i++) found |= value_has_kind(&sample->arguments[i], kind);
  return found;
}

static void add_done(aggregate_t *run, const char *text) {
  opc_text_addf(&run->done, "%s%s", run->done.length ? ", " : "", text);
}

static void add_compared(aggregate_t *run, int64_t count, const char *text) {
  run->compared += count;
  if (count) add_done(run, text);
}

/* ---- each sample unmodified ---- */

/* These arguments were accepted before. If a call is refused and the repeated call is not, earlier calls left something
 * behind that caused the refusal. */
static opc_status_t check_first_refusal(aggregate_t *run, const opc_again_t *trial, const opc_trial_outcome_t *first) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  bool any_refused = opc_call_count().refused > 1;
  OPC_RETURN_IF_ERROR(opc_trial_run(trial, &again, run->error));
  const char *message = opc_text_c(&first->message);
  if (first->outcome == OPC_CALL_REJECTED && again.outcome == OPC_CALL_RETURNED)
    opc_finding_fail(run->finding, any_refused ? OPC_RULE_determinism_after_failure : OPC_RULE_determinism_run_to_run,
                     "%s a call on sample %s throws, and the same call made again returns: %.*s",
                     any_refused ? "after calls that threw" : "after calls that returned", trial->sample->name,
                     (int)strcspn(message, "\n"), message);
  return OPC_OK;
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
static opc_status_t check_given_generator(aggregate_t *run, const opc_sample_t *sample) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t given = {0};
  opc_again_t trial = {
      .context = run->context, .sample = &given, .label = {OPC_CALL_KIND_CALL, "with a generator given"}};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t outcome = {0};
  bool used = false;
  OPC_RETURN_IF_ERROR(opc_sample_copy(sample, &given, run->error));
  if (!give_generators(run->context->op, &given)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_trial_run_watched(&trial, &outcome, &used, run->error));
  if (used && outcome.outcome == OPC_CALL_RETURNED)
    opc_finding_fail(
        run->finding, OPC_RULE_determinism_generator_ignored,
        "sample %s with a generator given: the call takes numbers from the default generator and changes its state",
        sample->name);
  return OPC_OK;
}

static opc_status_t aggregate_check_sample(aggregate_t *run, size_t number) {
  opc_case_context_t *context = run->context;
  const opc_sample_t *sample = &context->samples[number];
  opc_again_t trial = {.context = context, .sample = sample, .label = {OPC_CALL_KIND_OPERATOR, ""}};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t other = {0}, again = {0}, first = {0};
  bool used = false;
  OPC_RETURN_IF_ERROR(opc_trial_run_watched(&trial, &first, &used, run->error));
  if (first.outcome != OPC_CALL_RETURNED) return check_first_refusal(run, &trial, &first);
  run->returned++;
  run->random |= used;
  run->given_generator |= sample_has_kind(sample, OPC_VALUE_GENERATOR);
  if (number < OPC_SUBPROCESS_SAMPLES) run->callable[number] = true;
  if (used && context->device.type == OPC_DEVICE_CPU) /* generators passed as arguments are CPU generators */
    OPC_RETURN_IF_ERROR(check_given_generator(run, sample));
  trial.conditions = OPC_TRIAL_ELSEWHERE;
  OPC_RETURN_IF_ERROR(opc_trial_run(&trial, &again, run->error));
  run->nondeterministic |= opc_trial_differ(&first, &again, "", NULL);
  if (used || !opc_operator_has_tag(context->op, "nondeterministic_seeded")) return OPC_OK;
  trial.conditions = OPC_TRIAL_OTHER_SEED;
  OPC_RETURN_IF_ERROR(opc_trial_run(&trial, &other, run->error));
  run->follows_seed |= opc_trial_differ(&first, &other, "", NULL);
  return OPC_OK;
}

static void check_seeded_tag(aggregate_t *run, const opc_subprocess_t *subprocess) {
  if (subprocess && opc_subprocess_random(subprocess)) return;
  if (!opc_operator_has_tag(run->context->op, "nondeterministic_seeded") || !run->returned || run->random ||
      run->follows_seed || run->given_generator)
    return;
  opc_finding_fail(run->finding, OPC_RULE_determinism_seeded_tag,
                   "it is tagged nondeterministic_seeded; on %zu samples no call took a number from the default "
                   "generator, and another "
                   "seed gave the same bits",
                   run->returned);
}

/* ---- against the subprocess ---- */

/* Addresses of objects may differ between processes and calls; that has its own warning. */
static opc_rule_id_t aggregate_rule(opc_rule_id_t rule, const opc_trial_outcome_t *left,
                                    const opc_trial_outcome_t *right) {
  const bool returned = left->outcome == OPC_CALL_RETURNED && right->outcome == OPC_CALL_RETURNED;
  return returned && opc_results_are_handles(&left->result, &right->result) ? OPC_RULE_determinism_handle : rule;
}

static void report_subprocess(aggregate_t *run, opc_rule_id_t rule, const opc_trial_outcome_t *left,
                              const opc_trial_outcome_t *right, const char *right_name, const char *before,
                              size_t sample) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_trial_differ(left, right, right_name, &text);
  opc_finding_fail(run->finding, aggregate_rule(rule, left, right), "%s, %s; sample %s, on other values than its own",
                   before, opc_text_c(&text), run->context->samples[sample].name);
}

/* Compares within that process. True: nothing more can be said. */
static bool compare_within(aggregate_t *run, const opc_subprocess_t *subprocess, size_t sample) {
  const opc_trial_outcome_t *stages[OPC_SUBPROCESS_STAGES];
  for (int stage = 0; stage < OPC_SUBPROCESS_STAGES; stage++)
    stages[stage] = opc_subprocess_outcome(subprocess, (opc_subprocess_stage_t)stage, sample);
  const opc_trial_outcome_t *first = stages[OPC_SUBPROCESS_FIRST], *second = stages[OPC_SUBPROCESS_SECOND],
                            *third = stages[OPC_SUBPROCESS_THIRD];
  if (!first || !second || !third || opc_trial_differ(second, third, "", NULL)) return true;
  if (opc_trial_differ(first, second, "", NULL)) {
    report_subprocess(run, OPC_RULE_determinism_order, first, second, "the second one",
                      "in the first call of a process", sample);
    return true;
  }
  for (int stage = OPC_SUBPROCESS_AFTER_OTHERS; stage <= OPC_SUBPROCESS_AFTER_REFUSED; stage++) {
    if (!stages[stage] || !opc_trial_differ(stages[stage], second, "", NULL)) continue;
    char before[600];
    bool refused = stage == OPC_SUBPROCESS_AFTER_REFUSED, others = stage == OPC_SUBPROCESS_AFTER_OTHERS;
    snprintf(before, sizeof before, "after %.560s",
             others ? "a call with other values" : opc_subprocess_before(subprocess));
    opc_finding_note_variant(run->finding, others ? "a call with other values" : opc_subprocess_changed(subprocess));
    report_subprocess(run, refused ? OPC_RULE_determinism_after_failure : OPC_RULE_determinism_order, stages[stage],
                      second, "before that it", before, sample);
    return true;
  }
  return false;
}

/* The same calls in this process, where the operator was called many times before. */
static opc_status_t compare_here(aggregate_t *run, const opc_subprocess_t *subprocess, size_t sample) {
  opc_case_context_t *context = run->context;
  OPC_SCOPED(opc_replay_clear) opc_replay_t other = {0};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t here = {0}, elsewhere = {0};
  bool changed = false;
  opc_again_t trial = {.context = context,
                       .sample = &context->samples[sample],
                       .replay = &other,
                       .label = {OPC_CALL_KIND_CALL_OF_OTHERS, "with other values"}};
  const opc_trial_outcome_t *there = opc_subprocess_outcome(subprocess, OPC_SUBPROCESS_FIRST, sample);
  OPC_RETURN_IF_ERROR(opc_trial_other_values(context, &context->samples[sample], &other, &changed, run->error));
  OPC_RETURN_IF_ERROR(opc_trial_run(&trial, &here, run->error));
  trial.conditions = OPC_TRIAL_ELSEWHERE;
  OPC_RETURN_IF_ERROR(opc_trial_run(&trial, &elsewhere, run->error));
  if (!there || opc_trial_differ(&here, &elsewhere, "", NULL))
    return OPC_OK; /* the samples' own cases report the latter */
  run->compared += opc_result_numel(&here.result);
  if (opc_trial_differ(&here, there, "", NULL))
    report_subprocess(run, OPC_RULE_determinism_order, &here, there, "as the first call of a process it",
                      "after calls with other values", sample);
  return OPC_OK;
}

static void compare_turned(aggregate_t *run, const opc_subprocess_t *subprocess, opc_turn_t turn) {
  const opc_trial_outcome_t *first = opc_subprocess_outcome(subprocess, OPC_SUBPROCESS_TURNED_FIRST, turn),
                            *after = opc_subprocess_outcome(subprocess, OPC_SUBPROCESS_TURNED_AFTER, turn);
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  if (!first || !after) return;
  opc_trial_differ(after, first, "as the only call of a process it", &text);
  opc_finding_note_variant(run->finding, opc_subprocess_turned(subprocess, turn));
  opc_finding_fail(run->finding, aggregate_rule(OPC_RULE_determinism_order, after, first),
                   "%s, after calls as the sample is: %s; sample %s", opc_subprocess_turned(subprocess, turn),
                   opc_text_c(&text), run->context->samples[0].name);
}

static void report_larger(aggregate_t *run, const opc_subprocess_t *subprocess) {
  const char *larger = opc_subprocess_turned(subprocess, OPC_TURN_LARGER);
  int number;
  if (!opc_subprocess_larger_fails(subprocess, &number)) return;
  opc_finding_note_variant(run->finding, larger);
  opc_finding_fail(
      run->finding, OPC_RULE_determinism_order,
      "%s, after calls as the sample is: it %s%s, and as the only call of a process it does not; sample %s", larger,
      number ? "ends the process with " : "reads or writes outside its tensors", number ? strsignal(number) : "",
      run->context->samples[0].name);
}

static void report_signal(aggregate_t *run, const opc_subprocess_t *subprocess) {
  opc_subprocess_stage_t stage;
  int number = opc_subprocess_signal(subprocess, &stage);
  if (!number) return;
  bool refused = stage == OPC_SUBPROCESS_AFTER_REFUSED, changed = stage == OPC_SUBPROCESS_AFTER_CHANGED;
  const char *before = refused || changed                     ? opc_subprocess_before(subprocess)
                       : stage == OPC_SUBPROCESS_AFTER_OTHERS ? "calls with other values"
                                                              : "a call like it";
  if (refused || changed) opc_finding_note_variant(run->finding, opc_subprocess_changed(subprocess));
  opc_finding_fail(run->finding, refused ? OPC_RULE_determinism_after_failure : OPC_RULE_determinism_order,
                   "after %s the process ends with signal %d (%s) in a call that otherwise returns", before, number,
                   strsignal(number));
}

static opc_status_t check_order(aggregate_t *run, const opc_subprocess_t *subprocess) {
  const bool out_of_bounds = opc_subprocess_out_of_bounds(subprocess);
  bool decided = out_of_bounds;
  for (size_t i = 0; !decided && i < sample_count(run); i++) {
    if (!run->callable[i]) continue;
    decided = compare_within(run, subprocess, i);
    if (!decided) OPC_RETURN_IF_ERROR(compare_here(run, subprocess, i));
  }
  for (opc_turn_t turn = 0; turn < OPC_TURNS && !out_of_bounds && !run->finding->decided; turn++)
    compare_turned(run, subprocess, turn);
  if (!out_of_bounds && !run->finding->decided) report_larger(run, subprocess);
  report_signal(run, subprocess);
  if (run->compared) add_done(run, "in other orders");
  if (run->compared && opc_subprocess_refused(subprocess)) add_done(run, "after calls that threw");
  return OPC_OK;
}

/* ---- batches ---- */

/* What a sample promises is an error, also if nothing shows that it holds. */
static void report_batch(aggregate_t *run, const opc_sample_t *sample, const opc_batch_t *batch) {
  const bool mixed = batch->kind == OPC_BATCH_MIXED, promised = sample->expect.batch_invariant;
  opc_finding_note_variant(run->finding, batch->variant);
  opc_finding_fail(run->finding, mixed ? OPC_RULE_determinism_batch_mixed : OPC_RULE_determinism_batch_variant,
                   "%s; sample %s%s", batch->text, sample->name, promised ? ", which promises batch invariance" : "");
  if (promised) run->finding->severity = OPC_SEVERITY_ERROR;
}

static void check_rows_of_batches(aggregate_t *run, const opc_subprocess_t *subprocess) {
  for (size_t i = 0; i < sample_count(run) && !run->finding->decided; i++) {
    const opc_sample_t *sample = &run->context->samples[i];
    const opc_batch_t *batch = opc_subprocess_batch(subprocess, i);
    if (batch->kind > OPC_BATCH_INSIDE || (batch->kind == OPC_BATCH_INSIDE && sample->expect.batch_invariant))
      report_batch(run, sample, batch);
    else if (batch->kind < OPC_BATCH_SAME && sample->expect.batch_invariant) {
      opc_finding_fail(run->finding, OPC_RULE_determinism_batch_variant,
                       "sample %s promises batch invariance, but no dimension of its tensors is a batch: permuting it "
                       "does not permute the result, or the call on other numbers of rows fails",
                       sample->name);
      run->finding->severity = OPC_SEVERITY_ERROR;
    } else if (batch->kind == OPC_BATCH_SAME) {
      OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
      opc_text_addf(&text, "in batches of 1 to %lld rows", (long long)batch->rows);
      add_compared(run, batch->values, opc_text_c(&text));
    }
  }
}

/* ---- threads ---- */

static opc_status_t check_thread_counts(aggregate_t *run, const opc_enlargement_t *growth) {
  OPC_SCOPED(opc_grown_clear) opc_grown_t grown = {0};
  int64_t compared = 0;
  OPC_RETURN_IF_ERROR(opc_grown_make(run->context, &run->context->samples[0], growth, false, &grown, run->error));
  const opc_status_t status = opc_thread_counts_check(run->context, &grown, &compared, run->finding, run->error);
  add_compared(run, compared, "with several intra-op threads");
  return status;
}

static opc_status_t check_concurrent(aggregate_t *run, const opc_enlargement_t *growth) {
  OPC_SCOPED(opc_grown_clear) opc_grown_t grown = {0};
  int64_t compared = 0;
  OPC_RETURN_IF_ERROR(opc_grown_make(run->context, &run->context->samples[0], growth, true, &grown, run->error));
  const opc_status_t status = opc_concurrent_check(run->context, &grown, &compared, run->finding, run->error);
  add_compared(run, compared, "from two threads at once");
  return status;
}

static opc_status_t check_threads(aggregate_t *run, const opc_subprocess_t *subprocess) {
  const opc_sample_t *sample = &run->context->samples[0];
  opc_enlargement_t large, medium;
  opc_subprocess_enlargement(subprocess, &large, &medium);
  OPC_RETURN_IF_ERROR(check_thread_counts(run, &large));
  const bool alone = !run->random && !opc_operator_has_tag(run->context->op, "nondeterministic_seeded") &&
                     !sample_has_kind(sample, OPC_VALUE_OBJECT) && !sample_has_kind(sample, OPC_VALUE_GENERATOR);
  return alone ? check_concurrent(run, &medium) : OPC_OK;
}

static opc_status_t aggregate_run(aggregate_t *run, opc_subprocess_t *subprocess) {
  opc_case_context_t *context = run->context;
  for (size_t i = 0; i < context->sample_count; i++)
    OPC_RETURN_IF_ERROR(opc_status_of_sample(aggregate_check_sample(run, i)));
  if (subprocess) {
    context->announce(OPC_CALL_LABEL(OTHERWISE, "in a process of its own"));
    opc_subprocess_join(subprocess);
  }
  check_seeded_tag(run, subprocess);
  if (!subprocess || opc_operator_has_tag(context->op, "nondeterministic_bitwise") || run->nondeterministic ||
      opc_asynchronous_found() || opc_trial_out_of_bounds())
    return OPC_OK;
  OPC_RETURN_IF_ERROR(check_order(run, subprocess));
  if (run->finding->decided || !run->callable[0]) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_status_of_sample(check_threads(run, subprocess)));
  check_rows_of_batches(run, subprocess); /* a race is a race in any batch */
  return OPC_OK;
}

/* The verdict, unless the finding is decided. */
static void aggregate_conclude(const aggregate_t *run, const opc_subprocess_t *subprocess) {
  const char *why = "the operator returns nothing that could be compared";
  if (run->compared) {
    opc_finding_pass(run->finding, "%lld values have the same bits %s", (long long)run->compared,
                     opc_text_c(&run->done));
    return;
  }
  if (!run->returned) why = "no sample's call returned";
  else if (opc_operator_has_tag(run->context->op, "nondeterministic_bitwise"))
    why = "it is tagged nondeterministic_bitwise";
  else if (!subprocess)
    why = "this process cannot be forked: it has threads of the library, uses CUDA, or runs under Valgrind";
  else if (opc_asynchronous_found()) why = "its results are written after the call has returned";
  else if (run->nondeterministic) why = "the same call gives other results when repeated";
  opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, "%s", why);
}

opc_status_t opc_determinism_run_aggregate(opc_case_context_t *context, opc_subprocess_t *subprocess,
                                           opc_finding_t *finding, opc_error_t *error) {
  aggregate_t run = {.context = context, .finding = finding, .error = error};
  const opc_status_t status = aggregate_run(&run, subprocess);
  if (!status) aggregate_conclude(&run, subprocess);
  opc_subprocess_clear(subprocess);
  opc_text_clear(&run.done);
  return status;
}
