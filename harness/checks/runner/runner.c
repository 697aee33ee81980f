#include "checks/runner/runner.h"

#include <stdlib.h>
#include <string.h>

#include "checks/framework/outcome.h"
#include "checks/framework/simulated_case.h"
#include "checks/framework/watch.h"
#include "checks/objects/class_state.h"
#include "checks/runner/runner_inside.h"

static bool check_wanted(const opc_runner_request_t *request, size_t check) {
  bool asked =
      request->check_count == 0 || opc_run_names(opc_check_infos[check].name, request->checks, request->check_count);
  return asked && opc_check_info_is_of(&opc_check_infos[check], request->op);
}

/* A file's sample that a passed-over case called was either accepted or told already: a refusal is not told twice. */
static void note_passed_over(opc_run_t *run, const opc_case_context_t *context, opc_action_t action) {
  if (run->request->only || action.kind == OPC_ACTION_SKIP || !opc_case_is_declared(context)) return;
  run->reported[run->device * run->request->sample_count + run->sample] = true;
}

/* Decides whether a case of the plan is wanted, and runs it. False: the rest of the plan is not. */
static bool plan_case(opc_run_t *run, opc_case_context_t *context, opc_action_t action) {
  const opc_runner_request_t *request = run->request;
  char id_text[OPC_CASE_ID_SIZE];
  opc_case_id_format(&context->id, id_text);
  if (request->only) {
    if (strcmp(id_text, request->only) != 0) return true;
    run->found_only = true;
    (void)opc_run_case(run, id_text, context, action);
    return false;
  }
  if (run->selection == OPC_SELECTION_BEFORE) {
    if (request->from && strcmp(id_text, request->from) == 0) {
      run->selection = OPC_SELECTION_INSIDE;
    } else {
      if (request->after && strcmp(id_text, request->after) == 0) run->selection = OPC_SELECTION_INSIDE;
      note_passed_over(run, context, action);
      return true;
    }
  }
  bool go_on = opc_run_case(run, id_text, context, action);
  if (request->to && strcmp(id_text, request->to) == 0) {
    run->found_to = true;
    run->selection = OPC_SELECTION_OVER;
  }
  return go_on && run->selection == OPC_SELECTION_INSIDE;
}

/* ---- the plan ---- */

/* A real one. */
static bool on_cuda(const opc_run_t *run) {
  return run->devices[run->device].type == OPC_DEVICE_CUDA && !run->simulated[run->device];
}

static void context_init(opc_run_t *run, opc_case_context_t *context, const char *device_name) {
  *context = (opc_case_context_t){.op = run->request->op,
                                  .handle = opc_check_infos[run->check].calls ? run->handle : NULL,
                                  .samples = run->callable,
                                  .sample_count = run->callable_count,
                                  .seed = run->request->seed,
                                  .phase = run->sink->phase};
  snprintf(context->id.operator_name, sizeof context->id.operator_name, "%s", run->request->op->name);
  snprintf(context->id.check, sizeof context->id.check, "%s", opc_checks[run->check]->name);
  if (device_name) {
    snprintf(context->id.device, sizeof context->id.device, "%s", device_name);
    context->device = run->devices[run->device];
    context->simulated = run->simulated[run->device];
  }
}

static bool plan_bare_case(opc_run_t *run, const char *device_name, opc_action_t action) {
  opc_case_context_t context;
  context_init(run, &context, device_name);
  return plan_case(run, &context, action);
}

static bool plan_sample_case(opc_run_t *run, const opc_sample_t *sample, opc_dtype_t dtype, const char *variant,
                             opc_action_t action) {
  opc_case_context_t context;
  context_init(run, &context, run->request->devices[run->device]);
  context.base = &run->request->samples[run->sample];
  context.sample = sample;
  snprintf(context.id.sample, sizeof context.id.sample, "%s", context.base->name);
  snprintf(context.id.variant, sizeof context.id.variant, "%s", variant);
  if (dtype != OPC_DTYPE_OTHER) snprintf(context.id.dtype, sizeof context.id.dtype, "%s", opc_dtype_name(dtype));
  return plan_case(run, &context, action);
}

