#include "checks/runner.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/access.h"
#include "checks/class_state.h"
#include "checks/cuda_fault.h"
#include "checks/device_zones_use.h"
#include "checks/outcome.h"
#include "checks/simulated.h"
#include "checks/watch.h"
#include "memory/cpu_memory.h"
#include "memory/valgrind_requests.h"

/* Which part of the plan is wanted, and where in it the enumeration stands. */
typedef enum selection_state { SELECTION_BEFORE = 0, SELECTION_INSIDE, SELECTION_OVER } selection_state_t;

/* What a check found of a sample as it stands that leaves nothing for other checks to find: whatever they saw would follow from it. */
typedef struct unsound {
  const char *rule; /* NULL: nothing */
  size_t check;
} unsound_t;

typedef struct run {
  const opc_runner_request_t *request;
  const opc_runner_sink_t *sink;
  opc_device_t *devices;
  bool *simulated; /* it is the simulated CUDA device */
  bool *calling_seen; /* on it, a calling check */
  bool *device_usable; /* there is such a device */
  bool *kernel_usable; /* and a kernel that could serve it */
  opc_sample_t *callable; /* shallow copies of the samples that are neither there to be refused nor unchecked */
  size_t callable_count, checked_count; /* checked: samples that are not unchecked */
  bool *reported; /* a device and a sample each: its refusal was told */
  opc_op_handle_t *handle;
  void *own[64]; /* a check's own pointer each */
  int starved, starved_before; /* cases that ran out of memory: of the running check, and of those before it */
  unsound_t *unsound; /* a device and a sample each */
  opc_case_id_t only;
  opc_case_id_t *crashed;
  /* Where the enumeration is. */
  size_t check;
  size_t device;
  size_t sample;
  selection_state_t selection;
  bool found_only, found_to;
  bool spent; /* the process cannot go on */
  uint64_t cases;
  opc_status_t status; /* of a callback, which cannot return one */
  opc_error_t *error;
} run_t;

/* What to do with a case that was selected. */
typedef struct action {
  enum { ACTION_CHECK, ACTION_SKIP, ACTION_MUST_REJECT } kind;
  opc_skip_reason_t reason;
  const char *detail;
} action_t;

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool name_listed(const char *name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i], name) == 0) return true;
  return false;
}

static bool check_wanted(const opc_runner_request_t *request, size_t check) {
  bool asked = request->check_count == 0 || name_listed(opc_check_infos[check].name, request->checks, request->check_count);
  return asked && opc_check_info_is_of(&opc_check_infos[check], request->op);
}

/* The other check in which these arguments crashed the operator; NULL: there was none. */
static const char *crashed_in(const run_t *run, const opc_case_context_t *context) {
  const opc_case_id_t *id = &context->id;
  for (size_t i = 0; i < run->request->crashed_count && context->sample; i++) {
    const opc_case_id_t *crashed = &run->crashed[i];
    if (strcmp(crashed->check, id->check) != 0 && strcmp(crashed->device, id->device) == 0 && strcmp(crashed->dtype, id->dtype) == 0 &&
        strcmp(crashed->sample, id->sample) == 0 && strcmp(crashed->variant, id->variant) == 0)
      return crashed->check;
  }
  return NULL;
}

/* ---- one case ---- */

static void must_reject(opc_case_context_t *context, opc_finding_t *finding) {
  opc_error_t error;
  opc_call_t call = {0};
  if (opc_call_make(&call, context->op, context->sample, context->device, context->seed, &error) != OPC_OK) {
    opc_finding_from_error(context, &error, finding);
  } else {
    opc_call_run(&call, context->handle, context->seed);
    if (opc_finding_from_outcome(context, &call, finding)) {
      /* As wanted, or why not. */
    } else if (context->simulated) {
      opc_finding_skip(finding, OPC_SKIP_SIMULATED, "accepted on the simulated device, where no kernel runs that could have refused sample %s", context->base->name);
    } else {
      opc_finding_fail(finding, "sample.accepted", "the operator accepts sample %s, which its file expects it to refuse",
                       context->base->name);
    }
  }
  opc_call_clear(&call);
}

