/* Shared by the files of the simulated device. */
#pragma once

#include "cuda/ptx/ptx_run.h"
#include "cuda/state/cudart_table.h"

size_t opc_simulated_memory(void); /* bytes of a device */
/* Waits until every host function that was put into a stream has run. */
void opc_host_functions_wait(void);
/* Number of blocks with this many threads that fit on a multiprocessor. */
uint32_t opc_blocks_resident(opc_cuda_kernel_t *kernel, uint64_t threads, uint64_t shared);

/* ---- kernels that run (kernel_program.c, kernel_run.c) ---- */

/* A kernel's program in its module's newest PTX, and the memory of the module's variables. Never freed before its
 * module. */
typedef struct opc_kernel_program {
  const opc_ptx_module_t *module;
  opc_ptx_program_t *program; /* NULL: it cannot be run, `why` says why */
  const char *why;            /* permanent */
  uint64_t threads_most;      /* a launch of so many threads went over the budget; UINT64_MAX: none did */
  uint64_t instructions_most; /* of a launch in the usual order that ended */
} opc_kernel_program_t;
/* Under opc_lock_runs. NULL: out of memory. */
opc_kernel_program_t *opc_kernel_program(opc_cuda_kernel_t *kernel);
/* The module is unloaded: releases its programs. */
void opc_kernel_programs_end(opc_module_t *module);
/* The variable has its initial values from now on. */
void opc_variable_begin(const void *host, int device);
/* The same for those of a module that have memory on the device, under opc_lock_runs. */
void opc_variables_begin(const opc_module_t *module, int device);
/* The same for a module's managed variables; NULL is fine. */
void opc_managed_begin(const opc_module_t *module);

/* Of a launch whose blocks cannot all run (kernel_sample.c): the numbers of some, and how many there are. */
enum { OPC_SAMPLED_MOST = 64 };
typedef struct opc_sampled_blocks {
  uint64_t blocks[OPC_SAMPLED_MOST], of;
  size_t count;
} opc_sampled_blocks_t;
/* threads: of the grid. Parameters that are addresses say how large the tensors are. */
void opc_sample_blocks(const dim3 *grid, uint64_t threads, const unsigned char *parameters, uint32_t bytes,
                       opc_sampled_blocks_t *out);

/* ---- what kernels that run are watched for, and the order of their blocks (kernel_watch.c) ---- */

void opc_watch_set(bool on);                                   /* launch.h, watch */
void opc_watch_written(const void *data, size_t bytes);        /* launch.h, written */
void opc_schedule_set(opc_schedule_t schedule, uint64_t seed); /* launch.h, schedule */
/* opc_range_bound; what is bound counts as new. */
void opc_watch_bound(const void *base, const void *data, size_t bytes);
/* A new allocation, of which nothing is written yet; one that is gone. */
void opc_watch_allocated(const void *data, size_t bytes);
void opc_watch_released(uint64_t begin, uint64_t bytes);
/* Under opc_lock_copies: what the launch is watched for, and its order. In another order than the usual one it may run
 * little longer than in that. */
void opc_watch_launch(const opc_kernel_program_t *program, opc_ptx_launch_t *launch);
/* Under opc_lock_runs, after it. */
void opc_watch_ended(opc_kernel_program_t *program, const opc_ptx_outcome_t *outcome, uint64_t threads);
/* The kind of a fault that is only watched for. False: it is not one. */
bool opc_watch_kind(opc_ptx_finding_kind_t kind, opc_device_fault_kind_t *out);
/* What the fault says in addition if it is of such a kind. */
void opc_watch_describe(const opc_ptx_finding_t *finding, opc_device_fault_t *out);

/* ---- work in a stream: done at once, or captured (simulated_capture.c) and done by each launch of the graph
 * (simulated_graph.c) ---- */

typedef struct opc_work opc_work_t;
struct opc_work {
  enum cudaGraphNodeType type;
  cudaError_t (*check)(const opc_work_t *work); /* (optional) the error with which it would be refused */
  cudaError_t (*run)(const opc_work_t *work);   /* NULL: nothing happens on the simulated device. Includes the checks of
                                                   `check` */
  void (*keep)(opc_work_t *work);               /* (optional) for a copy that is run after the caller has returned */
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
    struct opc_work_kernel {
      opc_cuda_kernel_t *kernel;
      dim3 grid, block;
      uint32_t shared;
      bool cooperative;
      void **arguments;                /* the caller's, while it waits; NULL: `parameters` has them */
      const unsigned char *parameters; /* as the program reads them; NULL: none yet */
    } kernel;
  } of;
};

