/* Findings, and the races among them. */
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

static opc_ptx_line_t line_of(const opc_ptx_module_t *module, uint32_t file, uint32_t line) {
  const opc_ptx_file_t *files = module->files.items;
  for (uint32_t i = 0; line != 0 && i < module->files.count; i++)
    if (files[i].number == file && files[i].path.length >= 2) /* without its quotes */
      return (opc_ptx_line_t){files[i].path.at + 1, files[i].path.length - 2, line};
  return (opc_ptx_line_t){.source_line = line};
}

static const char *const space_names[OPC_PTX_SPACES] = {"generic", "global", "const", "shared", "local", "param"};

void opc_ptx_block_index(const opc_ptx_launch_t *launch, uint64_t number, uint32_t out[3]) {
  out[0] = (uint32_t)(number % launch->grid[0]);
  out[1] = (uint32_t)(number / launch->grid[0] % launch->grid[1]);
  out[2] = (uint32_t)(number / launch->grid[0] / launch->grid[1]);
}

opc_ptx_side_t opc_ptx_side_of(const opc_ptx_launch_state_t *launch, const opc_ptx_op_t *op, uint64_t block,
                               uint32_t thread) {
  const uint32_t *size = launch->launch->block;
  const opc_ptx_line_t line = line_of(launch->program->module, op->file, op->source_line);
  opc_ptx_side_t out = {.ptx_line = op->line,
                        .file = line.file,
                        .file_length = line.file_length,
                        .source_line = line.source_line,
                        .caller = line_of(launch->program->module, op->caller_file, op->caller_line),
                        .thread = {thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]}};
  opc_ptx_block_index(launch->launch, block, out.block);
  return out;
}

/* What is watched leaves room for accesses out of bounds, and what ends the launch always has a place. */
static opc_ptx_finding_t *finding_place(opc_ptx_outcome_t *outcome, opc_ptx_finding_kind_t kind) {
  static _Thread_local opc_ptx_finding_t spare;
  const bool watched = kind >= OPC_PTX_UNINITIALISED, ends = kind == OPC_PTX_TRAP || kind == OPC_PTX_DEADLOCK;
  if (watched && outcome->finding_count >= OPC_PTX_FINDINGS_KEPT / 2) return &spare;
  const size_t at = outcome->finding_count++;
  if (at < OPC_PTX_FINDINGS_KEPT) return &outcome->findings[at];
  return ends ? &outcome->findings[OPC_PTX_FINDINGS_KEPT - 1] : &spare;
}

opc_ptx_finding_t *opc_ptx_finding_add(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane,
                                       opc_ptx_finding_kind_t kind) {
  const opc_ptx_side_t side =
      opc_ptx_side_of(warp->block->launch, op, warp->block->number, warp->number * OPC_PTX_LANES + lane);
  opc_ptx_finding_t *out = finding_place(warp->block->launch->outcome, kind);
  *out = (opc_ptx_finding_t){.kind = kind,
                             .ptx_line = side.ptx_line,
                             .file = side.file,
                             .file_length = side.file_length,
                             .source_line = side.source_line,
                             .caller = side.caller,
                             .space = ""};
  memcpy(out->block, side.block, sizeof out->block);
  memcpy(out->thread, side.thread, sizeof out->thread);
  return out;
}

void opc_ptx_finding_access(opc_ptx_launch_state_t *launch, opc_ptx_finding_t *finding, opc_ptx_space_t space,
                            uint64_t address, uint32_t bytes, opc_ptx_access_t access) {
  finding->access = access;
  finding->space = space_names[space];
  finding->address = address;
  finding->bytes = bytes;
  if (space != OPC_PTX_SPACE_GLOBAL) return;
  opc_ptx_range_t range;
  if (opc_ptx_variable_find(launch->program->module, address, &range) ||
      (launch->launch->find && launch->launch->find(launch->launch->find_context, address, &range)))
    finding->allocation = range;
}

bool opc_ptx_finding_is_new(opc_ptx_launch_state_t *launch, const opc_ptx_op_t *one, const opc_ptx_op_t *other,
                            opc_ptx_finding_kind_t kind) {
  opc_ptx_pairs_t *pairs = &launch->reported;
  for (uint32_t i = 0; i < pairs->count; i++)
    if (pairs->items[i].one == one && pairs->items[i].other == other && pairs->items[i].kind == kind) return false;
  if (pairs->count == OPC_PTX_PAIRS) return false;
  pairs->items[pairs->count].one = one;
  pairs->items[pairs->count].other = other;
  pairs->items[pairs->count++].kind = kind;
  return true;
}

/* ---- races ---- */

typedef struct racing {
  opc_ptx_warp_t *warp;
  const opc_ptx_op_t *op;
  const opc_ptx_touch_t *touch;
  const uint64_t *const *value;
  uint32_t part_bytes;
} racing_t;

/* Whether a lane stores what is there already, or what a lane before it is about to store there. */
static bool stores_the_same(const racing_t *racing, unsigned lane, const opc_races_side_t *other) {
  const opc_ptx_touch_t *touch = racing->touch;
  const uint32_t lanes = touch->global | touch->shared, other_lane = other->thread % OPC_PTX_LANES;
  if (!racing->value || !other->write || other->strong) return false;
  const bool together = other->block == racing->warp->block->number &&
                        other->thread / OPC_PTX_LANES == racing->warp->number && other_lane < lane &&
                        (lanes >> other_lane & 1) != 0 && touch->address[other_lane] == touch->address[lane];
  for (uint32_t i = 0; i < touch->bytes / racing->part_bytes; i++) {
    const void *there = together ? (const void *)&racing->value[i][other_lane]
                                 : (const void *)(touch->at[lane] + (size_t)i * racing->part_bytes);
    if (memcmp(there, &racing->value[i][lane], racing->part_bytes) != 0) return false;
  }
  return true;
}

