// A library as large as they come: thousands of operators that do the same few things, some of them wrong, and names
// that no parser would take.
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <torch/library.h>

namespace {

at::Tensor copied(const at::Tensor &x) { return x.clone(); }

// Breaks its schema: the result is the argument itself.
at::Tensor returned(const at::Tensor &x) { return x; }

constexpr int kOperators = 5000;

// Every tenth one is wrong.
void define_many(torch::Library &library) {
  for (int i = 0; i < kOperators; i++) {
    const std::string name = "op_" + std::to_string(i);
    library.def((name + "(Tensor x) -> Tensor").c_str());
    library.impl(name.c_str(),
                 torch::dispatch(c10::DispatchKey::CPU, torch::CppFunction(i % 10 == 3 ? returned : copied)));
  }
}

// A schema that is made by hand is not parsed: its name may be anything. Registered for good: the library is never
// unloaded.
void define_odd(torch::Library &library) {
  const char *const names[] = {"a b",       "quo\"te",        "apo'strophe",       "<tag>&amp;",       "sla/sh",
                               "new\nline", "esc\x1b[31mred", "per%cent$HOME`id`", "s\xc3\xb6nderling"};
  auto *kept = new std::vector<c10::RegistrationHandleRAII>();
  for (const char *name : names) {
    const auto tensor = c10::TensorType::get();
    const std::string full = "odd::" + std::string(name);
    library.def(c10::FunctionSchema(full, "", {c10::Argument("x", tensor)}, {c10::Argument("", tensor)}));
    kept->push_back(c10::Dispatcher::singleton().registerImpl(
        {full, ""}, c10::DispatchKey::CPU, c10::KernelFunction::makeFromUnboxedRuntimeFunction(&returned), std::nullopt,
        nullptr, "many_ops.cpp"));
  }
}

}  // namespace

TORCH_LIBRARY(many, library) { define_many(library); }
TORCH_LIBRARY(odd, library) { define_odd(library); }
