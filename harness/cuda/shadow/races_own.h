/* Shared by the sources of races.h. */
#pragma once

#include "cuda/shadow/races.h"

/* A turn of a warp; it ends when the next one begins. */
typedef struct opc_races_turn_entry {
  uint32_t time, warp;
  uint64_t block;
} opc_races_turn_entry_t;

enum { OPC_RACES_PAGE_BITS = 12, OPC_RACES_PAGE = 1 << OPC_RACES_PAGE_BITS, OPC_RACES_RECENT = 256 };

typedef struct opc_races_page {
  uint64_t number; /* address >> OPC_RACES_PAGE_BITS */
  opc_races_cells_t cells;
} opc_races_page_t;

struct opc_races {
  bool together;
  bool incomplete; /* accesses are missing */
  bool blind;      /* what orders accesses is missing: nothing is reported any more */
  uint32_t time;   /* of what is done now; from 1 */
  opc_races_turn_entry_t *turns;
  size_t turn_count, turn_capacity;
  opc_races_warp_t *warp; /* whose turn it is */
  uint32_t turn_begin;
  opc_races_page_t **pages; /* a hash table */
  size_t page_count, page_capacity;
  uint64_t cell_bytes;
  struct opc_races_chunk *chunks; /* memory of cells, the newest first */
  opc_races_page_t *recent[OPC_RACES_RECENT];
  struct opc_races_log **logs; /* a hash table */
  size_t log_count, log_capacity;
};

/* Whose turn it was. */
opc_races_turn_entry_t opc_races_turn_at(const opc_races_t *races, uint32_t time);
/* Whether an access of another thread comes before what this lane of the warp does now. */
bool opc_races_ordered(opc_races_t *races, unsigned lane, const opc_races_turn_entry_t *turn, unsigned other_lane,
                       uint32_t time);
void opc_races_logs_free(opc_races_t *races);
