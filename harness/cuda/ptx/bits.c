/* Bit patterns: logic, shifts, fields, permutations. All of it is exact. */
#include "cuda/ptx/ptx_machine.h"

/* The code for the three sizes of a family, named name_b16 and so on; the types with a sign have the same. */
#define BY_SIZE(name)                                                                                  \
  {                                                                                                    \
    [OPC_PTX_TYPE_B16] = name##_b16, [OPC_PTX_TYPE_B32] = name##_b32, [OPC_PTX_TYPE_B64] = name##_b64, \
    [OPC_PTX_TYPE_U16] = name##_b16, [OPC_PTX_TYPE_U32] = name##_b32, [OPC_PTX_TYPE_U64] = name##_b64  \
  }
#define FOR_SIZES(MAKE, name, expression)          \
  MAKE(name##_b16, uint16_t, uint16_t, expression) \
  MAKE(name##_b32, uint32_t, uint32_t, expression) \
  MAKE(name##_b64, uint64_t, uint64_t, expression)
#define FAMILY(name)                                                 \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {        \
    static opc_ptx_run_t *const code[OPC_PTX_TYPES] = BY_SIZE(name); \
    return code[form->type[0]];                                      \
  }

FOR_SIZES(OPC_PTX_BINARY, bits_and, x &y)
FOR_SIZES(OPC_PTX_BINARY, bits_or, x | y)
FOR_SIZES(OPC_PTX_BINARY, bits_xor, x ^ y)
FOR_SIZES(OPC_PTX_UNARY, bits_not, ~x)
FOR_SIZES(OPC_PTX_UNARY, bits_cnot, x == 0)
FAMILY(bits_and)
FAMILY(bits_or)
FAMILY(bits_xor)
FAMILY(bits_not)
FAMILY(bits_cnot)

/* ---- counting ---- */

static uint64_t reversed(uint64_t x, unsigned bits) {
  uint64_t out = 0;
  for (unsigned i = 0; i < bits; i++) out |= (x >> i & 1) << (bits - 1 - i);
  return out;
}

OPC_PTX_UNARY(bits_popc_b32, uint32_t, uint32_t, __builtin_popcount(x))
OPC_PTX_UNARY(bits_popc_b64, uint64_t, uint32_t, __builtin_popcountll(x))
OPC_PTX_UNARY(bits_clz_b32, uint32_t, uint32_t, x == 0 ? 32 : __builtin_clz(x))
OPC_PTX_UNARY(bits_clz_b64, uint64_t, uint32_t, x == 0 ? 64 : __builtin_clzll(x))
OPC_PTX_UNARY(bits_brev_b32, uint32_t, uint32_t, reversed(x, 32))
OPC_PTX_UNARY(bits_brev_b64, uint64_t, uint64_t, reversed(x, 64))

#define TWO_SIZES(name)                                                 \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {           \
    return form->type[0] == OPC_PTX_TYPE_B64 ? name##_b64 : name##_b32; \
  }
TWO_SIZES(bits_popc)
TWO_SIZES(bits_clz)
TWO_SIZES(bits_brev)

/* The place of the highest bit that is not a copy of the sign; all bits where there is none. */
static uint32_t find(uint64_t x, unsigned bits, bool shift_amount) {
  if (x == 0) return UINT32_MAX;
  const uint32_t place = 63 - (uint32_t)__builtin_clzll(x);
  return shift_amount ? bits - 1 - place : place;
}

static void bits_bfind_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1);
  const opc_ptx_says_t type = op->form.type[0];
  const bool wide = type == OPC_PTX_TYPE_U64 || type == OPC_PTX_TYPE_S64;
  const bool is_signed = type == OPC_PTX_TYPE_S32 || type == OPC_PTX_TYPE_S64;
  const bool amount = (op->form.flags & OPC_PTX_FLAG_SHIFTAMT) != 0;
  OPC_PTX_EACH(mask, {
    uint64_t x = wide ? a[l] : (uint32_t)a[l];
    if (is_signed && (wide ? (int64_t)x < 0 : (int32_t)x < 0)) x = wide ? ~x : (uint32_t)~x;
    d[l] = find(x, wide ? 64 : 32, amount);
  });
}

opc_ptx_run_t *opc_ptx_bits_bfind(const opc_ptx_form_t *form) {
  (void)form;
  return bits_bfind_run;
}

/* ---- fields ---- */

/* `length` bits from `position` on; above them zeros or copies of the sign, which is the highest bit of the field, or
 * of the value where the field goes past it. */
