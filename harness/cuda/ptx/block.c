/* A block: its warps in turn, and its shared memory. */
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

/* Memory that nothing was written to: NaNs, and -1. */
enum { POISON = 0xff };

/* ---- memory ---- */

static bool warp_make(opc_ptx_warp_t *warp, opc_ptx_block_state_t *block, uint32_t number) {
  const opc_ptx_program_t *program = block->launch->program;
  *warp = (opc_ptx_warp_t){.program = program, .block = block, .number = number};
  warp->registers = calloc(program->registers, sizeof *warp->registers);
  warp->predicates = calloc(program->predicates, sizeof *warp->predicates);
  warp->frames = malloc((size_t)program->frame_bytes * OPC_PTX_LANES + 1);
  if (!warp->registers || !warp->predicates || !warp->frames) return false;
  warp->predicates[OPC_PTX_PREDICATE_TRUE] = OPC_PTX_ALL_LANES;
  const opc_ptx_constant_t *constants = program->constants.items;
  for (uint32_t i = 0; i < program->constants.count; i++)
    for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++)
      warp->registers[constants[i].slot].lane[lane] = constants[i].bits;
  return true;
}

bool opc_ptx_block_make(opc_ptx_block_state_t *block, opc_ptx_launch_state_t *launch) {
  const uint32_t *size = launch->launch->block;
  *block = (opc_ptx_block_state_t){.launch = launch, .threads = size[0] * size[1] * size[2]};
  block->warp_count = (block->threads + OPC_PTX_LANES - 1) / OPC_PTX_LANES;
  block->warps = calloc(block->warp_count, sizeof *block->warps);
  block->shared = malloc((size_t)launch->shared_bytes + 1);
  bool sound = block->warps && block->shared;
  if (sound && ((launch->launch->watch & OPC_PTX_WATCH_VALUES) != 0 || opc_ptx_is_sampled(launch)))
    sound = (block->shared_state = malloc((size_t)launch->shared_bytes + 1));
  if (sound && launch->races) sound = opc_races_block_make(&block->races, launch->shared_bytes);
  for (uint32_t i = 0; sound && i < block->warp_count; i++) sound = warp_make(&block->warps[i], block, i);
  return sound;
}

void opc_ptx_block_clear(opc_ptx_block_state_t *block) {
  for (uint32_t i = 0; block->warps && i < block->warp_count; i++) {
    free(block->warps[i].registers);
    free(block->warps[i].predicates);
    free(block->warps[i].frames);
    opc_races_warp_clear(&block->warps[i].races);
    opc_ptx_shades_clear(&block->warps[i]);
  }
  opc_races_block_clear(&block->races);
  opc_ptx_copies_clear(block);
  free(block->warps);
  free(block->shared);
  free(block->shared_state);
  *block = (opc_ptx_block_state_t){0};
}

/* ---- special registers ---- */

static uint64_t lanes_below(unsigned lane) { return (UINT64_C(1) << lane) - 1; }

