#include "checks/framework/check.h"

static opc_status_t case_call_make(const opc_case_context_t *context, bool snapshot, opc_replay_t *values,
                                   opc_call_t *call, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_call_make(call, context->op, context->sample, context->device, context->seed, error));
  if (snapshot) OPC_RETURN_IF_ERROR(opc_call_snapshot(call, error));
  return values ? opc_replay_take(values, call, error) : OPC_OK;
}

static bool case_call(opc_case_context_t *context, bool snapshot, opc_replay_t *values, opc_call_t *call,
                      opc_finding_t *finding) {
  opc_error_t error = {0};
  if (case_call_make(context, snapshot, values, call, &error) != OPC_OK) {
    opc_finding_from_error(context, &error, finding);
    return false;
  }
  context->announce(OPC_CALL_LABEL(OPERATOR, ""));
  opc_call_run(call, context->handle, context->seed);
  return !opc_finding_from_outcome(context, call, finding);
}

bool opc_case_call(opc_case_context_t *context, bool snapshot, opc_call_t *call, opc_finding_t *finding) {
  return case_call(context, snapshot, NULL, call, finding);
}

bool opc_case_call_keeping(opc_case_context_t *context, opc_replay_t *values, opc_call_t *call,
                           opc_finding_t *finding) {
  return case_call(context, false, values, call, finding);
}

opc_status_t opc_again_make(const opc_again_t *again, opc_call_t *call, opc_error_t *error) {
  const opc_case_context_t *context = again->context;
  opc_call_memory_t memory = opc_places_memory(again->places);
  const opc_call_options_t options = {.device = again->device ? *again->device : context->device,
                                      .seed = context->seed + again->other_seed,
                                      .values = again->replay ? opc_replay_values : again->values,
                                      .values_context = again->replay ? again->replay : again->values_context,
                                      .memory = again->places ? &memory : NULL,
                                      .other_padding = again->other_padding};
  return opc_call_make_with(call, context->op, again->sample ? again->sample : context->sample, &options, error);
}

opc_status_t opc_again_call(const opc_again_t *again, opc_call_t *call, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_again_make(again, call, error));
  again->context->announce(again->label);
  opc_call_run(call, again->context->handle, again->context->seed + again->other_seed);
  return OPC_OK;
}

opc_status_t opc_again_run(const opc_again_t *again, opc_result_t *out, opc_call_outcome_t *out_outcome,
                           opc_text_t *message, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  *out = (opc_result_t){0};
  OPC_RETURN_IF_ERROR(opc_again_call(again, &call, error));
  *out_outcome = call.outcome;
  if (call.outcome == OPC_CALL_RETURNED)
    return opc_result_take(out, &call, again->only_shapes ? OPC_RESULT_META : OPC_RESULT_ARGUMENTS, error);
  if (message) opc_text_add(message, opc_text_c(&call.message));
  return OPC_OK;
}

opc_status_t opc_again_try(const opc_again_t *again, opc_result_t *out, bool *out_returned, opc_error_t *error) {
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  *out_returned = false;
  OPC_RETURN_IF_ERROR(opc_again_run(again, out, &outcome, NULL, error));
  *out_returned = outcome == OPC_CALL_RETURNED;
  return OPC_OK;
}

opc_status_t opc_again_values(const opc_again_t *again, opc_replay_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_RETURN_IF_ERROR(opc_again_make(again, &call, error));
  return opc_replay_take(out, &call, error);
}
