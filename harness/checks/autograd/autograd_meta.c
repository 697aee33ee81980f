/* The derivative on Meta tensors. torch.compile traces it on tensors without data, like forward. */
#include <string.h>

#include "checks/autograd/autograd.h"

static void check_meta_outcome(opc_autograd_case_t *c, const char *what, opc_call_outcome_t outcome,
                               const opc_text_t *message) {
  const char *text = opc_text_c(message);
  if (outcome == OPC_CALL_FOREIGN_EXCEPTION)
    opc_finding_error(c->finding, OPC_RULE_foreign_exception,
                      "%s on Meta tensors throws something that is not a std::exception", what);
  /* Whatever else it refuses, it may take under torch.compile, where its tensors have a device. */
  else if (outcome != OPC_CALL_RETURNED && opc_torch_says(OPC_TORCH_WANTS_DATA, text))
    opc_finding_fail(c->finding, OPC_RULE_autograd_backward_on_meta,
                     "%s needs the data of a tensor, which torch.compile does not have when it traces it: %.*s", what,
                     (int)strcspn(text, "\n"), text);
}

static opc_status_t backward_on_meta(opc_autograd_case_t *c, const opc_autograd_run_t *run, opc_error_t *error) {
  const opc_autograd_request_t request = {
      .outputs = run->outputs, .output_count = run->parts.count, .inputs = run->leaves, .input_count = run->leaf_count};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  OPC_SCOPED(opc_autograd_tensors_clear) opc_autograd_tensors_t gradients = {0};
  OPC_RETURN_IF_ERROR(opc_autograd_tensors_make(&gradients, run->leaf_count, error));
  c->point->context->announce(OPC_CALL_LABEL(BACKWARD, "on Meta tensors"));
  check_meta_outcome(c, "backward", opc_autograd_grad(&request, gradients.items, &message), &message);
  return OPC_OK;
}

opc_status_t opc_autograd_check_meta(opc_autograd_case_t *c, opc_error_t *error) {
  const opc_device_t device = {OPC_DEVICE_META, -1};
  const opc_autograd_forward_t forward = {
      .device = &device, .track = true, .label = {OPC_CALL_KIND_ON_OTHERS, "Meta tensors that require grad"}};
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};

  if (!opc_autograd_has_own_node(c->point)) return OPC_OK; /* libtorch's formulas are traced in Python */
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(c->point, &forward, &run, error));
  if (run.call.outcome == OPC_CALL_RETURNED) return backward_on_meta(c, &run, error);
  check_meta_outcome(c, "the autograd kernel", run.call.outcome, &run.call.message);
  return OPC_OK;
}
