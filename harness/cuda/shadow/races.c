/* Accesses: a cell for each few bytes, and what they race with. */
#include "cuda/shadow/races.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/shadow/races_own.h"

/* An access in a cell: time, instruction, lane, strong. 0: none. */
enum { LANE_SHIFT = 8, OP_SHIFT = 13, STRONG = 1, TIME_SHIFT = 32 };
#define OP_MASK UINT64_C(0x3ffff)
static const uint64_t cell_bytes_most = UINT64_C(1) << 30;

static uint32_t time_of(uint64_t access) { return (uint32_t)(access >> TIME_SHIFT); }
static unsigned lane_of(uint64_t access) { return (unsigned)(access >> LANE_SHIFT) & (OPC_RACES_LANES - 1); }

/* ---- memory of cells ---- */

/* Much memory comes in large pages: the kernel takes longer to give small ones than the cells take to fill. */
enum { CHUNK = 1 << 21, PAGES_WITHOUT_CHUNK = 32 };

typedef struct opc_races_chunk {
  struct opc_races_chunk *next;
  unsigned char *mapped; /* twice its size, so that a part is aligned to it */
  size_t used;
} chunk_t;

static void chunks_free(chunk_t *chunk) {
  while (chunk) {
    chunk_t *next = chunk->next;
    (void)munmap(chunk->mapped, (size_t)2 * CHUNK);
    free(chunk);
    chunk = next;
  }
}