static uint64_t field(uint64_t x, uint32_t position, uint32_t length, unsigned bits, bool is_signed) {
  const uint32_t at = position & 0xff, count = length & 0xff;
  uint32_t top = at + count - 1;
  uint64_t out = 0;
  if (top > bits - 1) top = bits - 1;
  const bool fill = is_signed && count != 0 && (x >> top & 1) != 0;
  for (unsigned i = 0; i < bits; i++) {
    const bool inside = i < count && at + i < bits;
    if (inside ? (x >> (at + i) & 1) != 0 : fill) out |= UINT64_C(1) << i;
  }
  return out;
}

static uint64_t inserted(uint64_t x, uint64_t into, uint32_t position, uint32_t length, unsigned bits) {
  const uint32_t at = position & 0xff, count = length & 0xff;
  for (unsigned i = 0; i < count && at + i < bits; i++) {
    const uint64_t bit = UINT64_C(1) << (at + i);
    into = (into & ~bit) | ((x >> i & 1) != 0 ? bit : 0);
  }
  return into;
}

static void bits_bfe_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),
                        *const c = opc_ptx_in(warp, op, 3);
  const opc_ptx_says_t type = op->form.type[0];
  const unsigned bits = opc_ptx_type_size(type) * 8;
  const bool is_signed = type == OPC_PTX_TYPE_S32 || type == OPC_PTX_TYPE_S64;
  OPC_PTX_EACH(mask, { d[l] = field(a[l], (uint32_t)b[l], (uint32_t)c[l], bits, is_signed); });
}

static void bits_bfi_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),
                        *const c = opc_ptx_in(warp, op, 3), *const e = opc_ptx_in(warp, op, 4);
  const unsigned bits = opc_ptx_type_size(op->form.type[0]) * 8;
  OPC_PTX_EACH(mask, { d[l] = inserted(a[l], b[l], (uint32_t)c[l], (uint32_t)e[l], bits); });
}

opc_ptx_run_t *opc_ptx_bits_bfe(const opc_ptx_form_t *form) {
  (void)form;
  return bits_bfe_run;
}

opc_ptx_run_t *opc_ptx_bits_bfi(const opc_ptx_form_t *form) {
  (void)form;
  return bits_bfi_run;
}

/* The low `count` bits keep their value, above them stands the sign or nothing. */
static uint32_t extended(uint32_t x, uint32_t count, bool wrap, bool is_signed) {
  if (wrap) count &= 31;
  if (count >= 32) return x;
  if (count == 0) return 0;
  const uint32_t low = x & ((UINT32_C(1) << count) - 1);
  const bool negative = is_signed && (x >> (count - 1) & 1) != 0;
  return negative ? low | UINT32_MAX << count : low;
}

/* `count` bits from `position` on. */
static uint32_t mask_bits(uint32_t position, uint32_t count, bool wrap) {
  if (wrap) {
    position &= 31;
    count &= 31;
  }
  if (position >= 32 || count == 0) return 0;
  const uint32_t low = count >= 32 ? UINT32_MAX : (UINT32_C(1) << count) - 1;
  return low << position;
}

static void bits_szext_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2);
  const bool wrap = (op->form.flags & OPC_PTX_FLAG_WRAP) != 0, is_signed = op->form.type[0] == OPC_PTX_TYPE_S32;
  OPC_PTX_EACH(mask, { d[l] = extended((uint32_t)a[l], (uint32_t)b[l], wrap, is_signed); });
}

static void bits_bmsk_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2);
  const bool wrap = (op->form.flags & OPC_PTX_FLAG_WRAP) != 0;
  OPC_PTX_EACH(mask, { d[l] = mask_bits((uint32_t)a[l], (uint32_t)b[l], wrap); });
}

opc_ptx_run_t *opc_ptx_bits_szext(const opc_ptx_form_t *form) {
  (void)form;
  return bits_szext_run;
}

opc_ptx_run_t *opc_ptx_bits_bmsk(const opc_ptx_form_t *form) {
  (void)form;
  return bits_bmsk_run;
}

/* ---- shifts: amounts of the size and more shift everything out ---- */

#define SHIFT(name, type, unsigned_type, inside, outside)                                  \
  static void name(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {          \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                          \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2); \
    OPC_PTX_EACH(mask, {                                                                   \
      const type x = (type)a[l];                                                           \
      const uint32_t y = (uint32_t)b[l];                                                   \
      d[l] = (unsigned_type)(y < 8 * sizeof x ? (inside) : (outside));                     \
    });                                                                                    \
  }
