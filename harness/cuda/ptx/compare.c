/* Comparison and selection. All of it is exact. */
#include <math.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"
#include "cuda/ptx/ptx_numbers.h"

/* How two values compare. */
typedef enum order { ORDER_LESS, ORDER_EQUAL, ORDER_GREATER, ORDER_NONE } order_t;

static bool comparison_holds(opc_ptx_says_t compare, opc_ptx_says_t half, order_t order) {
  const bool none = order == ORDER_NONE, less = order == ORDER_LESS, equal = order == ORDER_EQUAL,
             greater = order == ORDER_GREATER;
  switch (compare) {
    case OPC_PTX_COMPARE_EQ:
      return equal;
    case OPC_PTX_COMPARE_NE:
      return less || greater;
    case OPC_PTX_COMPARE_LT:
      return less;
    case OPC_PTX_COMPARE_LE:
    case OPC_PTX_COMPARE_LS:
      return less || equal;
    case OPC_PTX_COMPARE_GT:
      return greater;
    case OPC_PTX_COMPARE_GE:
    case OPC_PTX_COMPARE_HS:
      return greater || equal;
    case OPC_PTX_COMPARE_EQU:
      return equal || none;
    case OPC_PTX_COMPARE_NEU:
      return !equal;
    case OPC_PTX_COMPARE_LTU:
      return less || none;
    case OPC_PTX_COMPARE_LEU:
      return !greater;
    case OPC_PTX_COMPARE_GTU:
      return greater || none;
    case OPC_PTX_COMPARE_GEU:
      return !less;
    case OPC_PTX_COMPARE_NUM:
      return !none;
    case OPC_PTX_COMPARE_ISNAN:
      return none;
    default:
      return half == OPC_PTX_HALF_LO ? less : greater; /* lo and hi */
  }
}

#define ORDER(x, y) ((x) < (y) ? ORDER_LESS : (x) > (y) ? ORDER_GREATER : (x) == (y) ? ORDER_EQUAL : ORDER_NONE)

static order_t order_of(uint64_t a, uint64_t b, opc_ptx_says_t type, bool ftz) {
  switch (type) {
    case OPC_PTX_TYPE_S16:
      return ORDER((int16_t)a, (int16_t)b);
    case OPC_PTX_TYPE_S32:
      return ORDER((int32_t)a, (int32_t)b);
    case OPC_PTX_TYPE_S64:
      return ORDER((int64_t)a, (int64_t)b);
    case OPC_PTX_TYPE_U16:
    case OPC_PTX_TYPE_B16:
      return ORDER((uint16_t)a, (uint16_t)b);
    case OPC_PTX_TYPE_U32:
    case OPC_PTX_TYPE_B32:
      return ORDER((uint32_t)a, (uint32_t)b);
    case OPC_PTX_TYPE_F32: {
      const float x = opc_ptx_float_in(a, ftz), y = opc_ptx_float_in(b, ftz);
      return ORDER(x, y);
    }
    case OPC_PTX_TYPE_F64: {
      const double x = opc_ptx_double_of(a), y = opc_ptx_double_of(b);
      return ORDER(x, y);
    }
    case OPC_PTX_TYPE_F16:
    case OPC_PTX_TYPE_BF16: {
      const double x = opc_ptx_half_value((uint16_t)a, type, ftz), y = opc_ptx_half_value((uint16_t)b, type, ftz);
      return ORDER(x, y);
    }
    default:
      return ORDER(a, b);
  }
}

static uint32_t combined(opc_ptx_says_t operation, uint32_t compared, uint32_t other) {
  if (operation == OPC_PTX_OPERATION_AND) return compared & other;
  if (operation == OPC_PTX_OPERATION_OR) return compared | other;
  return operation == OPC_PTX_OPERATION_XOR ? compared ^ other : compared;
}

static uint32_t compared_mask(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned first, opc_ptx_says_t type,
                              uint32_t mask, unsigned shift) {
  const uint64_t *const a = opc_ptx_in(warp, op, first), *const b = opc_ptx_in(warp, op, first + 1);
  const bool ftz = (op->form.flags & OPC_PTX_FLAG_FTZ) != 0;
  const opc_ptx_says_t compare = op->form.compare, half = op->form.half;
  uint32_t out = 0;
  OPC_PTX_EACH(mask, {
    out |= (uint32_t)comparison_holds(compare, half, order_of(a[l] >> shift, b[l] >> shift, type, ftz)) << l;
  });
  return out;
}

/* p|q = compared, and its opposite, each combined with the third predicate. */
static void setp_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const opc_ptx_says_t operation = op->form.operation;
  const uint32_t compared = compared_mask(warp, op, 2, op->form.type[0], mask, 0);
  const uint32_t other = operation != OPC_PTX_NOTHING ? opc_ptx_in_mask(warp, op, 4) : 0;
  opc_ptx_out_mask(warp, op, 1, mask, combined(operation, ~compared, other));
  opc_ptx_out_mask(warp, op, 0, mask, combined(operation, compared, other));
}

/* Two halves: p of the low ones, q of the high ones. */
static void setp_pair_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const opc_ptx_says_t operation = op->form.operation;
  const opc_ptx_says_t type = op->form.type[0] == OPC_PTX_TYPE_F16X2 ? OPC_PTX_TYPE_F16 : OPC_PTX_TYPE_BF16;
  const uint32_t low = compared_mask(warp, op, 2, type, mask, 0), high = compared_mask(warp, op, 2, type, mask, 16);
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
  const uint32_t out = combined(operation, compared_mask(warp, op, 1, op->form.type[1], mask, 0), other);
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