/* Zeroed memory of a chunk. NULL: there is none. */
static void *chunk_take(opc_races_t *races, size_t bytes) {
  chunk_t *chunk = races->chunks;
  if (!chunk || CHUNK - chunk->used < bytes) {
    void *mapped = mmap(NULL, (size_t)2 * CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return NULL;
    (void)madvise(mapped, (size_t)2 * CHUNK, MADV_HUGEPAGE);
    chunk = calloc(1, sizeof *chunk);
    if (!chunk) {
      (void)munmap(mapped, (size_t)2 * CHUNK);
      return NULL;
    }
    chunk->mapped = mapped;
    chunk->next = races->chunks;
    races->chunks = chunk;
  }
  unsigned char *const begin = chunk->mapped + (CHUNK - (uintptr_t)chunk->mapped % CHUNK) % CHUNK;
  chunk->used += bytes;
  return begin + chunk->used - bytes;
}

static void cells_free(opc_races_cells_t *cells) {
  if (!cells->in_chunk) free(cells->items);
}

opc_races_t *opc_races_make(bool together) {
  opc_races_t *races = calloc(1, sizeof *races);
  if (!races) return NULL;
  races->together = together;
  races->time = races->turn_begin = 1;
  return races;
}

void opc_races_free(opc_races_t *races) {
  if (!races) return;
  for (size_t i = 0; i < races->page_capacity; i++) {
    if (races->pages[i]) cells_free(&races->pages[i]->cells);
    free(races->pages[i]);
  }
  chunks_free(races->chunks);
  opc_races_logs_free(races);
  free(races->pages);
  free(races->turns);
  free(races);
}

void opc_races_interleave(opc_races_t *races) { races->together = true; }

bool opc_races_complete(const opc_races_t *races) { return !races->incomplete && !races->blind; }

/* ---- blocks and warps ---- */

bool opc_races_block_make(opc_races_block_t *block, uint32_t shared_bytes) {
  *block = (opc_races_block_t){.shared = {.bytes = (shared_bytes + 7) / 8 * 8, .shift = 2}};
  if (shared_bytes == 0) return true;
  block->shared.items = calloc(block->shared.bytes >> block->shared.shift, sizeof *block->shared.items);
  return block->shared.items;
}

void opc_races_block_begin(opc_races_t *races, opc_races_block_t *block, uint64_t number) {
  block->number = number;
  block->known = (opc_races_known_t){0};
  races->time++; /* what is in the cells of shared memory is older */
  block->begin = races->time;
  block->sync = races->time - 1;
  races->warp = NULL;
}

void opc_races_block_clear(opc_races_block_t *block) {
  cells_free(&block->shared);
  *block = (opc_races_block_t){0};
}

void opc_races_warp_begin(opc_races_warp_t *warp, opc_races_block_t *block, uint32_t number) {
  opc_races_warp_clear(warp);
  warp->block = block;
  warp->number = number;
}

void opc_races_warp_clear(opc_races_warp_t *warp) {
  free(warp->pairs);
  *warp = (opc_races_warp_t){0};
}

/* ---- cells ---- */

/* Each cell becomes several of fewer bytes. */
static bool cells_split(opc_races_cells_t *cells, uint8_t shift) {
  const uint32_t count = cells->bytes >> shift, parts = cells->shift - shift;
  opc_races_cell_t *items = malloc(count * sizeof *items);
  if (!items) return false;
  for (uint32_t i = 0; i < count; i++) items[i] = cells->items[i >> parts];
  cells_free(cells);
  cells->items = items;
  cells->shift = shift;
  cells->in_chunk = false;
  return true;
}

static bool cells_fit(opc_races_cells_t *cells, uint64_t offset, uint32_t bytes) {
  uint8_t shift = cells->shift;
  while (shift > 0 && ((offset | bytes) & ((1u << shift) - 1)) != 0) shift--;
  return shift == cells->shift || cells_split(cells, shift);
}

static opc_races_page_t **page_place(opc_races_page_t **pages, size_t capacity, uint64_t number) {
  size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (capacity - 1);
  while (pages[at] && pages[at]->number != number) at = (at + 1) & (capacity - 1);
  return &pages[at];
}

static bool pages_grow(opc_races_t *races) {
  const size_t capacity = races->page_capacity == 0 ? 256 : races->page_capacity * 2;
  opc_races_page_t **pages = calloc(capacity, sizeof(opc_races_page_t *));
  if (!pages) return false;
  for (size_t i = 0; i < races->page_capacity; i++)
    if (races->pages[i]) *page_place(pages, capacity, races->pages[i]->number) = races->pages[i];
  free(races->pages);
  races->pages = pages;
  races->page_capacity = capacity;
  return true;
}

static opc_races_page_t *page_new(opc_races_t *races, uint64_t number, uint8_t shift) {
  const size_t count = (size_t)OPC_RACES_PAGE >> shift;
  const bool in_chunk = races->page_count >= PAGES_WITHOUT_CHUNK;
  opc_races_page_t *page = calloc(1, sizeof *page);
  if (!page) return NULL;
  page->number = number;
  page->cells = (opc_races_cells_t){.bytes = OPC_RACES_PAGE, .shift = shift, .in_chunk = in_chunk};
  page->cells.items =
      in_chunk ? chunk_take(races, count * sizeof *page->cells.items) : calloc(count, sizeof *page->cells.items);
  if (page->cells.items) return page;
  free(page);
  return NULL;
}

/* NULL: there is too much memory to watch. */
static opc_races_page_t *page_make(opc_races_t *races, uint64_t number, uint32_t bytes) {
  const uint8_t shift = bytes >= 8 ? 3 : bytes >= 4 ? 2 : bytes == 2 ? 1 : 0;
  const uint64_t room = (uint64_t)(OPC_RACES_PAGE >> shift) * sizeof(opc_races_cell_t);
  if (races->cell_bytes + room > cell_bytes_most ||
      (races->page_count * 2 >= races->page_capacity && !pages_grow(races))) {
    races->incomplete = true;
    return NULL;
  }
  opc_races_page_t **place = page_place(races->pages, races->page_capacity, number);
  if (!*place && (*place = page_new(races, number, shift))) {
    races->page_count++;
    races->cell_bytes += room;
  }
  return *place;
}

static opc_races_page_t *page_of(opc_races_t *races, uint64_t address, uint32_t bytes) {
  const uint64_t number = address >> OPC_RACES_PAGE_BITS;
  opc_races_page_t **recent = &races->recent[number % OPC_RACES_RECENT];
  if (*recent && (*recent)->number == number) return *recent;
  opc_races_page_t *page = races->page_capacity == 0 ? NULL : *page_place(races->pages, races->page_capacity, number);
  if (!page) page = page_make(races, number, bytes);
  if (page) *recent = page;
  return page;
}

/* ---- what was there before ---- */

/* What is certainly no race: older than `floor`; of the same lane in this turn; of the same block before its last
 * barrier. */
typedef struct certain {
  uint32_t floor, turn, begin, length;
} certain_t;

static bool order_is_certain(const certain_t *certain, uint64_t access, unsigned lane) {
  const uint32_t time = time_of(access);
  return time < certain->floor || time - certain->begin < certain->length ||
         (lane_of(access) == lane && time >= certain->turn);
}

typedef struct noting {
  opc_races_t *races;
  const opc_races_access_t *access;
  opc_races_report_t *report;
  void *context;
  certain_t certain;
} noting_t;

/* Whether it raced; then the rest of the lane's bytes are not looked at. */
static bool look_at(const noting_t *noting, unsigned lane, uint64_t before, bool write) {
  opc_races_t *races = noting->races;
  if (order_is_certain(&noting->certain, before, lane)) return false;
  const bool strong = (before & STRONG) != 0;
  if (strong && noting->access->strong) return false;
  const opc_races_turn_entry_t turn = opc_races_turn_at(races, time_of(before));
  if (races->blind || opc_races_ordered(races, lane, &turn, lane_of(before), time_of(before))) return false;
  const opc_races_side_t side = {.block = turn.block,
                                 .thread = turn.warp * OPC_RACES_LANES + lane_of(before),
                                 .op = (uint32_t)(before >> OP_SHIFT & OP_MASK),
                                 .write = write,
                                 .strong = strong};
  noting->report(noting->context, lane, &side);
  return true;
}

static void cells_note(const noting_t *noting, unsigned lane, opc_races_cell_t *cell, uint32_t count, uint64_t now) {
  bool raced = false;
  for (uint32_t i = 0; i < count; i++, cell++) {
    if (cell->write != 0 && !raced) raced = look_at(noting, lane, cell->write, true);
    if (!noting->access->write) {
      if (lane_of(cell->read) != lane || time_of(cell->read) < noting->certain.turn) cell->read_before = cell->read;
      cell->read = now;
      continue;
    }
    if (cell->read != 0 && !raced) raced = look_at(noting, lane, cell->read, false);
    if (cell->read_before != 0 && !raced) raced = look_at(noting, lane, cell->read_before, false);
    *cell = (opc_races_cell_t){.write = now};
  }
}

static void lane_note(const noting_t *noting, unsigned lane, uint64_t now) {
  const opc_races_access_t *access = noting->access;
  const uint64_t address = access->address[lane];
  opc_races_cells_t *cells = &noting->races->warp->block->shared;
  uint64_t offset = address;
  if (access->space == OPC_RACES_GLOBAL) {
    opc_races_page_t *page = page_of(noting->races, address, access->bytes);
    if (!page) return;
    cells = &page->cells;
    offset = address & (OPC_RACES_PAGE - 1);
  }
  if (!cells_fit(cells, offset, access->bytes)) return;
  cells_note(noting, lane, &cells->items[offset >> cells->shift], access->bytes >> cells->shift, now);
}

/* ---- all lanes, one behind the other ---- */

static bool is_row(const opc_races_access_t *access) {
  uint64_t different = 0;
  if (access->mask != UINT32_MAX) return false;
  for (unsigned lane = 0; lane < OPC_RACES_LANES; lane++)
    different |= access->address[lane] - (access->address[0] + (uint64_t)lane * access->bytes);
  return different == 0;
}

/* The cells of a row; NULL: they are not together. */
static opc_races_cell_t *row_cells(const noting_t *noting, uint32_t *out_each) {
  const opc_races_access_t *access = noting->access;
  opc_races_cells_t *cells = &noting->races->warp->block->shared;
  uint64_t offset = access->address[0];
  if (!is_row(access)) return NULL;
  if (access->space == OPC_RACES_GLOBAL) {
    offset &= OPC_RACES_PAGE - 1;
    if (offset + (uint64_t)OPC_RACES_LANES * access->bytes > OPC_RACES_PAGE) return NULL;
    opc_races_page_t *page = page_of(noting->races, access->address[0], access->bytes);
    if (!page) return NULL;
    cells = &page->cells;
  }
  if (!cells_fit(cells, offset, access->bytes)) return NULL;
  *out_each = access->bytes >> cells->shift;
  return &cells->items[offset >> cells->shift];
}

/* Accesses of any lane that are no race: none, or of this block before its last barrier. */
static bool in_window(const certain_t *certain, uint64_t access) {
  const uint32_t time = time_of(access);
  return (time < certain->floor) | (time - certain->begin < certain->length);
}

static bool row_is_certain(const certain_t *certain, const opc_races_cell_t *cells, uint32_t each, bool write) {
  unsigned doubt = 0;
  for (uint32_t i = 0; i < OPC_RACES_LANES * each; i++) {
    doubt |= !in_window(certain, cells[i].write);
    if (write) doubt |= !in_window(certain, cells[i].read) | !in_window(certain, cells[i].read_before);
  }
  for (uint32_t i = 0; doubt != 0 && i < OPC_RACES_LANES * each; i++) {
    const unsigned lane = each == 1 ? i : i / each;
    if (!order_is_certain(certain, cells[i].write, lane)) return false;
    if (write &&
        (!order_is_certain(certain, cells[i].read, lane) || !order_is_certain(certain, cells[i].read_before, lane)))
      return false;
  }
  return true;
}

static bool row_note(const noting_t *noting, uint64_t now) {
  uint32_t each = 1;
  opc_races_cell_t *cells = row_cells(noting, &each);
  const bool write = noting->access->write;
  if (!cells || !row_is_certain(&noting->certain, cells, each, write)) return false;
  for (uint32_t i = 0; i < OPC_RACES_LANES * each; i++) {
    const uint64_t mine = now | (uint64_t)(each == 1 ? i : i / each) << LANE_SHIFT;
    if (write) {
      cells[i] = (opc_races_cell_t){.write = mine};
    } else {
      const uint64_t read = cells[i].read;
      const bool again = lane_of(read) == lane_of(mine) && time_of(read) >= noting->certain.turn;
      cells[i].read_before = again ? cells[i].read_before : read;
      cells[i].read = mine;
    }
  }
  return true;
}

void opc_races_note(opc_races_t *races, const opc_races_access_t *access, opc_races_report_t *report, void *context) {
  if (races->blind) return;
  const opc_races_block_t *block = races->warp->block;
  const bool shared = access->space == OPC_RACES_SHARED, window = shared || !races->together;
  const noting_t noting = {.races = races,
                           .access = access,
                           .report = report,
                           .context = context,
                           .certain = {.floor = shared ? block->begin : 1,
                                       .turn = races->turn_begin,
                                       .begin = block->begin,
                                       .length = window ? block->sync - block->begin + 1 : 0}};
  const uint64_t now =
      (uint64_t)races->time << TIME_SHIFT | (access->op & OP_MASK) << OP_SHIFT | (access->strong ? STRONG : 0);
  if (row_note(&noting, now)) return;
  for (unsigned lane = 0; lane < OPC_RACES_LANES; lane++)
    if ((access->mask >> lane & 1) != 0) lane_note(&noting, lane, now | (uint64_t)lane << LANE_SHIFT);
}
