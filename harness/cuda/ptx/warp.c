/* A warp: which of its lanes run next, and where they go. Lanes with the lowest program counter run first, so that
 * lanes that took different ways come together where the ways do. */
#include "cuda/ptx/ptx_machine.h"

/* Lanes at a lower address that wait in a loop for lanes at a higher one would never let them run: after so many jumps
 * back, the highest lanes have a turn of so many instructions. */
enum { JUMPS_BACK = 2000, TURN = 4096 };

/* Lanes that run together. */
typedef struct group {
  uint32_t mask, pc;
  uint32_t limit; /* where other lanes wait to go on with them */
  bool over;      /* they have parted, wait or have ended */
} group_t;

static bool group_choose(const opc_ptx_warp_t *warp, bool highest, group_t *out) {
  const uint32_t ready = warp->live & ~warp->at_barrier & ~warp->at_lanes;
  *out = (group_t){.limit = UINT32_MAX, .pc = highest ? 0 : UINT32_MAX};
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    const uint32_t pc = warp->pc[lane];
    if ((ready >> lane & 1) != 0 && (highest ? pc > out->pc : pc < out->pc)) out->pc = pc;
  }
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((ready >> lane & 1) == 0) continue;
    if (warp->pc[lane] == out->pc) out->mask |= UINT32_C(1) << lane;
    else if (!highest && warp->pc[lane] < out->limit) out->limit = warp->pc[lane];
  }
  return out->mask != 0;
}

static void go_to(opc_ptx_warp_t *warp, uint32_t mask, uint32_t pc) {
  OPC_PTX_EACH(mask, { warp->pc[l] = pc; });
}

static uint32_t guarded(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  if (op->guard == OPC_PTX_NO_GUARD) return mask;
  const uint32_t value = warp->predicates[op->guard];
  return mask & (op->guard_negated ? ~value : value);
}

/* ---- branches ---- */

static void branch(opc_ptx_warp_t *warp, group_t *group, uint32_t taken, uint32_t target) {
  if (target <= group->pc) warp->turns++;
  if (taken == group->mask) {
    group->pc = target;
    return;
  }
  group->pc++;
  if (taken == 0) return;
  go_to(warp, taken, target);
  go_to(warp, group->mask & ~taken, group->pc);
  group->over = true;
}

/* Each lane has its own target; an index past the list goes to the next instruction. */
static void branch_index(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, group_t *group, uint32_t taken) {
  const uint64_t *const index = opc_ptx_in(warp, op, 0);
  const uint32_t *targets = (const uint32_t *)warp->program->targets.items + op->target;
  go_to(warp, group->mask, group->pc + 1);
  OPC_PTX_EACH(taken, {
    if ((uint32_t)index[l] < op->targets) warp->pc[l] = targets[(uint32_t)index[l]];
  });
  warp->turns++;
  group->over = true;
}

/* ---- ends ---- */

static void end_lanes(opc_ptx_warp_t *warp, group_t *group, uint32_t ended) {
  warp->live &= ~ended;
  warp->block->live -= (uint32_t)__builtin_popcount(ended);
  group->mask &= ~ended;
  group->pc++;
  if (ended == 0) return;
  go_to(warp, group->mask, group->pc);
  group->over = true;
  opc_ptx_barrier_check(warp->block);
}

static void trap(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, group_t *group, uint32_t mask) {
  group->pc++;
  if (mask == 0) return;
  if (op->run == opc_ptx_assertion) op->run(warp, op, mask);
  else (void)opc_ptx_finding_add(warp, op, (unsigned)__builtin_ctz(mask), OPC_PTX_TRAP);
  warp->block->launch->stop = true;
  warp->block->launch->outcome->end = OPC_PTX_ENDED_BY_FINDING;
}

static void run_op(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  if (warp->shaded) opc_ptx_undefined_run(warp, op, mask);
  else op->run(warp, op, mask);
}

/* ---- lanes that wait for each other ---- */

static const opc_ptx_op_t *op_at(const opc_ptx_warp_t *warp, unsigned lane) {
  return &((const opc_ptx_op_t *)warp->program->ops.items)[warp->pc[lane]];
}

/* Those that wait at this instruction; at bar.warp.sync those that wait at any other one too. */
static uint32_t waiting_at(const opc_ptx_warp_t *warp, uint32_t pc) {
  const opc_ptx_op_t *here = &((const opc_ptx_op_t *)warp->program->ops.items)[pc];
  const bool barrier = here->run == opc_ptx_nothing_run;
  uint32_t out = 0;
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((warp->at_lanes >> lane & 1) == 0) continue;
    if (warp->pc[lane] == pc || (barrier && op_at(warp, lane)->run == opc_ptx_nothing_run)) out |= UINT32_C(1) << lane;
  }
  return out;
}

