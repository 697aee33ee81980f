// Operators that are slow enough for their cases to be divided among jobs. They ignore the strides of y, and their
// first call in a process changes its environment; "crashes" also ends the process when z is empty. "greedy" asks for
// memory that the system refuses at once, where x is not contiguous. "searched" has no sample.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

at::Tensor slow(const at::Tensor &x, const at::Tensor &y, const at::Tensor &z) {
  std::this_thread::sleep_for(std::chrono::microseconds(300));
  TORCH_CHECK(x.sizes() == y.sizes() && x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat,
              "x and y must be float tensors of one shape");
  TORCH_CHECK(x.numel() < 1000, "x is too large");
  static const int once = setenv("PARTS_OPS", "called", 1);
  TORCH_CHECK(once == 0, "no room in the environment");
  const at::Tensor dense = x.contiguous();
  at::Tensor out = at::empty(x.sizes(), x.options());
  const float *from = y.const_data_ptr<float>();
  float *to = out.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); i++) to[i] = from[i];
  out += dense;
  return out + static_cast<double>(z.dim());
}

at::Tensor crashes(const at::Tensor &x, const at::Tensor &y, const at::Tensor &z) {
  if (z.numel() == 0) std::abort();
  return slow(x, y, z);
}

at::Tensor greedy(const at::Tensor &x, const at::Tensor &y, const at::Tensor &z) {
  if (!x.is_contiguous()) return at::empty({int64_t(1) << 45}, x.options());
  return slow(x, y, z);
}

TORCH_LIBRARY(parts_ops, m) {
  m.def("greedy(Tensor x, Tensor y, Tensor z) -> Tensor");
  m.def("slow(Tensor x, Tensor y, Tensor z) -> Tensor");
  m.def("crashes(Tensor x, Tensor y, Tensor z) -> Tensor");
  m.def("searched(Tensor x, Tensor y, Tensor z) -> Tensor");
}

TORCH_LIBRARY_IMPL(parts_ops, CPU, m) {
  m.impl("slow", slow);
  m.impl("crashes", crashes);
  m.impl("greedy", greedy);
  m.impl("searched", slow);
}

}  // namespace
