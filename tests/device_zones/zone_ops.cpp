// Operators that leave their tensors by calls of the runtime, which the simulated device carries out: what kernels do
// so shows on a GPU alone (fixtures/gpu).
#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/library.h>

namespace {

cudaStream_t stream() { return c10::cuda::getCurrentCUDAStream(); }

at::Tensor copied(const at::Tensor &x, size_t more) {
  TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
  at::Tensor out = at::empty_like(x);
  if (x.numel() > 0)
    C10_CUDA_CHECK(cudaMemcpyAsync(out.mutable_data_ptr(), x.const_data_ptr(), x.nbytes() + more,
                                   cudaMemcpyDeviceToDevice, stream()));
  return out;
}

at::Tensor ok_copy(const at::Tensor &x) { return copied(x, 0); }
at::Tensor copies_beyond(const at::Tensor &x) { return copied(x, 3); }

at::Tensor fills_ahead(const at::Tensor &x) {
  at::Tensor out = copied(x, 0);
  if (x.numel() > 0) C10_CUDA_CHECK(cudaMemsetAsync(static_cast<char *>(out.mutable_data_ptr()) - 8, 0, 8, stream()));
  return out;
}

// Beside memory that is gone when the call returns.
at::Tensor spills_scratch(const at::Tensor &x) {
  at::Tensor scratch = at::empty({100}, x.options().dtype(at::kByte));
  C10_CUDA_CHECK(cudaMemsetAsync(static_cast<char *>(scratch.mutable_data_ptr()) + 120, 0, 4, stream()));
  return copied(x, 0);
}

at::Tensor writes_argument(const at::Tensor &x) {
  if (x.numel() > 0)
    C10_CUDA_CHECK(
        cudaMemsetAsync(static_cast<char *>(const_cast<void *>(x.const_data_ptr())) + x.nbytes(), 1, 1, stream()));
  return copied(x, 0);
}

constexpr const char *names[] = {"ok_copy", "copies_beyond", "fills_ahead", "spills_scratch", "writes_argument"};

at::Tensor on_cpu(const at::Tensor &x) { return x.clone(); }

}  // namespace

TORCH_LIBRARY(zones, m) {
  for (const char *name : names) m.def((std::string(name) + "(Tensor x) -> Tensor").c_str());
}

TORCH_LIBRARY_IMPL(zones, CPU, m) {
  for (const char *name : names) m.impl(name, &on_cpu);
}

TORCH_LIBRARY_IMPL(zones, CUDA, m) {
  m.impl("ok_copy", &ok_copy);
  m.impl("copies_beyond", &copies_beyond);
  m.impl("fills_ahead", &fills_ahead);
  m.impl("spills_scratch", &spills_scratch);
  m.impl("writes_argument", &writes_argument);
}
