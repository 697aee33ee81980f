#include "base/system.h"
#include "checks/runner/runner_inside.h"
#include "checks/runner/slow_input.h"

#include <stdlib.h>
#include <string.h>

#include "checks/call/changed_argument.h"
#include "checks/call/device_faults.h"
#include "checks/cuda/cuda_watch.h"
#include "checks/framework/global_state.h"
#include "memory/cpu_memory.h"
#include "memory/device_zones.h"
#include "memory/valgrind_requests.h"
#include "model/json/json_write.h"

bool opc_run_names(const char *name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i], name) == 0) return true;
  return false;
}

bool opc_run_skips(const opc_runner_request_t *request, const char *check, int rank) {
  const size_t length = strlen(check);
  for (size_t i = 0; i < request->skip_count; i++) {
    const char *entry = request->skip[i];
    if (strncmp(entry, check, length) == 0 && entry[length] == ' ' && rank >= atoi(entry + length + 1)) return true;
  }
  return false;
}

/* The case that this one would repeat: the same arguments crashed the operator in another check, the sample itself did
 * in any check, or it hung with the same variant. NULL: none. */
static const opc_case_id_t *crashed_in(const opc_run_t *run, const opc_case_context_t *context) {
  const opc_case_id_t *id = &context->id;
  for (size_t i = 0; i < run->request->crashed_count && context->sample; i++) {
    const opc_case_id_t *crashed = &run->crashed[i];
    if (strcmp(crashed->device, id->device) != 0) continue;
    bool sample = strcmp(crashed->sample, id->sample) == 0, other_check = strcmp(crashed->check, id->check) != 0;
    bool itself = !crashed->dtype[0] && strcmp(crashed->variant, "plain") == 0;
    bool same = strcmp(crashed->dtype, id->dtype) == 0 && strcmp(crashed->variant, id->variant) == 0;
    if (same && ((sample && other_check) || !crashed->sample[0])) return crashed;
    if (sample && itself && !context->unmodified) return crashed;
  }
  return NULL;
}

static opc_status_t must_reject(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_RETURN_IF_ERROR(opc_call_make(&call, context->op, context->sample, context->device, context->seed, error));
  opc_call_run(&call, context->handle, context->seed);
  if (opc_finding_from_outcome(context, &call, finding)) return OPC_OK; /* as requested, or why not */
  if (opc_simulated_uncomputed(context))
    return opc_finding_skip(finding, OPC_SKIP_SIMULATED,
                            "accepted on the simulated device, where the kernel did not run that could have refused "
                            "sample %s",
                            context->base->name);
  return opc_finding_fail(finding, OPC_RULE_sample_accepted,
                          "the operator accepts sample %s, which its file expects it to refuse", context->base->name);
}

/* Only for cases where it matters: in a whole plan the text would cost more than the calls. */
static void send_input(const opc_run_t *run, const char *id_text, const opc_case_context_t *context) {
  const char *last = run->request->only ? run->request->only : run->request->to;
  if (!run->sink->input || !context->sample || !last || strcmp(id_text, last) != 0) return;
  json_auto_t *input = opc_case_evidence(context);
  run->sink->input(input, run->sink->context);
}

/* Filling gigabytes takes a second each time. An allocation that is refused at once costs nothing. */
static int starved_max(const opc_run_t *run) { return run->starved_before ? 1 : 3; }

/* After a use of freed memory that now belongs to something else, or after corrupted memory, a case's outcome depends
 * on everything that ran before. */
static void note_unsound(opc_run_t *run, const opc_case_context_t *context, opc_rule_id_t rule) {
  if (!context->unmodified || (rule != OPC_RULE_memory_out_of_bounds_write && rule != OPC_RULE_memory_use_after_free &&
                               rule != OPC_RULE_memory_dangling_output && rule != OPC_RULE_memory))
    return;
  opc_unsound_t *unsound = &run->unsound[run->device * run->request->sample_count + run->sample];
  if (!unsound->rule) *unsound = (opc_unsound_t){.rule = rule, .check = run->check};
}

/* Where a check noted what it found on the unmodified sample. */
static bool *found_of(const opc_run_t *run) {
  const size_t samples = run->request->sample_count, devices = run->request->device_count;
  return &run->found[(run->check * devices + run->device) * samples + run->sample];
}

