#include "checks/compare/compare.h"
#include "checks/numerics/equivalent.h"

opc_status_t opc_equivalent_with_number(opc_case_context_t *context, opc_replay_t *values, size_t argument,
                                        opc_value_t value, opc_result_t *out, bool *out_returned, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  const opc_again_t again = {
      .context = context, .sample = &sample, .replay = values, .label = {OPC_CALL_KIND_WITH_OTHERS, "another number"}};
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->sample, &sample, error));
  opc_value_clear(&sample.arguments[argument]);
  sample.arguments[argument] = value;
  sample.absent[argument] = false;
  return opc_again_try(&again, out, out_returned, error);
}
