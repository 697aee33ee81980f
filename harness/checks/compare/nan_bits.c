#include "checks/compare/nan_bits.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

static bool parts_equal(double left, double right) {
  return memcmp(&left, &right, sizeof left) == 0 || (isnan(left) && isnan(right));
}

bool opc_equal_or_both_nan(opc_dtype_t dtype, const void *left, const void *right) {
  if (memcmp(left, right, opc_dtype_size(dtype)) == 0) return true;
  if (!opc_dtype_is_inexact(dtype)) return false;
  const opc_number_t a = opc_number_load(dtype, left), b = opc_number_load(dtype, right);
  if (a.kind == OPC_NUMBER_COMPLEX && b.kind == OPC_NUMBER_COMPLEX)
    return parts_equal(a.c.re, b.c.re) && parts_equal(a.c.im, b.c.im);
  return a.kind == OPC_NUMBER_FLOAT && b.kind == OPC_NUMBER_FLOAT && isnan(a.f) && isnan(b.f);
}

bool opc_case_loses_nan_bits(const opc_case_context_t *context) {
  return context->device.type == OPC_DEVICE_CUDA && !context->simulated &&
         (context->variant.families & OPC_VARIANT_BITS) != 0;
}
