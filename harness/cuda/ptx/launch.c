/* A launch: all blocks of a grid, one after another as long as none waits for a later one, or all at the same time. */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

/* Instructions of a warp before the next one has its turn, so that one can wait for another. */
enum {
  STEPS = 1 << 16,
  STEPS_SEEDED = 1 << 10,
  PATIENCE = 4,
  BLOCKS_OPEN = 16,
  THREADS_MOST = 1024,
  SHARED_MOST = 1 << 20
};
static const uint64_t together_most = UINT64_C(1) << 32; /* bytes of all blocks of a cooperative launch */

/* No thread can go on: names the first that waits. */
static void deadlock(opc_ptx_block_state_t *block) {
  uint32_t at_barriers = 0, at_lanes = 0;
  opc_ptx_warp_t *first = NULL;
  for (uint32_t i = 0; i < block->warp_count; i++) {
    opc_ptx_warp_t *warp = &block->warps[i];
    at_barriers += (uint32_t)__builtin_popcount(warp->live & warp->at_barrier);
    at_lanes += (uint32_t)__builtin_popcount(warp->live & warp->at_lanes);
    if (!first && warp->live != 0) first = warp;
  }
  if (!first) return;
  const unsigned lane = (unsigned)__builtin_ctz(first->live);
  const opc_ptx_op_t *op = &((const opc_ptx_op_t *)first->program->ops.items)[first->pc[lane]];
  opc_ptx_finding_t *finding = opc_ptx_finding_add(first, op, lane, OPC_PTX_DEADLOCK);
  (void)snprintf(
      finding->text, sizeof finding->text,
      "%u threads wait at a barrier of the block and %u for other lanes of their warp; none of them can go on",
      at_barriers, at_lanes);
  block->launch->outcome->end = OPC_PTX_ENDED_BY_FINDING;
  block->launch->stop = true;
}

/* ---- schedules ---- */

static uint64_t scrambled(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* A random number below `limit`. */
static uint32_t chance_below(opc_ptx_launch_state_t *launch, uint32_t limit) {
  launch->chance += UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)((scrambled(launch->chance) >> 32) * limit >> 32);
}

/* A permutation that needs no memory: rounds that swap and mix two halves of the bits, again where that leads outside.
 */
static uint64_t shuffled_number(uint64_t i, uint64_t count, uint64_t seed) {
  unsigned half = 1;
  while (half < 32 && count > UINT64_C(1) << 2 * half) half++;
  const uint64_t low = (UINT64_C(1) << half) - 1;
  do {
    for (uint64_t round = 0; round < 4; round++)
      i = (i & low) << half | (((i >> half) ^ scrambled((i & low) + (round << 32) + seed)) & low);
  } while (i >= count);
  return i;
}

/* The block that has turn number i. */
static uint64_t block_of_turn(const opc_ptx_launch_state_t *launch, uint64_t i, uint64_t count) {
  const opc_ptx_order_t order = launch->launch->order;
  if (order == OPC_PTX_ORDER_ASCENDING) return i;
  return order == OPC_PTX_ORDER_DESCENDING ? count - 1 - i : shuffled_number(i, count, launch->launch->seed);
}

/* Runs the warps of a block for a while, in the order of their turns. */
static bool block_run_ordered(opc_ptx_launch_state_t *launch, opc_ptx_block_state_t *block) {
  const opc_ptx_order_t order = launch->launch->order;
  const bool seeded = order == OPC_PTX_ORDER_SEEDED;
  uint32_t warps[OPC_PTX_WARPS_MOST];
  for (uint32_t i = 0; i < block->warp_count; i++)
    warps[i] = order == OPC_PTX_ORDER_DESCENDING ? block->warp_count - 1 - i : i;
  for (uint32_t i = block->warp_count; seeded && i > 1; i--) {
    const uint32_t other = chance_below(launch, i), kept = warps[i - 1];
    warps[i - 1] = warps[other];
    warps[other] = kept;
  }
  return opc_ptx_block_run(block, warps, seeded ? 1 + chance_below(launch, STEPS_SEEDED) : STEPS);
}

