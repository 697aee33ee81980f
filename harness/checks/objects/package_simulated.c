/* package on the simulated device: the model loads and runs there, the launches of its libraries succeed and are
 * ordered, and another run makes the same calls. */
#include <stdlib.h>
#include <string.h>

#include "checks/cuda/cuda_watch.h"
#include "checks/objects/package_cases.h"

enum { NAMES_SHOWN = 4 };

bool opc_package_refuses_its_own(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding) {
  if (call->outcome != OPC_CALL_REJECTED || context->base->source == OPC_SAMPLE_FILE) return false;
  opc_finding_fail(finding, OPC_RULE_package_refused,
                   "the model refuses the inputs that the package itself describes: %s", opc_text_c(&call->message));
  return true;
}

/* Launches, copies and fills of one run, from any caller. */
typedef struct work {
  opc_cuda_call_t *calls;
  size_t count;
  bool whole; /* the log dropped nothing */
} work_t;

static opc_status_t work_take(const opc_cuda_log_t *log, work_t *out, opc_error_t *error) {
  *out = (work_t){.calls = calloc(log->count + 1, sizeof *out->calls), .whole = log->dropped == 0};
  if (!out->calls) return opc_out_of_memory(error);
  for (size_t i = 0; i < log->count; i++) {
    if (opc_cuda_is_work(&log->calls[i])) out->calls[out->count++] = log->calls[i];
  }
  return OPC_OK;
}

/* Addresses and streams may differ each time. */
static bool asks_the_same(const opc_cuda_call_t *left, const opc_cuda_call_t *right) {
  return left->kind == right->kind && left->bytes == right->bytes && left->shared == right->shared &&
         left->stream_device == right->stream_device && memcmp(left->grid, right->grid, sizeof left->grid) == 0 &&
         memcmp(left->block, right->block, sizeof left->block) == 0 && strcmp(left->function, right->function) == 0 &&
         strcmp(left->kernel ? left->kernel : "", right->kernel ? right->kernel : "") == 0;
}

static void work_describe(const work_t *work, size_t index, opc_text_t *out) {
  char name[256];
  if (index >= work->count) {
    opc_text_add(out, "nothing");
    return;
  }
  const opc_cuda_call_t *call = &work->calls[index];
  opc_text_add(out, opc_cuda_call_name(call, name, sizeof name));
  if (call->bytes) opc_text_addf(out, " of %llu bytes", (unsigned long long)call->bytes);
  if (call->kind == OPC_CUDA_LAUNCH)
    opc_text_addf(out, " with a grid of %u x %u x %u blocks of %u x %u x %u", call->grid[0], call->grid[1],
                  call->grid[2], call->block[0], call->block[1], call->block[2]);
}

static void compare_work(const work_t *first, const work_t *second, opc_finding_t *finding) {
  size_t i = 0;
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  while (i < first->count && i < second->count && asks_the_same(&first->calls[i], &second->calls[i])) i++;
  if (i == first->count && i == second->count) return;
  opc_text_addf(&text, "on the same inputs, request %zu of one run to the device is ", i + 1);
  work_describe(first, i, &text);
  opc_text_add(&text, ", but in the next run it is ");
  work_describe(second, i, &text);
  opc_finding_fail(finding, OPC_RULE_package_other_calls, "%s", opc_text_c(&text));
}

static bool is_same_work(const opc_cuda_call_t *left, const opc_cuda_call_t *right) {
  return left->kind == right->kind && strcmp(left->kind == OPC_CUDA_LAUNCH ? left->kernel : left->function,
                                             right->kind == OPC_CUDA_LAUNCH ? right->kernel : right->function) == 0;
}

/* "4 of kernel copy_kernel, 1 of cudaMemcpyAsync" */
static void name_work(const work_t *work, opc_text_t *out) {
  const opc_cuda_call_t *named[NAMES_SHOWN];
  size_t names = 0;
  for (size_t i = 0; i < work->count; i++) {
    const opc_cuda_call_t *call = &work->calls[i];
    size_t alike = 0;
    bool named_before = false;
    for (size_t k = 0; k < names; k++) named_before |= is_same_work(named[k], call);
    if (named_before) continue;
    if (names == NAMES_SHOWN) {
      opc_text_add(out, ", …");
      return;
    }
    for (size_t k = i; k < work->count; k++) alike += is_same_work(call, &work->calls[k]);
    char name[256];
    opc_text_addf(out, "%s%zu of %s", names > 0 ? ", " : "", alike, opc_cuda_call_name(call, name, sizeof name));
    named[names++] = call;
  }
}

