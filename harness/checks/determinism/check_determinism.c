/* determinism: the same call gives the same bits, whatever else is different. The cases of single samples are here;
 * determinism_aggregate.c has the aggregate case. */

#include "checks/compare/compare.h"
#include "checks/determinism/determinism.h"
#include "memory/cpu_memory.h"

/* ---- a sample's case ---- */

typedef struct sample_case {
  opc_case_context_t *context;
  opc_finding_t *finding;
  opc_error_t *error;
  opc_trial_outcome_t first;
  bool uses_generator;
  bool floating;   /* some argument is floating */
  bool says_dtype; /* the default dtype does not affect the result's dtype */
  bool differs;    /* a difference was found; others may follow from it */
  bool handles;    /* the last comparison: only addresses differed */
  int calls;
} sample_case_t;

static opc_again_t trial_of(const sample_case_t *run, unsigned conditions, opc_call_label_t label) {
  return (opc_again_t){
      .context = run->context, .sample = run->context->sample, .conditions = conditions, .label = label};
}

static bool is_unwritten(const opc_result_item_t *item) {
  const unsigned char *bytes = item->bytes;
  if (item->kind != OPC_VALUE_TENSOR || !bytes || !item->size) return false;
  for (size_t i = 0; i < item->size; i++)
    if (bytes[i] != opc_poison_byte()) return false;
  return true;
}

/* All differing items consist of the fill byte of new memory on both sides, so they are unwritten. Check initialisation
 * reports that; a placeholder may have any dtype. */
static bool differ_in_unwritten(const opc_result_t *left, const opc_result_t *right) {
  bool differ = false;
  for (size_t i = 0; i < left->count && left->count == right->count; i++) {
    if (!opc_result_item_differs(left, right, i)) continue;
    if (!is_unwritten(&left->items[i]) || !is_unwritten(&right->items[i])) return false;
    differ = true;
  }
  return differ;
}

/* Runs under `conditions` and compares with the first call. *out_differs: they differ, and the text says where. */
static opc_status_t compare_under(sample_case_t *run, const opc_again_t *trial, const char *name, opc_text_t *out,
                                  bool *out_differs) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  *out_differs = run->handles = false;
  run->calls++;
  OPC_RETURN_IF_ERROR(opc_trial_run(trial, &again, run->error));
  /* If it reads out of bounds, the result depends on the memory there: check memory reports that. */
  *out_differs = opc_trial_differ(&run->first, &again, name, out) && !opc_trial_out_of_bounds() &&
                 !differ_in_unwritten(&run->first.result, &again.result);
  run->handles = *out_differs && again.outcome == OPC_CALL_RETURNED && run->first.outcome == OPC_CALL_RETURNED &&
                 opc_results_are_handles(&run->first.result, &again.result);
  return OPC_OK;
}

/* By PyTorch's convention, the default dtype applies where a floating result gets no dtype from an argument: all
 * arguments are integers, each item of a list has its own result, or an optional dtype is not given. */
static void look_at_arguments(sample_case_t *run) {
  const opc_sample_t *sample = run->context->sample;
  bool decides = false;
  for (size_t i = 0; i < sample->argument_count; i++) {
    const opc_type_t *type = &run->context->op->arguments[i].type;
    if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
    const opc_tensor_spec_t *spec;
    for (size_t k = 0, number = 0; (spec = opc_value_tensor(&sample->arguments[i], &number)); number = ++k) {
      bool floating = opc_dtype_is_inexact(spec->dtype);
      run->floating |= floating;
      decides |= type->kind == OPC_TYPE_LIST && !floating;
    }
    decides |= type->kind == OPC_TYPE_DTYPE && (sample->absent[i] || sample->arguments[i].kind == OPC_VALUE_NONE);
  }
  run->says_dtype = !decides && run->floating;
}

