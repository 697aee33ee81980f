// What is kept of a call of an operator: its class, which distinguishes calls, and its arguments as a sample.
#ifndef OPC_RECORD_OBSERVER_OBSERVER_CALL_H
#define OPC_RECORD_OBSERVER_OBSERVER_CALL_H

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "base/text.h"
#include "record/reasons.h"

namespace opc {

struct CallClass {
  uint64_t class_ = 0;     // equal for calls that differ in nothing an operator is likely to treat in another way
  uint64_t arguments = 0;  // equal for the very same arguments
};

// Looks at no data and takes a microsecond. Anything but NONE: the call cannot be recorded.
opc_reason_t classify(c10::ArrayRef<const c10::IValue> inputs, CallClass *out);

// {"operator": …, "source": "recorded", "args": …}. May throw.
opc_reason_t write_call(const c10::FunctionSchema &schema, c10::ArrayRef<const c10::IValue> inputs, opc_text_t *out);

// Somebody named the namespace aten: its calls are many, and passed over at once otherwise.
bool aten_is_wanted();

}  // namespace opc

#endif
