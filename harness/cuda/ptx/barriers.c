/* Barriers of a block (bar.sync, bar.red, bar.arrive), and fences. */
#include "cuda/ptx/ptx_machine.h"

/* Lanes of a warp that wait at two instructions, one of which says that all of them are at it. */
static void look_for_divergence(opc_ptx_warp_t *warp, uint32_t lanes) {
  const opc_ptx_op_t *const ops = warp->program->ops.items;
  const unsigned first = (unsigned)__builtin_ctz(lanes);
  for (unsigned lane = first + 1; lane < OPC_PTX_LANES; lane++) {
    if ((lanes >> lane & 1) == 0 || warp->pc[lane] == warp->pc[first]) continue;
    const opc_ptx_op_t *one = &ops[warp->pc[lane]], *other = &ops[warp->pc[first]];
    if (((one->form.flags | other->form.flags) & OPC_PTX_FLAG_ALIGNED) == 0) continue;
    if (!opc_ptx_finding_is_new(warp->block->launch, one, other, OPC_PTX_DIVERGENT_BARRIER)) return;
    opc_ptx_finding_t *finding = opc_ptx_finding_add(warp, one, lane, OPC_PTX_DIVERGENT_BARRIER);
    finding->other =
        opc_ptx_side_of(warp->block->launch, other, warp->block->number, warp->number * OPC_PTX_LANES + first);
    return;
  }
}

/* What a barrier orders: all of the block, or the warps that came to it. */
static void barrier_orders(opc_ptx_block_state_t *block, uint32_t number, const opc_ptx_barrier_t *full) {
  opc_races_t *races = block->launch->races;
  if (full->wanted == 0 || (full->wanted >= block->threads && !full->left)) {
    opc_races_warp_t *warps[OPC_PTX_WARPS_MOST];
    for (uint32_t w = 0; w < block->warp_count; w++) warps[w] = &block->warps[w].races;
    opc_races_block_meets(races, &block->races, warps, block->warp_count);
    return;
  }
  for (uint32_t w = 0; w < block->warp_count; w++) {
    opc_ptx_warp_t *warp = &block->warps[w];
    bool waits = false;
    for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++)
      if ((warp->at_barrier >> lane & 1) != 0 && warp->barrier[lane] == number) waits = true;
    if (waits) opc_races_pass(races, &warp->races, number);
  }
}

static void barrier_release(opc_ptx_warp_t *warp, uint8_t barrier, uint32_t arrived, uint32_t votes) {
  const opc_ptx_op_t *const ops = warp->program->ops.items;
  uint32_t lanes = 0;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++)
    if ((warp->at_barrier >> lane & 1) != 0 && warp->barrier[lane] == barrier) lanes |= UINT32_C(1) << lane;
  if (lanes == 0) return;
  look_for_divergence(warp, lanes);
  warp->at_barrier &= ~lanes;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((lanes >> lane & 1) == 0) continue;
    const opc_ptx_op_t *op = &ops[warp->pc[lane]++];
    const bool yes = op->form.operation == OPC_PTX_OPERATION_AND ? votes == arrived : votes > 0;
    if (op->form.mode != OPC_PTX_MODE_REDUCE) continue;
    if (op->form.operation == OPC_PTX_OPERATION_POPC) opc_ptx_out(warp, op, 0)[lane] = votes;
    else opc_ptx_out_mask(warp, op, 0, UINT32_C(1) << lane, yes ? OPC_PTX_ALL_LANES : 0);
  }
}

void opc_ptx_barrier_check(opc_ptx_block_state_t *block) {
  for (unsigned i = 0; i < OPC_PTX_BARRIERS; i++) {
    opc_ptx_barrier_t *barrier = &block->barriers[i];
    if (barrier->arrived == 0 || barrier->arrived < (barrier->wanted != 0 ? barrier->wanted : block->live)) continue;
    const opc_ptx_barrier_t full = *barrier;
    *barrier = (opc_ptx_barrier_t){0};
    if (block->launch->races) barrier_orders(block, i, &full);
    for (uint32_t w = 0; w < block->warp_count; w++)
      barrier_release(&block->warps[w], (uint8_t)i, full.arrived, full.votes);
  }
}

/* sync: barrier, count; red: result, barrier, count, predicate; arrive: barrier, count, without waiting. */
void opc_ptx_barrier_arrive(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const bool reduce = op->form.mode == OPC_PTX_MODE_REDUCE, waits = op->form.mode != OPC_PTX_MODE_ARRIVE;
  const unsigned first = reduce ? 1 : 0;
  const uint64_t *const number = opc_ptx_in(warp, op, first);
  const uint64_t *const count = op->slot[first + 1] == OPC_PTX_NO_SLOT ? NULL : opc_ptx_in(warp, op, first + 1);
  const uint32_t votes = reduce ? opc_ptx_in_mask(warp, op, 3) : 0;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((mask >> lane & 1) == 0) continue;
    opc_ptx_barrier_t *barrier = &warp->block->barriers[number[lane] % OPC_PTX_BARRIERS];
    barrier->arrived++;
    barrier->votes += votes >> lane & 1;
    barrier->wanted = count ? (uint32_t)count[lane] : 0;
    warp->barrier[lane] = (uint8_t)(number[lane] % OPC_PTX_BARRIERS);
    if (waits) warp->at_barrier |= UINT32_C(1) << lane;
    else warp->pc[lane]++;
    if (!waits) barrier->left = true;
    if (count && warp->block->launch->races && (lane == 0 || (mask & ((UINT32_C(1) << lane) - 1)) == 0))
      opc_races_arrive(warp->block->launch->races, &warp->races, warp->barrier[lane]);
  }
  opc_ptx_barrier_check(warp->block);
}

/* ---- fences ---- */

static void fence_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  opc_races_t *races = warp->block->launch->races;
  (void)mask;
  if (races && op->form.order != OPC_PTX_ORDER_ACQUIRE)
    opc_races_fence(races, &warp->races, op->form.scope == OPC_PTX_SCOPE_CTA);
}

opc_ptx_run_t *opc_ptx_fence(const opc_ptx_form_t *form) {
  (void)form;
  return fence_run;
}