/* The call that all others are compared with, and what one call shows by itself. */
static opc_status_t first_call(sample_case_t *run, bool plain) {
  opc_case_context_t *context = run->context;
  opc_again_t trial = trial_of(run, 0, OPC_CALL_LABEL(OPERATOR, ""));
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_generators_clear) opc_generators_t generators = {0};
  OPC_SCOPED(opc_threads_clear) opc_threads_t threads = {0};
  OPC_RETURN_IF_ERROR(opc_generators_keep(context, &generators, run->error));
  OPC_RETURN_IF_ERROR(opc_threads_list(&threads, run->error));
  OPC_RETURN_IF_ERROR(opc_trial_make(&trial, &call, run->error));
  opc_trial_call(&trial, &call);
  if (opc_finding_from_outcome(context, &call, run->finding)) return OPC_OK;
  run->calls++;
  OPC_RETURN_IF_ERROR(opc_result_take(&run->first.result, &call, OPC_RESULT_ARGUMENTS, run->error));
  OPC_RETURN_IF_ERROR(opc_generators_used(context, &generators, &run->uses_generator, run->error));
  if (plain) OPC_RETURN_IF_ERROR(opc_asynchronous_check(&call, &threads, &run->first.result, run->finding, run->error));
  if (run->uses_generator && !opc_operator_has_tag(context->op, "nondeterministic_seeded"))
    opc_finding_fail(run->finding, OPC_RULE_determinism_untagged_random,
                     "the call takes numbers from the default generator and changes its state; the "
                     "operator has no tag that says so");
  return OPC_OK;
}

/* Repeats the same call a few times, to see whether the results differ from each other. */
static opc_status_t differ_among_each_other(sample_case_t *run, const opc_again_t *trial, bool *out_differ) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t first = {0};
  *out_differ = false;
  OPC_RETURN_IF_ERROR(opc_trial_run(trial, &first, run->error));
  for (int i = 0; i < 2 && !*out_differ; i++) {
    OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
    OPC_RETURN_IF_ERROR(opc_trial_run(trial, &again, run->error));
    *out_differ = opc_trial_differ(&first, &again, "", NULL);
  }
  return OPC_OK;
}

static opc_status_t differ_in_place(sample_case_t *run, bool *out_differ) {
  opc_again_t trial = trial_of(run, 0, OPC_CALL_LABEL(CALL, "in the same memory as before"));
  trial.places = opc_places_new(run->context->sample);
  if (!trial.places) return opc_error_set(run->error, OPC_ERR_MEMORY, "out of memory for the arguments");
  const opc_status_t status = differ_among_each_other(run, &trial, out_differ);
  opc_places_free(trial.places);
  return status;
}

/* The result differs although nothing was changed on purpose; but tensors may be at other addresses. Addresses are the
 * cause if calls with fixed memory agree and other calls differ again. */
static opc_status_t is_of_address(sample_case_t *run, bool *out_of_address) {
  bool in_place = true;
  *out_of_address = false;
  OPC_RETURN_IF_ERROR(differ_in_place(run, &in_place));
  if (in_place) return OPC_OK;
  opc_again_t trial = trial_of(run, OPC_TRIAL_ELSEWHERE, OPC_CALL_LABEL(CALL, "at other addresses"));
  OPC_RETURN_IF_ERROR(differ_among_each_other(run, &trial, out_of_address));
  if (*out_of_address) return OPC_OK;
  trial = trial_of(run, 0, OPC_CALL_LABEL(OPERATOR, "once more"));
  return differ_among_each_other(run, &trial, out_of_address);
}

/* PyTorch's convention for results that depend on the order in which threads add: the operator refuses to run where
 * only deterministic algorithms are allowed. */
static opc_status_t is_declared(sample_case_t *run, bool *out) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t outcome = {0};
  opc_again_t trial =
      trial_of(run, OPC_TRIAL_ONLY_DETERMINISTIC, OPC_CALL_LABEL(CALL, "that allows deterministic algorithms only"));
  const bool computed = !opc_simulated_uncomputed(run->context);
  OPC_RETURN_IF_ERROR(opc_trial_run(&trial, &outcome, run->error));
  /* Libtorch then fills new memory, by a kernel of its own. */
  if (computed && opc_simulated_uncomputed(run->context)) opc_simulated_case_resume();
  *out = outcome.outcome != OPC_CALL_RETURNED &&
         opc_torch_says(OPC_TORCH_REFUSES_DETERMINISM, opc_text_c(&outcome.message));
  return OPC_OK;
}

/* True in *out: it is, and the finding says so. */
static opc_status_t skip_declared(sample_case_t *run, bool *out) {
  OPC_RETURN_IF_ERROR(is_declared(run, out));
  if (*out)
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE,
                     "the operator says that its result differs from run to run: it throws where only deterministic "
                     "algorithms are allowed");
  return OPC_OK;
}

static opc_status_t report_run_to_run(sample_case_t *run, const char *text) {
  bool known = false;
  OPC_RETURN_IF_ERROR(skip_declared(run, &known));
  if (known) return OPC_OK;
  return opc_finding_fail(run->finding, OPC_RULE_determinism_run_to_run, "%s%s", text,
                          opc_operator_has_tag(run->context->op, "nondeterministic_seeded")
                              ? "; both with the same seed of all generators"
                              : "");
}

