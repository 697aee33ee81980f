/* Atomic operations, lane after lane. Sums of floating-point numbers depend on that order; each of them is exact. */
#include <string.h>

#include "cuda/ptx/ptx_machine.h"
#include "cuda/ptx/ptx_numbers.h"

/* In global memory sums of floats have no subnormal numbers; in shared memory they have. */
static uint64_t float_sum(uint64_t old, uint64_t value, opc_ptx_space_t space) {
  const bool flush = space != OPC_PTX_SPACE_SHARED;
  const float sum = opc_ptx_float_in(old, flush) + opc_ptx_float_in(value, flush);
  return opc_ptx_float_out(sum, flush ? OPC_PTX_FLAG_FTZ : 0);
}

static uint64_t half_sum(uint64_t old, uint64_t value, opc_ptx_says_t type) {
  const bool brain = type == OPC_PTX_TYPE_BF16 || type == OPC_PTX_TYPE_BF16X2;
  const bool two = type == OPC_PTX_TYPE_F16X2 || type == OPC_PTX_TYPE_BF16X2;
  const opc_ptx_says_t one = brain ? OPC_PTX_TYPE_BF16 : OPC_PTX_TYPE_F16;
  uint64_t out = 0;
  for (unsigned i = 0; i < (two ? 2u : 1u); i++) {
    const double x = opc_ptx_half_value((uint16_t)(old >> 16 * i), one, false);
    const double y = opc_ptx_half_value((uint16_t)(value >> 16 * i), one, false);
    const double sum = x + y, of_y = sum - x, rest = (x - (sum - of_y)) + (y - of_y);
    const opc_ptx_inexact_t exact = {sum, isfinite(sum) ? (rest > 0) - (rest < 0) : 0};
    out |= (uint64_t)opc_ptx_half_round(exact, one, OPC_PTX_ROUND_RN) << 16 * i;
  }
  return out;
}

static uint64_t atomic_sum(uint64_t old, uint64_t value, opc_ptx_says_t type, opc_ptx_space_t space) {
  if (type == OPC_PTX_TYPE_F32) return float_sum(old, value, space);
  if (type == OPC_PTX_TYPE_F64) return opc_ptx_double_out(opc_ptx_double_of(old) + opc_ptx_double_of(value), 0);
  return opc_ptx_type_is_float(type) ? half_sum(old, value, type) : old + value;
}

static bool is_less(uint64_t a, uint64_t b, opc_ptx_says_t type) {
  if (type == OPC_PTX_TYPE_S32) return (int32_t)a < (int32_t)b;
  if (type == OPC_PTX_TYPE_S64) return (int64_t)a < (int64_t)b;
  return type == OPC_PTX_TYPE_U32 ? (uint32_t)a < (uint32_t)b : a < b;
}

/* What replaces the old value; `third`: what cas writes. */
static uint64_t replaced(const opc_ptx_form_t *form, uint64_t old, uint64_t value, uint64_t third,
                         opc_ptx_space_t space) {
  const opc_ptx_says_t type = form->type[0];
  const uint32_t small = (uint32_t)old, limit = (uint32_t)value;
  switch (form->operation) {
    case OPC_PTX_OPERATION_AND:
      return old & value;
    case OPC_PTX_OPERATION_OR:
      return old | value;
    case OPC_PTX_OPERATION_XOR:
      return old ^ value;
    case OPC_PTX_OPERATION_EXCH:
      return value;
    case OPC_PTX_OPERATION_CAS: {
      const unsigned left = 64 - 8 * opc_ptx_type_size(type);
      return old << left == value << left ? third : old;
    }
    case OPC_PTX_OPERATION_ADD:
      return atomic_sum(old, value, type, space);
    case OPC_PTX_OPERATION_MIN:
      return is_less(value, old, type) ? value : old;
    case OPC_PTX_OPERATION_MAX:
      return is_less(old, value, type) ? value : old;
    case OPC_PTX_OPERATION_INC:
      return small >= limit ? 0 : small + 1;
    default:
      return small == 0 || small > limit ? limit : small - 1; /* dec */
  }
}

/* The old value goes to `d`, if there is one. */
static void apply(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask, uint64_t *d, const uint64_t *value,
                  const uint64_t *third) {
  const uint32_t bytes = opc_ptx_type_size(op->form.type[0]);
  opc_ptx_touch_t touch;
  opc_ptx_touch(warp, op, mask, bytes, OPC_PTX_ATOMIC, &touch);
  opc_ptx_watch_races(warp, op, &touch, NULL, bytes);
  opc_ptx_watch_atomic(warp, op, &touch);
  const uint32_t good = touch.global | touch.shared | touch.other;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((mask >> lane & 1) == 0) continue;
    const opc_ptx_space_t space = (touch.shared >> lane & 1) != 0 ? OPC_PTX_SPACE_SHARED : OPC_PTX_SPACE_GLOBAL;
    uint64_t old = 0;
    if ((good >> lane & 1) != 0) {
      memcpy(&old, touch.at[lane], bytes);
      const uint64_t next = replaced(&op->form, old, value[lane], third[lane], space);
      memcpy(touch.at[lane], &next, bytes);
    }
    if (d) d[lane] = old;
  }
}

static void atomic_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  apply(warp, op, mask, opc_ptx_out(warp, op, 0), opc_ptx_in(warp, op, 1), opc_ptx_in(warp, op, op->slots - 1u));
}

static void reduce_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  apply(warp, op, mask, NULL, opc_ptx_in(warp, op, 0), opc_ptx_in(warp, op, 0));
}

opc_ptx_run_t *opc_ptx_atomic(const opc_ptx_form_t *form) {
  (void)form;
  return atomic_run;
}

opc_ptx_run_t *opc_ptx_reduce(const opc_ptx_form_t *form) {
  (void)form;
  return reduce_run;
}
