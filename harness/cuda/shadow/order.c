/* What orders accesses: turns, barriers, and strong accesses after fences. */
#include <stdlib.h>
#include <string.h>

#include "cuda/shadow/races_own.h"

enum { LOGS_MOST = 4096, ENTRIES_MOST = 1 << 20 };

/* A release: who, and until when its accesses are known to those who have seen it. */
typedef struct entry {
  uint64_t block;
  uint32_t warp;
  uint32_t warp_time, block_time; /* of its own, and of its block's other warps */
  bool only_block;                /* seen by its own block only */
} entry_t;

/* The releases at one place, in their order. */
typedef struct opc_races_log {
  uint64_t address, block; /* block: of shared memory and barriers, else UINT64_MAX */
  entry_t *entries;
  uint32_t count, capacity;
  uint32_t hint;           /* where the last search ended */
  opc_races_known_t known; /* what its releases knew */
} opc_races_log_t;

/* ---- time ---- */

static void tick(opc_races_t *races) {
  if (races->time < UINT32_MAX) races->time++;
  else races->blind = true;
}

void opc_races_turn(opc_races_t *races, opc_races_warp_t *warp) {
  if (races->blind || (races->warp == warp && races->turns[races->turn_count - 1].block == warp->block->number)) return;
  if (races->turn_count == races->turn_capacity) {
    const size_t capacity = races->turn_capacity == 0 ? 256 : races->turn_capacity * 2;
    opc_races_turn_entry_t *turns = realloc(races->turns, capacity * sizeof *turns);
    if (!turns) {
      races->blind = true;
      return;
    }
    races->turns = turns;
    races->turn_capacity = capacity;
  }
  tick(races);
  races->turns[races->turn_count++] = (opc_races_turn_entry_t){races->time, warp->number, warp->block->number};
  races->turn_begin = races->time;
  races->warp = warp;
}

opc_races_turn_entry_t opc_races_turn_at(const opc_races_t *races, uint32_t time) {
  size_t low = 0, high = races->turn_count;
  if (time >= races->turn_begin) return races->turns[races->turn_count - 1];
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (races->turns[middle].time <= time) low = middle + 1;
    else high = middle;
  }
  return races->turns[low == 0 ? 0 : low - 1];
}

/* ---- what a warp knows ---- */

static void know(opc_races_known_t *known, opc_races_log_t *log, uint32_t end) {
  for (uint32_t i = 0; i < known->count; i++) {
    if (known->items[i].log != log) continue;
    if (known->items[i].end < end) known->items[i].end = end;
    return;
  }
  if (known->count == OPC_RACES_KNOWN) {
    known->everything = true;
    return;
  }
  known->items[known->count].log = log;
  known->items[known->count++].end = end;
}

static void know_all_of(opc_races_known_t *known, const opc_races_known_t *other) {
  if (other->everything) known->everything = true;
  for (uint32_t i = 0; i < other->count; i++) know(known, other->items[i].log, other->items[i].end);
}

static bool entry_covers(const entry_t *entry, const opc_races_block_t *block, const opc_races_turn_entry_t *turn,
                         uint32_t time) {
  if (entry->block != turn->block || (entry->only_block && entry->block != block->number)) return false;
  return time <= entry->block_time || (entry->warp == turn->warp && time <= entry->warp_time);
}

static bool log_covers(opc_races_log_t *log, uint32_t end, const opc_races_block_t *block,
                       const opc_races_turn_entry_t *turn, uint32_t time) {
  uint32_t at = log->hint < end ? log->hint : 0;
  for (uint32_t i = 0; i < end; i++, at = at + 1 < end ? at + 1 : 0) {
    if (!entry_covers(&log->entries[at], block, turn, time)) continue;
    log->hint = at;
    return true;
  }
  return false;
}