static bool case_applies(const opc_run_t *run, const opc_sample_t *sample, const char *variant) {
  const opc_check_t *check = opc_checks[run->check];
  return !check->applies || check->applies(run->request->op, sample, variant);
}

typedef struct variant_walk {
  opc_run_t *run;
  bool go_on;
} variant_walk_t;

static bool plan_variant(const char *name, const opc_sample_t *sample, void *context) {
  variant_walk_t *walk = context;
  if (case_applies(walk->run, sample, name))
    walk->go_on = plan_sample_case(walk->run, sample, OPC_DTYPE_OTHER, name, (opc_action_t){.kind = OPC_ACTION_CHECK});
  return walk->go_on;
}

/* A confirmation runs one case after another, each by its id: to go through hundreds of variants for each would take
 * longer than the cases. */
static bool plan_only_variant(opc_run_t *run, const opc_sample_t *base) {
  opc_sample_t variant;
  variant_walk_t walk = {.run = run, .go_on = true};
  run->status = opc_variant_apply(base, run->request->op, run->only.variant, &variant, run->error);
  if (run->status != OPC_OK) return false;
  (void)plan_variant(run->only.variant, &variant, &walk);
  opc_sample_clear(&variant);
  return walk.go_on;
}

static bool plan_dtype(opc_run_t *run, opc_dtype_t dtype, bool plain_planned) {
  const opc_sample_t *base = &run->request->samples[run->sample];
  opc_sample_t cast = {0};
  bool go_on = true;
  if (opc_sample_main_dtype(base) == OPC_DTYPE_OTHER) return true;
  run->status = opc_sample_copy(base, &cast, run->error);
  if (run->status != OPC_OK) return false;
  bool changed = opc_sample_cast(&cast, dtype);
  /* The sample as it stands may have its case among the variants already. */
  bool planned = changed || (opc_sample_main_dtype(base) == dtype && !plain_planned);
  const opc_sample_t *sample = changed ? &cast : base;
  if (planned && case_applies(run, sample, "plain"))
    go_on = plan_sample_case(run, sample, dtype, "plain", (opc_action_t){.kind = OPC_ACTION_CHECK});
  opc_sample_clear(&cast);
  return go_on;
}

typedef struct long_dimension {
  int64_t size; /* the last of the first tensor that has dimensions; 0: none has */
  bool unfit;   /* a tensor is not floating, or has the size twice */
} long_dimension_t;

static void see_size(const char *path, opc_value_t *value, void *context) {
  long_dimension_t *found = context;
  (void)path;
  if (!found->size && value->tensor->ndim > 0) found->size = value->tensor->sizes[value->tensor->ndim - 1];
}

static void see_unfit(const char *path, opc_value_t *value, void *context) {
  long_dimension_t *found = context;
  int count = 0;
  (void)path;
  for (int dim = 0; dim < value->tensor->ndim; dim++) count += value->tensor->sizes[dim] == found->size;
  found->unfit |= count > 1 || opc_dtype_class(value->tensor->dtype) != OPC_CLASS_FLOATING;
}

/* What a sum loses that is kept in its own dtype does not show in a few numbers. Where there are indices too, a longer
 * sample adds up many numbers at few places, which libtorch's own operators do with that loss. OPC_ERR_NOT_FOUND: not
 * with this sample. */