/* A result that was kept for other data at the same address differs between addresses too. */
static opc_status_t report_address(sample_case_t *run, const char *text) {
  bool kept = false;
  if (run->context->unmodified && run->context->device.type == OPC_DEVICE_CPU)
    OPC_RETURN_IF_ERROR(opc_determinism_cache_is_cause(run->context, &kept, run->finding, run->error));
  if (!kept) opc_finding_fail(run->finding, OPC_RULE_determinism_address, "%s", text);
  return OPC_OK;
}

static opc_status_t check_again(sample_case_t *run) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  bool of_address = false;
  opc_again_t trial = trial_of(run, 0, OPC_CALL_LABEL(OPERATOR, "second run"));
  OPC_RETURN_IF_ERROR(compare_under(run, &trial, "a second run", &text, &run->differs));
  if (!run->differs) return OPC_OK;
  if (run->handles)
    return opc_finding_fail(run->finding, OPC_RULE_determinism_handle,
                            "%s; only addresses of this process's memory differ", opc_text_c(&text));
  if (run->context->device.type == OPC_DEVICE_CPU) OPC_RETURN_IF_ERROR(is_of_address(run, &of_address));
  if (!of_address) return report_run_to_run(run, opc_text_c(&text));
  opc_text_add(&text, "; with the arguments in the same memory again it does not differ");
  return report_address(run, opc_text_c(&text));
}

static const struct condition_row {
  opc_trial_condition_t condition;
  opc_rule_id_t rule;
  const char *name;
  opc_call_label_t label;
} condition_rows[] = {
    {OPC_TRIAL_ELSEWHERE,
     OPC_RULE_determinism_address,
     "with its tensors at other addresses it",
     {OPC_CALL_KIND_CALL, "at other addresses"}},
    {OPC_TRIAL_NO_GRAD,
     OPC_RULE_determinism_grad_mode,
     "with grad mode off it",
     {OPC_CALL_KIND_CALL, "with grad mode off"}},
    {OPC_TRIAL_DEFAULT_DTYPE,
     OPC_RULE_determinism_default_dtype,
     "with float64 as default dtype it",
     {OPC_CALL_KIND_CALL, "with another default dtype"}},
    {OPC_TRIAL_OTHER_SEED,
     OPC_RULE_determinism_untagged_random,
     "with another seed of the generators it",
     {OPC_CALL_KIND_CALL, "with another seed"}},
};
static const struct condition_row requires_grad_row = {
    OPC_TRIAL_REQUIRES_GRAD,
    OPC_RULE_determinism_grad_mode,
    "on arguments that require gradients it",
    {OPC_CALL_KIND_CALL_OF_OTHERS, "on arguments that require gradients"}};
enum { CONDITION_ROWS = sizeof condition_rows / sizeof *condition_rows, AGAIN = 3 };

/* The code path with gradients may round differently, as in some of libtorch's own operators. */
static opc_status_t is_grad_rounding(sample_case_t *run, const opc_result_t *got, bool *out_rounding) {
  opc_case_context_t *context = run->context;
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t tolerance = {0};
  opc_again_t trial = trial_of(run, 0, OPC_CALL_LABEL(NONE, ""));
  opc_again_t again = {.context = context,
                       .replay = &values,
                       .label = {OPC_CALL_KIND_CALL_OF_OTHERS, "on values moved by a unit in the last place"}};
  opc_bound_t bound = {.got = got,
                       .reference = &run->first.result,
                       .tolerance = &tolerance,
                       .ulps = OPC_TOLERANCE_ULPS,
                       .narrow = OPC_DTYPE_OTHER};
  OPC_RETURN_IF_ERROR(opc_trial_make(&trial, &call, run->error));
  OPC_RETURN_IF_ERROR(opc_replay_take(&values, &call, run->error));
  OPC_RETURN_IF_ERROR(opc_tolerance_measure(&tolerance, &again, &run->first.result, run->error));
  *out_rounding = opc_result_compare(got, &run->first.result, opc_bound_holds, &bound).kind == OPC_DIFFERENCE_NONE;
  return OPC_OK;
}

/* The only difference: outputs that are empty in one mode and have elements in the other, as those of a backward
 * operator that computes just the gradients that are wanted. */
