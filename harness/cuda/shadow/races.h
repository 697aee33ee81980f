/* Races of one launch: which thread read and wrote each byte of global and shared memory last, and what orders them.
 *
 * Time is a number that grows whenever threads synchronise or another warp has its turn; an access is remembered with
 * its time, its lane and its instruction. Two accesses race if both touch a byte, one of them writes, one of them is
 * weak (neither atomic nor volatile), they are of different threads, and nothing orders them: a barrier of the block,
 * one of the warp, or a chain of a fence and a strong write in one thread and a strong read of the same place in
 * another. Where PTX asks for more than is needed here (a second fence after the strong read), or where too much would
 * have to be remembered, accesses count as ordered.
 *
 * Ownership: the caller's; blocks and warps belong to the caller too and are cleared with their functions. Threads: one
 * launch, one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPC_RACES_LANES = 32, OPC_RACES_KNOWN = 16 };

typedef struct opc_races opc_races_t;
struct opc_races_log;

/* Releases that a warp, or all warps of a block, have seen: those of a log before `end`. */
typedef struct opc_races_known {
  struct {
    struct opc_races_log *log;
    uint32_t end;
  } items[OPC_RACES_KNOWN];
  uint32_t count;
  bool everything; /* more than is remembered: nothing races with it */
} opc_races_known_t;

/* Who read and wrote a few bytes. */
typedef struct opc_races_cell {
  uint64_t write, read, read_before;
} opc_races_cell_t;

/* Cells of some memory; each stands for 1 << shift bytes. */
typedef struct opc_races_cells {
  opc_races_cell_t *items;
  uint32_t bytes;
  uint8_t shift;
  bool in_chunk; /* of memory that is released as a whole */
} opc_races_cells_t;

typedef struct opc_races_block {
  uint64_t number;
  uint32_t begin; /* time */
  uint32_t sync;  /* all accesses of the block until then come before what its warps do now */
  opc_races_known_t known;
  opc_races_cells_t shared;
} opc_races_block_t;

typedef struct opc_races_warp {
  opc_races_block_t *block;
  uint32_t number;
  uint32_t sync;                      /* the same for the lanes of the warp */
  uint32_t (*pairs)[OPC_RACES_LANES]; /* until when a lane knows another one's accesses; NULL: nothing beside sync */
  uint32_t fence, fence_of_block;     /* time of the last fence, for all blocks and for its own one; 0: none */
  opc_races_known_t known;
} opc_races_warp_t;

/* together: blocks run at the same time. NULL: out of memory. */
opc_races_t *opc_races_make(bool together);
void opc_races_free(opc_races_t *races);
/* From now on, blocks run at the same time. */
void opc_races_interleave(opc_races_t *races);
/* Whether all accesses were remembered: not where memory or time ran out. */
bool opc_races_complete(const opc_races_t *races);

bool opc_races_block_make(opc_races_block_t *block, uint32_t shared_bytes); /* false: out of memory */
void opc_races_block_begin(opc_races_t *races, opc_races_block_t *block, uint64_t number);
void opc_races_block_clear(opc_races_block_t *block);
void opc_races_warp_begin(opc_races_warp_t *warp, opc_races_block_t *block, uint32_t number);
void opc_races_warp_clear(opc_races_warp_t *warp);

/* ---- what orders accesses ---- */

/* What is noted next is done by this warp. */
void opc_races_turn(opc_races_t *races, opc_races_warp_t *warp);
/* These lanes have met. */
void opc_races_lanes_meet(opc_races_t *races, opc_races_warp_t *warp, uint32_t lanes, uint32_t live);
/* All warps of the block have met. */
void opc_races_block_meets(opc_races_t *races, opc_races_block_t *block, opc_races_warp_t *const *warps, size_t count);
/* A barrier that some warps of a block come to, or pass: a place like any other, with a number. */
void opc_races_arrive(opc_races_t *races, opc_races_warp_t *warp, uint32_t barrier);
void opc_races_pass(opc_races_t *races, opc_races_warp_t *warp, uint32_t barrier);
void opc_races_fence(opc_races_t *races, opc_races_warp_t *warp, bool of_block);

/* ---- accesses ---- */

typedef enum opc_races_space { OPC_RACES_GLOBAL, OPC_RACES_SHARED } opc_races_space_t;

/* One instruction of the warp whose turn it is. */
typedef struct opc_races_access {
  const uint64_t *address; /* of each lane */
  uint32_t mask, bytes;
  uint32_t op; /* a number of at most 18 bits */
  opc_races_space_t space;
  bool write, strong;
} opc_races_access_t;

/* The other side of a race. */
typedef struct opc_races_side {
  uint64_t block;
  uint32_t thread; /* in its block */
  uint32_t op;
  bool write, strong;
} opc_races_side_t;

/* A lane's access races with another one. */
typedef void opc_races_report_t(void *context, unsigned lane, const opc_races_side_t *other);

/* Before memory is changed. */
void opc_races_note(opc_races_t *races, const opc_races_access_t *access, opc_races_report_t *report, void *context);
/* Strong accesses to a place hand on what was fenced before them. */
void opc_races_hand_on(opc_races_t *races, const opc_races_access_t *access, bool releases, bool acquires);