/* The rule of another check that found this sample unsound, or, in a case about all samples, one of them. */
static opc_rule_id_t unsound_by(const opc_run_t *run, const opc_case_context_t *context) {
  const opc_unsound_t *first = &run->unsound[run->device * run->request->sample_count];
  size_t from = context->base ? run->sample : 0, to = context->base ? run->sample + 1 : run->request->sample_count;
  if (!opc_check_infos[run->check].calls) return OPC_RULE_NONE;
  for (size_t i = from; i < to; i++)
    if (first[i].rule && first[i].check != run->check) return first[i].rule;
  return OPC_RULE_NONE;
}

/* Called before the operator, so that CUPTI tracks it if it must. On the simulated device, untracked calls cannot be
 * checked. "": the calls are tracked. */
static const char *untracked_in(const opc_run_t *run, const opc_case_context_t *context) {
  if (context->device.type != OPC_DEVICE_CUDA || !opc_check_infos[run->check].calls) return "";
  const char *untracked = opc_cuda_untracked(context->op);
  return context->simulated ? untracked : "";
}

/* Out-of-bounds accesses while a check other than memory ran. If the input is not known to be valid, the result depends
 * on that memory, and proves nothing for this check. */
static void report_accesses(const opc_case_context_t *context, opc_finding_t *finding) {
  const bool others = !(context->rule->judge & OPC_JUDGE_ACCESSES), accessed = opc_accesses_count(OPC_ACCESSES_INVALID);
  const bool written = others && context->simulated && opc_device_zones_written();
  const bool touched = others && (accessed || written);
  if (touched && !opc_provenance_is_valid(&context->provenance)) {
    opc_finding_clear(finding);
    *finding = (opc_finding_t){0};
  }
  if (touched && !opc_case_arguments_fit(context)) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "these arguments may not fit together, and with them the operator accesses memory outside its "
                     "tensors: see check memory");
    return;
  }
  opc_accesses_report(context, OPC_ACCESSES_INVALID, OPC_ACCESSES_ALL, NULL, finding);
  if (written && !accessed) opc_device_zones_report(finding);
}

static bool is_undeclared_change(opc_rule_id_t rule) {
  return rule == OPC_RULE_mutation_undeclared || rule == OPC_RULE_mutation_outside_view;
}

static bool is_check_mutation(const opc_run_t *run) {
  return strcmp(opc_check_infos[run->check].name, "mutation") == 0;
}

/* A call of any check changed an argument. Once per operator: check mutation says more, and the other cases would say
 * the same. A call that went out of bounds may have changed it in another way. */
static void report_changed_argument(opc_run_t *run, const opc_case_context_t *context, opc_finding_t *finding) {
  const opc_changed_argument_t *changed = opc_changed_argument();
  if (!changed->text[0] || run->change_known || is_undeclared_change(finding->rule) || is_check_mutation(run) ||
      opc_accesses_count(OPC_ACCESSES_INVALID) || opc_operator_may_alias_or_mutate(context->op))
    return;
  run->change_known = true;
  opc_finding_fail(finding, changed->outside ? OPC_RULE_mutation_outside_view : OPC_RULE_mutation_undeclared,
                   "a call that check %s makes changes an argument that is not declared mutable: %s",
                   opc_check_infos[run->check].name, changed->text);
}

static int64_t numel_of_result(const opc_result_t *result) {
  int64_t numel = 0;
  for (size_t i = 0; i < result->count; i++)
    if (result->items[i].kind == OPC_VALUE_TENSOR) numel += result->items[i].meta.numel;
  return numel;
}

/* Whether the Meta kernel says that there are elements to compute; false if there is no Meta kernel, or it refuses. */
static bool gives_elements(opc_case_context_t *context) {
  const opc_device_t meta = {OPC_DEVICE_META, -1};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  opc_error_t error;
  context->announce(OPC_CALL_LABEL(META_OTHERWISE, "before the case"));
  return opc_call_make(&call, context->op, context->sample, meta, context->seed, &error) == OPC_OK &&
         opc_call_run(&call, context->handle, context->seed) == OPC_CALL_RETURNED &&
         opc_result_take(&result, &call, OPC_RESULT_ARGUMENTS | OPC_RESULT_META, &error) == OPC_OK &&
         numel_of_result(&result) > 0;
}

/* With an empty batch there is nothing to compute, and every operator can do that. With an empty table, row or point
 * and a non-empty output, there may be nothing to compute it from: an operator may rightly require one element. */
