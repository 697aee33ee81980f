/* Barriers of a block (bar.sync, bar.red, bar.arrive). */
#include "cuda/ptx/ptx_machine.h"

static void barrier_release(opc_ptx_warp_t *warp, uint8_t barrier, uint32_t arrived, uint32_t votes) {
  const opc_ptx_op_t *const ops = warp->program->ops.items;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((warp->at_barrier >> lane & 1) == 0 || warp->barrier[lane] != barrier) continue;
    const opc_ptx_op_t *op = &ops[warp->pc[lane]++];
    const uint32_t bit = UINT32_C(1) << lane;
    const bool yes = op->form.operation == OPC_PTX_OPERATION_AND ? votes == arrived : votes > 0;
    warp->at_barrier &= ~bit;
    if (op->form.mode != OPC_PTX_MODE_REDUCE) continue;
    if (op->form.operation == OPC_PTX_OPERATION_POPC) opc_ptx_out(warp, op, 0)[lane] = votes;
    else opc_ptx_out_mask(warp, op, 0, bit, yes ? OPC_PTX_ALL_LANES : 0);
  }
}

void opc_ptx_barrier_check(opc_ptx_block_state_t *block) {
  for (unsigned i = 0; i < OPC_PTX_BARRIERS; i++) {
    opc_ptx_barrier_t *barrier = &block->barriers[i];
    if (barrier->arrived == 0 || barrier->arrived < (barrier->wanted != 0 ? barrier->wanted : block->live)) continue;
    const opc_ptx_barrier_t full = *barrier;
    *barrier = (opc_ptx_barrier_t){0};
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
  }
  opc_ptx_barrier_check(warp->block);
}
