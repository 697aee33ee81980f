/* launch: every kernel launch succeeds, is followed by an error check and gets only pointers that a kernel may
 * dereference; if one fails, the operator reports it. */
#include "checks/cuda/cuda_watch.h"
#include "checks/cuda_log/cuda_tracker.h"

enum { INJECTED_LAUNCHES = 16, INJECTED_LAUNCHES_OF_VARIANT = 4 };
/* Too many resources requested for launch, invalid device function, no kernel image for the device: these happen on
 * GPUs that the author does not have. */
static const int codes[] = {701, 98, 209};

/* ---- one launch is made to fail ---- */

/* *out_left: bytes of device tensors more than before the call. What a call allocates for good the first time is no
 * leak. */
static opc_status_t run_injected(opc_cuda_watch_t *watch, size_t nth, int code, uint64_t *out_left,
                                 opc_error_t *error) {
  uint64_t before = 0, after = 0;
  opc_call_clear(&watch->call);
  OPC_RETURN_IF_ERROR(opc_cuda_allocated(watch->device, &before, error));
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  watch->wanted_launch = nth;
  watch->wanted_code = code;
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, "with a launch that fails"));
  watch->wanted_launch = 0;
  opc_call_clear(&watch->call);
  OPC_RETURN_IF_ERROR(opc_cuda_allocated(watch->device, &after, error));
  *out_left = after > before ? after - before : 0;
  return OPC_OK;
}

static bool is_leak(const opc_cuda_found_t *found) { return found->rule == OPC_RULE_launch_failure_leaks; }

static bool has_leak(const opc_cuda_founds_t *founds) {
  for (size_t i = 0; i < founds->count; i++)
    if (is_leak(&founds->items[i])) return true;
  return false;
}

static size_t own_injected(const opc_cuda_facts_t *facts) {
  for (size_t i = 0; i < facts->log.count; i++)
    if (facts->log.calls[i].injected) return opc_cuda_is_own(facts, &facts->log.calls[i]) ? i : OPC_CUDA_NO_CALL;
  return OPC_CUDA_NO_CALL;
}

static void analyse_injection(const opc_cuda_watch_t *watch, uint64_t left, opc_cuda_founds_t *out) {
  const opc_cuda_facts_t *facts = &watch->facts;
  size_t failed = own_injected(facts);
  char name[256];
  *out = (opc_cuda_founds_t){0};
  opc_cuda_analyse_injected(facts, out);
  if (left && failed != OPC_CUDA_NO_CALL && !facts->returned)
    opc_cuda_found_add(out, &facts->log, OPC_RULE_launch_failure_leaks, failed, failed,
                       "when the launch of %s fails, %llu bytes of tensors on the device are not freed",
                       opc_cuda_call_name(&facts->log.calls[failed], name, sizeof name), (unsigned long long)left);
}

/* *out_reached: the launch was reached, and its failure checked. */
static opc_status_t inject(opc_cuda_watch_t *watch, size_t nth, int code, bool *out_reached, opc_finding_t *finding,
                           opc_error_t *error) {
  opc_cuda_founds_t founds;
  uint64_t left;
  OPC_RETURN_IF_ERROR(run_injected(watch, nth, code, &left, error));
  analyse_injection(watch, left, &founds);
  *out_reached = own_injected(&watch->facts) != OPC_CUDA_NO_CALL;
  if (has_leak(&founds)) { /* once may be a table that is created when first needed */
    OPC_RETURN_IF_ERROR(run_injected(watch, nth, code, &left, error));
    analyse_injection(watch, left, &founds);
  }
  opc_cuda_report(&founds, watch->facts.log.calls, finding);
  return OPC_OK;
}

/* ---- all launches ---- */

typedef struct injection {
  size_t launches[INJECTED_LAUNCHES]; /* of the library's own: their numbers among all launches, from 1 */
  size_t count;
  size_t reached; /* failures that were checked */
} injection_t;

static void find_launches(const opc_cuda_facts_t *facts, size_t most, injection_t *out) {
  size_t nth = 0;
  for (size_t i = 0; i < facts->log.count && out->count < most; i++) {
    if (facts->log.calls[i].kind != OPC_CUDA_LAUNCH || facts->log.calls[i].unwrapped)
      continue; /* it cannot be made to fail */
    nth++;
    if (opc_cuda_is_own(facts, &facts->log.calls[i])) out->launches[out->count++] = nth;
  }
}

/* Uses the second device if there is one and it is simulated, so nothing can be damaged: this shows whether the current
 * device is restored. */
