/* Running a program over a grid of blocks.
 *
 * Ownership: the launch and what it names belong to the caller. Threads: one launch, one thread; launches that share
 * memory run one after another. Global memory is the process's own: a pointer is an address of the process. */
#pragma once

#include "cuda/ptx/ptx.h"

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
  OPC_PTX_OUT_OF_BOUNDS, /* nothing is read (0 is) or written there */
  OPC_PTX_MISALIGNED,    /* the same */
  OPC_PTX_TRAP,          /* the instruction trap, or a failed device-side assertion: the launch ends */
  OPC_PTX_DEADLOCK       /* no thread of a block can go on: the launch ends */
} opc_ptx_finding_kind_t;

typedef struct opc_ptx_finding {
  opc_ptx_finding_kind_t kind;
  uint32_t ptx_line; /* of the text */
  const char *file;  /* of the source, from .loc; not terminated; NULL: unknown. Owned by the module */
  uint32_t file_length, source_line;
  uint32_t block[3], thread[3];
  opc_ptx_access_t access;
  const char *space; /* "global", "shared"… */
  uint64_t address;  /* in that space */
  uint32_t bytes;
  char text[160]; /* of a failed assertion, or what is waited for; "": nothing */
} opc_ptx_finding_t;

typedef enum opc_ptx_end {
  OPC_PTX_FINISHED = 0,
  OPC_PTX_ENDED_BY_FINDING, /* a trap or a deadlock */
  OPC_PTX_OVER_BUDGET,      /* more lane instructions than allowed: it may hang */
  OPC_PTX_REFUSED           /* the launch does not fit the program; message says why */
} opc_ptx_end_t;

enum { OPC_PTX_FINDINGS_KEPT = 16 };

typedef struct opc_ptx_launch {
  uint32_t grid[3], block[3];
  uint32_t dynamic_shared;         /* bytes */
  const unsigned char *parameters; /* opc_ptx_program_parameter_bytes of them */
  bool cooperative;                /* all blocks run at the same time, and may wait for each other */
  uint64_t budget;                 /* lane instructions; 0: no limit */
  opc_ptx_find_t *find;            /* NULL: every address is right (only for programs that are trusted) */
  void *find_context;
} opc_ptx_launch_t;

typedef struct opc_ptx_outcome {
  opc_ptx_end_t end;
  uint64_t lane_instructions;
  size_t finding_count;                              /* all of them */
  opc_ptx_finding_t findings[OPC_PTX_FINDINGS_KEPT]; /* the first */
  char message[160];
} opc_ptx_outcome_t;

void opc_ptx_launch_run(const opc_ptx_program_t *program, const opc_ptx_launch_t *launch, opc_ptx_outcome_t *out);

#ifdef __cplusplus
}
#endif
