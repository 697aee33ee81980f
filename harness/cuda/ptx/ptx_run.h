/* Running a program over a grid of blocks.
 *
 * Ownership: the launch and what it names belong to the caller. Threads: one launch, one thread; launches that share
 * memory run one after another. Global memory is the process's own: a pointer is an address of the process. */
#pragma once

#include "cuda/ptx/ptx.h"
#include "cuda/shadow/written.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_ptx_access { OPC_PTX_READ, OPC_PTX_WRITE, OPC_PTX_ATOMIC } opc_ptx_access_t;

/* The bytes from begin to end may be accessed. */
typedef struct opc_ptx_range {
  uint64_t begin, end;
} opc_ptx_range_t;

/* Finds the live allocation that holds an address of global memory. False: there is none. Variables of the module are
 * found without it. */
typedef bool opc_ptx_find_t(void *context, uint64_t address, opc_ptx_range_t *out);

typedef enum opc_ptx_finding_kind {
  OPC_PTX_OUT_OF_BOUNDS,     /* nothing is read (0 is) or written there */
  OPC_PTX_MISALIGNED,        /* the same */
  OPC_PTX_TRAP,              /* the instruction trap, or a failed device-side assertion: the launch ends */
  OPC_PTX_DEADLOCK,          /* no thread of a block can go on: the launch ends */
  OPC_PTX_USE_AFTER_FREE,    /* out of bounds, where an allocation was */
  OPC_PTX_UNINITIALISED,     /* a value that nothing has written decides a branch or an address, or is stored */
  OPC_PTX_RACE,              /* two threads, one byte, at least one writes, and nothing orders them */
  OPC_PTX_RACE_OF_EQUALS,    /* the same, but both write the value that is there already: weaker */
  OPC_PTX_RACE_IN_WARP,      /* of two instructions of one warp, whose lanes seldom part there: weaker */
  OPC_PTX_DIVERGENT_BARRIER, /* lanes of a warp wait at different instructions of one barrier that is .aligned */
  OPC_PTX_UNFINISHED_COPY    /* cp.async has not finished what is read or written */
} opc_ptx_finding_kind_t;

/* A line of the source, from .loc. The name is not terminated; NULL: unknown. Owned by the module. */
typedef struct opc_ptx_line {
  const char *file;
  uint32_t file_length, source_line;
} opc_ptx_line_t;

/* Where a thread does something. */
typedef struct opc_ptx_side {
  uint32_t ptx_line; /* of the text; 0: not known */
  const char *file;  /* as in opc_ptx_line_t */
  uint32_t file_length, source_line;
  opc_ptx_line_t caller; /* where the outermost function that was inlined there is called */
  uint32_t block[3], thread[3];
  opc_ptx_access_t access;
} opc_ptx_side_t;

typedef struct opc_ptx_finding {
  opc_ptx_finding_kind_t kind;
  uint32_t ptx_line; /* as in opc_ptx_side_t */
  const char *file;
  uint32_t file_length, source_line;
  opc_ptx_line_t caller;
  uint32_t block[3], thread[3];
  opc_ptx_access_t access;
  const char *space; /* "global", "shared"… */
  uint64_t address;  /* in that space */
  uint32_t bytes;
  opc_ptx_range_t allocation; /* of global memory, or the freed one; 0: none */
  opc_ptx_side_t other;       /* of a race: who was there before; of a value: who loaded it */
  uint64_t stored_to;         /* of a value that is stored: where in global memory; 0: it does something else */
  char text[160];             /* of a failed assertion, what is waited for, what a value does; "": nothing */
} opc_ptx_finding_t;

typedef enum opc_ptx_end {
  OPC_PTX_FINISHED = 0,
  OPC_PTX_ENDED_BY_FINDING, /* a trap or a deadlock */
  OPC_PTX_OVER_BUDGET,      /* more lane instructions than allowed: it may hang */
  OPC_PTX_REFUSED           /* the launch does not fit the program; message says why */
} opc_ptx_end_t;

enum { OPC_PTX_FINDINGS_KEPT = 16 };

/* What is watched beside bounds. A pair of instructions that race is reported once, and an instruction that uses what
 * is not written once. */
enum {
  OPC_PTX_WATCH_RACES = 1, /* in global and in shared memory */
  OPC_PTX_WATCH_VALUES = 2 /* reads of what nothing has written */
};

/* The order in which blocks and the warps of a block have their turns. The same order and seed give the same results.
 */
typedef enum opc_ptx_order {
  OPC_PTX_ORDER_ASCENDING = 0,
  OPC_PTX_ORDER_DESCENDING,
  OPC_PTX_ORDER_SEEDED /* another order of warps each time, and turns of different lengths */
} opc_ptx_order_t;

typedef struct opc_ptx_launch {
  uint32_t grid[3], block[3];
  uint32_t dynamic_shared;         /* bytes */
  const unsigned char *parameters; /* opc_ptx_program_parameter_bytes of them */
  bool cooperative;                /* all blocks run at the same time, and may wait for each other */
  uint64_t budget;                 /* lane instructions; 0: no limit */
  opc_ptx_find_t *find;            /* NULL: every address is right (only for programs that are trusted) */
  void *find_context;
  uint32_t watch; /* OPC_PTX_WATCH_… */
  opc_ptx_order_t order;
  uint64_t seed;          /* of OPC_PTX_ORDER_SEEDED */
  opc_written_t *written; /* of global memory, kept from launch to launch; NULL: all of it counts as written */
  /* (optional) Only these blocks run, one after another, each as if it were alone: a look at which memory they access.
   * Global memory stays as it is, and what it holds counts as unknown: a block ends where an unknown value decides a
   * branch, or at its share of the budget. Neither is a finding, and nor is an access at an unknown address. `watch`,
   * `order` and `written` are not looked at. */
  const uint64_t *sampled;
  size_t sampled_count;
} opc_ptx_launch_t;

typedef struct opc_ptx_outcome {
  opc_ptx_end_t end;
  uint64_t lane_instructions;
  bool unwatched;                                    /* memory for some of what WATCH_RACES asks for ran out */
  size_t finding_count;                              /* all but those of what is watched that find no room */
  opc_ptx_finding_t findings[OPC_PTX_FINDINGS_KEPT]; /* the first */
  char message[160];
} opc_ptx_outcome_t;

void opc_ptx_launch_run(const opc_ptx_program_t *program, const opc_ptx_launch_t *launch, opc_ptx_outcome_t *out);

#ifdef __cplusplus
}
#endif
