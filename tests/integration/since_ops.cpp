// Small libraries for runs that take over results: "dense" depends on strides, "caller" calls an operator of another
// library by its name, "helped" and "Holder" are in one that needs another library.
#include <ATen/ATen.h>
#include <torch/custom_class.h>
#include <torch/library.h>

namespace {

at::Tensor twice(const at::Tensor &x) { return x * 2; }

at::Tensor dense(const at::Tensor &x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat, "x must have dtype float32");
#ifdef OPC_REPAIRED
  return x * 2;
#else
  return x * (x.is_contiguous() ? 2 : 3);
#endif
}

at::Tensor like(const at::Tensor &x) { return at::empty_like(x); }

}  // namespace

#if defined OPC_CALLER
namespace {
at::Tensor caller(const at::Tensor &x) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("since_two::twice", "").typed<at::Tensor(const at::Tensor &)>();
  return op.call(x);
}
}  // namespace
TORCH_LIBRARY(since_three, m) { m.def("caller(Tensor x) -> Tensor", caller); }
#elif defined OPC_HELPED
extern "C" double since_helper();
namespace {
at::Tensor helped(const at::Tensor &x) { return x * since_helper(); }
struct Holder : torch::CustomClassHolder {};
}  // namespace
TORCH_LIBRARY(since_four, m) {
  m.class_<Holder>("Holder").def(torch::init<>());
  m.def("helped(Tensor x) -> Tensor", helped);
}
#else
TORCH_LIBRARY(OPC_NAMESPACE, m) {
  m.def("twice(Tensor x) -> Tensor", twice);
  m.def("dense(Tensor x) -> Tensor");
  m.impl("dense", c10::DispatchKey::CPU, dense);
  m.impl("dense", c10::DispatchKey::Meta, like);
}
#endif