static bool differ_in_placeholders(const opc_result_t *left, const opc_result_t *right) {
  bool differ = false;
  for (size_t i = 0; i < left->count && left->count == right->count; i++) {
    const opc_result_item_t *a = &left->items[i], *b = &right->items[i];
    if (!opc_result_item_differs(left, right, i)) continue;
    if (a->kind != OPC_VALUE_TENSOR || b->kind != OPC_VALUE_TENSOR || (a->meta.numel == 0) == (b->meta.numel == 0))
      return false;
    differ = true;
  }
  return differ;
}

/* Check autograd reports arguments that are refused because of requires_grad. */
static opc_status_t check_grad(sample_case_t *run, const struct condition_row *row, bool *out_differs) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  bool rounding = false;
  opc_again_t trial = trial_of(run, row->condition, row->label);
  *out_differs = false;
  run->calls++;
  OPC_RETURN_IF_ERROR(opc_trial_run(&trial, &again, run->error));
  const bool returned = again.outcome == OPC_CALL_RETURNED;
  *out_differs = !opc_trial_out_of_bounds() && (returned || row->condition == OPC_TRIAL_NO_GRAD) &&
                 opc_trial_differ(&run->first, &again, row->name, &text);
  if (!*out_differs) return OPC_OK;
  const bool placeholder = returned && differ_in_placeholders(&run->first.result, &again.result);
  if (returned && !placeholder) OPC_RETURN_IF_ERROR(is_grad_rounding(run, &again.result, &rounding));
  return opc_finding_fail(run->finding,
                          placeholder ? OPC_RULE_determinism_grad_output
                          : rounding  ? OPC_RULE_determinism_grad_rounding
                                      : row->rule,
                          "%s", opc_text_c(&text));
}

/* Rules out chance: the call without any change, a few times. */
static opc_status_t check_unchanged(sample_case_t *run, bool *out_found) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_again_t trial = trial_of(run, 0, OPC_CALL_LABEL(OPERATOR, "once more"));
  *out_found = false;
  for (int i = 0; !*out_found && i < AGAIN; i++) {
    opc_text_reset(&text);
    OPC_RETURN_IF_ERROR(compare_under(run, &trial, "a later run", &text, out_found));
  }
  if (*out_found && !run->handles) return report_run_to_run(run, opc_text_c(&text));
  if (*out_found) opc_finding_fail(run->finding, OPC_RULE_determinism_handle, "%s", opc_text_c(&text));
  return OPC_OK;
}

static opc_status_t check_condition(sample_case_t *run, const struct condition_row *row, bool *out_differs) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_again_t trial = trial_of(run, row->condition, row->label);
  if (row->condition == OPC_TRIAL_NO_GRAD) return check_grad(run, row, out_differs);
  OPC_RETURN_IF_ERROR(compare_under(run, &trial, row->name, &text, out_differs));
  if (*out_differs && row->condition == OPC_TRIAL_ELSEWHERE) return report_address(run, opc_text_c(&text));
  if (*out_differs) opc_finding_fail(run->finding, row->rule, "%s", opc_text_c(&text));
  return OPC_OK;
}

/* All conditions at once; each one alone only if that differs. */
static opc_status_t check_conditions(sample_case_t *run) {
  OPC_SCOPED(opc_text_clear) opc_text_t together = {0};
  unsigned conditions = OPC_TRIAL_ELSEWHERE | OPC_TRIAL_NO_GRAD;
  bool found = false;
  /* Random numbers of another dtype are other numbers. */
  if (run->says_dtype && !run->uses_generator) conditions |= OPC_TRIAL_DEFAULT_DTYPE;
  if (!run->uses_generator && !opc_operator_has_tag(run->context->op, "nondeterministic_seeded"))
    conditions |= OPC_TRIAL_OTHER_SEED;
  opc_again_t trial = trial_of(run, conditions, OPC_CALL_LABEL(CALL, "in other surroundings"));
  OPC_RETURN_IF_ERROR(compare_under(run, &trial, "in other surroundings it", &together, &run->differs));
  if (!run->differs) return OPC_OK;
  OPC_RETURN_IF_ERROR(check_unchanged(run, &found));
  if (found) return OPC_OK;
  for (size_t i = 0; i < CONDITION_ROWS; i++) {
    bool differs = false;
    if (!(conditions & condition_rows[i].condition)) continue;
    OPC_RETURN_IF_ERROR(check_condition(run, &condition_rows[i], &differs));
    found |= differs;
  }
  /* A call that goes out of bounds was not compared: it may be the cause. */
  if (!found && !opc_trial_out_of_bounds())
    opc_finding_fail(run->finding, OPC_RULE_determinism_run_to_run, "%s; none of the changes does that alone",
                     opc_text_c(&together));
  return OPC_OK;
}

