// Two operators that share a loop. It does not end where the first dimension is expanded.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace {

__attribute__((noinline)) int64_t steps(const at::Tensor &x) {
  const int64_t stride = x.stride(0), end = x.size(0) * stride + (stride == 0);
  volatile int64_t at = 0;
  int64_t count = 0;
  while (at < end) {
    at = at + stride;
    count++;
  }
  return count;
}

at::Tensor counted(const at::Tensor &x) {
  TORCH_CHECK(x.dim() == 2 && x.size(0) > 1, "x must have two dimensions, and more rows than one");
  TORCH_CHECK(x.scalar_type() == at::kFloat, "x must be float32");
  return x + static_cast<double>(steps(x));
}

at::Tensor scaled(const at::Tensor &x) {
  TORCH_CHECK(x.dim() == 2 && x.size(0) > 1, "x must have two dimensions, and more rows than one");
  TORCH_CHECK(x.scalar_type() == at::kFloat, "x must be float32");
  return x * static_cast<double>(steps(x));
}

}  // namespace

TORCH_LIBRARY(hang_ops, m) {
  m.def("counted(Tensor x) -> Tensor");
  m.def("scaled(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(hang_ops, CPU, m) {
  m.impl("counted", &counted);
  m.impl("scaled", &scaled);
}
