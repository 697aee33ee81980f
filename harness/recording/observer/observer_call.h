// Recorded data of an operator call: its class, which distinguishes calls, and its arguments as a sample.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "base/text.h"
#include "recording/reasons.h"

namespace opc {

struct CallClass {
  uint64_t class_ = 0;     // equal for calls that an operator probably treats the same
  uint64_t arguments = 0;  // equal for identical arguments
};

// Reads no tensor data; takes a microsecond. Any reason but NONE: the call cannot be recorded.
opc_reason_t classify(c10::ArrayRef<const c10::IValue> inputs, CallClass *out);

// {"operator": …, "source": "recorded", "args": …}. May throw.
opc_reason_t write_call(const c10::FunctionSchema &schema, c10::ArrayRef<const c10::IValue> inputs, opc_text_t *out);

// True if the user named the namespace aten; otherwise its many calls are skipped early.
bool aten_is_wanted();

}  // namespace opc
