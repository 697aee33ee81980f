/* A launch: all blocks of a grid, one after another, or all at the same time. */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

/* Instructions of a warp before the next one has its turn, so that one can wait for another. */
enum { STEPS = 1 << 16, THREADS_MOST = 1024, SHARED_MOST = 1 << 20 };
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

static bool run_in_turn(opc_ptx_launch_state_t *state, uint64_t blocks) {
  opc_ptx_block_state_t block;
  const bool made = opc_ptx_block_make(&block, state);
  for (uint64_t i = 0; made && i < blocks && !state->stop; i++) {
    opc_ptx_block_begin(&block, i);
    while (!block.done && !state->stop)
      if (!opc_ptx_block_run(&block, STEPS) && !block.done) deadlock(&block);
  }
  opc_ptx_block_clear(&block);
  return made;
}

/* One round: each block for a while. False: all have ended, or none can go on. */
static bool round_of(opc_ptx_launch_state_t *state, opc_ptx_block_state_t *blocks, uint64_t count) {
  bool ran = false;
  opc_ptx_block_state_t *stuck = NULL;
  for (uint64_t i = 0; i < count && !state->stop; i++) {
    if (blocks[i].done) continue;
    ran = opc_ptx_block_run(&blocks[i], STEPS) || ran;
    if (!blocks[i].done) stuck = &blocks[i];
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

static bool launch_fits(opc_ptx_launch_state_t *state, uint64_t blocks) {
  const opc_ptx_launch_t *launch = state->launch;
  opc_ptx_outcome_t *out = state->outcome;
  const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  const uint64_t warp = (uint64_t)state->program->registers * sizeof(opc_ptx_lanes_t) +
                        (uint64_t)state->program->frame_bytes * OPC_PTX_LANES;
  const uint64_t bytes = warp * ((threads + OPC_PTX_LANES - 1) / OPC_PTX_LANES) + state->shared_bytes;
  const char *why = NULL;
  if (threads == 0 || threads > THREADS_MOST || launch->block[0] > THREADS_MOST || launch->block[1] > THREADS_MOST)
    why = "a block has 1 to 1024 threads";
  else if (blocks == 0) why = "the grid is empty";
  else if (launch->grid[0] > INT32_MAX || launch->grid[1] > UINT16_MAX || launch->grid[2] > UINT16_MAX)
    why = "a grid has at most 2147483647 x 65535 x 65535 blocks";
  else if (state->shared_bytes > SHARED_MOST) why = "a block has at most 1 MiB of shared memory";
  else if (bytes * (launch->cooperative ? blocks : 1) > together_most) why = "its blocks need more than 4 GiB";
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
                                  .shared_bytes = program->shared_bytes + launch->dynamic_shared};
  fenv_t before;
  memset(out, 0, sizeof *out);
  if (launch->dynamic_shared > SHARED_MOST) state.shared_bytes = UINT32_MAX;
  if (!launch_fits(&state, blocks)) return;
  /* The thread may round in another way, or flush subnormal numbers. */
  (void)fegetenv(&before);
  (void)fesetenv(FE_DFL_ENV);
  bool made = true;
  if ((launch->watch & OPC_PTX_WATCH_RACES) != 0) made = (state.races = opc_races_make(launch->cooperative));
  if (made) made = launch->cooperative ? run_together(&state, blocks) : run_in_turn(&state, blocks);
  out->unwatched = state.races && !opc_races_complete(state.races);
  opc_races_free(state.races);
  (void)fesetenv(&before);
  if (made) return;
  out->end = OPC_PTX_REFUSED;
  (void)snprintf(out->message, sizeof out->message, "out of memory");
}
