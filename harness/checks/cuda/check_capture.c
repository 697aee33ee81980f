/* capture: a call can be captured in a CUDA graph, the graph contains all of its work, and replays give the same
 * results as calls. */
#include "checks/cuda/cuda_watch.h"
#include "memory/cpu_memory.h"

/* Checks the captured call alone. True: the finding is made. */
static bool check_captured(opc_cuda_watch_t *watch, const opc_error_t *error, opc_finding_t *finding) {
  opc_cuda_founds_t founds = {0};
  const opc_call_t *call = &watch->call;
  opc_cuda_analyse_capture(&watch->facts, &founds);
  if (opc_cuda_watch_lacks(watch, &founds, finding)) return true;
  opc_cuda_report(&founds, watch->facts.log.calls, finding);
  if (finding->decided) return true;
  if (watch->facts.cut || call->outcome == OPC_CALL_OUT_OF_MEMORY || call->outcome == OPC_CALL_UNCONVERTIBLE)
    return opc_finding_from_outcome(watch->context, call, finding);
  if (call->outcome != OPC_CALL_RETURNED)
    opc_finding_fail(finding, OPC_RULE_capture_throws, "an ordinary call returns, but under capture it throws: %.400s",
                     opc_text_c(&call->message));
  else if (watch->captured != OPC_OK)
    opc_finding_fail(finding, OPC_RULE_capture_invalidated, "libtorch cannot make a graph of the call: %.400s",
                     error->message);
  return finding->decided;
}

/* Kernels of the simulated device do not run while a stream is captured: replays compute nothing. */
static bool runs_here(const opc_cuda_watch_t *watch) {
  opc_cuda_capture_t capture;
  if (!watch->facts.simulated) return true;
  if (!opc_cuda_capture_find(&watch->facts.log, &capture)) return false;
  for (size_t i = capture.begin; i < capture.end; i++)
    if (opc_cuda_is_kernel(&watch->facts.log.calls[i])) return false;
  return true;
}

static void capture_replay_clear(opc_capture_replay_t *replay) { opc_text_clear(&replay->text); }

static opc_status_t replay(opc_cuda_watch_t *watch, size_t work, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(capture_replay_clear) opc_capture_replay_t replay = {0};
  OPC_RETURN_IF_ERROR(opc_capture_replay(watch, &replay, error));
  if (replay.differs)
    opc_finding_fail(finding, OPC_RULE_capture_replay_differs,
                     "replay %zu of the graph, with other values in the same tensors: %s", replay.replays,
                     opc_text_c(&replay.text));
  else if (replay.why_not)
    opc_cuda_pass(watch, work, finding,
                  "the call is captured (launches, copies and fills in the graph: %zu); replays were not compared: %s",
                  work, replay.why_not);
  else
    opc_cuda_pass(watch, work, finding,
                  "the call is captured (launches, copies and fills in the graph: %zu), and %zu replays with other "
                  "values give the bits of ordinary calls",
                  work, replay.replays);
  return OPC_OK;
}

static opc_status_t capture(opc_cuda_watch_t *watch, opc_finding_t *finding, opc_error_t *error) {
  opc_cuda_founds_t founds = {0};
  uint64_t pool;
  /* The first call on a stream may initialise things; that happens here. */
  OPC_RETURN_IF_ERROR(opc_cuda_stream_use_pool(watch->device, &pool, error));
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, ""));
  if (opc_cuda_watch_settle(watch, &founds, finding)) return OPC_OK;
  opc_cuda_host_lifetime_see(&watch->lasting, &watch->facts.log);

  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  (void)watch->api->synchronize();
  watch->capture = true;
  opc_scratch_memory_shift(true);
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, "captured in a CUDA graph"));
  opc_scratch_memory_shift(false);
  watch->capture = false;
  const bool absent = !watch->graph && watch->captured == OPC_ERR_UNSUPPORTED;
  watch->context->must_replace = watch->captured != OPC_OK && !absent;
  if (absent) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", watch->capture_error.message);
  if (!watch->graph) return opc_error_set(error, watch->captured, "%s", watch->capture_error.message);
  if (check_captured(watch, &watch->capture_error, finding)) return OPC_OK;
  const size_t work = opc_cuda_captured_work(&watch->facts.log);
  if (work && runs_here(watch)) return replay(watch, work, finding, error);
  opc_cuda_pass(watch, work, finding, "the call is captured (launches, copies and fills in the graph: %zu)", work);
  return OPC_OK;
}

static opc_status_t capture_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_cuda_watch_end) opc_cuda_watch_t watch = {0};
  if (opc_operator_has_tag(context->op, "cudagraph_unsafe"))
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                            "the tag cudagraph_unsafe says that it must not be captured in a CUDA graph");
  if (!opc_cuda_watch_begin(&watch, context, finding)) return OPC_OK;
  const opc_status_t status = capture(&watch, finding, error);
  if (opc_cuda_stream_use_default(watch.device, NULL) != OPC_OK) context->must_replace = true;
  return status;
}

const opc_check_t opc_check_capture = {.name = "capture", .run = capture_run};
