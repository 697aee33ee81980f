// The opaque types of bridge.h.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridge/api/bridge.h"

struct opc_storage {
  c10::Storage storage;
};

struct opc_tensor {
  at::Tensor tensor;
};

struct opc_object {
  c10::IValue value;
};

struct opc_op_handle {
  c10::OperatorHandle op;
  std::vector<c10::IValue> stack;  // kept between calls to reuse its memory; empty outside opc_op_call
  bool at_meta;
};

// Shared by calls through the dispatcher: push arguments onto the stack, take returns off it.

namespace opc {

// Throws Unconvertible; its text has the argument's name.
void push_arguments(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent, size_t count);
// On failure nothing is left to free.
void take_returns(const std::vector<c10::IValue> &stack, opc_value_t **out_returns, size_t *out_count);
// A call of an operator during the object's life, or of the backward of the one that was called last: calls the
// function set by opc_bridge_before_call, and on the simulated CUDA device the CPU computes the libtorch operators that
// it calls (bridge/replaced), unless it is libtorch's own.
class CallScope {
 public:
  explicit CallScope(const c10::OperatorHandle &op);
  CallScope();

 private:
  std::optional<c10::impl::IncludeDispatchKeyGuard> replaced_;
};
void say(opc_text_t *message, const std::string &text);

// The functionality below autograd whose kernel bridge/replaced registers; Undefined: none is registered.
extern c10::DispatchKey replacing_key;

// Replaces defined tensors at any depth, depth first, by the result of `change`.
template <typename Change>
c10::IValue with_tensors(const c10::IValue &value, const Change &change) {
  if (value.isTensor()) return value.toTensor().defined() ? change(value.toTensor()) : value.toTensor();
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const auto &element : value.toTupleRef().elements()) elements.push_back(with_tensors(element, change));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (!value.isList()) return value;
  const auto list = value.toList();
  c10::impl::GenericList changed(list.elementType());
  changed.reserve(list.size());
  for (const auto &item : value.toListRef()) changed.push_back(with_tensors(item, change));
  return changed;
}

}  // namespace opc

// Whether this process has used CUDA through libtorch: CUDA is not touched before, because the process could not fork
// afterwards.

namespace opc {

void cuda_is_used();
bool cuda_was_used();

}  // namespace opc