/* On a real device, the call's kernels then run concurrently with others. */
static opc_status_t check_under_load(sample_case_t *run) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_again_t trial = trial_of(run, 0, OPC_CALL_LABEL(CALL, "while the device is busy"));
  OPC_RETURN_IF_ERROR(opc_determinism_under_load(&trial, &run->first, &run->differs, &run->calls, &text, run->error));
  if (run->differs) opc_finding_fail(run->finding, OPC_RULE_determinism_busy_stream, "%s", opc_text_c(&text));
  return OPC_OK;
}

static opc_status_t check_schedules(sample_case_t *run) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_schedule_effect_t effect = OPC_SCHEDULE_NO_EFFECT;
  bool known = false;
  opc_again_t trial = trial_of(run, 0, OPC_CALL_LABEL(CALL, "with the blocks of its kernels in another order"));
  OPC_RETURN_IF_ERROR(opc_determinism_schedules(&trial, &run->first, &run->calls, &effect, &text, run->error));
  run->differs = effect != OPC_SCHEDULE_NO_EFFECT;
  if (run->differs) OPC_RETURN_IF_ERROR(skip_declared(run, &known));
  if (run->differs && !known)
    opc_finding_fail(
        run->finding,
        effect == OPC_SCHEDULE_ROUNDING ? OPC_RULE_determinism_schedule_rounding : OPC_RULE_determinism_schedule, "%s",
        opc_text_c(&text));
  return OPC_OK;
}

static opc_status_t sample_case_run(sample_case_t *run) {
  opc_case_context_t *context = run->context;
  bool plain = context->unmodified, cpu = context->device.type == OPC_DEVICE_CPU;
  look_at_arguments(run);
  OPC_RETURN_IF_ERROR(first_call(run, plain));
  if (run->finding->decided) return OPC_OK;

  int64_t numel = opc_result_numel(&run->first.result);
  if (opc_operator_has_tag(context->op, "nondeterministic_bitwise"))
    return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, "it is tagged nondeterministic_bitwise");
  if (!numel)
    return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE,
                            "the operator returns nothing that could be compared");
  OPC_RETURN_IF_ERROR(check_again(run));
  if (!run->differs) OPC_RETURN_IF_ERROR(check_conditions(run));
  if (!run->differs && plain && run->floating) OPC_RETURN_IF_ERROR(check_grad(run, &requires_grad_row, &run->differs));
  if (!run->differs && plain && cpu)
    OPC_RETURN_IF_ERROR(opc_determinism_cache_check(context, &run->calls, run->finding, run->error));
  if (!run->differs && plain && context->device.type == OPC_DEVICE_CUDA && !context->simulated)
    OPC_RETURN_IF_ERROR(check_under_load(run));
  if (!run->differs && context->simulated) OPC_RETURN_IF_ERROR(check_schedules(run));
  return opc_finding_pass(run->finding, "%lld values have the same bits in %d calls under changing conditions",
                          (long long)numel, run->calls);
}

/* ---- the check ---- */

static opc_subprocess_t **subprocess_of(const opc_case_context_t *context) {
  return (opc_subprocess_t **)((const opc_check_session_t *)context->session)->own;
}

static void determinism_before(opc_case_context_t *context) {
  bool cpu = context->device.type == OPC_DEVICE_CPU;
  if (cpu && !opc_operator_has_tag(context->op, "nondeterministic_bitwise"))
    *subprocess_of(context) = opc_subprocess_start(context);
}

static opc_status_t determinism_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  sample_case_t sample = {.context = context, .finding = finding, .error = error};
  opc_status_t status;
  bool cpu = context->device.type == OPC_DEVICE_CPU;
  opc_trial_memory_begin();
  if (cpu && *subprocess_of(context)) opc_subprocess_wake(*subprocess_of(context));
  if (!context->sample) {
    status = opc_determinism_run_aggregate(context, cpu ? *subprocess_of(context) : NULL, finding, error);
    if (cpu) *subprocess_of(context) = NULL;
  } else {
    status = sample_case_run(&sample);
  }
  opc_trial_memory_end();
  opc_trial_outcome_clear(&sample.first);
  return status;
}

const opc_check_t opc_check_determinism = {.name = "determinism", .before = determinism_before, .run = determinism_run};
