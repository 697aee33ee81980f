/* Sums with the carry flag, for numbers of more than 64 bits. All of it is exact. */
#include "cuda/ptx/ptx_machine.h"

__extension__ typedef unsigned __int128 sum_t;

/* A lane's values; `in`: its carry. A borrow is a carry that is not set, as in the hardware: a - b is a + ~b + 1. */
static void carry_lane(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane, uint64_t a, uint64_t b,
                       uint64_t in) {
  const unsigned bits = opc_ptx_type_size(op->form.type[0]) * 8;
  const uint64_t all = bits == 64 ? UINT64_MAX : UINT32_MAX;
  const sum_t sum = (sum_t)(a & all) + (b & all) + in;
  opc_ptx_out(warp, op, 0)[lane] = (uint64_t)sum & all;
  if ((op->form.flags & OPC_PTX_FLAG_CC) == 0) return;
  const uint32_t bit = UINT32_C(1) << lane;
  warp->carry = (sum >> bits) != 0 ? warp->carry | bit : warp->carry & ~bit;
}

static uint64_t carry_of(const opc_ptx_warp_t *warp, unsigned lane) { return warp->carry >> lane & 1; }

#define CARRY(name, b_sign, in)                                                            \
  static void name##_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {    \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2); \
    OPC_PTX_EACH(mask, { carry_lane(warp, op, l, a[l], b_sign b[l], in); });               \
  }                                                                                        \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {                              \
    (void)form;                                                                            \
    return name##_run;                                                                     \
  }
CARRY(carry_add, , 0)
CARRY(carry_addc, , carry_of(warp, l))
CARRY(carry_sub, ~, 1)
CARRY(carry_subc, ~, carry_of(warp, l))

static uint64_t product_half(uint64_t a, uint64_t b, opc_ptx_says_t type, bool high) {
  switch (type) {
    case OPC_PTX_TYPE_U32:
      return high ? (uint64_t)(uint32_t)a * (uint32_t)b >> 32 : (uint32_t)a * (uint32_t)b;
    case OPC_PTX_TYPE_S32:
      return high ? (uint64_t)((int64_t)(int32_t)a * (int32_t)b >> 32) : (uint32_t)a * (uint32_t)b;
    case OPC_PTX_TYPE_S64: {
      __extension__ typedef __int128 signed_t;
      return high ? (uint64_t)(((signed_t)(int64_t)a * (int64_t)b) >> 64) : a * b;
    }
    default:
      return high ? (uint64_t)(((sum_t)a * b) >> 64) : a * b;
  }
}

#define CARRY_PRODUCT(name, in)                                                                                   \
  static void name##_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {                           \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),                        \
                          *const c = opc_ptx_in(warp, op, 3);                                                     \
    const bool high = op->form.half == OPC_PTX_HALF_HI;                                                           \
    OPC_PTX_EACH(mask, { carry_lane(warp, op, l, product_half(a[l], b[l], op->form.type[0], high), c[l], in); }); \
  }                                                                                                               \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {                                                     \
    (void)form;                                                                                                   \
    return name##_run;                                                                                            \
  }
CARRY_PRODUCT(carry_mad, 0)
CARRY_PRODUCT(carry_madc, carry_of(warp, l))
