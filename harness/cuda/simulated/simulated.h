/* Inside the simulated device: what its files share. */
#ifndef OPC_CUDA_SIMULATED_SIMULATED_H
#define OPC_CUDA_SIMULATED_SIMULATED_H

#include "cuda/state/cudart_table.h"

size_t opc_simulated_memory(void); /* bytes of a device */
/* Until every host function that was put into a stream has run. */
void opc_host_functions_wait(void);
/* How many blocks of so many threads a multiprocessor has room for. */
uint32_t opc_blocks_resident(opc_cuda_kernel_t *kernel, uint64_t threads, uint64_t shared);

/* ---- what goes into a stream: done at once, or captured (simulated_capture.c) and done by each launch of the graph
 * (simulated_graph.c) ---- */

typedef struct opc_work opc_work_t;
struct opc_work {
  enum cudaGraphNodeType type;
  cudaError_t (*check)(const opc_work_t *work); /* (optional) what it would be refused with */
  cudaError_t (*run)(
      const opc_work_t *work); /* NULL: nothing happens on the simulated device, as of a kernel. Checks it too */
  union {
    struct opc_work_copy {
      void *to;
      const void *from;
      size_t to_pitch, from_pitch, width, height;
      enum cudaMemcpyKind kind;
    } copy;
    struct cudaMemcpy3DParms copy_3d;
    struct opc_work_fill {
      void *to;
      size_t pitch, width, height;
      unsigned char byte;
    } fill;
    struct opc_work_host {
      cudaHostFn_t function;
      void *data;
    } host;
    cudaGraphExec_t graph;
  } of;
};

/* `stream` as it was given to the function that is called. */
cudaError_t opc_stream_put(cudaStream_t stream, const opc_work_t *work);

/* ---- capture ----
 * CUDA programming guide, "Prohibited and Unhandled Operations"; runtime API, cudaThreadExchangeStreamCaptureMode. What
 * is refused ends the captures that it would have disturbed: their streams come to cudaErrorStreamCaptureInvalidated
 * until the end of the capture. */

/* Somebody waits for a stream, or asks what is in it. */
cudaError_t opc_capture_asked(cudaStream_t stream);
/* The same of a whole device. */
cudaError_t opc_capture_asked_device(int device);
/* A call that captures may forbid by their mode, whatever stream it is about: of memory, and about events. */
cudaError_t opc_capture_unsafe(void);

typedef struct opc_graph_node opc_graph_node_t;
typedef struct opc_nodes {
  opc_graph_node_t **items;
  size_t count;
} opc_nodes_t;

/* What an event that was recorded in a capture stands for. */
typedef struct opc_captured {
  unsigned long long capture; /* 0: it was not recorded in one */
  opc_nodes_t nodes;
} opc_captured_t;

/* cudaEventRecord: *event becomes what the stream's capture has so far, or nothing. */
cudaError_t opc_capture_record(cudaStream_t stream, opc_captured_t *event, bool external);
/* cudaStreamWaitEvent of an event that was recorded: the stream takes part from now on. */
cudaError_t opc_capture_wait(cudaStream_t stream, const opc_captured_t *event, bool external);
/* The stream is being destroyed: a capture that began in it is over. */
void opc_capture_stream_ends(cudaStream_t stream);
/* cudaEventQuery, cudaEventSynchronize. */
cudaError_t opc_capture_asked_event(const opc_captured_t *event);

/* ---- graphs ---- */

/* All of it under opc_lock_captures. A graph is a cudaGraph_t, and good until it is freed, a node a cudaGraphNode_t.
 * NULL: out of memory. */
typedef struct opc_graph opc_graph_t;
struct opc_graph_node {
  opc_work_t work;
  opc_nodes_t after;
  bool reached;
};

struct opc_graph {
  opc_graph_t *next;
  opc_nodes_t nodes; /* each behind those that it comes after */
};
/* NULL: there is none, or it was destroyed. */
opc_graph_t *opc_graph_find(cudaGraph_t handle);
const opc_graph_node_t *opc_graph_node_find(cudaGraphNode_t handle);
opc_graph_t *opc_graph_new(void);
void opc_graph_free(opc_graph_t *graph);
opc_graph_node_t *opc_graph_add(opc_graph_t *graph, const opc_work_t *work, const opc_nodes_t *after);
/* Every node of the graph comes before one of these, or is one. */
bool opc_graph_leads_to(const opc_graph_t *graph, const opc_nodes_t *nodes);
/* Adds those of `more` that are not among them. False: out of memory. */
bool opc_nodes_add(opc_nodes_t *nodes, const opc_nodes_t *more);
void opc_nodes_clear(opc_nodes_t *nodes);

/* ---- functions of the driver, ended by one without a name ---- */

typedef void opc_driver_function_t(void);
typedef struct opc_driver_row {
  const char *name;
  opc_driver_function_t *function;
} opc_driver_row_t;
extern const opc_driver_row_t opc_driver_module_functions[];

#endif
