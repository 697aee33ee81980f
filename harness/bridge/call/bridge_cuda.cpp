// CUDA streams, devices and caching allocator, through libtorch's backend-neutral interfaces: building this needs
// nothing of CUDA.
#include <ATen/Functions.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"
#include "bridge/torch/torch_version.h"

namespace {

c10::Device cuda_device(int index) { return {c10::kCUDA, static_cast<c10::DeviceIndex>(index)}; }

// Throws if libtorch_cuda is not loaded.
const c10::impl::DeviceGuardImplInterface &cuda() {
  const auto *impl = c10::impl::getDeviceGuardImpl(c10::kCUDA);
  opc::cuda_is_used();
  at::globalContext().lazyInitDevice(c10::kCUDA);
  return *impl;
}

}  // namespace

opc_status_t opc_cuda_stream_use_pool(int device, uint64_t *out_stream, opc_error_t *error) {
  *out_stream = 0;
  return opc::guarded(error, [&] {
    const auto stream = cuda().getStreamFromGlobalPool(cuda_device(device));
    cuda().exchangeStream(stream);
    *out_stream = opc::stream_handle_of(stream);
    return OPC_OK;
  });
}

opc_status_t opc_cuda_stream_use_default(int device, opc_error_t *error) {
  return opc::guarded(error, [&] {
    cuda().exchangeStream(cuda().getDefaultStream(cuda_device(device)));
    return OPC_OK;
  });
}

uint64_t opc_cuda_stream_current(int device) {
  uint64_t handle = 0;
  (void)opc::guarded(nullptr, [&] {
    handle = opc::stream_handle_of(cuda().getStream(cuda_device(device)));
    return OPC_OK;
  });
  return handle;
}

opc_status_t opc_cuda_device_use(int device, opc_error_t *error) {
  return opc::guarded(error, [&] {
    cuda().setDevice(cuda_device(device));
    return OPC_OK;
  });
}

opc_status_t opc_cuda_allocated(int device, uint64_t *out_bytes, opc_error_t *error) {
  *out_bytes = 0;
  return opc::guarded(error, [&] {
    (void)cuda();
    *out_bytes = opc::allocated_bytes_on(cuda_device(device));
    return OPC_OK;
  });
}

bool opc_cuda_tf32_set(bool allowed) {
  auto &context = at::globalContext();
  const bool before = context.allowTF32CuDNN();
  context.setAllowTF32CuDNN(allowed);
  return before;
}

struct opc_cuda_load {
  c10::Stream stream;
  at::Tensor tensor;
};

opc_status_t opc_cuda_load_begin(int device, bool on_current, opc_cuda_load_t **out, opc_error_t *error) {
  *out = nullptr;
  return opc::guarded(error, [&] {
    constexpr int64_t elements = int64_t{1} << 22;
    constexpr int steps = 1000;  // about ten microseconds each
    const auto before = cuda().getStream(cuda_device(device));
    const auto stream = on_current ? before : cuda().getStreamFromGlobalPool(cuda_device(device));
    cuda().exchangeStream(stream);
    try {
      auto tensor = at::ones({elements}, at::TensorOptions(cuda_device(device)).dtype(at::kFloat));
      for (int i = 0; i < steps; i++) tensor.mul_(-1);
      *out = new opc_cuda_load{stream, tensor};
    } catch (...) {
      cuda().exchangeStream(before);
      throw;
    }
    cuda().exchangeStream(before);
    return OPC_OK;
  });
}

void opc_cuda_load_end(opc_cuda_load_t *busy) {
  if (busy == nullptr) return;
  (void)opc::guarded(nullptr, [&] {
    cuda().synchronizeStream(busy->stream);
    return OPC_OK;
  });
  delete busy;
}