static void settle_provenance(opc_run_t *run, const char *id_text, opc_case_context_t *context,
                              const opc_planned_case_t *planned, char text[OPC_PROVENANCE_SIZE]) {
  const bool asked = (context->variant.families & OPC_VARIANT_EMPTY) && planned->action == OPC_PLAN_CHECK &&
                     context->provenance.change == OPC_INPUT_RELATED && opc_check_infos[run->check].calls &&
                     context->device.type == OPC_DEVICE_CPU && opc_operator_kernel(context->op, "Meta");
  if (!asked || !gives_elements(context)) return;
  context->provenance.change = OPC_INPUT_ALONE;
  opc_provenance_format(&context->provenance, text);
  run->sink->begin(id_text, planned->rule->why, text, run->sink->context);
}

/* The operator takes several lists of tensors, and some list has another length than the longest of them. Reading
 * past the end of a list is seen by nothing: its memory is not a tensor's. */
static bool has_uneven_lists(const opc_operator_t *op, const opc_sample_t *sample) {
  size_t lists = 0, longest = 0;
  for (size_t i = 0; i < sample->argument_count; i++) {
    const opc_value_t *value = &sample->arguments[i];
    if (value->kind != OPC_VALUE_LIST || value->list.count == 0 || !opc_type_holds_tensor(&op->arguments[i].type))
      continue;
    lists++;
    if (value->list.count > longest) longest = value->list.count;
  }
  for (size_t i = 0; lists > 1 && i < sample->argument_count; i++) {
    const opc_value_t *value = &sample->arguments[i];
    if (value->kind == OPC_VALUE_LIST && value->list.count > 0 && value->list.count != longest) return true;
  }
  return false;
}

static bool holds_number(const opc_value_t *value) {
  bool holds = value->kind == OPC_VALUE_INT || value->kind == OPC_VALUE_FLOAT;
  for (size_t i = 0; !holds && value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    holds = holds_number(&value->list.items[i]);
  return holds;
}

/* One tensor, and no number that is given: nothing among the arguments that might not fit together. */
static bool takes_lone_tensor(const opc_sample_t *sample) {
  size_t tensors = 0;
  for (size_t i = 0; i < sample->argument_count; i++) {
    size_t number = 0;
    while (opc_value_tensor(&sample->arguments[i], &number)) number = ++tensors;
    if (!sample->absent[i] && holds_number(&sample->arguments[i])) return false;
  }
  return tensors == 1;
}

/* Another process must run the case: device memory has another allocator here. */
static bool needs_other_allocator(const opc_run_t *run, const opc_case_context_t *context,
                                  const opc_planned_case_t *planned) {
  const unsigned needs = opc_case_table_needs(&opc_case_tables[run->check]);
  const bool zones = context->simulated ? !(needs & OPC_NEEDS_CUDA_CACHE) : (needs & OPC_NEEDS_DEVICE_ZONES) != 0;
  return planned->action != OPC_PLAN_SKIP && context->device.type == OPC_DEVICE_CUDA && !opc_device_zones_choose(zones);
}

/* Sets the finding of a case that is not run. False: it is run. */
static bool skip_case(const opc_run_t *run, const opc_case_context_t *context, const opc_planned_case_t *planned,
                      const char *untracked, opc_finding_t *finding) {
  const opc_runner_request_t *request = run->request;
  const opc_case_id_t *crashed = crashed_in(run, context);
  const opc_rule_id_t unsound = unsound_by(run, context);
  const opc_slow_input_t *slow = request->only && !request->only_if_quick ? NULL : opc_slow_input_find(context);
  if (planned->action == OPC_PLAN_SKIP) {
    opc_finding_skip(finding, planned->reason, "%s", planned->detail);
  } else if (opc_run_skips(request, opc_checks[run->check]->name, opc_provenance_rank(&context->provenance))) {
    opc_finding_skip(finding, OPC_SKIP_AFTER_CRASH, "not run: cases before it crashed or hung");
    opc_finding_evidence(finding, "check_given_up", json_true());
  } else if (request->out_of_time && opc_check_infos[run->check].calls &&
             (request->out_of_time_for_all || !context->unmodified)) {
    opc_finding_skip(finding, OPC_SKIP_BUDGET, "not run: %s", request->out_of_time);
  } else if (untracked[0]) {
    opc_finding_skip(finding, OPC_SKIP_SIMULATED, "%s", untracked);
  } else if (run->starved == starved_max(run)) {
    opc_finding_skip(finding, OPC_SKIP_BUDGET, "not run: %d cases before it ran out of memory",
                     run->starved + run->starved_before);
  } else if (planned->rule->neighbours && *found_of(run)) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "not run: the sample itself has a finding of this check");
  } else if (unsound) {
    opc_finding_skip(finding, OPC_SKIP_AFTER_CRASH,
                     "not run: any finding here would be a consequence of %s, found on this sample before",
                     opc_rule_name(unsound));
  } else if (crashed) {
    const char *what =
        crashed->sample[0] ? "these arguments crashed the operator" : "with this variant of a sample the operator hung";
    opc_finding_skip(finding, OPC_SKIP_AFTER_CRASH, "not run: %s in check %s", what, crashed->check);
    opc_finding_evidence(finding, "crashed_before", json_string(crashed->check));
  } else if (slow) {
    opc_finding_skip(finding, OPC_SKIP_BUDGET,
                     "not run: it would take too long for an input that opcheck-c made (check %s took %.1f s with %lld "
                     "elements, and this input has %lld)",
                     opc_check_infos[slow->check].name, slow->seconds, (long long)slow->elements,
                     (long long)opc_slow_input_elements(context->sample));
  } else {
    return false;
  }
  return true;
}

