// Where the code of a kernel is: c10::KernelFunction has it in private members.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>

#include <cstdint>
#include <string>

namespace opc {

struct KernelCode {
  std::string module;    // the file that holds it; "": not known, or libtorch's own
  uint64_t address = 0;  // in the file's own terms, as for addr2line
  std::string functor;   // mangled type of what calls the kernel, which names it; "": the kernel itself is at `address`
};

KernelCode code_of(const c10::KernelFunction &kernel);

}  // namespace opc
