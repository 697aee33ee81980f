/* Comparison and selection. All of it is exact. */
#include <math.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"
#include "cuda/ptx/ptx_numbers.h"

/* How the values of each lane compare; lanes in none of the masks have equal ones. */
typedef struct orders {
  uint32_t less, greater, none;
} orders_t;

static uint32_t comparison_holds(opc_ptx_says_t compare, opc_ptx_says_t half, orders_t orders) {
  const uint32_t none = orders.none, less = orders.less, greater = orders.greater, equal = ~(none | less | greater);
  switch (compare) {
    case OPC_PTX_COMPARE_EQ:
      return equal;
    case OPC_PTX_COMPARE_NE:
      return less | greater;
    case OPC_PTX_COMPARE_LT:
      return less;
    case OPC_PTX_COMPARE_LE:
    case OPC_PTX_COMPARE_LS:
      return less | equal;
    case OPC_PTX_COMPARE_GT:
      return greater;
    case OPC_PTX_COMPARE_GE:
    case OPC_PTX_COMPARE_HS:
      return greater | equal;
    case OPC_PTX_COMPARE_EQU:
      return equal | none;
    case OPC_PTX_COMPARE_NEU:
      return ~equal;
    case OPC_PTX_COMPARE_LTU:
      return less | none;
    case OPC_PTX_COMPARE_LEU:
      return ~greater;
    case OPC_PTX_COMPARE_GTU:
      return greater | none;
    case OPC_PTX_COMPARE_GEU:
      return ~less;
    case OPC_PTX_COMPARE_NUM:
      return ~none;
    case OPC_PTX_COMPARE_ISNAN:
      return none;
    default:
      return half == OPC_PTX_HALF_LO ? less : greater; /* lo and hi */
  }
}

/* Both values of all lanes, as `type`. */
#define ORDERS(type, read)                              \
  do {                                                  \
    for (unsigned l = 0; l < OPC_PTX_LANES; l++) {      \
      const type x = read(a[l]), y = read(b[l]);        \
      out.less |= (uint32_t)(x < y) << l;               \
      out.greater |= (uint32_t)(x > y) << l;            \
      out.none |= (uint32_t)((x != x) | (y != y)) << l; \
    }                                                   \
    return out;                                         \
  } while (0)
#define READ_FLOAT(bits) opc_ptx_float_in(bits, ftz)
#define READ_HALF(bits) opc_ptx_half_value((uint16_t)((bits) >> shift), type, ftz)

static orders_t orders_of(const uint64_t *a, const uint64_t *b, opc_ptx_says_t type, bool ftz, unsigned shift) {
  orders_t out = {0};
  switch (type) {
    case OPC_PTX_TYPE_S16:
      ORDERS(int16_t, (int16_t));
    case OPC_PTX_TYPE_S32:
      ORDERS(int32_t, (int32_t));
    case OPC_PTX_TYPE_S64:
      ORDERS(int64_t, (int64_t));
    case OPC_PTX_TYPE_U16:
    case OPC_PTX_TYPE_B16:
      ORDERS(uint16_t, (uint16_t));
    case OPC_PTX_TYPE_U32:
    case OPC_PTX_TYPE_B32:
      ORDERS(uint32_t, (uint32_t));
    case OPC_PTX_TYPE_F32:
      ORDERS(float, READ_FLOAT);
    case OPC_PTX_TYPE_F64:
      ORDERS(double, opc_ptx_double_of);
    case OPC_PTX_TYPE_F16:
    case OPC_PTX_TYPE_BF16:
      ORDERS(double, READ_HALF);
    default:
      ORDERS(uint64_t, (uint64_t));
  }
}

static uint32_t combined(opc_ptx_says_t operation, uint32_t compared, uint32_t other) {
  if (operation == OPC_PTX_OPERATION_AND) return compared & other;
  if (operation == OPC_PTX_OPERATION_OR) return compared | other;
  return operation == OPC_PTX_OPERATION_XOR ? compared ^ other : compared;
}

