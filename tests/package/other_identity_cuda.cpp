// The reference operator under its own name, with a kernel for CUDA only, and wrong: OPC_TEST_IDENTITY says how. What a
// package's run on the simulated device makes of it is tested.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "../../fixtures/cuda/copying.h"

namespace {

using fixture::bytes;
using fixture::kThreads;
using fixture::Launch;

at::Tensor identity(const at::Tensor &x) {
  const char *given = std::getenv("OPC_TEST_IDENTITY");
  const std::string how = given != nullptr ? given : "";
  if (how == "crashes") std::raise(SIGSEGV);
  TORCH_CHECK(how != "refuses", "identity: this tensor is not to my taste");
  if (how == "multiplies") return at::matmul(x, x.transpose(-1, -2));
  if (how == "convolves") return at::conv2d(x, at::empty({x.size(1), x.size(1), 1, 1}, x.options()));
  const auto out = at::empty_like(x);
  if (how == "idle") return out;
  if (how == "reads" && x.sum().item<double>() > 0) return out;
  static unsigned calls;
  const unsigned blocks = how == "alternates" ? ++calls : 1;
  const cudaStream_t stream = how == "legacy" ? cudaStreamLegacy : c10::cuda::getCurrentCUDAStream().stream();
  launch_copy(Launch{blocks, how == "fails" ? 8 * kThreads : kThreads, 0, stream}, x.const_data_ptr(),
              out.mutable_data_ptr(), bytes(x));
  if (how != "unchecked" && how != "fails") C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

}  // namespace

TORCH_LIBRARY(my_ops, m) { m.def("identity_conv_op(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(my_ops, CUDA, m) { m.impl("identity_conv_op", &identity); }