/* Blocks that are open at the same time: one, unless it waits for one that has not had its turn. */
typedef struct opened {
  opc_ptx_block_state_t blocks[BLOCKS_OPEN];
  bool is_open[BLOCKS_OPEN];
  uint32_t made, count; /* blocks that have memory; those that are open */
  uint64_t next;        /* turns that have begun */
  uint32_t rounds;      /* since a block began or ended */
} opened_t;

/* Begins the next block. False: out of memory. */
static bool open_next(opc_ptx_launch_state_t *state, opened_t *opened, uint64_t blocks) {
  uint32_t at = 0;
  while (at < opened->made && opened->is_open[at]) at++;
  if (at == opened->made) {
    const bool made = opc_ptx_block_make(&opened->blocks[at], state);
    opened->made++;
    if (!made) return false;
  }
  if (opened->count > 0 && state->races) opc_races_interleave(state->races);
  opc_ptx_block_begin(&opened->blocks[at], block_of_turn(state, opened->next++, blocks));
  opened->is_open[at] = true;
  opened->count++;
  opened->rounds = 0;
  return true;
}

static void run_opened(opc_ptx_launch_state_t *state, opened_t *opened) {
  opened->rounds++;
  for (uint32_t i = 0; i < opened->made && !state->stop; i++) {
    opc_ptx_block_state_t *block = &opened->blocks[i];
    if (!opened->is_open[i]) continue;
    if (!block_run_ordered(state, block) && !block->done) deadlock(block);
    if (!block->done) continue;
    opened->is_open[i] = false;
    opened->count--;
    opened->rounds = 0;
  }
}

static bool run_in_turn(opc_ptx_launch_state_t *state, uint64_t blocks) {
  opened_t *opened = calloc(1, sizeof *opened);
  bool made = opened;
  while (made && !state->stop && (opened->count > 0 || opened->next < blocks)) {
    const bool waits = opened->rounds >= PATIENCE && opened->count < BLOCKS_OPEN &&
                       state->block_bytes * (opened->count + 1) <= together_most;
    if (opened->next < blocks && (opened->count == 0 || waits)) made = open_next(state, opened, blocks);
    if (made) run_opened(state, opened);
  }
  for (uint32_t i = 0; opened && i < opened->made; i++) opc_ptx_block_clear(&opened->blocks[i]);
  free(opened);
  return made;
}

/* One round: each block for a while. False: all have ended, or none can go on. */
static bool round_of(opc_ptx_launch_state_t *state, opc_ptx_block_state_t *blocks, uint64_t count) {
  bool ran = false;
  opc_ptx_block_state_t *stuck = NULL;
  for (uint64_t i = 0; i < count && !state->stop; i++) {
    opc_ptx_block_state_t *block = &blocks[block_of_turn(state, i, count)];
    if (block->done) continue;
    ran = block_run_ordered(state, block) || ran;
    if (!block->done) stuck = block;
  }
  if (!ran && stuck && !state->stop) deadlock(stuck);
  return stuck && !state->stop;
}

static bool run_together(opc_ptx_launch_state_t *state, uint64_t count) {
  opc_ptx_block_state_t *blocks = calloc(count, sizeof *blocks);
  bool made = blocks;
  for (uint64_t i = 0; made && i < count; i++) {
    made = opc_ptx_block_make(&blocks[i], state);
    if (made) opc_ptx_block_begin(&blocks[i], i);
  }
  while (made && round_of(state, blocks, count)) continue;
  for (uint64_t i = 0; blocks && i < count; i++) opc_ptx_block_clear(&blocks[i]);
  free(blocks);
  return made;
}

/* ---- some blocks of many ---- */