/* `run` and `keep` of a kernel, after all checks: runs the kernel, or notes why it does not. */
cudaError_t opc_kernel_run(const opc_work_t *work);
void opc_kernel_keep(opc_work_t *work);

/* `stream` as passed to the runtime function. */
cudaError_t opc_stream_put(cudaStream_t stream, const opc_work_t *work);

/* ---- capture ----
 * CUDA programming guide, "Prohibited and Unhandled Operations"; runtime API, cudaThreadExchangeStreamCaptureMode. A
 * refused call invalidates the captures that it would have disturbed: their streams return
 * cudaErrorStreamCaptureInvalidated until the capture ends. */

/* For a call that waits for a stream or queries it. */
cudaError_t opc_capture_asked(cudaStream_t stream);
/* The same for a whole device. */
cudaError_t opc_capture_asked_device(int device);
/* For a call on memory or events, which captures may forbid by their mode, whatever its stream. */
cudaError_t opc_capture_unsafe(void);

typedef struct opc_graph_node opc_graph_node_t;
typedef struct opc_nodes {
  opc_graph_node_t **items;
  size_t count;
} opc_nodes_t;

/* The meaning of an event that was recorded in a capture. */
typedef struct opc_captured {
  unsigned long long capture; /* 0: not recorded in a capture */
  opc_nodes_t nodes;
} opc_captured_t;

/* cudaEventRecord: *event becomes the work captured so far, or nothing. */
cudaError_t opc_capture_record(cudaStream_t stream, opc_captured_t *event, bool external);
/* cudaStreamWaitEvent for an event recorded in a capture: the stream joins the capture. */
cudaError_t opc_capture_wait(cudaStream_t stream, const opc_captured_t *event, bool external);
/* The stream is being destroyed: a capture that began in it is over. */
void opc_capture_stream_ends(cudaStream_t stream);
/* cudaEventQuery, cudaEventSynchronize. */
cudaError_t opc_capture_asked_event(const opc_captured_t *event);

/* ---- graphs ---- */

/* Everything here needs opc_lock_captures. A graph is a cudaGraph_t, valid until freed; a node is a cudaGraphNode_t.
 * NULL: out of memory. */
typedef struct opc_graph opc_graph_t;
struct opc_graph_node {
  opc_work_t work;
  opc_nodes_t after;
  bool reached;
};

struct opc_graph {
  opc_graph_t *next;
  opc_nodes_t nodes; /* each after the nodes it depends on */
};
/* NULL: not a graph, or destroyed. */
opc_graph_t *opc_graph_find(cudaGraph_t handle);
const opc_graph_node_t *opc_graph_node_find(cudaGraphNode_t handle);
opc_graph_t *opc_graph_new(void);
void opc_graph_free(opc_graph_t *graph);
opc_graph_node_t *opc_graph_add(opc_graph_t *graph, const opc_work_t *work, const opc_nodes_t *after);
/* True: every node of the graph precedes one of these, or is one of them. */
bool opc_graph_leads_to(const opc_graph_t *graph, const opc_nodes_t *nodes);
/* Adds the nodes of `more` that are missing. False: out of memory. */
bool opc_nodes_add(opc_nodes_t *nodes, const opc_nodes_t *more);
void opc_nodes_clear(opc_nodes_t *nodes);

/* ---- functions that differ between CUDA's major versions: each has its own names and parameters for them
 * (simulated_12.c, simulated_13.c), and these do the work ---- */

cudaError_t opc_device_properties(struct cudaDeviceProp *out, int device);
cudaError_t opc_memory_advise(const void *at, size_t bytes);
cudaError_t opc_memory_prefetch(const void *at, size_t bytes, cudaStream_t stream);
cudaError_t opc_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                             cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
                             size_t *count);
cudaError_t opc_node_dependencies(cudaGraphNode_t handle, cudaGraphNode_t *out, cudaGraphEdgeData *edges,
                                  size_t *count);

/* ---- driver functions; the entry without a name is the last ---- */

typedef void opc_driver_function_t(void);
typedef struct opc_driver_row {
  const char *name;
  opc_driver_function_t *function;
} opc_driver_row_t;
extern const opc_driver_row_t opc_driver_module_functions[];