/* Of the cases that matter alone: in a whole plan the words would cost more than the calls. */
static void tell_input(const run_t *run, const char *id_text, const opc_case_context_t *context) {
  const char *last = run->request->only ? run->request->only : run->request->to;
  if (!run->sink->input || !context->sample || !last || strcmp(id_text, last) != 0) return;
  json_t *input = opc_sample_evidence(context->op, context->sample);
  run->sink->input(input, run->sink->context);
  json_decref(input);
}

/* To fill gigabytes takes a second, each time. */
static int starved_max(const run_t *run) { return run->starved_before ? 1 : 3; }

/* Freed memory that is somebody else's by now, and destroyed memory, make a case's outcome depend on all that ran before. */
static void note_unsound(run_t *run, const opc_case_context_t *context, const opc_finding_t *finding) {
  static const char *const rules[] = {"memory.out_of_bounds_write", "memory.use_after_free", "memory.dangling_output", "memory"};
  bool as_it_stands = context->base && strcmp(context->id.variant, "plain") == 0 && !context->id.dtype[0];
  if (!as_it_stands || !finding->rule || !name_listed(finding->rule, rules, sizeof rules / sizeof *rules)) return;
  unsound_t *unsound = &run->unsound[run->device * run->request->sample_count + run->sample];
  if (!unsound->rule) *unsound = (unsound_t){.rule = finding->rule, .check = run->check};
}

/* The rule of another check that says enough about this sample, or, in a case about all samples, about one of them; NULL: none does. */
static const char *unsound_by(const run_t *run, const opc_case_context_t *context) {
  const unsound_t *first = &run->unsound[run->device * run->request->sample_count];
  size_t from = context->base ? run->sample : 0, to = context->base ? run->sample + 1 : run->request->sample_count;
  if (!opc_check_infos[run->check].calls) return NULL;
  for (size_t i = from; i < to; i++)
    if (first[i].rule && first[i].check != run->check) return first[i].rule;
  return NULL;
}

/* What the operator touched beside its tensors while another check than memory ran. */
static void judge_accesses(const run_t *run, const opc_case_context_t *context, opc_finding_t *finding) {
  enum { OUTSIDE = 1u << OPC_ACCESS_OUTSIDE, FREED = 1u << OPC_ACCESS_FREED };
  if (opc_accesses_count(OUTSIDE | FREED) && !opc_case_arguments_fit(context) && opc_checks[run->check] != &opc_check_memory) {
    /* What came out of it followed other memory: it says nothing about this check's part of the contract. */
    opc_finding_clear(finding);
    *finding = (opc_finding_t){0};
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "these arguments may not fit together, and with them the operator touches memory beside its tensors: see check memory");
    return;
  }
  opc_accesses_report(context, OUTSIDE | FREED, OPC_ACCESSES_ALL, NULL, finding);
}

