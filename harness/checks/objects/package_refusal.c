#include "checks/objects/package_refusal.h"

#include "checks/framework/outcome.h"

bool opc_package_refuses_its_own(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding) {
  if (call->outcome != OPC_CALL_REJECTED || context->base->source == OPC_SAMPLE_FILE) return false;
  opc_finding_fail(finding, "package.refused", "the model refuses the inputs that the package itself describes: %s",
                   opc_text_c(&call->message));
  return true;
}
