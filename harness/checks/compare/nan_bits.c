#include "checks/compare/nan_bits.h"

bool opc_case_loses_nan_bits(const opc_case_context_t *context) {
  return context->device.type == OPC_DEVICE_CUDA && !context->simulated &&
         (context->variant.families & OPC_VARIANT_BITS) != 0;
}