/* False: the rest of the plan is not to run. */
static bool perform(run_t *run, const char *id_text, opc_case_context_t *context, action_t action) {
  const opc_check_t *check = opc_checks[run->check];
  const opc_runner_request_t *request = run->request;
  const char *crashed_check = crashed_in(run, context), *unsound = unsound_by(run, context);
  opc_finding_t finding = {0};
  opc_session_t session = {.own = &run->own[run->check]};
  if (action.kind != ACTION_SKIP && context->device.type == OPC_DEVICE_CUDA && !opc_device_zones_choose(check->device_zones)) {
    run->spent = true; /* before the case, which the next process begins with */
    if (run->sink->spent) run->sink->spent(run->sink->context);
    return false;
  }
  if (context->base) session.sample_reported = &run->reported[run->device * request->sample_count + run->sample];
  context->session = &session;

  /* A kernel that does not check its arguments may leave them on inputs of ours: that is this case's finding, and is not to spoil the cases after it. */
  if (!opc_case_is_declared(context)) opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_guard_accesses_reset();
  if (context->simulated) opc_simulated_case_begin();
  opc_cuda_case_begin(context);
  run->sink->begin(id_text, run->sink->context);
  tell_input(run, id_text, context);
  uint64_t witnessed = opc_valgrind_errors();
  double began = seconds_now();
  if (action.kind == ACTION_SKIP) {
    opc_finding_skip(&finding, action.reason, "%s", action.detail);
  } else if (name_listed(check->name, request->skip, request->skip_count)) {
    opc_finding_skip(&finding, OPC_SKIP_AFTER_CRASH, "not run: cases before it crashed or hung");
  } else if (run->starved == starved_max(run)) {
    opc_finding_skip(&finding, OPC_SKIP_BUDGET, "not run: %d cases before it ran out of memory", run->starved + run->starved_before);
  } else if (unsound) {
    opc_finding_skip(&finding, OPC_SKIP_AFTER_CRASH, "not run: whatever would be found here follows from %s, found on this sample before", unsound);
  } else if (crashed_check) {
    opc_finding_skip(&finding, OPC_SKIP_AFTER_CRASH, "not run: these arguments crashed the operator in check %s", crashed_check);
  } else {
    if (action.kind == ACTION_MUST_REJECT) must_reject(context, &finding);
    if (action.kind == ACTION_CHECK || check->refused) check->run(context, &finding);
  }
  judge_accesses(run, context, &finding);
  run->spent = opc_cuda_case_end(context, &finding);
  bool found = finding.decided && (finding.verdict == OPC_VERDICT_FAIL || finding.verdict == OPC_VERDICT_ERROR);
  if (context->sample && (found || opc_valgrind_errors() != witnessed))
    opc_finding_evidence(&finding, "input", opc_sample_evidence(context->op, context->sample));
  if (!finding.decided) opc_finding_skip(&finding, OPC_SKIP_NOT_APPLICABLE, "nothing here that this check could prove");
  bool starved = finding.reason == OPC_SKIP_BUDGET || (finding.rule && strcmp(finding.rule, "memory") == 0);
  bool large = (opc_variant_family(context->id.variant) & OPC_VARIANT_LARGE) != 0; /* on purpose: that there is no room for it says nothing of what comes */
  if (starved && !large) run->starved += run->starved < starved_max(run);
  note_unsound(run, context, &finding);
  opc_cpu_memory_plain();
  opc_watch_case(id_text);
  bool go_on = run->sink->end(id_text, &finding, seconds_now() - began, run->sink->context);
  run->cases++;
  opc_finding_clear(&finding);
  if (run->spent && run->sink->spent) run->sink->spent(run->sink->context);
  return go_on && !run->spent;
}

/* A file's sample that a passed-over case called was either accepted or told already: a refusal is not told twice. */
static void note_passed_over(run_t *run, const opc_case_context_t *context, action_t action) {
  if (run->request->only || action.kind == ACTION_SKIP || !opc_case_is_declared(context)) return;
  run->reported[run->device * run->request->sample_count + run->sample] = true;
}

/* Decides whether a case of the plan is wanted, and runs it. False: the rest of the plan is not. */
static bool plan_case(run_t *run, opc_case_context_t *context, action_t action) {
  const opc_runner_request_t *request = run->request;
  char id_text[OPC_CASE_ID_SIZE];
  opc_case_id_format(&context->id, id_text);
  if (request->only) {
    if (strcmp(id_text, request->only) != 0) return true;
    run->found_only = true;
    (void)perform(run, id_text, context, action);
    return false;
  }
  if (run->selection == SELECTION_BEFORE) {
    if (request->from && strcmp(id_text, request->from) == 0) {
      run->selection = SELECTION_INSIDE;
    } else {
      if (request->after && strcmp(id_text, request->after) == 0) run->selection = SELECTION_INSIDE;
      note_passed_over(run, context, action);
      return true;
    }
  }
  bool go_on = perform(run, id_text, context, action);
  if (request->to && strcmp(id_text, request->to) == 0) {
    run->found_to = true;
    run->selection = SELECTION_OVER;
  }
  return go_on && run->selection == SELECTION_INSIDE;
}

/* ---- the plan ---- */

/* A real one. */
static bool on_cuda(const run_t *run) { return run->devices[run->device].type == OPC_DEVICE_CUDA && !run->simulated[run->device]; }

