// Recorded data of an operator call: its class, which distinguishes calls, and its arguments as a sample.
#pragma once

#include <ATen/core/TensorBase.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "recording/recorder.h"

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

// A tensor of the program, inspected without triggering code of its own.

// Why a sample file cannot hold a defined tensor. Only after NONE may its sizes and storage be read.
opc_reason_t tensor_reason(const at::Tensor &tensor);

// Storages and TensorImpls that tensors of one call share.
struct CallTensors {
  std::vector<const void *> storages, impls;   // of all tensors of the call, in order, one each
  std::vector<const void *> shared, repeated;  // those that occur more than once
  void add(const at::Tensor &tensor);
};

// If values are copied from a GPU, `copy` holds them.
opc_seen_tensor_t tensor_seen(const at::Tensor &tensor, const CallTensors &all, at::Tensor *copy);

}  // namespace opc
