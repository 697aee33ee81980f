// Who registered what: definitions, kernels and custom classes, attributed to the library that is being loaded.
//
// This executable, first in symbol lookup, defines c10::Dispatcher::registerDef, registerImpl and
// torch::registerCustomClass again and forwards the calls. Every kind of registration uses these (TORCH_LIBRARY and its
// fragments, the stable C interface, RegisterOperators). Exact, and without cost while nothing is loaded. Not
// thread-safe: libraries load one by one.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/operator_name.h>

#include <map>
#include <string>
#include <vector>

#include "bridge/registry/kernel_code.h"

namespace opc {

struct RegisteredKernel {
  std::string library;
  std::string place;        // in the user's Python code; "": not known
  std::string module_file;  // of the Python module whose import registered it; "": not known
  KernelCode code;
};

struct RegisteredOperator {
  c10::OperatorName name;
  std::string library;
  bool defined;                                     // false: only kernels were registered for it
  std::string place;                                // of the definition in the user's Python code; "": not known
  std::string module_file;                          // of the Python module whose import registered it; "": not known
  std::map<std::string, RegisteredKernel> kernels;  // by dispatch key, the last one registered
};

struct RegisteredClass {
  c10::ClassTypePtr type;
  std::string library;
};

// While an object lives, registrations are attributed to the library.
class Attribution {
 public:
  explicit Attribution(std::string library);
  ~Attribution();
  Attribution(const Attribution &) = delete;
  Attribution &operator=(const Attribution &) = delete;
};

// In order of registration; one entry per operator. If one library defines an operator and another registers kernels
// for it, the entry is of the defining library.
const std::vector<RegisteredOperator> &registered_operators();
const std::vector<RegisteredClass> &registered_classes();

// False: libtorch's registration of aten did not pass through here, so listing would silently miss operators.
bool registrations_are_seen();

}  // namespace opc