static void context_init(run_t *run, opc_case_context_t *context, const char *device_name) {
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

static bool plan_bare_case(run_t *run, const char *device_name, action_t action) {
  opc_case_context_t context;
  context_init(run, &context, device_name);
  return plan_case(run, &context, action);
}

static bool plan_sample_case(run_t *run, const opc_sample_t *sample, opc_dtype_t dtype, const char *variant, action_t action) {
  opc_case_context_t context;
  context_init(run, &context, run->request->devices[run->device]);
  context.base = &run->request->samples[run->sample];
  context.sample = sample;
  snprintf(context.id.sample, sizeof context.id.sample, "%s", context.base->name);
  snprintf(context.id.variant, sizeof context.id.variant, "%s", variant);
  if (dtype != OPC_DTYPE_OTHER) snprintf(context.id.dtype, sizeof context.id.dtype, "%s", opc_dtype_name(dtype));
  return plan_case(run, &context, action);
}

static bool case_applies(const run_t *run, const opc_sample_t *sample, const char *variant) {
  const opc_check_t *check = opc_checks[run->check];
  return !check->applies || check->applies(run->request->op, sample, variant);
}

typedef struct variant_walk {
  run_t *run;
  bool go_on;
} variant_walk_t;

static bool plan_variant(const char *name, const opc_sample_t *sample, void *context) {
  variant_walk_t *walk = context;
  if (case_applies(walk->run, sample, name))
    walk->go_on = plan_sample_case(walk->run, sample, OPC_DTYPE_OTHER, name, (action_t){.kind = ACTION_CHECK});
  return walk->go_on;
}

static bool plan_dtype(run_t *run, opc_dtype_t dtype, bool plain_planned) {
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
    go_on = plan_sample_case(run, sample, dtype, "plain", (action_t){.kind = ACTION_CHECK});
  opc_sample_clear(&cast);
  return go_on;
}

static bool plan_dtypes(run_t *run) {
  static const opc_dtype_t representative[] = {OPC_DTYPE_FLOAT64, OPC_DTYPE_FLOAT16, OPC_DTYPE_INT64, OPC_DTYPE_BOOL,
                                               OPC_DTYPE_COMPLEX64};
  const opc_check_t *check = opc_checks[run->check];
  bool plain_planned = check->families & OPC_VARIANT_PLAIN;
  opc_dtype_sweep_t dtypes = on_cuda(run) && check->dtypes_on_cuda != OPC_SWEEP_NONE ? check->dtypes_on_cuda : check->dtypes;
  if (dtypes == OPC_SWEEP_ALL) {
    for (int dtype = OPC_DTYPE_OTHER + 1; dtype < OPC_DTYPE_COUNT; dtype++)
      if (!plan_dtype(run, (opc_dtype_t)dtype, plain_planned)) return false;
  } else if (dtypes == OPC_SWEEP_REPRESENTATIVE) {
    for (size_t i = 0; i < sizeof representative / sizeof *representative; i++)
      if (!plan_dtype(run, representative[i], plain_planned)) return false;
  }
  return true;
}

/* The class as it is, and each of its methods apart: one that crashes costs its own case. */
static bool plan_class(run_t *run, const opc_sample_t *sample) {
  const opc_operator_t *op = run->request->op;
  char variant[96];
  if (!plan_sample_case(run, sample, OPC_DTYPE_OTHER, "plain", (action_t){.kind = ACTION_CHECK})) return false;
  for (size_t i = 0; i < op->method_count && !sample->expect.rejects; i++) {
    if (strncmp(op->methods[i].name, "__", 2) == 0) continue;
    snprintf(variant, sizeof variant, "%.80s" OPC_CLASS_CALLED, op->methods[i].name);
    if (!plan_sample_case(run, sample, OPC_DTYPE_OTHER, variant, (action_t){.kind = ACTION_CHECK})) return false;
  }
  return true;
}

/* Of all that a check has `devices` for. */
static unsigned device_bit(const run_t *run) {
  if (run->simulated[run->device]) return OPC_ON_SIMULATED;
  return run->devices[run->device].type == OPC_DEVICE_CUDA ? OPC_ON_CUDA : OPC_ON_CPU;
}

static unsigned check_devices(const opc_check_t *check) { return check->devices ? check->devices : OPC_ON_CPU | OPC_ON_CUDA; }

static bool plan_sample(run_t *run, bool first_calling_check) {
  const opc_runner_request_t *request = run->request;
  const opc_check_t *check = opc_checks[run->check];
  const opc_sample_t *sample = &request->samples[run->sample];
  if (request->only && strcmp(sample->name, run->only.sample) != 0) return true;
  if (request->op->kind == OPC_OPERATOR_CLASS) return plan_class(run, sample);
  if (sample->expect.rejects) {
    action_t action = {.kind = ACTION_SKIP, .reason = OPC_SKIP_NOT_APPLICABLE, .detail = "the sample is there to be refused"};
    if (check->refused) action = (action_t){.kind = ACTION_CHECK};
    if (first_calling_check) action = (action_t){.kind = ACTION_MUST_REJECT};
    return plan_sample_case(run, sample, OPC_DTYPE_OTHER, "plain", action);
  }
  if (sample->unchecked) return check != &opc_check_memory || plan_sample_case(run, sample, OPC_DTYPE_OTHER, "plain", (action_t){.kind = ACTION_CHECK});
  /* A model is compiled for its inputs' sizes and dtypes, and a constructor has its own: nothing is varied. */
  bool varied = request->op->kind == OPC_OPERATOR;
  unsigned families = check->families | (on_cuda(run) ? check->families_on_cuda : 0);
  if (!varied) families &= OPC_VARIANT_PLAIN;
  if (!run->simulated[run->device]) families &= ~(unsigned)OPC_VARIANT_LARGE;
  if (families) {
    variant_walk_t walk = {.run = run, .go_on = true};
    run->status = opc_variants_of(sample, request->op, families, plan_variant, &walk, run->error);
    if (run->status != OPC_OK || !walk.go_on) return false;
  }
  return !varied || plan_dtypes(run);
}

/* Why there is nothing to call with on a device, or nothing to learn. */
static action_t nothing_to_run(const run_t *run) {
  const opc_check_t *check = opc_checks[run->check];
  if (!run->device_usable[run->device])
    return (action_t){.kind = ACTION_SKIP, .reason = OPC_SKIP_NO_DEVICE, .detail = "there is no such device here"};
  if (!run->kernel_usable[run->device] && !check->without_kernel)
    return (action_t){.kind = ACTION_SKIP, .reason = OPC_SKIP_NO_KERNEL, .detail = "the operator has no kernel for this device"};
  if (!(check_devices(check) & device_bit(run)))
    return (action_t){.kind = ACTION_SKIP, .reason = OPC_SKIP_SIMULATED,
                      .detail = "kernels do not run on the simulated device: this check needs what they compute. What is launched, where, and what the host does meanwhile "
                                "is checked there"};
  if (!run->request->sample_count || (!run->checked_count && check != &opc_check_memory))
    return (action_t){.kind = ACTION_SKIP, .reason = OPC_SKIP_NO_SAMPLE, .detail = "there are no arguments to call the operator with"};
  return (action_t){.kind = ACTION_CHECK};
}

static bool plan_device(run_t *run) {
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
    action_t nothing = nothing_to_run(run);
    if (nothing.kind == ACTION_SKIP) return plan_bare_case(run, name, nothing);
  }
  for (run->sample = 0; run->sample < request->sample_count; run->sample++)
    if (!plan_sample(run, first_calling_check)) return false;
  if (check->once && run->callable_count) return plan_bare_case(run, name, (action_t){.kind = ACTION_CHECK});
  return true;
}

