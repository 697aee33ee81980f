// at::cuda::CUDAGraph, libtorch's own way to capture: with its memory pool, and random generators that a graph can use.
// Its header needs CUDA's headers, and libtorch_cuda is loaded only if a CUDA device is requested. So the functions are
// looked up by name, and the object gets more room than it needs.

#include <memory>

#include "bridge/torch/exceptions.h"
#include "bridge/torch/torch_version.h"

struct opc_cuda_graph {
  alignas(std::max_align_t) unsigned char object[4096];  // about 250 bytes
  bool usable;                                           // its destructor can run
};

namespace {

using Pool = std::pair<unsigned long long, unsigned long long>;
constexpr int kModeGlobal = 0;  // cudaStreamCaptureModeGlobal, which torch.cuda.graph uses

struct Functions {
  void *make;  // opc::make_cuda_graph calls it
  void (*end)(void *self);
  void (*capture_begin)(void *self, Pool pool, int mode);
  void (*capture_end)(void *self);
  void (*replay)(void *self);

  bool complete() const {
    return make != nullptr && end != nullptr && capture_begin != nullptr && capture_end != nullptr && replay != nullptr;
  }
};

template <typename F>
void find(F *&out, const char *name) {
  out = reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
}

Functions functions_find() {
  Functions found = {};
  found.make = dlsym(RTLD_DEFAULT, opc::kCudaGraphConstructor);
  find(found.end, "_ZN2at4cuda9CUDAGraphD1Ev");
  find(found.capture_begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
  find(found.capture_end, "_ZN2at4cuda9CUDAGraph11capture_endEv");
  find(found.replay, "_ZN2at4cuda9CUDAGraph6replayEv");
  return found;
}

const Functions &functions() {
  static const Functions found = functions_find();  // libtorch_cuda is loaded by now, or never
  return found;
}

}  // namespace

opc_status_t opc_cuda_graph_begin(opc_cuda_graph_t **out, opc_error_t *error) {
  *out = nullptr;
  if (!functions().complete())
    return opc_error_set(error, OPC_ERR_UNSUPPORTED,
                         "this libtorch_cuda has no at::cuda::CUDAGraph as the harness knows it");
  return opc::guarded(error, [&] {
    auto graph = std::make_unique<opc_cuda_graph>();
    opc::make_cuda_graph(functions().make, graph->object);
    try {
      functions().capture_begin(graph->object, Pool{0, 0}, kModeGlobal);
    } catch (...) {
      (void)graph.release();  // the allocator may still query it
      throw;
    }
    *out = graph.release();
    return OPC_OK;
  });
}

opc_status_t opc_cuda_graph_end(opc_cuda_graph_t *graph, opc_error_t *error) {
  return opc::guarded(error, [&] {
    functions().capture_end(graph->object);
    graph->usable = true;
    return OPC_OK;
  });
}

opc_status_t opc_cuda_graph_replay(opc_cuda_graph_t *graph, opc_error_t *error) {
  return opc::guarded(error, [&] {
    functions().replay(graph->object);
    return OPC_OK;
  });
}

void opc_cuda_graph_free(opc_cuda_graph_t *graph) {
  if (graph == nullptr || !graph->usable)
    return;  // libtorch's allocator may query a graph without a regular end forever
  (void)opc::guarded(nullptr, [&] {
    functions().end(graph->object);
    return OPC_OK;
  });
  delete graph;
}
