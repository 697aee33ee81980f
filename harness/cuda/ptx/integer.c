/* Arithmetic with whole numbers. All of it is exact; division by zero gives what is said at it. */
#include <stdlib.h>

#include "cuda/ptx/ptx_machine.h"

__extension__ typedef __int128 wide_t;
__extension__ typedef unsigned __int128 unsigned_wide_t;

/* The code for each type of a family, named name_u16 and so on. */
#define BY_TYPE(name)                                                                                  \
  {                                                                                                    \
    [OPC_PTX_TYPE_U16] = name##_u16, [OPC_PTX_TYPE_S16] = name##_s16, [OPC_PTX_TYPE_U32] = name##_u32, \
    [OPC_PTX_TYPE_S32] = name##_s32, [OPC_PTX_TYPE_U64] = name##_u64, [OPC_PTX_TYPE_S64] = name##_s64  \
  }

#define FOR_TYPES(MAKE, name, expression)          \
  MAKE(name##_u16, uint16_t, uint16_t, expression) \
  MAKE(name##_s16, int16_t, uint16_t, expression)  \
  MAKE(name##_u32, uint32_t, uint32_t, expression) \
  MAKE(name##_s32, int32_t, uint32_t, expression)  \
  MAKE(name##_u64, uint64_t, uint64_t, expression) \
  MAKE(name##_s64, int64_t, uint64_t, expression)

/* A family whose code depends on the type alone. */
#define FAMILY(name)                                                 \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {        \
    static opc_ptx_run_t *const code[OPC_PTX_TYPES] = BY_TYPE(name); \
    return code[form->type[0]];                                      \
  }

/* Sums and products wrap around: they are calculated without a sign. */
FOR_TYPES(OPC_PTX_BINARY, plain_add, (uint64_t)x + (uint64_t)y)
FOR_TYPES(OPC_PTX_BINARY, plain_sub, (uint64_t)x - (uint64_t)y)
FOR_TYPES(OPC_PTX_BINARY, integer_min, x < y ? x : y)
FOR_TYPES(OPC_PTX_BINARY, integer_max, x > y ? x : y)
FOR_TYPES(OPC_PTX_TERNARY, integer_sad, (uint64_t)z + (x < y ? (uint64_t)y - (uint64_t)x : (uint64_t)x - (uint64_t)y))
FAMILY(integer_min)
FAMILY(integer_max)
FAMILY(integer_sad)

static int32_t clamped(int64_t value) {
  return (int32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}

OPC_PTX_BINARY(saturated_add, int32_t, uint32_t, clamped((int64_t)x + y))
OPC_PTX_BINARY(saturated_sub, int32_t, uint32_t, clamped((int64_t)x - y))

opc_ptx_run_t *opc_ptx_integer_add(const opc_ptx_form_t *form) {
  static opc_ptx_run_t *const code[OPC_PTX_TYPES] = BY_TYPE(plain_add);
  return (form->flags & OPC_PTX_FLAG_SAT) != 0 ? saturated_add : code[form->type[0]];
}

opc_ptx_run_t *opc_ptx_integer_sub(const opc_ptx_form_t *form) {
  static opc_ptx_run_t *const code[OPC_PTX_TYPES] = BY_TYPE(plain_sub);
  return (form->flags & OPC_PTX_FLAG_SAT) != 0 ? saturated_sub : code[form->type[0]];
}

/* ---- products ---- */

#define HIGH(type, wide, bits) (type)(((wide)x * (wide)y) >> (bits))
#define FOR_PRODUCTS(MAKE, name, add)                                              \
  MAKE(name##_lo_u16, uint16_t, uint16_t, (uint32_t)x *(uint32_t)y add)            \
  MAKE(name##_lo_s16, int16_t, uint16_t, (uint32_t)x *(uint32_t)y add)             \
  MAKE(name##_lo_u32, uint32_t, uint32_t, x *y add)                                \
  MAKE(name##_lo_s32, int32_t, uint32_t, (uint32_t)x *(uint32_t)y add)             \
  MAKE(name##_lo_u64, uint64_t, uint64_t, x *y add)                                \
  MAKE(name##_lo_s64, int64_t, uint64_t, (uint64_t)x *(uint64_t)y add)             \
  MAKE(name##_hi_u16, uint16_t, uint16_t, HIGH(uint32_t, uint32_t, 16) add)        \
  MAKE(name##_hi_s16, int16_t, uint16_t, HIGH(uint32_t, int32_t, 16) add)          \
  MAKE(name##_hi_u32, uint32_t, uint32_t, HIGH(uint32_t, uint64_t, 32) add)        \
  MAKE(name##_hi_s32, int32_t, uint32_t, HIGH(uint32_t, int64_t, 32) add)          \
  MAKE(name##_hi_u64, uint64_t, uint64_t, HIGH(uint64_t, unsigned_wide_t, 64) add) \
  MAKE(name##_hi_s64, int64_t, uint64_t, HIGH(uint64_t, wide_t, 64) add)

FOR_PRODUCTS(OPC_PTX_BINARY, product, )
FOR_PRODUCTS(OPC_PTX_TERNARY, sum, +(uint64_t)z)

/* The result has twice the bits, and so has the third value. */
#define WIDE(name, type, result, rest)                                                          \
  static void name(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {               \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                               \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),      \
                          *const c = opc_ptx_in(warp, op, op->slots - 1);                       \
    (void)c;                                                                                    \
    OPC_PTX_EACH(mask, { d[l] = (result)((uint64_t)(type)a[l] * (uint64_t)(type)b[l] rest); }); \
  }
WIDE(product_wide_u16, uint16_t, uint32_t, )
WIDE(product_wide_s16, int16_t, uint32_t, )
WIDE(product_wide_u32, uint32_t, uint64_t, )
WIDE(product_wide_s32, int32_t, uint64_t, )
WIDE(sum_wide_u16, uint16_t, uint32_t, +c[l])
WIDE(sum_wide_s16, int16_t, uint32_t, +c[l])
WIDE(sum_wide_u32, uint32_t, uint64_t, +c[l])
WIDE(sum_wide_s32, int32_t, uint64_t, +c[l])

OPC_PTX_TERNARY(saturated_sum, int32_t, uint32_t, clamped((((int64_t)x * y) >> 32) + z))

opc_ptx_run_t *opc_ptx_integer_mul(const opc_ptx_form_t *form) {
  static opc_ptx_run_t *const low[OPC_PTX_TYPES] = BY_TYPE(product_lo), *const high[OPC_PTX_TYPES] =
                                                                            BY_TYPE(product_hi);
  static opc_ptx_run_t *const wide[OPC_PTX_TYPES] = {[OPC_PTX_TYPE_U16] = product_wide_u16,
                                                     [OPC_PTX_TYPE_S16] = product_wide_s16,
                                                     [OPC_PTX_TYPE_U32] = product_wide_u32,
                                                     [OPC_PTX_TYPE_S32] = product_wide_s32};
  return (form->half == OPC_PTX_HALF_WIDE ? wide : form->half == OPC_PTX_HALF_HI ? high : low)[form->type[0]];
}

opc_ptx_run_t *opc_ptx_integer_mad(const opc_ptx_form_t *form) {
  static opc_ptx_run_t *const low[OPC_PTX_TYPES] = BY_TYPE(sum_lo), *const high[OPC_PTX_TYPES] = BY_TYPE(sum_hi);
  static opc_ptx_run_t *const wide[OPC_PTX_TYPES] = {[OPC_PTX_TYPE_U16] = sum_wide_u16,
                                                     [OPC_PTX_TYPE_S16] = sum_wide_s16,
                                                     [OPC_PTX_TYPE_U32] = sum_wide_u32,
                                                     [OPC_PTX_TYPE_S32] = sum_wide_s32};
  if ((form->flags & OPC_PTX_FLAG_SAT) != 0) return saturated_sum;
  return (form->half == OPC_PTX_HALF_WIDE ? wide : form->half == OPC_PTX_HALF_HI ? high : low)[form->type[0]];
}

/* The low 24 bits of each, of the product of 48 bits the low 32 or the high 32. */
static int64_t low_24(int32_t x) { return (int32_t)((uint32_t)x << 8) >> 8; }

OPC_PTX_BINARY(mul24_lo_u32, uint32_t, uint32_t, (uint64_t)(x & 0xffffff) * (y & 0xffffff))
OPC_PTX_BINARY(mul24_hi_u32, uint32_t, uint32_t, ((uint64_t)(x & 0xffffff) * (y & 0xffffff)) >> 16)
OPC_PTX_BINARY(mul24_lo_s32, int32_t, uint32_t, low_24(x) * low_24(y))
OPC_PTX_BINARY(mul24_hi_s32, int32_t, uint32_t, (low_24(x) * low_24(y)) >> 16)
OPC_PTX_TERNARY(mad24_lo_u32, uint32_t, uint32_t, (uint64_t)(x & 0xffffff) * (y & 0xffffff) + z)
OPC_PTX_TERNARY(mad24_hi_u32, uint32_t, uint32_t, (((uint64_t)(x & 0xffffff) * (y & 0xffffff)) >> 16) + z)
OPC_PTX_TERNARY(mad24_lo_s32, int32_t, uint32_t, low_24(x) * low_24(y) + z)
OPC_PTX_TERNARY(mad24_hi_s32, int32_t, uint32_t, ((low_24(x) * low_24(y)) >> 16) + z)

opc_ptx_run_t *opc_ptx_integer_mul24(const opc_ptx_form_t *form) {
  if (form->type[0] == OPC_PTX_TYPE_U32) return form->half == OPC_PTX_HALF_HI ? mul24_hi_u32 : mul24_lo_u32;
  return form->half == OPC_PTX_HALF_HI ? mul24_hi_s32 : mul24_lo_s32;
}

opc_ptx_run_t *opc_ptx_integer_mad24(const opc_ptx_form_t *form) {
  if (form->type[0] == OPC_PTX_TYPE_U32) return form->half == OPC_PTX_HALF_HI ? mad24_hi_u32 : mad24_lo_u32;
  return form->half == OPC_PTX_HALF_HI ? mad24_hi_s32 : mad24_lo_s32;
}

/* ---- quotients ---- */

/* By zero PTX leaves the result open: all bits are set, and the remainder is the dividend. The smallest number by -1
 * wraps around. */
#define DIVIDE(name, type, unsigned_type, minus)            \
  OPC_PTX_BINARY(integer_div_##name, type, unsigned_type,   \
                 y == 0  ? (unsigned_type)-1                \
                 : minus ? (unsigned_type)(0 - (uint64_t)x) \
                         : (unsigned_type)(x / y))          \
  OPC_PTX_BINARY(integer_rem_##name, type, unsigned_type,   \
                 y == 0  ? (unsigned_type)x                 \
                 : minus ? (unsigned_type)0                 \
                         : (unsigned_type)(x % y))
DIVIDE(u16, uint16_t, uint16_t, false)
DIVIDE(s16, int16_t, uint16_t, y == -1)
DIVIDE(u32, uint32_t, uint32_t, false)
DIVIDE(s32, int32_t, uint32_t, y == -1)
DIVIDE(u64, uint64_t, uint64_t, false)
DIVIDE(s64, int64_t, uint64_t, y == -1)
FAMILY(integer_div)
FAMILY(integer_rem)

/* ---- one value ---- */

#define FOR_SIGNED(name, expression)                       \
  OPC_PTX_UNARY(name##_s16, int16_t, uint16_t, expression) \
  OPC_PTX_UNARY(name##_s32, int32_t, uint32_t, expression) \
  OPC_PTX_UNARY(name##_s64, int64_t, uint64_t, expression)
#define SIGNED_FAMILY(name)                                                                                 \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {                                               \
    static opc_ptx_run_t *const code[OPC_PTX_TYPES] = {                                                     \
        [OPC_PTX_TYPE_S16] = name##_s16, [OPC_PTX_TYPE_S32] = name##_s32, [OPC_PTX_TYPE_S64] = name##_s64}; \
    return code[form->type[0]];                                                                             \
  }
FOR_SIGNED(integer_abs, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
FOR_SIGNED(integer_neg, 0 - (uint64_t)x)
SIGNED_FAMILY(integer_abs)
SIGNED_FAMILY(integer_neg)

/* ---- products of bytes ---- */

/* Byte i of a value, as a number with or without a sign. */
static int64_t byte_of(uint32_t value, unsigned i, bool is_signed) {
  const uint8_t byte = (uint8_t)(value >> 8 * i);
  return is_signed ? (int8_t)byte : byte;
}

static int64_t half_of(uint32_t value, unsigned i, bool is_signed) {
  const uint16_t half = (uint16_t)(value >> 16 * i);
  return is_signed ? (int16_t)half : half;
}

static void dp4a(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),
                        *const c = opc_ptx_in(warp, op, 3);
  const bool signed_a = op->form.type[0] == OPC_PTX_TYPE_S32, signed_b = op->form.type[1] == OPC_PTX_TYPE_S32;
  OPC_PTX_EACH(mask, {
    int64_t sum = (int64_t)c[l];
    for (unsigned i = 0; i < 4; i++) sum += byte_of((uint32_t)a[l], i, signed_a) * byte_of((uint32_t)b[l], i, signed_b);
    d[l] = (uint32_t)sum;
  });
}

static void dp2a(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),
                        *const c = opc_ptx_in(warp, op, 3);
  const bool signed_a = op->form.type[0] == OPC_PTX_TYPE_S32, signed_b = op->form.type[1] == OPC_PTX_TYPE_S32;
  const unsigned first = op->form.half == OPC_PTX_HALF_HI ? 2 : 0;
  OPC_PTX_EACH(mask, {
    int64_t sum = (int64_t)c[l];
    for (unsigned i = 0; i < 2; i++)
      sum += half_of((uint32_t)a[l], i, signed_a) * byte_of((uint32_t)b[l], first + i, signed_b);
    d[l] = (uint32_t)sum;
  });
}

opc_ptx_run_t *opc_ptx_integer_dp4a(const opc_ptx_form_t *form) {
  (void)form;
  return dp4a;
}

opc_ptx_run_t *opc_ptx_integer_dp2a(const opc_ptx_form_t *form) {
  (void)form;
  return dp2a;
}

/* ---- sums with the carry flag, for numbers of more than 64 bits ---- */

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
