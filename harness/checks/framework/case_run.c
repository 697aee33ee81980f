#include "checks/framework/case_run.h"

#include "checks/framework/outcome.h"

bool opc_case_call(opc_case_context_t *context, bool snapshot, opc_call_t *call, opc_finding_t *finding) {
  opc_error_t error = {0};
  opc_status_t status = opc_call_make(call, context->op, context->sample, context->device, context->seed, &error);
  if (status == OPC_OK && snapshot) status = opc_call_snapshot(call, &error);
  if (status != OPC_OK) {
    opc_finding_from_error(context, &error, finding);
    return false;
  }
  context->phase("the operator");
  opc_call_run(call, context->handle, context->seed);
  return !opc_finding_from_outcome(context, call, finding);
}

opc_status_t opc_again_run(const opc_again_t *again, opc_result_t *out, opc_call_outcome_t *out_outcome,
                           opc_text_t *message, opc_error_t *error) {
  opc_case_context_t *context = again->context;
  opc_call_options_t options = {.device = context->device, .seed = again->seed, .other_gaps = again->other_gaps};
  opc_call_memory_t memory = opc_places_memory(again->places);
  if (again->places) options.memory = &memory;
  if (again->replay) {
    options.values = opc_replay_values;
    options.values_context = again->replay;
  }
  opc_call_t call = {0};
  *out = (opc_result_t){0};
  opc_status_t status = opc_call_make_with(&call, context->op, again->sample, &options, error);
  if (status != OPC_OK) return status;

  context->phase(again->phase);
  *out_outcome = opc_call_run(&call, context->handle, again->seed);
  if (*out_outcome == OPC_CALL_RETURNED) status = opc_result_take(out, &call, OPC_RESULT_ARGUMENTS, error);
  else if (message) opc_text_add(message, opc_text_c(&call.message));
  opc_call_clear(&call);
  return status;
}