SHIFT(bits_shl_b16, uint16_t, uint16_t, (uint32_t)x << y, 0)
SHIFT(bits_shl_b32, uint32_t, uint32_t, x << y, 0)
SHIFT(bits_shl_b64, uint64_t, uint64_t, x << y, 0)
SHIFT(bits_shr_b16, uint16_t, uint16_t, x >> y, 0)
SHIFT(bits_shr_b32, uint32_t, uint32_t, x >> y, 0)
SHIFT(bits_shr_b64, uint64_t, uint64_t, x >> y, 0)
SHIFT(bits_shr_s16, int16_t, uint16_t, x >> y, x < 0 ? -1 : 0)
SHIFT(bits_shr_s32, int32_t, uint32_t, x >> y, x < 0 ? -1 : 0)
SHIFT(bits_shr_s64, int64_t, uint64_t, x >> y, x < 0 ? -1 : 0)
FAMILY(bits_shl)

opc_ptx_run_t *opc_ptx_bits_shr(const opc_ptx_form_t *form) {
  static opc_ptx_run_t *const code[OPC_PTX_TYPES] = BY_SIZE(bits_shr);
  if (form->type[0] == OPC_PTX_TYPE_S16) return bits_shr_s16;
  if (form->type[0] == OPC_PTX_TYPE_S32) return bits_shr_s32;
  return form->type[0] == OPC_PTX_TYPE_S64 ? bits_shr_s64 : code[form->type[0]];
}

/* The second value above the first, shifted as one number of 64 bits. */
static uint32_t funnel(uint32_t low, uint32_t high, uint32_t amount, bool left, bool wrap) {
  const uint64_t both = (uint64_t)high << 32 | low;
  amount = wrap ? amount & 31 : amount > 32 ? 32 : amount;
  return left ? (uint32_t)((both << amount) >> 32) : (uint32_t)(both >> amount);
}

static void bits_shf_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),
                        *const c = opc_ptx_in(warp, op, 3);
  const bool left = op->form.mode == OPC_PTX_MODE_LEFT, wrap = (op->form.flags & OPC_PTX_FLAG_WRAP) != 0;
  OPC_PTX_EACH(mask, { d[l] = funnel((uint32_t)a[l], (uint32_t)b[l], (uint32_t)c[l], left, wrap); });
}

opc_ptx_run_t *opc_ptx_bits_shf(const opc_ptx_form_t *form) {
  (void)form;
  return bits_shf_run;
}

/* ---- three values, by a table of 8 bits; bytes in another order ---- */

static void bits_lop3_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),
                        *const c = opc_ptx_in(warp, op, 3);
  const uint64_t table = opc_ptx_in(warp, op, 4)[0];
  OPC_PTX_EACH(mask, {
    uint64_t out = 0;
    for (unsigned i = 0; i < 8; i++) {
      const uint64_t x = (i & 4) != 0 ? a[l] : ~a[l], y = (i & 2) != 0 ? b[l] : ~b[l], z = (i & 1) != 0 ? c[l] : ~c[l];
      out |= (table >> i & 1) != 0 ? x & y & z : 0;
    }
    d[l] = (uint32_t)out;
  });
}

opc_ptx_run_t *opc_ptx_bits_lop3(const opc_ptx_form_t *form) {
  (void)form;
  return bits_lop3_run;
}

/* Four bits for each byte of the result: which of the eight bytes, and whether only its sign is copied. */
static uint32_t selectors(uint32_t control, opc_ptx_says_t mode) {
  static const uint16_t table[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                       {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                       {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return mode == OPC_PTX_NOTHING ? control & 0xffff : table[mode - OPC_PTX_MODE_F4E][control & 3];
}

static void bits_prmt_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),
                        *const c = opc_ptx_in(warp, op, 3);
  const opc_ptx_says_t mode = op->form.mode;
  OPC_PTX_EACH(mask, {
    const uint64_t bytes = b[l] << 32 | (uint32_t)a[l];
    const uint32_t control = selectors((uint32_t)c[l], mode);
    uint32_t out = 0;
    for (unsigned i = 0; i < 4; i++) {
      const uint32_t selector = control >> 4 * i & 15, byte = (uint32_t)(bytes >> 8 * (selector & 7)) & 0xff;
      const uint32_t sign = (byte & 0x80) != 0 ? 0xff : 0;
      out |= ((selector & 8) != 0 ? sign : byte) << 8 * i;
    }
    d[l] = out;
  });
}

opc_ptx_run_t *opc_ptx_bits_prmt(const opc_ptx_form_t *form) {
  (void)form;
  return bits_prmt_run;
}