/* Whether only the order of two instructions of a warp keeps lanes apart. */
static bool is_in_warp(const racing_t *racing, const opc_ptx_op_t *op, const opc_races_side_t *other) {
  return op != racing->op && other->block == racing->warp->block->number &&
         other->thread / OPC_PTX_LANES == racing->warp->number;
}

static void race_found(void *context, unsigned lane, const opc_races_side_t *other) {
  const racing_t *racing = context;
  const opc_ptx_touch_t *touch = racing->touch;
  opc_ptx_launch_state_t *launch = racing->warp->block->launch;
  const opc_ptx_op_t *op = &((const opc_ptx_op_t *)launch->program->ops.items)[other->op];
  /* All threads of a block of Triton load the same number, and one stores another there: what the others have loaded is
   * not used. */
  if (launch->program->module->without_threads && other->block == racing->warp->block->number) return;
  const opc_ptx_finding_kind_t kind = stores_the_same(racing, lane, other) ? OPC_PTX_RACE_OF_EQUALS
                                      : is_in_warp(racing, op, other)      ? OPC_PTX_RACE_IN_WARP
                                                                           : OPC_PTX_RACE;
  if (!opc_ptx_finding_is_new(launch, racing->op, op, kind)) return;
  opc_ptx_finding_t *finding = opc_ptx_finding_add(racing->warp, racing->op, lane, kind);
  const bool global = (touch->global >> lane & 1) != 0;
  opc_ptx_finding_access(launch, finding, global ? OPC_PTX_SPACE_GLOBAL : OPC_PTX_SPACE_SHARED, touch->address[lane],
                         touch->bytes, touch->access);
  finding->other = opc_ptx_side_of(launch, op, other->block, other->thread);
  finding->other.access = !other->write ? OPC_PTX_READ : other->strong ? OPC_PTX_ATOMIC : OPC_PTX_WRITE;
}

static void watch_space(racing_t *racing, opc_races_space_t space, uint32_t mask) {
  const opc_ptx_form_t *form = &racing->op->form;
  const opc_ptx_touch_t *touch = racing->touch;
  opc_races_t *races = racing->warp->block->launch->races;
  const opc_races_access_t access = {
      .address = touch->address,
      .mask = mask,
      .bytes = touch->bytes,
      .op = (uint32_t)(racing->op - (const opc_ptx_op_t *)racing->warp->program->ops.items),
      .space = space,
      .write = touch->access != OPC_PTX_READ,
      .strong = touch->access == OPC_PTX_ATOMIC || form->order >= OPC_PTX_ORDER_VOLATILE};
  opc_races_note(races, &access, race_found, racing);
  if (access.strong) opc_races_hand_on(races, &access, access.write, touch->access != OPC_PTX_WRITE);
}

void opc_ptx_watch_races(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch,
                         const uint64_t *const *value, uint32_t part_bytes) {
  racing_t racing = {warp, op, touch, value, part_bytes};
  opc_races_t *races = warp->block->launch->races;
  if (!races || (touch->global | touch->shared) == 0) return;
  if (op->form.order >= OPC_PTX_ORDER_RELEASE)
    opc_races_fence(races, &warp->races, op->form.scope == OPC_PTX_SCOPE_CTA);
  if (touch->global != 0) watch_space(&racing, OPC_RACES_GLOBAL, touch->global);
  if (touch->shared != 0) watch_space(&racing, OPC_RACES_SHARED, touch->shared);
}

/* ---- copies that are not finished ---- */

void opc_ptx_watch_copies(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, const opc_ptx_touch_t *touch) {
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    unsigned any = 0;
    if ((touch->shared >> lane & 1) == 0) continue;
    for (uint32_t i = 0; i < touch->bytes; i++) any |= warp->block->copied_to[touch->address[lane] + i];
    if (any == 0 || !opc_ptx_finding_is_new(warp->block->launch, op, op, OPC_PTX_UNFINISHED_COPY)) continue;
    opc_ptx_finding_t *finding = opc_ptx_finding_add(warp, op, lane, OPC_PTX_UNFINISHED_COPY);
    opc_ptx_finding_access(warp->block->launch, finding, OPC_PTX_SPACE_SHARED, touch->address[lane], touch->bytes,
                           touch->access);
    for (uint32_t w = 0; w < warp->block->warp_count; w++) {
      const opc_ptx_warp_t *from = &warp->block->warps[w];
      for (size_t i = 0; i < from->copies.count; i++) {
        const opc_ptx_copy_t *copy = &from->copies.items[i];
        if (copy->to >= touch->address[lane] + touch->bytes || touch->address[lane] >= copy->to + copy->bytes) continue;
        finding->other =
            opc_ptx_side_of(warp->block->launch, copy->op, warp->block->number, w * OPC_PTX_LANES + copy->lane);
        finding->other.access = OPC_PTX_WRITE;
      }
    }
  }
}
