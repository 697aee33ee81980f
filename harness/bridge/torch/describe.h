// Converts the dispatcher's description of an operator, and torchbind's of a class, to the C core's.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string>

#include "model/schema/schema.h"

namespace opc {

// All three fill a zeroed struct; if they throw, the caller clears the partly filled struct. `library` may be empty.
void describe_operator(const c10::OperatorHandle &handle, const std::string &library, bool defined_here,
                       opc_operator_t *out);
void describe_kernels(const c10::OperatorHandle &handle, opc_operator_t *out);
void describe_class(const c10::ClassTypePtr &type, const std::string &library, opc_class_t *out);

std::string class_short_name(const c10::ClassType &type);  // "ns.Name" of "__torch__.torch.classes.ns.Name"

// Whether libtorch's text on where something was registered names a file of Python, or /dev/null as torch before 2.11.
bool is_python_place(const std::string &place);

}  // namespace opc
