// A library for runs that leave something out: "sleeps" takes longer than such a run has, "dense" ignores strides.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <chrono>
#include <thread>

namespace {

at::Tensor sleeps(const at::Tensor &x) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return x.clone();
}

at::Tensor dense(const at::Tensor &x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat, "x must have dtype float32");
  at::Tensor out = at::empty(x.sizes(), x.options());
  for (int64_t i = 0; i < x.numel(); i++) out.data_ptr<float>()[i] = 2 * x.const_data_ptr<float>()[i];
  return out;
}

at::Tensor like(const at::Tensor &x) { return at::empty_like(x); }

}  // namespace

TORCH_LIBRARY(quick_ops, m) {
  m.def("sleeps(Tensor x) -> Tensor");
  m.def("dense(Tensor x) -> Tensor");
  m.impl("sleeps", c10::DispatchKey::CPU, sleeps);
  m.impl("dense", c10::DispatchKey::CPU, dense);
  m.impl("sleeps", c10::DispatchKey::Meta, like);
  m.impl("dense", c10::DispatchKey::Meta, like);
}