static uint64_t special_value(const opc_ptx_warp_t *warp, opc_ptx_special_t special, unsigned lane) {
  const opc_ptx_launch_state_t *launch = warp->block->launch;
  const uint32_t *block = launch->launch->block, *grid = launch->launch->grid, *index = warp->block->index;
  const uint32_t thread = warp->number * OPC_PTX_LANES + lane;
  const uint32_t own = UINT32_C(1) << lane;
  switch (special) {
    case OPC_PTX_SPECIAL_TID_X:
      return thread % block[0];
    case OPC_PTX_SPECIAL_TID_Y:
      return thread / block[0] % block[1];
    case OPC_PTX_SPECIAL_TID_Z:
      return thread / block[0] / block[1];
    case OPC_PTX_SPECIAL_NTID_X:
    case OPC_PTX_SPECIAL_NTID_Y:
    case OPC_PTX_SPECIAL_NTID_Z:
      return block[special - OPC_PTX_SPECIAL_NTID_X];
    case OPC_PTX_SPECIAL_CTAID_X:
    case OPC_PTX_SPECIAL_CTAID_Y:
    case OPC_PTX_SPECIAL_CTAID_Z:
      return index[special - OPC_PTX_SPECIAL_CTAID_X];
    case OPC_PTX_SPECIAL_NCTAID_X:
    case OPC_PTX_SPECIAL_NCTAID_Y:
    case OPC_PTX_SPECIAL_NCTAID_Z:
      return grid[special - OPC_PTX_SPECIAL_NCTAID_X];
    case OPC_PTX_SPECIAL_LANEID:
      return lane;
    case OPC_PTX_SPECIAL_WARPID:
      return warp->number;
    case OPC_PTX_SPECIAL_NWARPID:
      return warp->block->warp_count;
    case OPC_PTX_SPECIAL_NSMID:
      return 1;
    case OPC_PTX_SPECIAL_GRIDID:
      return 1;
    case OPC_PTX_SPECIAL_LANEMASK_EQ:
      return own;
    case OPC_PTX_SPECIAL_LANEMASK_LE:
      return own | lanes_below(lane);
    case OPC_PTX_SPECIAL_LANEMASK_LT:
      return lanes_below(lane);
    case OPC_PTX_SPECIAL_LANEMASK_GE:
      return (uint32_t)~lanes_below(lane);
    case OPC_PTX_SPECIAL_LANEMASK_GT:
      return (uint32_t) ~(own | lanes_below(lane));
    case OPC_PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
      return launch->launch->dynamic_shared;
    case OPC_PTX_SPECIAL_TOTAL_SMEM_SIZE:
      return launch->shared_bytes;
    case OPC_PTX_SPECIAL_WARP_SIZE:
      return OPC_PTX_LANES;
    case OPC_PTX_SPECIAL_DYNAMIC_SHARED:
      return launch->program->shared_bytes;
    default:
      return 0; /* smid: one multiprocessor */
  }
}

static void warp_begin(opc_ptx_warp_t *warp) {
  const opc_ptx_constant_t *specials = warp->program->specials.items;
  const uint32_t first = warp->number * OPC_PTX_LANES, left = warp->block->threads - first;
  warp->live = left >= OPC_PTX_LANES ? OPC_PTX_ALL_LANES : (uint32_t)lanes_below(left);
  warp->at_barrier = warp->at_lanes = warp->carry = warp->turns = 0;
  warp->shaded = false;
  memset(warp->pc, 0, sizeof warp->pc);
  opc_races_warp_begin(&warp->races, &warp->block->races, warp->number);
  memset(warp->frames, POISON, (size_t)warp->program->frame_bytes * OPC_PTX_LANES);
  for (uint32_t i = 0; i < warp->program->specials.count; i++)
    for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++)
      warp->registers[specials[i].slot].lane[lane] = special_value(warp, (opc_ptx_special_t)specials[i].bits, lane);
}

void opc_ptx_block_begin(opc_ptx_block_state_t *block, uint64_t number) {
  block->number = number;
  opc_ptx_block_index(block->launch->launch, number, block->index);
  if (block->launch->races) opc_races_block_begin(block->launch->races, &block->races, number);
  memset(block->shared, POISON, block->launch->shared_bytes);
  memset(block->barriers, 0, sizeof block->barriers);
  opc_ptx_undefined_begin(block);
  opc_ptx_copies_begin(block);
  block->live = block->threads;
  block->done = false;
  for (uint32_t i = 0; i < block->warp_count; i++) warp_begin(&block->warps[i]);
}

bool opc_ptx_block_run(opc_ptx_block_state_t *block, const uint32_t *order, uint64_t steps) {
  bool ran = false;
  for (uint32_t i = 0; i < block->warp_count && !block->launch->stop; i++) {
    opc_ptx_warp_t *warp = &block->warps[order[i]];
    if (warp->live != 0) ran = opc_ptx_warp_run(warp, steps) || ran;
  }
  block->done = block->live == 0;
  return ran;
}
