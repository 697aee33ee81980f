// Converts between the C core's values and c10::IValue.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "model/value/value.h"

namespace opc {

// Converts the value for this schema argument. Throws Unconvertible; its text does not have the argument's name.
c10::IValue argument_from_value(const opc_value_t &value, const c10::Argument &argument);
// The schema's default, None for an optional. Throws Unconvertible if there is neither.
c10::IValue argument_default(const c10::Argument &argument);
// Fills a zeroed value. If it throws, opc_returns_free frees the partly filled value.
void value_from_return(const c10::IValue &value, opc_value_t *out);

}  // namespace opc
