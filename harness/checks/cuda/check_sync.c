/* sync: the library itself neither waits for the device nor allocates directly from the CUDA runtime. */
#include "checks/cuda/cuda_watch.h"
#include "checks/framework/outcome.h"

static void run(opc_case_context_t *context, opc_finding_t *finding) {
  OPC_SCOPED(opc_cuda_watch_end) opc_cuda_watch_t watch = {0};
  opc_cuda_founds_t founds = {0};
  opc_error_t error = {0};
  if (!opc_cuda_watch_begin(&watch, context, finding)) return;
  opc_status_t status = opc_cuda_watch_make(&watch, &error);
  if (status != OPC_OK) goto release;
  opc_cuda_watch_run(&watch, OPC_CALL_LABEL(OPERATOR, ""));
  if (!watch.facts.cut && opc_cuda_watch_settle(&watch, &founds, finding)) goto release;
  /* One-time initialisation is no hidden cost of every call. */
  status = opc_cuda_watch_make(&watch, &error);
  if (status != OPC_OK) goto release;
  opc_cuda_watch_run(&watch, OPC_CALL_LABEL(OPERATOR, "again"));
  opc_cuda_analyse_waits(&watch.facts, &founds);
  size_t work = opc_cuda_own_work(&watch), torch = opc_cuda_waits_of_torch(&watch.facts);
  if (opc_cuda_watch_settle(&watch, &founds, finding)) goto release;
  if (torch)
    opc_cuda_pass(&watch, work, finding,
                  "the library itself waits for nothing; libtorch waits for the device %zu times on its behalf", torch);
  else
    opc_cuda_pass(&watch, work, finding,
                  "the library launches, copies and fills (%zu calls) and does not wait for the device", work);

release:
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
}

const opc_check_t opc_check_sync = {.name = "sync", .run = run};
