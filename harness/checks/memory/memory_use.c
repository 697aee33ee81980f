#include "checks/memory/memory_use.h"

#include <stdlib.h>

#include "checks/framework/case_run.h"
#include "memory/cpu_memory.h"
#include "memory/peak.h"
#include "memory/valgrind_requests.h"

/* Both must be exceeded: workspaces of some MiB are usual, and so is a workspace as large as large tensors. */
enum { TIMES_TENSORS = 100 };
static const double mib = 1 << 20;

static size_t tensor_bytes(const opc_call_t *call, const opc_output_t *outputs, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < call->tensor_arg_count; i++) bytes += call->tensor_args[i].before.storage_bytes;
  for (size_t i = 0; i < count; i++) bytes += outputs[i].meta.storage_bytes;
  return bytes;
}

opc_status_t opc_memory_use_check(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, "while its memory is measured"}};
  size_t count = 0;
  opc_cpu_memory_plain();
  if (opc_valgrind_active() || !opc_peak_begin()) return OPC_OK;
  opc_status_t status = opc_again_call(&again, &call, error);
  const size_t peak = opc_peak_bytes();
  if (status != OPC_OK || call.outcome != OPC_CALL_RETURNED || peak <= opc_peak_allowed()) return status;
  status = opc_call_outputs(&call, &outputs, &count, error);
  const size_t bytes = tensor_bytes(&call, outputs, count);
  if (status == OPC_OK && peak / TIMES_TENSORS > bytes)
    opc_finding_fail(finding, "memory.peak",
                     "the call takes %.0f MiB at its peak; its arguments and outputs together have %.3g MiB",
                     (double)peak / mib, (double)bytes / mib);
  return status;
}
