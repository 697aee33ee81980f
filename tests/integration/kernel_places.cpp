// Operators that return their argument, which their schemas deny: kernels registered in every way. A comment "where:
// NAME" stands on the line that reports must name for the operator of that name.
#include <ATen/ATen.h>
#include <torch/library.h>
#include <torch/version.h>

#if defined(__has_include) && __has_include(<torch/csrc/stable/library.h>)
#include <torch/csrc/stable/library.h>
#endif

namespace {

at::Tensor of_pointer(const at::Tensor &x) {  // where: of_pointer
  return x;
}

at::Tensor of_template_argument(const at::Tensor &x) {  // where: of_template_argument
  return x;
}

}  // namespace

static at::Tensor of_static(const at::Tensor &x) {  // where: of_static
  return x;
}

namespace places {

at::Tensor overloaded(const at::Tensor &x);
at::Tensor overloaded(const at::Tensor &x, double factor);

at::Tensor overloaded(const at::Tensor &x, double factor) { return x * factor; }

at::Tensor overloaded(const at::Tensor &x) {  // where: overloaded
  return x;
}

template <int factor>
at::Tensor of_template(const at::Tensor &x) {  // where: of_template
  return factor == 1 ? x : x * factor;
}

struct Kernels {
  static at::Tensor member(const at::Tensor &x) {  // where: member
    return x;
  }
};

class Functor final : public c10::OperatorKernel {
 public:
  using Stack = torch::jit::Stack;
  void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *) {}  // where: functor
};

void boxed(const c10::OperatorHandle & /*handle*/, torch::jit::Stack *stack) {  // where: boxed
  (void)stack;
}

at::Tensor shape_of_two(const at::Tensor &x) {  // where: meta
  return at::empty({2, 2, 2, 2, 2}, x.options());
}

at::Tensor copies(const at::Tensor &x) { return x.clone(); }

}  // namespace places

TORCH_LIBRARY(kernel_places, m) {
  for (const char *name : {"of_pointer", "of_template_argument", "of_static", "overloaded", "of_template", "member",
                           "functor", "boxed", "of_lambda", "meta", "of_stable"})
    m.def((std::string(name) + "(Tensor x) -> Tensor").c_str());
  m.def("composite(Tensor x) -> Tensor", &places::copies);
}

TORCH_LIBRARY_IMPL(kernel_places, CPU, m) {
  m.impl("of_pointer", &of_pointer);
  m.impl("of_template_argument", TORCH_FN(of_template_argument));
  m.impl("of_static", TORCH_FN(of_static));
  m.impl("overloaded", TORCH_FN(static_cast<at::Tensor (*)(const at::Tensor &)>(places::overloaded)));
  m.impl("of_template", TORCH_FN(places::of_template<1>));
  m.impl("member", TORCH_FN(places::Kernels::member));
  m.impl("functor", torch::CppFunction::makeFromBoxedFunctor(std::make_unique<places::Functor>()));
  m.impl("boxed", torch::CppFunction::makeFromBoxedFunction<&places::boxed>());
  m.impl("of_lambda", [](const at::Tensor &x) {  // where: of_lambda
    return at::alias(x);                         // other code than the other kernels': equal functions become one
  });
  m.impl("meta", &places::copies);
}

TORCH_LIBRARY_IMPL(kernel_places, Meta, m) { m.impl("meta", TORCH_FN(places::shape_of_two)); }

#ifdef TORCH_BOX
namespace places {

torch::stable::Tensor of_stable(const torch::stable::Tensor &x) {  // where: of_stable
  return x;
}

}  // namespace places

STABLE_TORCH_LIBRARY_IMPL(kernel_places, CPU, m) { m.impl("of_stable", TORCH_BOX(&places::of_stable)); }
#endif
