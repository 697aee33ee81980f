/* The order of the work in a log: streams are sequences of work, ordered by events, waiting streams and a waiting host.
 *
 * One vector clock per stream: how much of every stream's work comes before its next work. The host counts as one
 * thread, because a log does not show threads waiting for each other. Treating unordered work as ordered causes a
 * missed finding, not a false positive. Ownership: opc_cuda_order_t is a plain struct. Threads: no shared state. */
#pragma once

#include "cuda/log/cuda_log.h"

enum { OPC_CUDA_ORDER_STREAMS = 32, OPC_CUDA_ORDER_EVENTS = 128 };

typedef struct opc_cuda_clock {
  uint32_t work[OPC_CUDA_ORDER_STREAMS]; /* per stream: number of finished pieces of work */
} opc_cuda_clock_t;

typedef struct opc_cuda_order {
  struct opc_cuda_order_stream {
    opc_cuda_stream_kind_t kind;
    uint64_t handle;
    int device;
    opc_cuda_clock_t clock;
  } streams[OPC_CUDA_ORDER_STREAMS]; /* the first is the stream that was current */
  size_t stream_count;
  struct opc_cuda_order_event {
    uint64_t handle;
    opc_cuda_clock_t clock;
  } events[OPC_CUDA_ORDER_EVENTS];
  size_t event_count;
  opc_cuda_clock_t host;
  bool overflow; /* more streams or events than there is room for: the order is unknown */
} opc_cuda_order_t;

/* A piece of work and its place in the order. */
typedef struct opc_cuda_moment {
  size_t stream;   /* index in streams */
  uint32_t number; /* number within the stream, from 1; the current stream has had one piece of work before the call */
  opc_cuda_clock_t after; /* what is finished when it begins, itself included */
} opc_cuda_moment_t;

/* stream, device: the current one when the operator was called. */
void opc_cuda_order_begin(opc_cuda_order_t *order, uint64_t stream, int device);
/* Processes the next call of the log. True: it is work (opc_cuda_is_work), and *out (may be NULL) is filled in. */
bool opc_cuda_order_step(opc_cuda_order_t *order, const opc_cuda_call_t *call, opc_cuda_moment_t *out);
/* True: the first is finished when the second begins. */
bool opc_cuda_moment_before(const opc_cuda_moment_t *first, const opc_cuda_moment_t *second);
/* True: it is finished before the next work on the current stream, or before the host continues. */
bool opc_cuda_order_is_awaited(const opc_cuda_order_t *order, const opc_cuda_moment_t *moment);
