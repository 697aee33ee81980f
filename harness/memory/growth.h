/* Measures the resources of the process between rounds of calls, and interprets their growth.
 *
 * A leak grows without end, a cache until it is full, one-time setup once: only growth that still continues at the end
 * counts. Ownership: nothing. Threads: one. */
#pragma once

#include "base/process_state.h"

typedef enum opc_growth_kind {
  OPC_GROWTH_BLOCKS = 0, /* of libtorch's CPU allocator: tensors */
  OPC_GROWTH_ALLOCATED,  /* bytes of malloc, tensors included */
  OPC_GROWTH_MAPPED,     /* bytes of mappings */
  OPC_GROWTH_DESCRIPTORS,
  OPC_GROWTH_THREADS,
  OPC_GROWTH_KINDS
} opc_growth_kind_t;

typedef struct opc_reading {
  int calls; /* made before this reading */
  size_t values[OPC_GROWTH_KINDS];
  size_t block_bytes; /* of OPC_GROWTH_BLOCKS */
} opc_reading_t;

enum { OPC_READINGS_MAX = 16, OPC_GROWTH_ROUNDS = 3 };

typedef struct opc_growth {
  opc_reading_t readings[OPC_READINGS_MAX];
  size_t count;
} opc_growth_t;

/* Adds a reading after `calls` calls. If there are more threads than before, first waits for those that are about to
 * end. OPC_ERR_SYSTEM as opc_process_use_read. */
opc_status_t opc_growth_read(opc_growth_t *growth, int calls, opc_error_t *error) OPC_CHECKED;

/* Growth between two readings: at least one byte per call, one page, or one item. */
bool opc_growth_between(const opc_growth_t *growth, opc_growth_kind_t kind, size_t from, size_t to);
/* True if any kind grew. */
bool opc_growth_any(const opc_growth_t *growth, size_t from, size_t to);
/* Growth in each of the last OPC_GROWTH_ROUNDS rounds. False also if there were fewer rounds. */
bool opc_growth_is_steady(const opc_growth_t *growth, opc_growth_kind_t kind);
/* So much growth that continuing might exhaust the machine. */
bool opc_growth_is_large(const opc_growth_t *growth);

/* How much physical memory a call takes at its peak: VmHWM, which the system keeps for the process.
 *
 * Memory that is allocated and never touched does not count. Ownership: nothing. Threads: one measures at a time;
 * memory of all threads counts. Fork: the child has its own peak. */

/* What a process may have: --memory. Unless this is called, 4 GiB. */
void opc_peak_limit(size_t bytes);
/* A quarter of the limit: what one call on a small sample should stay below. */
size_t opc_peak_allowed(void);

/* False: the system does not measure it. */
bool opc_peak_begin(void);
/* Bytes at the peak since the beginning, beyond what the process had then; 0 also if the system does not say. */
size_t opc_peak_bytes(void);