static void checks_before(run_t *run) {
  const opc_runner_request_t *request = run->request;
  for (run->check = 0; run->check < opc_check_info_count; run->check++) {
    const opc_check_t *check = opc_checks[run->check];
    bool wanted = check_wanted(request, run->check) && (!request->only || (strcmp(check->name, run->only.check) == 0 && !run->only.sample[0]));
    if (!wanted || !check->before || name_listed(check->name, request->skip, request->skip_count)) continue;
    for (run->device = 0; run->device < request->device_count && run->callable_count; run->device++) {
      opc_case_context_t context;
      opc_session_t session = {.own = &run->own[run->check]};
      context_init(run, &context, request->devices[run->device]);
      context.session = &session;
      if (run->device_usable[run->device] && run->kernel_usable[run->device] && (check_devices(check) & device_bit(run))) check->before(&context);
    }
  }
}

static void plan_everything(run_t *run) {
  const opc_runner_request_t *request = run->request;
  for (run->check = 0; run->check < opc_check_info_count; run->check++) {
    if (!check_wanted(request, run->check)) continue;
    run->starved_before += run->starved;
    run->starved = 0;
    if (opc_checks[run->check]->per_operator) {
      bool wanted = !request->only || strcmp(opc_checks[run->check]->name, run->only.check) == 0;
      if (wanted && !plan_bare_case(run, NULL, (action_t){.kind = ACTION_CHECK})) return;
      continue;
    }
    for (run->device = 0; run->device < request->device_count; run->device++)
      if (!plan_device(run)) return;
  }
}

