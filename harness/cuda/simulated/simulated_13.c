/* The functions of cudart_13.def. */
#include "cuda/simulated/simulated.h"

cudaError_t opc_sim_cudaGetDeviceProperties(struct cudaDeviceProp *out, int device) {
  return opc_device_properties(out, device);
}

cudaError_t opc_sim_cudaMemAdvise(const void *at, size_t bytes, enum cudaMemoryAdvise advice,
                                  struct cudaMemLocation location) {
  (void)advice, (void)location;
  return opc_memory_advise(at, bytes);
}

cudaError_t opc_sim_cudaMemPrefetchAsync(const void *at, size_t bytes, struct cudaMemLocation location, unsigned flags,
                                         cudaStream_t stream) {
  (void)location, (void)flags;
  return opc_memory_prefetch(at, bytes, stream);
}

cudaError_t opc_sim_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                             unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes,
                                             const cudaGraphEdgeData **edges, size_t *count) {
  return opc_capture_info(stream, status, id, graph, nodes, edges, count);
}

cudaError_t opc_sim_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *out, cudaGraphEdgeData *edges,
                                                 size_t *count) {
  return opc_node_dependencies(node, out, edges, count);
}