static opc_status_t long_make(const opc_run_t *run, size_t index, char variant[32], opc_sample_t *out,
                              opc_error_t *error) {
  const opc_sample_t *base = &run->request->samples[index];
  long_dimension_t found = {0};
  *out = (opc_sample_t){0};
  for (size_t i = 0; i < base->argument_count; i++) opc_value_visit_tensors("", &base->arguments[i], see_size, &found);
  for (size_t i = 0; i < base->argument_count; i++) opc_value_visit_tensors("", &base->arguments[i], see_unfit, &found);
  if (found.size < 2 || found.unfit || base->expect.rejects || base->unchecked) return OPC_ERR_NOT_FOUND;
  snprintf(variant, 32, "all.long%lld", (long long)found.size);
  return opc_variant_apply(base, run->request->op, variant, out, error);
}

/* Of the first sample that can be. */
static bool plan_long(opc_run_t *run) {
  opc_sample_t longer = {0};
  char variant[32];
  bool go_on = true;
  opc_status_t status = OPC_ERR_NOT_FOUND;
  for (size_t i = 0; i < run->sample && status == OPC_ERR_NOT_FOUND; i++) {
    status = long_make(run, i, variant, &longer, run->error);
    opc_sample_clear(&longer);
  }
  if (status == OPC_ERR_NOT_FOUND) {
    status = long_make(run, run->sample, variant, &longer, run->error);
    if (status == OPC_OK && opc_sample_cast(&longer, OPC_DTYPE_BFLOAT16))
      go_on = plan_sample_case(run, &longer, OPC_DTYPE_BFLOAT16, variant, (opc_action_t){.kind = OPC_ACTION_CHECK});
    opc_sample_clear(&longer);
  }
  if (status != OPC_OK && status != OPC_ERR_NOT_FOUND) run->status = status;
  return run->status == OPC_OK && go_on;
}

static void see_many(const char *path, opc_value_t *value, void *context) {
  enum { MANY = 4096 }; /* elements, each of which is compared in one case more */
  (void)path;
  *(bool *)context |= opc_tensor_spec_numel(value->tensor) > MANY;
}

/* Kernels have whole vectors and tiles for float32, and other code for what is left and for float64: in a few numbers
 * there is nothing but what is left. */
static bool plan_larger(opc_run_t *run) {
  static const char variant[] = "all.larger";
  const opc_sample_t *base = &run->request->samples[run->sample];
  opc_sample_t larger = {0};
  bool go_on = true, many = false;
  if (run->sample || opc_dtype_class(opc_sample_main_dtype(base)) != OPC_CLASS_FLOATING) return true;
  opc_status_t status = opc_variant_apply(base, run->request->op, variant, &larger, run->error);
  for (size_t i = 0; status == OPC_OK && i < larger.argument_count; i++)
    opc_value_visit_tensors("", &larger.arguments[i], see_many, &many);
  if (status == OPC_OK && !many) {
    (void)opc_sample_cast(&larger, OPC_DTYPE_FLOAT32);
    go_on = plan_sample_case(run, &larger, OPC_DTYPE_FLOAT32, variant, (opc_action_t){.kind = OPC_ACTION_CHECK});
  } else if (status != OPC_OK && status != OPC_ERR_NOT_FOUND) {
    run->status = status;
  }
  opc_sample_clear(&larger);
  return run->status == OPC_OK && go_on;
}

/* Most kernels refuse float8, and those that take it take these two: the others are for samples that hold some. */
static bool is_swept(opc_dtype_t dtype, bool sample_has_float8) {
  return !opc_dtype_is_float8(dtype) || sample_has_float8 || dtype == OPC_DTYPE_FLOAT8_E4M3FN ||
         dtype == OPC_DTYPE_FLOAT8_E5M2;
}

static void find_float8(const char *path, opc_value_t *value, void *context) {
  (void)path;
  *(bool *)context |= opc_dtype_is_float8(value->tensor->dtype);
}