static bool known_covers(const opc_races_known_t *known, const opc_races_block_t *block,
                         const opc_races_turn_entry_t *turn, uint32_t time) {
  if (known->everything) return true;
  for (uint32_t i = 0; i < known->count; i++)
    if (log_covers(known->items[i].log, known->items[i].end, block, turn, time)) return true;
  return false;
}

bool opc_races_ordered(opc_races_t *races, unsigned lane, const opc_races_turn_entry_t *turn, unsigned other_lane,
                       uint32_t time) {
  const opc_races_warp_t *warp = races->warp;
  const opc_races_block_t *block = warp->block;
  if (turn->block == block->number) {
    if (time <= block->sync) return true;
    if (turn->warp == warp->number) {
      if (lane == other_lane || time <= warp->sync) return true;
      if (warp->pairs && time <= warp->pairs[lane][other_lane]) return true;
    }
  }
  return known_covers(&warp->known, block, turn, time) || known_covers(&block->known, block, turn, time);
}

/* ---- barriers ---- */

void opc_races_lanes_meet(opc_races_t *races, opc_races_warp_t *warp, uint32_t lanes, uint32_t live) {
  uint32_t seen[OPC_RACES_LANES] = {0};
  if ((lanes & live) == live) {
    warp->sync = races->time;
    tick(races);
    return;
  }
  if (!warp->pairs) warp->pairs = calloc(OPC_RACES_LANES, sizeof *warp->pairs);
  if (!warp->pairs) {
    races->blind = true;
    return;
  }
  for (unsigned lane = 0; lane < OPC_RACES_LANES; lane++) {
    if ((lanes >> lane & 1) == 0) continue;
    for (unsigned other = 0; other < OPC_RACES_LANES; other++)
      if (seen[other] < warp->pairs[lane][other]) seen[other] = warp->pairs[lane][other];
  }
  for (unsigned lane = 0; lane < OPC_RACES_LANES; lane++)
    if ((lanes >> lane & 1) != 0) seen[lane] = races->time;
  for (unsigned lane = 0; lane < OPC_RACES_LANES; lane++)
    if ((lanes >> lane & 1) != 0) memcpy(warp->pairs[lane], seen, sizeof seen);
  tick(races);
}

void opc_races_block_meets(opc_races_t *races, opc_races_block_t *block, opc_races_warp_t *const *warps, size_t count) {
  block->sync = races->time;
  for (size_t i = 0; i < count; i++) {
    know_all_of(&block->known, &warps[i]->known);
    warps[i]->known = (opc_races_known_t){0};
  }
  tick(races);
}

void opc_races_fence(opc_races_t *races, opc_races_warp_t *warp, bool of_block) {
  warp->fence_of_block = races->time;
  if (!of_block) warp->fence = races->time;
  tick(races);
}

/* ---- places ---- */

static size_t log_bucket(const opc_races_t *races, uint64_t address, uint64_t block) {
  return (size_t)((address * UINT64_C(0x9e3779b97f4a7c15) ^ block * UINT64_C(0xc2b2ae3d27d4eb4f)) >> 20) &
         (races->log_capacity - 1);
}

/* Where a log is, or would be. */
static opc_races_log_t **log_place(const opc_races_t *races, uint64_t address, uint64_t block) {
  size_t at = log_bucket(races, address, block);
  while (races->logs[at] && (races->logs[at]->address != address || races->logs[at]->block != block))
    at = (at + 1) & (races->log_capacity - 1);
  return &races->logs[at];
}

static opc_races_log_t *log_find(const opc_races_t *races, uint64_t address, uint64_t block) {
  return races->log_capacity == 0 ? NULL : *log_place(races, address, block);
}

static opc_races_log_t *log_make(opc_races_t *races, uint64_t address, uint64_t block) {
  if (races->log_capacity == 0) {
    races->logs = calloc((size_t)2 * LOGS_MOST, sizeof(opc_races_log_t *));
    if (!races->logs) return NULL;
    races->log_capacity = (size_t)2 * LOGS_MOST;
  }
  opc_races_log_t **place = log_place(races, address, block);
  if (*place || races->log_count == LOGS_MOST) return *place;
  *place = calloc(1, sizeof **place);
  if (!*place) return NULL;
  (*place)->address = address;
  (*place)->block = block;
  races->log_count++;
  return *place;
}

