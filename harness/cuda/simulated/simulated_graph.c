/* Graphs of the simulated devices as in the runtime: queried, instantiated, and executed at each launch. */
#include <stdlib.h>
#include <string.h>

#include "cuda/simulated/simulated.h"

/* Made by cudaGraphInstantiate: works in the order of the capture, without their dependencies. */
typedef struct exec {
  struct exec *next;
  size_t count;
  opc_work_t works[];
} exec_t;

static pthread_mutex_t *const lock = &opc_lock_captures;
static exec_t *execs;

/* Called under the lock. NULL: there is none, or it was destroyed. */
static exec_t *exec_of(cudaGraphExec_t handle) {
  for (exec_t *exec = execs; exec; exec = exec->next)
    if ((void *)exec == (void *)handle) return exec;
  return NULL;
}

/* If `out` is NULL, only the number is wanted; extra room is filled with NULL. */
static void nodes_give(const opc_nodes_t *nodes, cudaGraphNode_t *out, size_t *count) {
  for (size_t i = 0; out && i < *count; i++)
    out[i] = i < nodes->count ? (cudaGraphNode_t)(void *)nodes->items[i] : NULL;
  if (!out || *count > nodes->count) *count = nodes->count;
}

cudaError_t opc_sim_cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *out, size_t *count) {
  pthread_mutex_lock(lock);
  const opc_graph_t *graph = opc_graph_find(handle);
  if (graph && count) nodes_give(&graph->nodes, out, count);
  pthread_mutex_unlock(lock);
  return graph && count ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaGraphNodeGetType(cudaGraphNode_t handle, enum cudaGraphNodeType *out) {
  pthread_mutex_lock(lock);
  const opc_graph_node_t *node = opc_graph_node_find(handle);
  if (node && out) *out = node->work.type;
  pthread_mutex_unlock(lock);
  return node && out ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t opc_node_dependencies(cudaGraphNode_t handle, cudaGraphNode_t *out, cudaGraphEdgeData *edges,
                                  size_t *count) {
  pthread_mutex_lock(lock);
  const opc_graph_node_t *node = opc_graph_node_find(handle);
  if (node && count) {
    if (edges) memset(edges, 0, *count * sizeof *edges);
    nodes_give(&node->after, out, count);
  }
  pthread_mutex_unlock(lock);
  return node && count ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaGraphDestroy(cudaGraph_t handle) {
  pthread_mutex_lock(lock);
  opc_graph_t *graph = opc_graph_find(handle);
  if (graph) opc_graph_free(graph);
  pthread_mutex_unlock(lock);
  return graph ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t handle, unsigned long long flags) {
  const unsigned long long known = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
                                   cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority;
  if (!out || (flags & ~known) != 0) return cudaErrorInvalidValue;
  pthread_mutex_lock(lock);
  const opc_graph_t *graph = opc_graph_find(handle);
  exec_t *exec = graph ? calloc(1, sizeof *exec + graph->nodes.count * sizeof exec->works[0]) : NULL;
  if (exec) {
    exec->count = graph->nodes.count;
    for (size_t i = 0; i < exec->count; i++) exec->works[i] = graph->nodes.items[i]->work;
    exec->next = execs;
    execs = exec;
  }
  pthread_mutex_unlock(lock);
  *out = (cudaGraphExec_t)(void *)exec;
  return exec ? cudaSuccess : graph ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
  return opc_sim_cudaGraphInstantiate(out, graph, flags);
}

cudaError_t opc_sim_cudaGraphExecDestroy(cudaGraphExec_t handle) {
  pthread_mutex_lock(lock);
  exec_t *exec = exec_of(handle);
  exec_t **at = &execs;
  while (exec && *at != exec) at = &(*at)->next;
  if (exec) *at = exec->next;
  pthread_mutex_unlock(lock);
  free(exec);
  return exec ? cudaSuccess : cudaErrorInvalidValue;
}

/* Runs a copy, because a host function may destroy the graph that it is part of. Memory that was freed by now makes it
 * fail on a GPU while it runs; here that has no effect. */
static cudaError_t graph_run(const opc_work_t *work) {
  pthread_mutex_lock(lock);
  const exec_t *exec = exec_of(work->of.graph);
  const size_t bytes = exec ? sizeof *exec + exec->count * sizeof exec->works[0] : 0;
  exec_t *copy = exec ? malloc(bytes) : NULL;
  if (copy) memcpy(copy, exec, bytes);
  pthread_mutex_unlock(lock);
  if (!copy) return exec ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
  for (size_t i = 0; i < copy->count; i++)
    if (copy->works[i].run) (void)copy->works[i].run(&copy->works[i]);
  free(copy);
  return cudaSuccess;
}

static cudaError_t graph_check(const opc_work_t *work) {
  pthread_mutex_lock(lock);
  const bool there = exec_of(work->of.graph);
  pthread_mutex_unlock(lock);
  return there ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream) {
  const opc_work_t work = {.type = cudaGraphNodeTypeGraph, .of.graph = graph};
  int device;
  return opc_stream_usable(stream, &device) ? graph_check(&work) : cudaErrorInvalidResourceHandle;
}

cudaError_t opc_sim_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const opc_work_t work = {.type = cudaGraphNodeTypeGraph, .check = graph_check, .run = graph_run, .of.graph = graph};
  return opc_stream_put(stream, &work);
}