static bool plan_dtypes(opc_run_t *run) {
  static const opc_dtype_t representative[] = {OPC_DTYPE_FLOAT64, OPC_DTYPE_FLOAT16, OPC_DTYPE_INT64, OPC_DTYPE_BOOL,
                                               OPC_DTYPE_COMPLEX64};
  const opc_check_t *check = opc_checks[run->check];
  const opc_sample_t *base = &run->request->samples[run->sample];
  bool plain_planned = check->families & OPC_VARIANT_PLAIN, has_float8 = false;
  for (size_t i = 0; i < base->argument_count; i++)
    opc_value_visit_tensors("", &base->arguments[i], find_float8, &has_float8);
  opc_dtype_sweep_t dtypes =
      on_cuda(run) && check->dtypes_on_cuda != OPC_SWEEP_NONE ? check->dtypes_on_cuda : check->dtypes;
  if (dtypes == OPC_SWEEP_ALL) {
    for (int dtype = OPC_DTYPE_OTHER + 1; dtype < OPC_DTYPE_COUNT; dtype++)
      if (is_swept((opc_dtype_t)dtype, has_float8) && !plan_dtype(run, (opc_dtype_t)dtype, plain_planned)) return false;
  } else if (dtypes == OPC_SWEEP_REPRESENTATIVE) {
    for (size_t i = 0; i < sizeof representative / sizeof *representative; i++)
      if (!plan_dtype(run, representative[i], plain_planned)) return false;
  } else if (dtypes == OPC_SWEEP_COMPLEX && run->sample == 0 && opc_operator_has_formula(run->request->op)) {
    if (!plan_dtype(run, OPC_DTYPE_COMPLEX64, plain_planned)) return false;
  }
  if (check->larger_in_float32 && !plan_larger(run)) return false;
  return !check->long_in_narrow || plan_long(run);
}

/* The class as it is, each of its methods apart (one that crashes costs its own case), and after calls of them. */
static bool plan_class(opc_run_t *run, const opc_sample_t *sample) {
  const opc_operator_t *op = run->request->op;
  char variant[96];
  if (!plan_sample_case(run, sample, OPC_DTYPE_OTHER, "plain", (opc_action_t){.kind = OPC_ACTION_CHECK})) return false;
  for (size_t i = 0; i < op->method_count && !sample->expect.rejects; i++) {
    if (strncmp(op->methods[i].name, "__", 2) == 0) continue;
    snprintf(variant, sizeof variant, "%.80s" OPC_CLASS_CALLED, op->methods[i].name);
    if (!plan_sample_case(run, sample, OPC_DTYPE_OTHER, variant, (opc_action_t){.kind = OPC_ACTION_CHECK}))
      return false;
  }
  if (sample->expect.rejects || !opc_class_is_used_and_pickled(op)) return true;
  return plan_sample_case(run, sample, OPC_DTYPE_OTHER, OPC_CLASS_USED, (opc_action_t){.kind = OPC_ACTION_CHECK});
}

/* Of all that a check has `devices` for. */
static unsigned device_bit(const opc_run_t *run) {
  if (run->simulated[run->device]) return OPC_ON_SIMULATED;
  return run->devices[run->device].type == OPC_DEVICE_CUDA ? OPC_ON_CUDA : OPC_ON_CPU;
}

static unsigned check_devices(const opc_check_t *check) {
  return check->devices ? check->devices : OPC_ON_CPU | OPC_ON_CUDA;
}