void opc_races_logs_free(opc_races_t *races) {
  for (size_t i = 0; i < races->log_capacity; i++) {
    if (races->logs[i]) free(races->logs[i]->entries);
    free(races->logs[i]);
  }
  free(races->logs);
}

/* Where a release cannot be remembered, nothing is said any more. */
static void log_add(opc_races_t *races, opc_races_warp_t *warp, opc_races_log_t *log, const entry_t *entry) {
  if (log && log->count > 0 && memcmp(&log->entries[log->count - 1], entry, sizeof *entry) == 0) return;
  if (log && log->count == log->capacity && log->count < ENTRIES_MOST) {
    const uint32_t capacity = log->capacity == 0 ? 8 : log->capacity * 2;
    entry_t *entries = realloc(log->entries, capacity * sizeof *entries);
    if (entries) {
      log->entries = entries;
      log->capacity = capacity;
    }
  }
  if (!log || log->count == log->capacity) {
    races->blind = true;
    return;
  }
  log->entries[log->count++] = *entry;
  know_all_of(&log->known, &warp->known);
  know_all_of(&log->known, &warp->block->known);
}

static void release_at(opc_races_t *races, opc_races_warp_t *warp, uint64_t address, uint64_t block) {
  const bool only_block = warp->fence == 0;
  entry_t entry;
  memset(&entry, 0, sizeof entry); /* padding too: entries are compared as bytes */
  entry.block = warp->block->number;
  entry.warp = warp->number;
  entry.warp_time = only_block ? warp->fence_of_block : warp->fence;
  entry.block_time = warp->block->sync;
  entry.only_block = only_block;
  log_add(races, warp, log_make(races, address, block), &entry);
}

static void acquire_at(opc_races_warp_t *warp, opc_races_log_t *log) {
  if (!log || log->count == 0) return;
  know(&warp->known, log, log->count);
  know_all_of(&warp->known, &log->known);
}

void opc_races_hand_on(opc_races_t *races, const opc_races_access_t *access, bool releases, bool acquires) {
  if (races->blind) return;
  opc_races_warp_t *warp = races->warp;
  const uint64_t block = access->space == OPC_RACES_SHARED ? warp->block->number : UINT64_MAX;
  uint64_t before = 0;
  bool any = false;
  releases = releases && (warp->fence != 0 || warp->fence_of_block != 0);
  if (!releases && (!acquires || races->log_count == 0)) return;
  for (unsigned lane = 0; lane < OPC_RACES_LANES; lane++) {
    const uint64_t address = access->address[lane];
    if ((access->mask >> lane & 1) == 0 || (any && address == before)) continue;
    any = true;
    before = address;
    if (acquires) acquire_at(warp, log_find(races, address, block));
    if (releases) release_at(races, warp, address, block);
    if (acquires && releases) acquire_at(warp, log_find(races, address, block));
  }
  tick(races);
}

void opc_races_arrive(opc_races_t *races, opc_races_warp_t *warp, uint32_t barrier) {
  entry_t entry;
  memset(&entry, 0, sizeof entry);
  entry.block = warp->block->number;
  entry.warp = warp->number;
  entry.warp_time = races->time;
  entry.block_time = warp->block->sync;
  entry.only_block = true;
  log_add(races, warp, log_make(races, UINT64_MAX - barrier, warp->block->number), &entry);
  tick(races);
}

void opc_races_pass(opc_races_t *races, opc_races_warp_t *warp, uint32_t barrier) {
  acquire_at(warp, log_find(races, UINT64_MAX - barrier, warp->block->number));
  tick(races);
}
