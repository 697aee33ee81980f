/* Readings of what the process holds, taken between rounds of calls, and what their growth means.
 *
 * A leak grows for ever, a cache until it is full, and what is set up once grows once: only growth that has not ended
 * when the calls end counts. Ownership: nothing. Threads: one. */
#ifndef OPC_MEMORY_GROWTH_H
#define OPC_MEMORY_GROWTH_H

#include <stdbool.h>

#include "base/process_use.h"

typedef enum opc_growth_kind {
  OPC_GROWTH_BLOCKS = 0, /* of libtorch's CPU allocator: tensors */
  OPC_GROWTH_ALLOCATED,  /* bytes of malloc; tensors are in it */
  OPC_GROWTH_MAPPED,     /* bytes of mappings */
  OPC_GROWTH_DESCRIPTORS,
  OPC_GROWTH_THREADS,
  OPC_GROWTH_KINDS
} opc_growth_kind_t;

typedef struct opc_reading {
  int calls; /* made before it */
  size_t values[OPC_GROWTH_KINDS];
  size_t block_bytes; /* of OPC_GROWTH_BLOCKS */
} opc_reading_t;

enum { OPC_READINGS_MAX = 16, OPC_GROWTH_ROUNDS = 3 };

typedef struct opc_growth {
  opc_reading_t readings[OPC_READINGS_MAX];
  size_t count;
} opc_growth_t;

/* Adds a reading after `calls` calls. Where there are more threads than before, gives those that are about to end some
 * time to do so. OPC_ERR_SYSTEM as opc_process_use_read. */
opc_status_t opc_growth_read(opc_growth_t *growth, int calls, opc_error_t *error) OPC_CHECKED;

/* From reading to reading: more by at least a byte a call, by a page, or by one. */
bool opc_growth_between(const opc_growth_t *growth, opc_growth_kind_t kind, size_t from, size_t to);
/* Any kind did. */
bool opc_growth_any(const opc_growth_t *growth, size_t from, size_t to);
/* In each of the last OPC_GROWTH_ROUNDS rounds. False: there are not as many. */
bool opc_growth_is_steady(const opc_growth_t *growth, opc_growth_kind_t kind);
/* So much that going on may bring the machine down. */
bool opc_growth_is_large(const opc_growth_t *growth);

#endif
