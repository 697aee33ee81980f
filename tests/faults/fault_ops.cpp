// Operators for runs around which things break (breaks.py). With OPC_CROWD: a thousand that all crash.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

[[maybe_unused]] void flood_output() {
  static const std::string line(4095, 'x');
  fprintf(stdout, "%s\n", line.c_str());
  fprintf(stderr, "%s\n", line.c_str());
}

#ifdef OPC_CROWD

template <bool aborts>
at::Tensor crash(const at::Tensor &x) {
  if (aborts) abort();
  static int *volatile nowhere = nullptr;
  *nowhere = 1;
  return x.clone();
}

TORCH_LIBRARY(fault_crowd, m) {
  for (int i = 0; i < 1000; i++) {
    const std::string name = "crash_" + std::to_string(i);
    m.def((name + "(Tensor x) -> Tensor").c_str());
    m.impl(name.c_str(), i % 2 == 0 ? crash<true> : crash<false>);
  }
}

#else

at::Tensor right(const at::Tensor &x) { return x.clone(); }

at::Tensor wrong(const at::Tensor &x) { return x; }

// Right, but for 4 MiB of output in each call.
at::Tensor chatty(const at::Tensor &x) {
  for (int i = 0; i < 512; i++) flood_output();
  return x.clone();
}

at::Tensor flood(const at::Tensor &x) {
  for (static volatile bool on = true; on;) flood_output();
  return x.clone();
}

TORCH_LIBRARY(faults, m) {
  m.def("right(Tensor x) -> Tensor", right);
  m.def("wrong(Tensor x) -> Tensor", wrong);
  m.def("chatty(Tensor x) -> Tensor", chatty);
  m.def("flood(Tensor x) -> Tensor", flood);
}

#endif

}  // namespace
