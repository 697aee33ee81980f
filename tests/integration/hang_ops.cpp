// Two operators that share a loop. It does not end where the first dimension is expanded. One whose time grows with the
// square of the elements. And one that is compiled by its first call, for longer than a try may take.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <ctime>

extern "C" void hang_ops_compile(void);

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

// Processor time, so that a busy machine changes nothing.
at::Tensor squared(const at::Tensor &x) {
  TORCH_CHECK(x.dim() == 2, "x must have two dimensions");
  const double thousands = static_cast<double>(x.numel()) / 1000;
  const auto seconds = 0.2 * thousands * thousands;
  for (const std::clock_t began = std::clock(); static_cast<double>(std::clock() - began) < seconds * CLOCKS_PER_SEC;) {
  }
  return x + 1;
}

at::Tensor compiled(const at::Tensor &x) {
  hang_ops_compile();
  return x + 1;
}

}  // namespace

TORCH_LIBRARY(hang_ops, m) {
  m.def("counted(Tensor x) -> Tensor");
  m.def("scaled(Tensor x) -> Tensor");
  m.def("squared(Tensor x) -> Tensor");
  m.def("compiled(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(hang_ops, CPU, m) {
  m.impl("counted", &counted);
  m.impl("scaled", &scaled);
  m.impl("squared", &squared);
  m.impl("compiled", &compiled);
}
