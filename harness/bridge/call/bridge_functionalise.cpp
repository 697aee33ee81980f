// Operators under functionalisation: how torch.compile changes a call before a backend's kernel gets it.
#include <ATen/FunctionalTensorWrapper.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace {

namespace functional = at::functionalization::impl;

struct Wrapped {
  at::Tensor wrapper;
  const c10::TensorImpl *base;
};

at::Tensor unwrap(const at::Tensor &tensor) {
  if (!functional::isFunctionalTensor(tensor)) return tensor;
  functional::sync(tensor);
  return functional::from_functional_tensor(tensor);
}

void wrap_arguments(std::vector<c10::IValue> &stack, std::vector<Wrapped> &wrapped) {
  for (auto &value : stack) {
    value = opc::with_tensors(value, [&](const at::Tensor &tensor) {
      wrapped.push_back({functional::to_functional_tensor(tensor), tensor.unsafeGetTensorImpl()});
      return wrapped.back().wrapper;
    });
  }
}

}  // namespace

opc_call_outcome_t opc_op_call_functional(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent,
                                          size_t count, bool *out_replaced, size_t tensor_count,
                                          opc_value_t **out_returns, size_t *out_count, opc_text_t *message) {
  std::string text;
  std::vector<Wrapped> wrapped;
  *out_returns = nullptr;
  *out_count = 0;
  opc::say(message, "");
  op->stack.clear();
  opc_call_outcome_t outcome = opc::guarded_call(text, [&] {
    opc::push_arguments(op, arguments, absent, count);
    wrap_arguments(op->stack, wrapped);
  });
  if (outcome != OPC_CALL_RETURNED) outcome = OPC_CALL_UNCONVERTIBLE;
  if (outcome == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] {
      const c10::impl::IncludeDispatchKeyGuard functionalize(c10::DispatchKey::Functionalize);
      const opc::CallScope scope(op->op);
      op->op.callBoxed(op->stack);
    });
  }
  if (outcome == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] {
      for (auto &value : op->stack) value = opc::with_tensors(value, unwrap);
      for (size_t i = 0; i < wrapped.size() && i < tensor_count; i++)
        out_replaced[i] = unwrap(wrapped[i].wrapper).unsafeGetTensorImpl() != wrapped[i].base;
      opc::take_returns(op->stack, out_returns, out_count);
    });
  }
  op->stack.clear();
  if (outcome != OPC_CALL_RETURNED) opc::say(message, text);
  return outcome;
}
