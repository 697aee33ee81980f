/* Types of values, and special registers. */
#include "cuda/ptx/ptx_form.h"

uint32_t opc_ptx_type_size(opc_ptx_says_t type) {
  if (type <= OPC_PTX_TYPE_B8) return 1;
  if (type <= OPC_PTX_TYPE_BF16) return 2;
  return type <= OPC_PTX_TYPE_BF16X2 || type == OPC_PTX_TYPE_TF32 ? 4 : 8;
}

bool opc_ptx_type_is_float(opc_ptx_says_t type) {
  return type == OPC_PTX_TYPE_F16 || type == OPC_PTX_TYPE_BF16 || type == OPC_PTX_TYPE_F32 ||
         type == OPC_PTX_TYPE_F64 || type == OPC_PTX_TYPE_F16X2 || type == OPC_PTX_TYPE_BF16X2;
}

bool opc_ptx_special_find(opc_ptx_span_t name, uint32_t *out) {
  static const char *const names[] = {
#define OPC_PTX_SPECIAL(number, name) name,
#include "cuda/ptx/special.def"
  };
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!opc_ptx_span_is(name, names[i])) continue;
    *out = i;
    return true;
  }
  return false;
}
