/* stream: work that the library puts into streams goes to the current stream, or to one that waits for it and that it
 * waits for. */
#include "checks/cuda/cuda_watch.h"

static opc_status_t check_streams(opc_cuda_watch_t *watch, opc_finding_t *finding, opc_error_t *error) {
  opc_cuda_founds_t founds = {0};
  uint64_t pool;
  /* The first call is on the default stream. It does the initialisation, and a stream that it keeps differs from the
   * next call's. */
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, ""));
  if (!watch->facts.cut && opc_cuda_watch_settle(watch, &founds, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  (void)watch->api->synchronize(); /* the arguments were created on the default stream */
  OPC_RETURN_IF_ERROR(opc_cuda_stream_use_pool(watch->device, &pool, error));
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(ON_OTHERS, "another stream"));
  OPC_RETURN_IF_ERROR(opc_cuda_stream_use_default(watch->device, error));
  opc_cuda_analyse_streams(&watch->facts, &founds);
  const size_t work = opc_cuda_own_work(watch);
  if (!opc_cuda_watch_settle(watch, &founds, finding))
    opc_cuda_pass(watch, work, finding,
                  "the library's launches, copies and fills (%zu calls) are in order with the current stream, one of "
                  "libtorch's pool",
                  work);
  return OPC_OK;
}

static opc_status_t stream_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_cuda_watch_end) opc_cuda_watch_t watch = {0};
  return opc_cuda_watch_begin(&watch, context, finding) ? check_streams(&watch, finding, error) : OPC_OK;
}

const opc_check_t opc_check_stream = {.name = "stream", .run = stream_run};
