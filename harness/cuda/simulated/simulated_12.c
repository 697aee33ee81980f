/* The functions of cudart_12.def. */
#include "cuda/simulated/simulated.h"

cudaError_t opc_sim_cudaGetDeviceProperties_v2(struct cudaDeviceProp *out, int device) {
  static const struct {
    enum cudaDeviceAttr attribute;
    size_t at;
  } removed[] = {/* from the structure of CUDA 13 */
                 {cudaDevAttrClockRate, offsetof(struct cudaDeviceProp, clockRate)},
                 {cudaDevAttrMemoryClockRate, offsetof(struct cudaDeviceProp, memoryClockRate)},
                 {cudaDevAttrGpuOverlap, offsetof(struct cudaDeviceProp, deviceOverlap)}};
  const cudaError_t code = opc_device_properties(out, device);
  for (size_t i = 0; code == cudaSuccess && i < sizeof removed / sizeof removed[0]; i++)
    (void)opc_sim_cudaDeviceGetAttribute((int *)(void *)((char *)out + removed[i].at), removed[i].attribute, device);
  return code;
}

cudaError_t opc_sim_cudaMemAdvise(const void *at, size_t bytes, enum cudaMemoryAdvise advice, int device) {
  (void)advice, (void)device;
  return opc_memory_advise(at, bytes);
}

cudaError_t opc_sim_cudaMemAdvise_v2(const void *at, size_t bytes, enum cudaMemoryAdvise advice,
                                     struct cudaMemLocation location) {
  (void)advice, (void)location;
  return opc_memory_advise(at, bytes);
}

cudaError_t opc_sim_cudaMemPrefetchAsync(const void *at, size_t bytes, int device, cudaStream_t stream) {
  (void)device;
  return opc_memory_prefetch(at, bytes, stream);
}

cudaError_t opc_sim_cudaMemPrefetchAsync_v2(const void *at, size_t bytes, struct cudaMemLocation location,
                                            unsigned flags, cudaStream_t stream) {
  (void)location, (void)flags;
  return opc_memory_prefetch(at, bytes, stream);
}

cudaError_t opc_sim_cudaEventElapsedTime_v2(float *out, cudaEvent_t start, cudaEvent_t end) {
  return opc_sim_cudaEventElapsedTime(out, start, end);
}

/* ---- captures: this version's own call is the one with nodes and without edges ---- */

cudaError_t opc_sim_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                             unsigned long long *id) {
  return opc_capture_info(stream, status, id, NULL, NULL, NULL, NULL);
}

cudaError_t opc_sim_cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                                unsigned long long *id, cudaGraph_t *graph,
                                                const cudaGraphNode_t **nodes, size_t *count) {
  return opc_capture_info(stream, status, id, graph, nodes, NULL, count);
}

cudaError_t opc_sim_cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                                unsigned long long *id, cudaGraph_t *graph,
                                                const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
                                                size_t *count) {
  return opc_capture_info(stream, status, id, graph, nodes, edges, count);
}

cudaError_t opc_sim_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *out, size_t *count) {
  return opc_node_dependencies(node, out, NULL, count);
}

cudaError_t opc_sim_cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *out,
                                                    cudaGraphEdgeData *edges, size_t *count) {
  return opc_node_dependencies(node, out, edges, count);
}

/* ---- deprecated names ---- */

cudaError_t opc_sim_cudaThreadSynchronize(void) { return opc_sim_cudaDeviceSynchronize(); }
cudaError_t opc_sim_cudaThreadGetCacheConfig(enum cudaFuncCache *out) { return opc_sim_cudaDeviceGetCacheConfig(out); }
cudaError_t opc_sim_cudaThreadSetCacheConfig(enum cudaFuncCache config) {
  return opc_sim_cudaDeviceSetCacheConfig(config);
}
cudaError_t opc_sim_cudaThreadGetLimit(size_t *out, enum cudaLimit limit) {
  return opc_sim_cudaDeviceGetLimit(out, limit);
}
cudaError_t opc_sim_cudaThreadSetLimit(enum cudaLimit limit, size_t value) {
  return opc_sim_cudaDeviceSetLimit(limit, value);
}