static int device_of_injection(const opc_cuda_watch_t *watch) {
  bool second = watch->api->mode == OPC_LAUNCH_SIMULATED && watch->device == 0 && watch->api->device_count() > 1;
  for (size_t i = 0; i < watch->call.tensor_arg_count; i++)
    second = second && !watch->call.tensor_args[i].spec->device_given;
  return second ? 1 : watch->device;
}

static opc_status_t inject_all(opc_cuda_watch_t *watch, injection_t *injection, opc_finding_t *finding,
                               opc_error_t *error) {
  const opc_case_context_t *context = watch->context;
  bool whole = context->unmodified;
  find_launches(&watch->facts, whole ? INJECTED_LAUNCHES : INJECTED_LAUNCHES_OF_VARIANT, injection);
  if (!injection->count) return OPC_OK;
  watch->device = device_of_injection(watch);
  /* What the first call on that device initialises must not look like a leak. */
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, "again"));
  for (size_t i = 0; i < injection->count && !finding->decided; i++) {
    for (size_t k = 0; k < (whole ? sizeof codes / sizeof *codes : 1) && !finding->decided; k++) {
      bool reached = false;
      OPC_RETURN_IF_ERROR(inject(watch, injection->launches[i], codes[k], &reached, finding, error));
      injection->reached += reached;
    }
  }
  return OPC_OK;
}

/* Why gigabytes are not tried, as shown by a call of the unmodified sample: host code that follows device addresses
 * would read all of them. NULL: they are tried. */
static opc_status_t look_at_sample(opc_cuda_watch_t *watch, const char **out_why, opc_error_t *error) {
  const opc_sample_t *large = watch->sample;
  watch->sample = watch->context->base;
  const opc_status_t status = opc_cuda_watch_make(watch, error);
  watch->sample = large;
  OPC_RETURN_IF_ERROR(status);
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(ON_OTHERS, "the unmodified sample"));
  *out_why = NULL;
  opc_simulated_case_resume();
  if (!opc_cuda_count(&watch->facts, OPC_CUDA_LAUNCH, OPC_CUDA_OF_OWN))
    *out_why = opc_cuda_count(&watch->facts, OPC_CUDA_UNCOVERED, OPC_CUDA_OF_OWN)
                   ? "the simulated device lacks what the library itself asks for"
                   : "the library itself launches no kernel";
  for (size_t i = 0; i < watch->facts.log.count; i++)
    if (watch->facts.log.calls[i].kind == OPC_CUDA_HOST_ACCESS)
      *out_why = "host code follows device addresses, as the unmodified sample shows";
  return OPC_OK;
}

static opc_status_t check_launches(opc_cuda_watch_t *watch, injection_t *injection, size_t *out_launches,
                                   opc_finding_t *finding, opc_error_t *error) {
  opc_cuda_founds_t founds = {0};
  const char *why = NULL;
  if (watch->context->rule->judge & OPC_JUDGE_IF_LAUNCHES) OPC_RETURN_IF_ERROR(look_at_sample(watch, &why, error));
  if (why) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "not tried with gigabytes: %s", why);
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, ""));
  opc_cuda_analyse_launches(&watch->facts, &founds);
  opc_cuda_analyse_pointers(&watch->facts, &founds);
  opc_cuda_analyse_counts(&watch->facts, &founds);
  *out_launches = opc_cuda_count(&watch->facts, OPC_CUDA_LAUNCH, OPC_CUDA_OF_OWN);
  if (opc_cuda_watch_settle(watch, &founds, finding) || watch->facts.empty || watch->facts.large) return OPC_OK;
  return inject_all(watch, injection, finding, error);
}

static opc_status_t launch_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_cuda_watch_end) opc_cuda_watch_t watch = {0};
  injection_t injection = {0};
  if (!opc_cuda_watch_begin(&watch, context, finding)) return OPC_OK;
  size_t launches = 0;
  OPC_RETURN_IF_ERROR(check_launches(&watch, &injection, &launches, finding, error));
  if (!finding->decided && injection.reached)
    opc_cuda_pass(&watch, launches, finding,
                  "launches of the library's kernels (%zu) succeed and are checked; it throws when one fails (%zu "
                  "failures tried)",
                  launches, injection.reached);
  else if (!finding->decided)
    opc_cuda_pass(&watch, launches, finding, "launches of the library's kernels (%zu) succeed and are checked",
                  launches);
  return OPC_OK;
}

const opc_check_t opc_check_launch = {.name = "launch", .run = launch_run};
