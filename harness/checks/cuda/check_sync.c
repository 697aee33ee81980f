/* sync: the library itself neither waits for the device nor allocates directly from the CUDA runtime. */
#include "checks/cuda/cuda_watch.h"

static opc_status_t check_waits(opc_cuda_watch_t *watch, opc_finding_t *finding, opc_error_t *error) {
  opc_cuda_founds_t founds = {0};
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, ""));
  if (!watch->facts.cut && opc_cuda_watch_settle(watch, &founds, finding)) return OPC_OK;
  /* One-time initialisation is no hidden cost of every call. */
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, "again"));
  opc_cuda_analyse_waits(&watch->facts, &founds);
  const size_t work = opc_cuda_own_work(watch), torch = opc_cuda_waits_of_torch(&watch->facts);
  if (opc_cuda_watch_settle(watch, &founds, finding)) return OPC_OK;
  if (torch)
    opc_cuda_pass(watch, work, finding,
                  "the library itself waits for nothing; libtorch waits for the device %zu times on its behalf", torch);
  else
    opc_cuda_pass(watch, work, finding,
                  "the library launches, copies and fills (%zu calls) and does not wait for the device", work);
  return OPC_OK;
}

static opc_status_t sync_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_cuda_watch_end) opc_cuda_watch_t watch = {0};
  return opc_cuda_watch_begin(&watch, context, finding) ? check_waits(&watch, finding, error) : OPC_OK;
}

const opc_check_t opc_check_sync = {.name = "sync", .run = sync_run};