/* What judging and reports need besides the check's own evidence. found: by the check, or by an external tool. */
static void add_evidence(const opc_case_context_t *context, const opc_planned_case_t *planned, bool found,
                         opc_finding_t *finding) {
  if (found || (context->device.type == OPC_DEVICE_CUDA && opc_device_zones_elsewhere()))
    opc_finding_evidence(finding, "why", json_string(planned->rule->why));
  if (!context->sample || !found) return;
  opc_finding_evidence(finding, "input", opc_case_evidence(context));
  if (has_uneven_lists(context->op, context->sample)) opc_finding_evidence(finding, "uneven_lists", json_true());
  if (takes_lone_tensor(context->sample)) opc_finding_evidence(finding, "lone_tensor", json_true());
}

/* How much a pass is worth: calls that returned, and elements that were compared. */
static void add_amount(const opc_call_count_t *calls_before, uint64_t compared_before, opc_finding_t *finding) {
  const opc_call_count_t now = opc_call_count();
  const uint64_t returned = (now.made - now.refused) - (calls_before->made - calls_before->refused),
                 compared = opc_result_compared() - compared_before;
  if (returned > 0) opc_finding_evidence(finding, "calls", json_integer((json_int_t)returned));
  if (compared > 0) opc_finding_evidence(finding, "compared", json_integer((json_int_t)compared));
}

/* What became of the kernels that were launched on the simulated device. */
static void add_kernels(const opc_kernel_counts_t *before, opc_finding_t *finding) {
  const opc_kernel_counts_t now = opc_simulated_kernels();
  const uint64_t exact = now.exact - before->exact, bounded = now.bounded - before->bounded,
                 replaced = now.replaced - before->replaced, recorded = now.recorded - before->recorded;
  if (exact + bounded + replaced + recorded == 0) return;
  json_t *kernels = json_pack("{s:I, s:I, s:I, s:I}", "exact", (json_int_t)exact, "bounded", (json_int_t)bounded,
                              "replaced", (json_int_t)replaced, "recorded", (json_int_t)recorded);
  if (kernels && recorded > 0) json_object_set_new(kernels, "not_run", opc_json_string(now.not_run));
  if (kernels && now.sampled > before->sampled)
    json_object_set_new(kernels, "sampled", json_integer((json_int_t)(now.sampled - before->sampled)));
  opc_finding_evidence(finding, "kernels", kernels);
}

/* What the finding means for later cases. What any call shows is no reason to leave out cases of this check. */
void opc_run_note_rule(opc_run_t *run, const opc_case_context_t *context, opc_rule_id_t rule) {
  const bool own = rule && (!is_undeclared_change(rule) || is_check_mutation(run));
  note_unsound(run, context, rule);
  if (context->unmodified && own && opc_rules[rule].severity == OPC_SEVERITY_ERROR) *found_of(run) = true;
  run->change_known |= is_undeclared_change(rule);
  run->has_found[run->check] |= own && !(context->rule->judge & OPC_JUDGE_UNLESS_FOUND);
}

static void note_finding(opc_run_t *run, const opc_case_context_t *context, const opc_finding_t *finding, double cpu) {
  const double costs = 0.2;
  /* On purpose: lack of memory for a large variant says nothing about later cases. */
  const bool large = (context->variant.families & OPC_VARIANT_LARGE) != 0;
  if (finding->out_of_memory && !large && cpu > costs) run->starved += run->starved < starved_max(run);
  opc_run_note_rule(run, context, finding->rule);
}

