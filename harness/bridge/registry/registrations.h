// Who registered what: definitions, kernels and custom classes, attributed to the library that is being loaded.
//
// c10::Dispatcher::registerDef and registerImpl, through which every way of registering goes (TORCH_LIBRARY and its
// fragments, the stable C interface, RegisterOperators), and torch::registerCustomClass are defined once more in this
// executable, which comes first in symbol lookup, and forwarded. Exact, and free where nothing is being loaded. Not
// thread-safe: libraries load one by one.
#ifndef OPC_BRIDGE_REGISTRY_REGISTRATIONS_H
#define OPC_BRIDGE_REGISTRY_REGISTRATIONS_H

#include <ATen/core/class_type.h>
#include <ATen/core/operator_name.h>

#include <string>
#include <vector>

namespace opc {

struct RegisteredOperator {
  c10::OperatorName name;
  std::string library;
  bool defined;  // false: only kernels were put on it
};

struct RegisteredClass {
  c10::ClassTypePtr type;
  std::string library;
};

// While one lives, registrations are attributed to the library.
class Attribution {
 public:
  explicit Attribution(std::string library);
  ~Attribution();
  Attribution(const Attribution &) = delete;
  Attribution &operator=(const Attribution &) = delete;
};

// In order of registration; one entry an operator. Where one library defines an operator and another puts kernels on
// it, the entry is the definition's.
const std::vector<RegisteredOperator> &registered_operators();
const std::vector<RegisteredClass> &registered_classes();

// False when libtorch registered aten without passing here: listing would silently miss operators.
bool registrations_are_seen();

}  // namespace opc

#endif
