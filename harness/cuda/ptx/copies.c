/* Copies from global to shared memory that go on while their thread does something else (cp.async). What they copy is
 * read at once, and stored when the thread waits for it: what comes too early finds the old contents, and is reported.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

/* ---- the list of copies ---- */

void opc_ptx_copies_begin(opc_ptx_block_state_t *block) {
  free(block->copied_to);
  block->copied_to = NULL;
  for (uint32_t i = 0; i < block->warp_count; i++) {
    opc_ptx_copies_t *copies = &block->warps[i].copies;
    copies->count = 0;
    memset(copies->groups, 0, sizeof copies->groups);
  }
}

void opc_ptx_copies_clear(opc_ptx_block_state_t *block) {
  for (uint32_t i = 0; block->warps && i < block->warp_count; i++) free(block->warps[i].copies.items);
  free(block->copied_to);
}

static opc_ptx_copy_t *copy_add(opc_ptx_warp_t *warp) {
  opc_ptx_copies_t *copies = &warp->copies;
  opc_ptx_block_state_t *block = warp->block;
  if (!block->copied_to) block->copied_to = calloc((size_t)block->launch->shared_bytes + 1, 1);
  if (copies->count == copies->capacity) {
    const size_t capacity = copies->capacity == 0 ? 64 : copies->capacity * 2;
    opc_ptx_copy_t *items = realloc(copies->items, capacity * sizeof *items);
    if (!items) return NULL;
    copies->items = items;
    copies->capacity = capacity;
  }
  return block->copied_to ? &copies->items[copies->count++] : NULL;
}

/* One more copy that is not finished, or one less. */
static void copied_to_change(const opc_ptx_warp_t *warp, const opc_ptx_copy_t *copy, int by) {
  for (uint32_t i = 0; i < copy->bytes; i++) {
    unsigned char *at = &warp->block->copied_to[copy->to + i];
    *at = (unsigned char)(*at + by);
  }
}

/* ---- cp.async ---- */

/* How many bytes of each lane are read; the rest of what is stored are zeros. */
static uint32_t source_bytes(const opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane, uint32_t bytes) {
  if (op->slots < 2 || op->slot[1] == OPC_PTX_NO_SLOT) return bytes;
  if ((op->predicate & 2) != 0) return (opc_ptx_in_mask(warp, op, 1) >> lane & 1) != 0 ? 0 : bytes;
  const uint32_t wanted = (uint32_t)opc_ptx_in(warp, op, 1)[lane];
  return wanted < bytes ? wanted : bytes;
}

/* Reads what a lane copies: whole bytes may be less than an access has. */
static void copy_read(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane, uint32_t bytes, uint64_t from,
                      opc_ptx_copy_t *copy) {
  opc_ptx_touch_t touch;
  uint32_t done = 0;
  memset(copy->contents, 0, sizeof copy->contents);
  copy->missing = 0;
  while (done < bytes) {
    uint32_t part = bytes == copy->bytes ? bytes : 1;
    touch.address[lane] = from + done;
    opc_ptx_touch_at(warp, op, OPC_PTX_SPACE_GLOBAL, UINT32_C(1) << lane, part, OPC_PTX_READ, &touch);
    if ((touch.global | touch.unknown) == 0) return;
    opc_ptx_watch_races(warp, op, &touch, NULL, part);
    if (touch.global != 0) memcpy(copy->contents + done, touch.at[lane], part);
    copy->missing |= opc_ptx_missing_bytes(warp, &touch, lane) << done;
    done += part;
  }
}

static void copy_start(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const uint64_t *const from = warp->registers[op->source].lane;
  const uint32_t bytes = (uint32_t)opc_ptx_in(warp, op, 0)[0];
  opc_ptx_touch_t to;
  for (unsigned l = 0; l < OPC_PTX_LANES; l++) to.address[l] = warp->registers[op->base].lane[l] + op->displacement;
  opc_ptx_touch_at(warp, op, OPC_PTX_SPACE_SHARED, mask, bytes, OPC_PTX_WRITE, &to);
  if (warp->block->copied_to && to.shared != 0) opc_ptx_watch_copies(warp, op, &to);
  opc_ptx_watch_races(warp, op, &to, NULL, bytes);
  for (unsigned lane = 0; lane < OPC_PTX_LANES; lane++) {
    if ((to.shared >> lane & 1) == 0) continue;
    opc_ptx_copy_t copy = {
        .op = op, .lane = lane, .group = warp->copies.groups[lane], .to = (uint32_t)to.address[lane], .bytes = bytes};
    copy_read(warp, op, lane, source_bytes(warp, op, lane, bytes), from[lane] + op->source_displacement, &copy);
    opc_ptx_copy_t *kept = copy_add(warp);
    if (kept) *kept = copy;
    if (kept) copied_to_change(warp, kept, 1);
  }
}

opc_ptx_run_t *opc_ptx_copy(const opc_ptx_form_t *form) {
  (void)form;
  return copy_start;
}

/* ---- groups ---- */

static void copy_finish(opc_ptx_warp_t *warp, const opc_ptx_copy_t *copy) {
  opc_ptx_touch_t touch = {.shared = UINT32_C(1) << copy->lane, .bytes = copy->bytes, .access = OPC_PTX_WRITE};
  touch.address[copy->lane] = copy->to;
  touch.at[copy->lane] = warp->block->shared + copy->to;
  opc_ptx_watch_races(warp, copy->op, &touch, NULL, copy->bytes);
  memcpy(touch.at[copy->lane], copy->contents, copy->bytes);
  opc_ptx_mark_written(warp, &touch, copy->lane, copy->missing);
  copied_to_change(warp, copy, -1);
}

/* Finishes the copies of these lanes but those of their last groups. */
static void copies_finish(opc_ptx_warp_t *warp, uint32_t mask, uint32_t groups_left) {
  opc_ptx_copies_t *copies = &warp->copies;
  size_t left = 0;
  for (size_t i = 0; i < copies->count; i++) {
    const opc_ptx_copy_t *copy = &copies->items[i];
    const bool waits =
        (mask >> copy->lane & 1) != 0 && (uint64_t)copy->group + groups_left < copies->groups[copy->lane];
    if (waits) copy_finish(warp, copy);
    else copies->items[left++] = *copy;
  }
  copies->count = left;
}

static void commit_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  (void)op;
  OPC_PTX_EACH(mask, { warp->copies.groups[l]++; });
}

static void wait_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  copies_finish(warp, mask, (uint32_t)opc_ptx_in(warp, op, 0)[0]);
}

static void wait_all_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  commit_run(warp, op, mask);
  copies_finish(warp, mask, 0);
}

#define COPY_FAMILY(name, code)                               \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) { \
    (void)form;                                               \
    return code;                                              \
  }
COPY_FAMILY(copy_commit, commit_run)
COPY_FAMILY(copy_wait, wait_run)
COPY_FAMILY(copy_wait_all, wait_all_run)
