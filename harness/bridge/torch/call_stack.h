// Shared by calls through the dispatcher: push arguments onto the stack, take returns off it.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <utility>
#include <vector>

#include "bridge/torch/handles.h"

namespace opc {

// Throws Unconvertible; its text has the argument's name.
void push_arguments(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent, size_t count);
// On failure nothing is left to free.
void take_returns(const std::vector<c10::IValue> &stack, opc_value_t **out_returns, size_t *out_count);
// Calls the function set by opc_bridge_before_call.
void prepare_call();
void say(opc_text_t *message, const std::string &text);

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