/* ---- before and after ---- */

static opc_status_t run_prepare(run_t *run) {
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
  if (!run->devices || !run->simulated || !run->calling_seen || !run->device_usable || !run->kernel_usable || !run->callable || !run->reported || !run->unsound || !run->crashed)
    return opc_error_set(run->error, OPC_ERR_MEMORY, "out of memory for the plan");

  for (size_t i = 0; i < request->device_count; i++) {
    run->simulated[i] = strcmp(request->devices[i], "cuda-sim") == 0;
    if (!opc_device_parse(run->simulated[i] ? "cuda" : request->devices[i], &run->devices[i]))
      return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no device %s", request->devices[i]);
    run->device_usable[i] = opc_bridge_device_available(run->devices[i]) && (!run->simulated[i] || opc_cuda_simulated());
    run->kernel_usable[i] = opc_operator_serves(request->op, run->devices[i].type);
  }
  for (size_t i = 0; i < request->sample_count; i++) run->checked_count += !request->samples[i].unchecked;
  for (size_t i = 0; i < request->sample_count; i++)
    if (!request->samples[i].expect.rejects && !request->samples[i].unchecked) run->callable[run->callable_count++] = request->samples[i];
  opc_status_t status = request->only ? opc_case_id_parse(request->only, &run->only, run->error) : OPC_OK;
  for (size_t i = 0; i < request->crashed_count && status == OPC_OK; i++)
    status = opc_case_id_parse(request->crashed[i], &run->crashed[i], run->error);
  if (status != OPC_OK) return status;
  /* A kernel without a definition has no schema and cannot be called; it has no samples either. */
  bool of_dispatcher = request->op->kind != OPC_OPERATOR_CLASS;
  if (of_dispatcher && request->op->schema && request->sample_count) return opc_op_find(request->op->name, &run->handle, run->error);
  return OPC_OK;
}

/* Says which part of an id the plan does not have. */
static opc_status_t only_not_found(const run_t *run) {
  const opc_runner_request_t *request = run->request;
  const opc_case_id_t *id = &run->only;
  int check = opc_check_info_find(id->check);
  bool sample_known = !id->sample[0];
  for (size_t i = 0; i < request->sample_count; i++) sample_known = sample_known || strcmp(request->samples[i].name, id->sample) == 0;
  if (strcmp(id->operator_name, request->op->name) != 0)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "case %s is not of operator %s", request->only, request->op->name);
  if (check < 0) return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no check %s", id->check);
  if (!check_wanted(request, (size_t)check))
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "check %s was not asked for", id->check);
  if (id->device[0] && !name_listed(id->device, request->devices, request->device_count))
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "device %s was not asked for", id->device);
  if (!sample_known)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "operator %s has no sample %s", request->op->name, id->sample);
  if (id->dtype[0] && opc_dtype_find(id->dtype) == OPC_DTYPE_OTHER)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no dtype %s", id->dtype);
  return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "check %s has no such case: variant %s of sample %s, dtype %s, device %s", id->check,
                       id->variant[0] ? id->variant : "-", id->sample[0] ? id->sample : "-", id->dtype[0] ? id->dtype : "-",
                       id->device[0] ? id->device : "-");
}

static opc_status_t selection_verdict(const run_t *run) {
  const opc_runner_request_t *request = run->request;
  if (run->spent) return OPC_OK;
  if (request->only) return run->found_only ? OPC_OK : only_not_found(run);
  if (run->selection == SELECTION_BEFORE)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "no case %s is in the plan", request->from ? request->from : request->after);
  if (request->to && !run->found_to)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "no case %s is in the plan behind its start", request->to);
  return OPC_OK;
}

opc_status_t opc_runner_run(const opc_runner_request_t *request, const opc_runner_sink_t *sink, uint64_t *out_cases, opc_error_t *error) {
  run_t run = {.request = request, .sink = sink, .error = error};
  run.selection = request->after || request->from ? SELECTION_BEFORE : SELECTION_INSIDE;
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