/* A block may have all that is left of the budget, divided by the blocks that are to come. */
static void run_sampled_block(opc_ptx_launch_state_t *state, opc_ptx_block_state_t *block, uint64_t left) {
  opc_ptx_outcome_t *out = state->outcome;
  const uint64_t budget = state->launch->budget != 0 ? state->launch->budget : UINT64_MAX;
  uint32_t warps[OPC_PTX_WARPS_MOST];
  for (uint32_t i = 0; i < block->warp_count; i++) warps[i] = i;
  state->stop = false;
  const uint64_t rest = out->lane_instructions < budget ? budget - out->lane_instructions : 0;
  state->limit = out->lane_instructions + rest / left;
  while (!block->done && !state->stop && opc_ptx_block_run(block, warps, STEPS)) continue;
  out->end = OPC_PTX_FINISHED;
}

static bool run_sampled(opc_ptx_launch_state_t *state) {
  const opc_ptx_launch_t *launch = state->launch;
  opc_ptx_block_state_t block;
  const bool made = opc_ptx_block_make(&block, state);
  for (size_t i = 0; made && i < launch->sampled_count; i++) {
    opc_ptx_block_begin(&block, launch->sampled[i]);
    run_sampled_block(state, &block, launch->sampled_count - i);
  }
  opc_ptx_block_clear(&block);
  return made;
}

static bool launch_fits(opc_ptx_launch_state_t *state, uint64_t blocks) {
  const opc_ptx_launch_t *launch = state->launch;
  opc_ptx_outcome_t *out = state->outcome;
  const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  const uint64_t warp = (uint64_t)state->program->registers * sizeof(opc_ptx_lanes_t) +
                        (uint64_t)state->program->frame_bytes * OPC_PTX_LANES;
  const uint64_t bytes = warp * ((threads + OPC_PTX_LANES - 1) / OPC_PTX_LANES) + state->shared_bytes;
  const char *why = NULL;
  state->block_bytes = bytes;
  if (threads == 0 || threads > THREADS_MOST || launch->block[0] > THREADS_MOST || launch->block[1] > THREADS_MOST)
    why = "a block has 1 to 1024 threads";
  else if (blocks == 0) why = "the grid is empty";
  else if (launch->grid[0] > INT32_MAX || launch->grid[1] > UINT16_MAX || launch->grid[2] > UINT16_MAX)
    why = "a grid has at most 2147483647 x 65535 x 65535 blocks";
  else if (state->shared_bytes > SHARED_MOST) why = "a block has at most 1 MiB of shared memory";
  else if (bytes * (launch->cooperative && !launch->sampled ? blocks : 1) > together_most)
    why = "its blocks need more than 4 GiB";
  if (!why) return true;
  out->end = OPC_PTX_REFUSED;
  (void)snprintf(out->message, sizeof out->message, "%s", why);
  return false;
}

void opc_ptx_launch_run(const opc_ptx_program_t *program, const opc_ptx_launch_t *launch, opc_ptx_outcome_t *out) {
  const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  opc_ptx_launch_state_t state = {.program = program,
                                  .launch = launch,
                                  .outcome = out,
                                  .chance = launch->seed,
                                  .limit = launch->budget != 0 ? launch->budget : UINT64_MAX,
                                  .shared_bytes = program->shared_bytes + launch->dynamic_shared};
  fenv_t before;
  memset(out, 0, sizeof *out);
  if (launch->dynamic_shared > SHARED_MOST) state.shared_bytes = UINT32_MAX;
  if (!launch_fits(&state, blocks)) return;
  /* The thread may round in another way, or flush subnormal numbers. */
  (void)fegetenv(&before);
  (void)fesetenv(FE_DFL_ENV);
  bool made = true;
  if (launch->sampled) {
    made = run_sampled(&state);
  } else {
    if ((launch->watch & OPC_PTX_WATCH_RACES) != 0) made = (state.races = opc_races_make(launch->cooperative));
    if (made) made = launch->cooperative ? run_together(&state, blocks) : run_in_turn(&state, blocks);
  }
  out->unwatched = state.races && !opc_races_complete(state.races);
  opc_races_free(state.races);
  (void)fesetenv(&before);
  if (made) return;
  out->end = OPC_PTX_REFUSED;
  (void)snprintf(out->message, sizeof out->message, "out of memory");
}
