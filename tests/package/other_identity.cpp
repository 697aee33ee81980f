// The reference operator under its own name, and wrong: OPC_TEST_IDENTITY says how. What a package's run makes of it is
// tested.
#include <ATen/ATen.h>
#include <torch/library.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

at::Tensor identity(const at::Tensor &x) {
  const char *given = std::getenv("OPC_TEST_IDENTITY");
  const std::string how = given != nullptr ? given : "";
  if (how == "crashes") std::raise(SIGSEGV);
  if (how == "exits") std::exit(3);
  if (how == "hangs") {
    while (true) pause();
  }
  TORCH_CHECK(how != "refuses", "identity: this tensor is not to my taste");
  if (how == "uninitialised") return at::empty(x.sizes(), x.options());
  if (how == "hungry") {
    std::vector<at::Tensor> all;
    while (true) all.push_back(at::ones({1 << 26}));
  }
  auto out = x.clone();
  if (how == "wrong") out.mul_(1.0000001F).add_(1e-3F);
  return out;
}

}  // namespace

TORCH_LIBRARY(my_ops, m) { m.def("identity_conv_op(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(my_ops, CPU, m) { m.impl("identity_conv_op", &identity); }
