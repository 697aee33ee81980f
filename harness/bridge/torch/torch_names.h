// Translation between c10's enums and the C core's: dtypes, devices, layouts, memory formats, operator names.
#pragma once

#include <ATen/core/operator_name.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>

#include "base/dtype.h"

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

}  // namespace opc