/* The lanes that a lane waits for, itself included. */
static uint32_t members_of(const opc_ptx_warp_t *warp, unsigned lane) {
  const opc_ptx_op_t *op = op_at(warp, lane);
  return (uint32_t)opc_ptx_in(warp, op, op->slots - 1u)[lane] | UINT32_C(1) << lane;
}

/* Runs what each lane is at for the lanes whose partners have all come; the others wait. Lanes that have ended are not
 * waited for. Returns the lanes that have gone on. */
static uint32_t lanes_meet(opc_ptx_warp_t *warp, uint32_t arrived) {
  uint32_t gone = 0;
  for (uint32_t left = arrived; left != 0;) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    const uint32_t wanted = members_of(warp, lane);
    uint32_t same = 0;
    for (unsigned i = lane; i < OPC_PTX_LANES; i++)
      if ((left >> i & 1) != 0 && members_of(warp, i) == wanted) same |= UINT32_C(1) << i;
    left &= ~same;
    if ((wanted & warp->live & ~same) != 0) continue;
    const opc_ptx_op_t *op = op_at(warp, lane);
    run_op(warp, op, same);
    if (warp->block->launch->races) opc_races_lanes_meet(warp->block->launch->races, &warp->races, same, warp->live);
    gone |= same;
  }
  warp->at_lanes = (warp->at_lanes | arrived) & ~gone;
  OPC_PTX_EACH(gone, { warp->pc[l]++; });
  return gone;
}

/* After lanes have ended: whether others can go on without them. */
static bool lanes_meet_again(opc_ptx_warp_t *warp) {
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((warp->at_lanes >> lane & 1) == 0) continue;
    if (lanes_meet(warp, waiting_at(warp, warp->pc[lane])) != 0) return true;
  }
  return false;
}

/* ---- running ---- */

static void group_step(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, group_t *group) {
  if (warp->shaded) opc_ptx_undefined_guard(warp, op, group->mask);
  if (warp->block->launch->stop) return;
  const uint32_t mask = guarded(warp, op, group->mask);
  switch (op->flow) {
    case OPC_PTX_FLOW_NEXT:
      if (mask != 0) run_op(warp, op, mask);
      group->pc++;
      return;
    case OPC_PTX_FLOW_BRANCH:
      branch(warp, group, mask, op->target);
      return;
    case OPC_PTX_FLOW_BRANCH_INDEX:
      branch_index(warp, op, group, mask);
      return;
    case OPC_PTX_FLOW_RETURN:
    case OPC_PTX_FLOW_EXIT:
      end_lanes(warp, group, mask);
      return;
    case OPC_PTX_FLOW_TRAP:
      trap(warp, op, group, mask);
      return;
    case OPC_PTX_FLOW_LANES:
      go_to(warp, group->mask, group->pc + 1);
      go_to(warp, mask, group->pc);
      if (mask != 0) (void)lanes_meet(warp, mask | waiting_at(warp, group->pc));
      group->over = true;
      return;
    default: /* a barrier of the block */
      go_to(warp, group->mask, group->pc + 1);
      go_to(warp, mask, group->pc);
      if (mask != 0) opc_ptx_barrier_arrive(warp, op, mask);
      group->over = true;
  }
}

bool opc_ptx_warp_run(opc_ptx_warp_t *warp, uint64_t steps) {
  const opc_ptx_op_t *const ops = warp->program->ops.items;
  opc_ptx_launch_state_t *launch = warp->block->launch;
  opc_ptx_outcome_t *outcome = launch->outcome;
  bool ran = false;
  if (launch->races) opc_races_turn(launch->races, &warp->races);
  while (steps > 0 && !launch->stop) {
    group_t group;
    const bool turn = warp->turns > JUMPS_BACK;
    if (turn) warp->turns = 0;
    if (!group_choose(warp, turn, &group)) {
      if (warp->at_lanes == 0 || !lanes_meet_again(warp)) return ran;
      ran = true;
      continue;
    }
    const bool alone = group.mask == (warp->live & ~warp->at_barrier & ~warp->at_lanes);
    if (alone) warp->turns = 0;
    ran = true;
    const uint64_t lanes = (uint64_t)__builtin_popcount(group.mask);
    uint64_t left = turn && steps > TURN ? TURN : steps;
    steps -= left;
    for (; left > 0 && !group.over && group.pc < group.limit && !launch->stop; left--) {
      outcome->lane_instructions += lanes;
      if (outcome->lane_instructions > launch->limit) {
        outcome->end = OPC_PTX_OVER_BUDGET;
        launch->stop = true;
      } else {
        group_step(warp, &ops[group.pc], &group);
        if (!alone && warp->turns > JUMPS_BACK) break;
      }
    }
    steps += left;
    if (!group.over) go_to(warp, group.mask, group.pc);
  }
  return ran;
}
