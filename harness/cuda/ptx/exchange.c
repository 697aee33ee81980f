/* Exchange between the lanes of a warp. The mask holds all lanes that take part, together. All of it is exact. */
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

/* The lane whose value a lane gets; *inside: whether it is in the lane's segment. Source: PTX ISA, "shfl.sync". */
static unsigned source_of(unsigned lane, uint32_t b, uint32_t c, opc_ptx_says_t mode, bool *inside) {
  const int at = (int)lane, by = (int)(b & 31), segment = (int)(c >> 8 & 31), clamp = (int)(c & 31);
  const int lowest = at & segment, highest = lowest | (clamp & ~segment);
  int from = lowest | (by & ~segment); /* idx */
  if (mode == OPC_PTX_MODE_UP) from = at - by;
  if (mode == OPC_PTX_MODE_DOWN) from = at + by;
  if (mode == OPC_PTX_MODE_BFLY) from = at ^ by;
  *inside = mode == OPC_PTX_MODE_UP ? from >= highest : from <= highest;
  return *inside ? (unsigned)from : lane;
}

/* A lane that does not take part gives nothing: what is read from it is the reader's own value. */
static void shfl_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  opc_ptx_lanes_t values = warp->registers[op->slot[2]];
  const uint64_t *const b = opc_ptx_in(warp, op, 3), *const c = opc_ptx_in(warp, op, 4);
  opc_ptx_lanes_t out = values;
  uint32_t inside_mask = 0;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    bool inside;
    const unsigned from = source_of(lane, (uint32_t)b[lane], (uint32_t)c[lane], op->form.mode, &inside);
    if (inside) inside_mask |= UINT32_C(1) << lane;
    if ((mask >> from & 1) != 0) out.lane[lane] = (uint32_t)values.lane[from];
  }
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  OPC_PTX_EACH(mask, { d[l] = out.lane[l]; });
  opc_ptx_out_mask(warp, op, 1, mask, inside_mask);
}

static void vote_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const uint32_t yes = opc_ptx_in_mask(warp, op, 1) & mask;
  const bool all = yes == mask;
  const bool out = op->form.mode == OPC_PTX_MODE_ALL   ? all
                   : op->form.mode == OPC_PTX_MODE_ANY ? yes != 0
                                                       : all || yes == 0;
  opc_ptx_out_mask(warp, op, 0, mask, out ? OPC_PTX_ALL_LANES : 0);
}

static void ballot_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint32_t yes = opc_ptx_in_mask(warp, op, 1) & mask;
  OPC_PTX_EACH(mask, { d[l] = yes; });
}

static uint64_t significant(uint64_t value, const opc_ptx_op_t *op) {
  return op->form.type[0] == OPC_PTX_TYPE_B64 ? value : (uint32_t)value;
}

/* The lanes of the mask with the same value as this one. */
static uint32_t equals(const uint64_t *values, unsigned lane, uint32_t mask, const opc_ptx_op_t *op) {
  uint32_t out = 0;
  for (unsigned i = 0; i < OPC_PTX_LANES; i++)
    if ((mask >> i & 1) != 0 && significant(values[i], op) == significant(values[lane], op)) out |= UINT32_C(1) << i;
  return out;
}

static void match_any_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const opc_ptx_lanes_t values = warp->registers[op->slot[1]];
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  OPC_PTX_EACH(mask, { d[l] = equals(values.lane, l, mask, op); });
}

static void match_all_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const opc_ptx_lanes_t values = warp->registers[op->slot[2]];
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const bool all = equals(values.lane, (unsigned)__builtin_ctz(mask), mask, op) == mask;
  OPC_PTX_EACH(mask, { d[l] = all ? mask : 0; });
  opc_ptx_out_mask(warp, op, 1, mask, all ? OPC_PTX_ALL_LANES : 0);
}

static uint32_t joined(const opc_ptx_op_t *op, uint32_t x, uint32_t y) {
  const bool is_signed = op->form.type[0] == OPC_PTX_TYPE_S32;
  const bool less = is_signed ? (int32_t)x < (int32_t)y : x < y;
  switch (op->form.operation) {
    case OPC_PTX_OPERATION_ADD:
      return x + y;
    case OPC_PTX_OPERATION_MIN:
      return less ? x : y;
    case OPC_PTX_OPERATION_MAX:
      return less ? y : x;
    case OPC_PTX_OPERATION_AND:
      return x & y;
    case OPC_PTX_OPERATION_OR:
      return x | y;
    default:
      return x ^ y;
  }
}

static void redux_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1);
  const unsigned first = (unsigned)__builtin_ctz(mask);
  uint32_t out = (uint32_t)a[first];
  for (unsigned i = first + 1; i < OPC_PTX_LANES; i++)
    if ((mask >> i & 1) != 0) out = joined(op, out, (uint32_t)a[i]);
  OPC_PTX_EACH(mask, { d[l] = out; });
}

/* The lanes that run it together. */
static void activemask_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  OPC_PTX_EACH(mask, { d[l] = mask; });
}

/* The lowest lane is chosen. */
static void elect_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint32_t leader = (uint32_t)__builtin_ctz(mask);
  OPC_PTX_EACH(mask, { d[l] = leader; });
  opc_ptx_out_mask(warp, op, 1, mask, UINT32_C(1) << leader);
}

#define FAMILY(name, code)                                    \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) { \
    (void)form;                                               \
    return code;                                              \
  }
FAMILY(exchange_shfl, shfl_run)
FAMILY(exchange_vote, vote_run)
FAMILY(exchange_ballot, ballot_run)
FAMILY(exchange_match_any, match_any_run)
FAMILY(exchange_match_all, match_all_run)
FAMILY(exchange_redux, redux_run)
FAMILY(exchange_activemask, activemask_run)
FAMILY(exchange_elect, elect_run)