static bool plan_sample(opc_run_t *run, bool first_calling_check) {
  const opc_runner_request_t *request = run->request;
  const opc_check_t *check = opc_checks[run->check];
  const opc_sample_t *sample = &request->samples[run->sample];
  if (request->only && strcmp(sample->name, run->only.sample) != 0) return true;
  if (request->op->kind == OPC_OPERATOR_CLASS) return plan_class(run, sample);
  if (sample->expect.rejects) {
    opc_action_t action = {
        .kind = OPC_ACTION_SKIP, .reason = OPC_SKIP_NOT_APPLICABLE, .detail = "the sample is there to be refused"};
    if (check->refused) action = (opc_action_t){.kind = OPC_ACTION_CHECK};
    if (first_calling_check) action = (opc_action_t){.kind = OPC_ACTION_MUST_REJECT};
    return plan_sample_case(run, sample, OPC_DTYPE_OTHER, "plain", action);
  }
  if (sample->unchecked)
    return check != &opc_check_memory ||
           plan_sample_case(run, sample, OPC_DTYPE_OTHER, "plain", (opc_action_t){.kind = OPC_ACTION_CHECK});
  /* A model is compiled for its inputs' sizes and dtypes, and a constructor has its own: nothing is varied. */
  bool varied = request->op->kind == OPC_OPERATOR;
  unsigned families = check->families | (on_cuda(run) ? check->families_on_cuda : 0);
  if (!varied) families &= OPC_VARIANT_PLAIN;
  if (!run->simulated[run->device]) families &= ~(unsigned)OPC_VARIANT_LARGE;
  if (request->only_ran && !run->only.dtype[0]) return plan_only_variant(run, sample);
  if (families && !request->only_ran) {
    variant_walk_t walk = {.run = run, .go_on = true};
    run->status = opc_variants_of(sample, request->op, families, plan_variant, &walk, run->error);
    if (run->status != OPC_OK || !walk.go_on) return false;
  }
  return !varied || plan_dtypes(run);
}

/* Why there is nothing to call with on a device, or nothing to learn. */
static opc_action_t nothing_to_run(const opc_run_t *run) {
  const opc_check_t *check = opc_checks[run->check];
  if (!run->device_usable[run->device])
    return (opc_action_t){
        .kind = OPC_ACTION_SKIP, .reason = OPC_SKIP_NO_DEVICE, .detail = "there is no such device here"};
  if (!run->kernel_usable[run->device] && !check->without_kernel)
    return (opc_action_t){
        .kind = OPC_ACTION_SKIP, .reason = OPC_SKIP_NO_KERNEL, .detail = "the operator has no kernel for this device"};
  if (!(check_devices(check) & device_bit(run)))
    return (opc_action_t){.kind = OPC_ACTION_SKIP,
                          .reason = OPC_SKIP_SIMULATED,
                          .detail =
                              "kernels do not run on the simulated device: this check needs what they compute. What is "
                              "launched, where, and what the host does meanwhile "
                              "is checked there"};
  if (!run->request->sample_count || (!run->checked_count && check != &opc_check_memory))
    return (opc_action_t){.kind = OPC_ACTION_SKIP,
                          .reason = OPC_SKIP_NO_SAMPLE,
                          .detail = "there are no arguments to call the operator with"};
  return (opc_action_t){.kind = OPC_ACTION_CHECK};
}

static bool plan_device(opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  const opc_check_t *check = opc_checks[run->check];
  const char *name = request->devices[run->device];
  if (request->op->kind == OPC_OPERATOR_CLASS && run->devices[run->device].type != OPC_DEVICE_CPU) return true;
  bool here = check_devices(check) & device_bit(run), calls = opc_check_infos[run->check].calls;
  if (!here && !(calls && run->simulated[run->device])) return true;
  bool first_calling_check = calls && here && !run->calling_seen[run->device];
  run->calling_seen[run->device] |= calls && here;
  if (run->request->only && strcmp(check->name, run->only.check) != 0) return true;
  if (calls) {
    opc_action_t nothing = nothing_to_run(run);
    if (nothing.kind == OPC_ACTION_SKIP) return plan_bare_case(run, name, nothing);
  }
  for (run->sample = 0; run->sample < request->sample_count; run->sample++)
    if (!plan_sample(run, first_calling_check)) return false;
  if (check->once && run->callable_count) return plan_bare_case(run, name, (opc_action_t){.kind = OPC_ACTION_CHECK});
  return true;
}

