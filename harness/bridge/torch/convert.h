// Translation between c10's enums and the C core's: dtypes, devices, layouts, memory formats, operator names.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>

#include "base/dtype.h"
#include "model/schema/schema.h"
#include "model/value/value.h"

namespace opc {

opc_dtype_t dtype_of(c10::ScalarType type);  // OPC_DTYPE_OTHER where the core has none
std::optional<c10::ScalarType> scalar_type_of(opc_dtype_t dtype);
opc_device_t device_of(const c10::Device &device);
std::optional<c10::Device> torch_device_of(opc_device_t device);
const char *layout_name(c10::Layout layout);  // "strided", as Python spells it
std::optional<c10::Layout> layout_find(const std::string &name);
std::optional<c10::MemoryFormat> memory_format_find(const std::string &name);

c10::OperatorName operator_name_parse(const char *name);  // "ns::op.overload"
char *copy_string(const std::string &text);               // malloc'd for the C core; throws std::bad_alloc

// Converts between the C core's values and c10::IValue.

// Converts the value for this schema argument. Throws Unconvertible; its text does not have the argument's name.
c10::IValue argument_from_value(const opc_value_t &value, const c10::Argument &argument);
// The schema's default, None for an optional. Throws Unconvertible if there is neither.
c10::IValue argument_default(const c10::Argument &argument);
// Fills a zeroed value. If it throws, opc_returns_free frees the partly filled value.
void value_from_return(const c10::IValue &value, opc_value_t *out);

// Converts the dispatcher's description of an operator, and torchbind's of a class, to the C core's.

// All three fill a zeroed struct; if they throw, the caller clears the partly filled struct. `library` may be empty.
void describe_operator(const c10::OperatorHandle &handle, const std::string &library, bool defined_here,
                       opc_operator_t *out);
void describe_kernels(const c10::OperatorHandle &handle, opc_operator_t *out);
void describe_class(const c10::ClassTypePtr &type, const std::string &library, opc_class_t *out);

std::string class_short_name(const c10::ClassType &type);  // "ns.Name" of "__torch__.torch.classes.ns.Name"

// Whether libtorch's text on where something was registered names a file of Python, or /dev/null as torch before 2.11.
bool is_python_place(const std::string &place);

}  // namespace opc
