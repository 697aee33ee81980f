/* Allocation tracking: what a library has allocated from the CUDA runtime and not freed, according to the logs of its
 * calls, and whether this grows with the number of calls.
 *
 * Ownership: opc_cuda_tracker_clear frees a tracker; of the logs it keeps only strings, which live as long as the
 * process. Threads: one tracker, one thread. */
#pragma once

#include "checks/cuda_log/cuda_analysis.h"

typedef enum opc_cuda_holding {
  OPC_CUDA_HOLDS_MEMORY = 0, /* device or managed memory */
  OPC_CUDA_HOLDS_PINNED,
  OPC_CUDA_HOLDS_STREAMS,
  OPC_CUDA_HOLDS_EVENTS,
  OPC_CUDA_HOLDS_TENSORS, /* bytes in libtorch's allocator; not from a log */
  OPC_CUDA_HOLDINGS
} opc_cuda_holding_t;

enum { OPC_CUDA_TRACKER_ROUNDS = 12, OPC_CUDA_TRACKER_STEADY = 3 };

/* After some calls of the operator. */
typedef struct opc_cuda_reading {
  uint64_t calls;
  uint64_t held[OPC_CUDA_HOLDINGS];  /* count; for tensors: bytes */
  uint64_t bytes[OPC_CUDA_HOLDINGS]; /* bytes of memory */
} opc_cuda_reading_t;

typedef struct opc_cuda_tracker {
  struct opc_cuda_item {
    opc_cuda_holding_t holding;
    uint64_t handle; /* or address */
    uint64_t bytes;
    opc_cuda_call_t made_by;
  } * items;
  size_t count;
  opc_cuda_reading_t readings[OPC_CUDA_TRACKER_ROUNDS];
  size_t reading_count;
  bool incomplete; /* a log lost calls, or memory ran out: no findings */
} opc_cuda_tracker_t;

/* Adds the log of the next calls: what libraries under test allocated, and what anyone freed of it. */
void opc_cuda_tracker_add(opc_cuda_tracker_t *tracker, const opc_cuda_facts_t *facts);
/* Records what is held after this many calls of the operator; beyond OPC_CUDA_TRACKER_ROUNDS the last reading is
 * replaced. */
void opc_cuda_tracker_read(opc_cuda_tracker_t *tracker, uint64_t calls, uint64_t tensor_bytes);
/* Something grew between the last two readings. */
bool opc_cuda_tracker_grew(const opc_cuda_tracker_t *tracker);
/* Reports what grows, under rules device_memory.…; `calls` of the findings are indices into `out_makers`
 * (OPC_CUDA_HOLDINGS of them), the calls that allocated what is held. */
void opc_cuda_analyse_growth(const opc_cuda_tracker_t *tracker, opc_cuda_call_t *out_makers, opc_cuda_founds_t *out);
void opc_cuda_tracker_clear(opc_cuda_tracker_t *tracker);
