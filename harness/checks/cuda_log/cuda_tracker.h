/* What a library has taken from the CUDA runtime and not given back, by the logs of its calls; and whether it grows
 * with their number.
 *
 * Ownership: a tracker is ended with opc_cuda_tracker_clear; it keeps nothing of the logs but strings that live as long
 * as the process. Threads: one tracker, one thread. */
#ifndef OPC_CHECKS_CUDA_LOG_CUDA_TRACKER_H
#define OPC_CHECKS_CUDA_LOG_CUDA_TRACKER_H

#include "checks/cuda_log/cuda_analysis.h"

typedef enum opc_cuda_holding {
  OPC_CUDA_HOLDS_MEMORY = 0, /* of the device, or managed */
  OPC_CUDA_HOLDS_PINNED,
  OPC_CUDA_HOLDS_STREAMS,
  OPC_CUDA_HOLDS_EVENTS,
  OPC_CUDA_HOLDS_TENSORS, /* bytes of libtorch's allocator: not from a log */
  OPC_CUDA_HOLDINGS
} opc_cuda_holding_t;

enum { OPC_CUDA_TRACKER_ROUNDS = 12, OPC_CUDA_TRACKER_STEADY = 3 };

/* After some calls of the operator. */
typedef struct opc_cuda_reading {
  uint64_t calls;
  uint64_t held[OPC_CUDA_HOLDINGS];  /* how many; of tensors bytes */
  uint64_t bytes[OPC_CUDA_HOLDINGS]; /* of memory */
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
  bool incomplete; /* a log had lost calls, or memory ran out: nothing is said */
} opc_cuda_tracker_t;

/* Takes in the log of the next calls: what own libraries took, and what anybody gave back of it. */
void opc_cuda_tracker_add(opc_cuda_tracker_t *tracker, const opc_cuda_facts_t *facts);
/* Notes what is held after this many calls of the operator; beyond OPC_CUDA_TRACKER_ROUNDS the last is replaced. */
void opc_cuda_tracker_read(opc_cuda_tracker_t *tracker, uint64_t calls, uint64_t tensor_bytes);
/* Something grew between the last two readings. */
bool opc_cuda_tracker_grew(const opc_cuda_tracker_t *tracker);
/* What grows, as rules device_memory.…; `calls` of what is found are indices into `out_makers`, the calls that made
 * what is held (OPC_CUDA_HOLDINGS of them). */
void opc_cuda_analyse_ledger(const opc_cuda_tracker_t *tracker, opc_cuda_call_t *out_makers, opc_cuda_founds_t *out);
void opc_cuda_tracker_clear(opc_cuda_tracker_t *tracker);

#endif