/* Runs once and checks the run. *out_decided: so is the finding. */
static opc_status_t simulated_run(opc_cuda_watch_t *watch, opc_call_label_t label, bool with_streams, bool *out_decided,
                                  opc_finding_t *finding, opc_error_t *error) {
  opc_cuda_founds_t founds = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
  uint64_t stream;
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  if (with_streams) {
    (void)watch->api->synchronize(); /* the arguments were created on the default stream */
    OPC_RETURN_IF_ERROR(opc_cuda_stream_use_pool(watch->device, &stream, error));
  }
  opc_cuda_watch_run(watch, label);
  if (with_streams) OPC_RETURN_IF_ERROR(opc_cuda_stream_use_default(watch->device, error));
  bool of_device =
      opc_simulated_cause_in(&watch->facts.log, opc_text_c(&watch->call.message), &why) != OPC_SIMULATED_NONE;
  *out_decided = !of_device && opc_package_refuses_its_own(watch->context, &watch->call, finding);
  if (*out_decided) return OPC_OK;
  opc_cuda_analyse_launches(&watch->facts, &founds);
  opc_cuda_analyse_pointers(&watch->facts, &founds);
  if (with_streams) opc_cuda_analyse_streams(&watch->facts, &founds);
  *out_decided = opc_cuda_watch_settle(watch, &founds, finding);
  return OPC_OK;
}

static void launches_settle(const opc_cuda_watch_t *watch, const work_t *work, bool compared, opc_text_t *out,
                            opc_finding_t *finding) {
  if (work->count == 0) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "the model ran on the simulated device, but no request to it was seen: requests to a runtime that "
                     "is linked statically into a library, nvcc's default, are not seen");
    return;
  }
  opc_text_addf(out, "the model ran on a simulated %s and asked it for ", watch->facts.limits.architecture);
  name_work(work, out);
  opc_text_addf(
      out, "; each launch succeeded%s",
      compared ? ", and the next run asked for the same"
               : ". The next run is not compared, because it may depend on values that a kernel should have written");
  if (opc_simulated_uncomputed(watch->context))
    opc_finding_pass(finding, "%s; no values were compared: %s", opc_text_c(out), opc_simulated_kernels().not_run);
}

static void work_clear(work_t *work) { free(work->calls); }

static opc_status_t check_runs(opc_cuda_watch_t *watch, opc_text_t *out, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(work_clear) work_t first = {0}, second = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
  bool decided = false;
  /* The first call loads the model and initialises what its operators need. */
  OPC_RETURN_IF_ERROR(simulated_run(watch, OPC_CALL_LABEL(OPERATOR, ""), false, &decided, finding, error));
  if (decided) return OPC_OK;
  OPC_RETURN_IF_ERROR(simulated_run(watch, OPC_CALL_LABEL(OPERATOR, "a second time, on another stream"), true, &decided,
                                    finding, error));
  if (decided) return OPC_OK;
  OPC_RETURN_IF_ERROR(work_take(&watch->facts.log, &first, error));
  OPC_RETURN_IF_ERROR(simulated_run(watch, OPC_CALL_LABEL(OPERATOR, "a third time"), true, &decided, finding, error));
  if (decided) return OPC_OK;
  OPC_RETURN_IF_ERROR(work_take(&watch->facts.log, &second, error));
  bool reads = opc_simulated_cause_in(&watch->facts.log, "", &why) == OPC_SIMULATED_READ,
       comparable = first.whole && second.whole && !reads;
  if (comparable) compare_work(&first, &second, finding);
  if (!finding->decided) launches_settle(watch, &second, comparable, out, finding);
  return OPC_OK;
}

opc_status_t opc_package_run_simulated(opc_case_context_t *context, opc_text_t *out, opc_finding_t *finding,
                                       opc_error_t *error) {
  OPC_SCOPED(opc_cuda_watch_end) opc_cuda_watch_t watch = {0};
  return opc_cuda_watch_begin(&watch, context, finding) ? check_runs(&watch, out, finding, error) : OPC_OK;
}