static int check_of(const char *case_text) {
  opc_case_id_t id;
  opc_error_t ignored;
  return opc_case_id_parse(case_text, &id, &ignored) == OPC_OK ? opc_check_info_find(id.check) : -1;
}

/* Some of the check's cases may lie in the stretch that is wanted: the plan goes from check to check. */
static bool in_stretch(const opc_runner_request_t *request, size_t check) {
  const char *start = request->from ? request->from : request->after;
  return (!start || check_of(start) <= (int)check) && (!request->to || check_of(request->to) >= (int)check);
}

static void checks_before(opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  for (run->check = 0; run->check < opc_check_info_count; run->check++) {
    const opc_check_t *check = opc_checks[run->check];
    bool wanted = check_wanted(request, run->check) &&
                  (!request->only || (strcmp(check->name, run->only.check) == 0 && !run->only.sample[0]));
    if (!wanted || !check->before || !in_stretch(request, run->check) || request->out_of_time > 0 ||
        opc_run_names(check->name, request->skip, request->skip_count))
      continue;
    for (run->device = 0; run->device < request->device_count && run->callable_count; run->device++) {
      opc_case_context_t context;
      opc_check_session_t session = {.own = &run->own[run->check]};
      context_init(run, &context, request->devices[run->device]);
      context.session = &session;
      if (run->device_usable[run->device] && run->kernel_usable[run->device] &&
          (check_devices(check) & device_bit(run)))
        check->before(&context);
    }
  }
}

static void plan_everything(opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  for (run->check = 0; run->check < opc_check_info_count; run->check++) {
    if (!check_wanted(request, run->check)) continue;
    run->starved_before += run->starved;
    run->starved = 0;
    if (opc_checks[run->check]->per_operator) {
      bool wanted = !request->only || strcmp(opc_checks[run->check]->name, run->only.check) == 0;
      if (wanted && !plan_bare_case(run, NULL, (opc_action_t){.kind = OPC_ACTION_CHECK})) return;
      continue;
    }
    for (run->device = 0; run->device < request->device_count; run->device++)
      if (!plan_device(run)) return;
  }
}

/* ---- before and after ---- */

static opc_status_t run_prepare(opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  size_t devices = request->device_count ? request->device_count : 1;
  size_t samples = request->sample_count ? request->sample_count : 1;
  for (size_t i = 0; i < request->check_count; i++)
    if (opc_check_info_find(request->checks[i]) < 0)
      return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no check %s", request->checks[i]);
  if (opc_check_info_count > sizeof run->own / sizeof *run->own)
    return opc_error_set(run->error, OPC_ERR_UNSUPPORTED, "more checks than the runner has room for");

  run->devices = calloc(devices, sizeof *run->devices);
  run->simulated = calloc(devices, sizeof *run->simulated);
  run->calling_seen = calloc(devices, sizeof *run->calling_seen);
  run->device_usable = calloc(devices, sizeof *run->device_usable);
  run->kernel_usable = calloc(devices, sizeof *run->kernel_usable);
  run->callable = calloc(samples, sizeof *run->callable);
  run->reported = calloc(devices * samples, sizeof *run->reported);
  run->unsound = calloc(devices * samples, sizeof *run->unsound);
  run->crashed = calloc(request->crashed_count + 1, sizeof *run->crashed);
  if (!run->devices || !run->simulated || !run->calling_seen || !run->device_usable || !run->kernel_usable ||
      !run->callable || !run->reported || !run->unsound || !run->crashed)
    return opc_error_set(run->error, OPC_ERR_MEMORY, "out of memory for the plan");

  for (size_t i = 0; i < request->device_count; i++) {
    run->simulated[i] = strcmp(request->devices[i], "cuda-sim") == 0;
    if (!opc_device_parse(run->simulated[i] ? "cuda" : request->devices[i], &run->devices[i]))
      return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no device %s", request->devices[i]);
    run->device_usable[i] =
        opc_bridge_device_available(run->devices[i]) && (!run->simulated[i] || opc_cuda_simulated());
    run->kernel_usable[i] = opc_operator_serves(request->op, run->devices[i].type);
  }
  for (size_t i = 0; i < request->sample_count; i++) run->checked_count += !request->samples[i].unchecked;
  for (size_t i = 0; i < request->sample_count; i++)
    if (!request->samples[i].expect.rejects && !request->samples[i].unchecked)
      run->callable[run->callable_count++] = request->samples[i];
  opc_status_t status = request->only ? opc_case_id_parse(request->only, &run->only, run->error) : OPC_OK;
  for (size_t i = 0; i < request->crashed_count && status == OPC_OK; i++)
    status = opc_case_id_parse(request->crashed[i], &run->crashed[i], run->error);
  if (status != OPC_OK) return status;
  /* A kernel without a definition has no schema and cannot be called; it has no samples either. */
  bool of_dispatcher = request->op->kind != OPC_OPERATOR_CLASS;
  if (of_dispatcher && request->op->schema && request->sample_count)
    return opc_op_find(request->op->name, &run->handle, run->error);
  return OPC_OK;
}

