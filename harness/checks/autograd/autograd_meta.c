/* The derivative on Meta tensors. torch.compile traces it on tensors without data, like forward. */
#include <stdlib.h>
#include <string.h>

#include "checks/autograd/autograd_case.h"
#include "checks/framework/outcome.h"

static void judge(opc_autograd_case_t *c, const char *what, opc_call_outcome_t outcome, const opc_text_t *message) {
  const char *text = opc_text_c(message);
  if (outcome == OPC_CALL_FOREIGN_EXCEPTION)
    opc_finding_error(c->finding, "foreign_exception",
                      "%s on Meta tensors throws something that is not a std::exception", what);
  /* Whatever else it refuses, it may take under torch.compile, where its tensors have a device. */
  else if (outcome != OPC_CALL_RETURNED && opc_torch_says(OPC_TORCH_WANTS_DATA, text))
    opc_finding_fail(c->finding, "autograd.backward_on_meta",
                     "%s needs the data of a tensor, which torch.compile does not have when it traces it: %.*s", what,
                     (int)strcspn(text, "\n"), text);
}

static opc_status_t backward(opc_autograd_case_t *c, const opc_autograd_run_t *run, opc_error_t *error) {
  const opc_autograd_request_t request = {
      .outputs = run->outputs, .output_count = run->parts.count, .inputs = run->leaves, .input_count = run->leaf_count};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  opc_tensor_t **gradients = calloc(run->leaf_count + 1, sizeof *gradients);
  if (!gradients) return opc_out_of_memory(error);
  c->point->context->announce(OPC_CALL_LABEL(BACKWARD, "on Meta tensors"));
  judge(c, "backward", opc_autograd_grad(&request, gradients, &message), &message);
  for (size_t i = 0; i < run->leaf_count; i++) opc_tensor_free(gradients[i]);
  free(gradients);
  return OPC_OK;
}

/* The library's own node, in the graph of an output. libtorch's formulas are traced in Python. */
static bool has_own_node(const opc_autograd_point_t *point) {
  for (size_t i = 0; i < point->outputs.count; i++)
    if (point->outputs.items[i].tracked && (point->outputs.items[i].graph & OPC_GRAPH_CUSTOM)) return true;
  return false;
}

opc_status_t opc_autograd_check_meta(opc_autograd_case_t *c, opc_error_t *error) {
  const opc_device_t device = {OPC_DEVICE_META, -1};
  const opc_autograd_forward_t forward = {
      .device = &device, .track = true, .label = {OPC_CALL_KIND_ON_OTHERS, "Meta tensors that require grad"}};
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};

  if (!has_own_node(c->point)) return OPC_OK;
  opc_status_t status = opc_autograd_forward_run(c->point, &forward, &run, error);
  if (status != OPC_OK) return status;
  if (run.call.outcome == OPC_CALL_RETURNED) return backward(c, &run, error);
  judge(c, "the autograd kernel", run.call.outcome, &run.call.message);
  return OPC_OK;
}