static uint32_t compared_mask(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned first, opc_ptx_says_t type,
                              unsigned shift) {
  const bool ftz = (op->form.flags & OPC_PTX_FLAG_FTZ) != 0;
  const orders_t orders = orders_of(opc_ptx_in(warp, op, first), opc_ptx_in(warp, op, first + 1), type, ftz, shift);
  return comparison_holds(op->form.compare, op->form.half, orders);
}

/* p|q = compared, and its opposite, each combined with the third predicate. */
static void setp_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const opc_ptx_says_t operation = op->form.operation;
  const uint32_t compared = compared_mask(warp, op, 2, op->form.type[0], 0);
  const uint32_t other = operation != OPC_PTX_NOTHING ? opc_ptx_in_mask(warp, op, 4) : 0;
  opc_ptx_out_mask(warp, op, 1, mask, combined(operation, ~compared, other));
  opc_ptx_out_mask(warp, op, 0, mask, combined(operation, compared, other));
}

/* Two halves: p of the low ones, q of the high ones. */
static void setp_pair_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const opc_ptx_says_t operation = op->form.operation;
  const opc_ptx_says_t type = op->form.type[0] == OPC_PTX_TYPE_F16X2 ? OPC_PTX_TYPE_F16 : OPC_PTX_TYPE_BF16;
  const uint32_t low = compared_mask(warp, op, 2, type, 0), high = compared_mask(warp, op, 2, type, 16);
  const uint32_t other = operation != OPC_PTX_NOTHING ? opc_ptx_in_mask(warp, op, 4) : 0;
  opc_ptx_out_mask(warp, op, 0, mask, combined(operation, low, other));
  opc_ptx_out_mask(warp, op, 1, mask, combined(operation, high, other));
}

opc_ptx_run_t *opc_ptx_compare_setp(const opc_ptx_form_t *form) {
  const bool pair = form->type[0] == OPC_PTX_TYPE_F16X2 || form->type[0] == OPC_PTX_TYPE_BF16X2;
  return pair ? setp_pair_run : setp_run;
}

static void set_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const opc_ptx_says_t operation = op->form.operation;
  const uint32_t other = operation != OPC_PTX_NOTHING ? opc_ptx_in_mask(warp, op, 3) : 0;
  const uint32_t out = combined(operation, compared_mask(warp, op, 1, op->form.type[1], 0), other);
  const uint32_t yes = op->form.type[0] == OPC_PTX_TYPE_F32 ? 0x3f800000 : UINT32_MAX;
  OPC_PTX_EACH(mask, { d[l] = (out >> l & 1) != 0 ? yes : 0; });
}

opc_ptx_run_t *opc_ptx_compare_set(const opc_ptx_form_t *form) {
  (void)form;
  return set_run;
}

static void selp_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2);
  const uint32_t first = opc_ptx_in_mask(warp, op, 3);
  OPC_PTX_EACH(mask, { d[l] = (first >> l & 1) != 0 ? a[l] : b[l]; });
}

opc_ptx_run_t *opc_ptx_compare_selp(const opc_ptx_form_t *form) {
  (void)form;
  return selp_run;
}

/* The first where the third is at least 0 (-0 is, a NaN is not). */
static void slct_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2),
                        *const c = opc_ptx_in(warp, op, 3);
  const bool number = op->form.type[1] == OPC_PTX_TYPE_F32, ftz = (op->form.flags & OPC_PTX_FLAG_FTZ) != 0;
  OPC_PTX_EACH(mask, { d[l] = (number ? opc_ptx_float_in(c[l], ftz) >= 0 : (int32_t)c[l] >= 0) ? a[l] : b[l]; });
}

opc_ptx_run_t *opc_ptx_compare_slct(const opc_ptx_form_t *form) {
  (void)form;
  return slct_run;
}