/* Says which part of an id the plan does not have. */
static opc_status_t only_not_found(const opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  const opc_case_id_t *id = &run->only;
  int check = opc_check_info_find(id->check);
  bool sample_known = !id->sample[0];
  for (size_t i = 0; i < request->sample_count; i++)
    sample_known = sample_known || strcmp(request->samples[i].name, id->sample) == 0;
  if (strcmp(id->operator_name, request->op->name) != 0)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "case %s is not of operator %s", request->only,
                         request->op->name);
  if (check < 0) return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no check %s", id->check);
  if (!check_wanted(request, (size_t)check))
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "check %s was not asked for", id->check);
  if (id->device[0] && !opc_run_names(id->device, request->devices, request->device_count))
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "device %s was not asked for", id->device);
  if (!sample_known)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "operator %s has no sample %s", request->op->name, id->sample);
  if (id->dtype[0] && opc_dtype_find(id->dtype) == OPC_DTYPE_OTHER)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no dtype %s", id->dtype);
  return opc_error_set(run->error, OPC_ERR_NOT_FOUND,
                       "check %s has no such case: variant %s of sample %s, dtype %s, device %s", id->check,
                       id->variant[0] ? id->variant : "-", id->sample[0] ? id->sample : "-",
                       id->dtype[0] ? id->dtype : "-", id->device[0] ? id->device : "-");
}

static opc_status_t selection_verdict(const opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  if (run->spent) return OPC_OK;
  if (request->only) return run->found_only ? OPC_OK : only_not_found(run);
  if (run->selection == OPC_SELECTION_BEFORE)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "no case %s is in the plan",
                         request->from ? request->from : request->after);
  if (request->to && !run->found_to)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "no case %s is in the plan behind its start", request->to);
  return OPC_OK;
}

opc_status_t opc_runner_run(const opc_runner_request_t *request, const opc_runner_sink_t *sink, uint64_t *out_cases,
                            opc_error_t *error) {
  opc_run_t run = {.request = request, .sink = sink, .error = error};
  run.selection = request->after || request->from ? OPC_SELECTION_BEFORE : OPC_SELECTION_INSIDE;
  opc_status_t status = run_prepare(&run);
  if (status == OPC_OK) {
    checks_before(&run);
    opc_watch_begin(); /* what was prepared is no operator's doing */
    plan_everything(&run);
    status = run.status;
  }
  if (status == OPC_OK) status = selection_verdict(&run);
  *out_cases = run.cases;
  opc_op_free(run.handle);
  free(run.devices);
  free(run.simulated);
  free(run.calling_seen);
  free(run.device_usable);
  free(run.kernel_usable);
  free(run.callable);
  free(run.reported);
  free(run.unsound);
  free(run.crashed);
  return status;
}