bool opc_run_call(const opc_run_t *run, const char *id_text, opc_case_context_t *context,
                  const opc_planned_case_t *planned) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_finding_clear) opc_finding_t skipped = {0};
  opc_error_t error;
  if (planned->action != OPC_PLAN_CHECK || !context->sample || !context->handle ||
      context->device.type != OPC_DEVICE_CPU || skip_case(run, context, planned, "", &skipped))
    return false;
  if (!opc_case_is_declared(context)) opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_guard_accesses_reset();
  const bool returned =
      opc_call_make(&call, context->op, context->sample, context->device, context->seed, &error) == OPC_OK &&
      opc_call_run(&call, context->handle, context->seed) == OPC_CALL_RETURNED;
  opc_cpu_memory_plain();
  opc_first_call_case(id_text);
  return returned;
}

bool opc_run_case(opc_run_t *run, const char *id_text, opc_case_context_t *context, const opc_planned_case_t *planned) {
  const char *untracked = untracked_in(run, context);
  opc_finding_t finding = {0};
  opc_check_session_t session = {
      .own = &run->own[run->check], .ran = &run->ran[run->check], .found = &run->has_found[run->check]};
  if (needs_other_allocator(run, context, planned)) {
    run->must_replace = true; /* before the case, which the next process starts with */
    if (run->sink->must_replace) run->sink->must_replace(run->sink->context);
    return false;
  }
  if (context->base) session.sample_reported = &run->reported[run->device * run->request->sample_count + run->sample];
  context->session = &session;

  /* A kernel that does not check its arguments may go out of bounds on inputs of ours: that is this case's finding, and
   * must not affect later cases. */
  if (!opc_case_is_declared(context)) opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_guard_accesses_reset();
  opc_device_faults_reset();
  opc_device_zones_reset();
  opc_changed_argument_forget();
  if (context->simulated) opc_simulated_case_begin();
  const opc_kernel_counts_t kernels_before = opc_simulated_kernels();
  opc_cuda_case_begin(context);
  char provenance[OPC_PROVENANCE_SIZE];
  opc_provenance_format(&context->provenance, provenance);
  run->sink->begin(id_text, planned->rule->why, provenance, run->sink->context);
  settle_provenance(run, id_text, context, planned, provenance);
  send_input(run, id_text, context);
  const uint64_t errors_before = opc_valgrind_errors();
  const opc_call_count_t calls_before = opc_call_count();
  const uint64_t compared_before = opc_result_compared();
  const double began = opc_clock(), cpu = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  if (!skip_case(run, context, planned, untracked, &finding)) {
    opc_error_t error = {0};
    if (planned->action == OPC_PLAN_MUST_REJECT && must_reject(context, &finding, &error) != OPC_OK)
      opc_finding_from_error(context, &error, &finding);
    const bool checked = planned->action == OPC_PLAN_CHECK || (context->rule->samples & OPC_REFUSED);
    if (checked && opc_checks[run->check]->run(context, &finding, &error) != OPC_OK)
      opc_finding_from_error(context, &error, &finding);
    run->ran[run->check] |= checked;
    opc_simulated_judge(context, &finding);
  }
  report_accesses(context, &finding);
  report_changed_argument(run, context, &finding);
  run->must_replace = opc_cuda_case_end(context, &finding) || context->must_replace;
  const bool failed = finding.decided && (finding.verdict == OPC_VERDICT_FAIL || finding.verdict == OPC_VERDICT_ERROR);
  add_evidence(context, planned, failed || opc_valgrind_errors() != errors_before, &finding);
  if (finding.decided && finding.verdict == OPC_VERDICT_PASS) add_amount(&calls_before, compared_before, &finding);
  add_kernels(&kernels_before, &finding);
  if (!finding.decided)
    opc_finding_skip(&finding, OPC_SKIP_NOT_APPLICABLE, "there is nothing here that this check could prove");
  const double took = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  note_finding(run, context, &finding, took);
  opc_slow_input_note(context, run->check, took);
  opc_cpu_memory_plain();
  opc_first_call_case(id_text);
  const bool go_on = run->sink->end(id_text, provenance, &finding, opc_clock() - began, run->sink->context);
  run->counts.cases++;
  opc_finding_clear(&finding);
  if (run->must_replace && run->sink->must_replace) run->sink->must_replace(run->sink->context);
  return go_on && !run->must_replace;
}
