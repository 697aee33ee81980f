// Calls operators, and frees their returns.

#include <cstdlib>
#include <new>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace opc {

// On failure nothing is left to free.
void take_returns(const std::vector<c10::IValue> &stack, opc_value_t **out_returns, size_t *out_count) {
  auto *returns = static_cast<opc_value_t *>(std::calloc(stack.empty() ? 1 : stack.size(), sizeof(opc_value_t)));
  if (returns == nullptr) throw std::bad_alloc();
  try {
    for (size_t i = 0; i < stack.size(); i++) opc::value_from_return(stack[i], &returns[i]);
  } catch (...) {
    opc_returns_free(returns, stack.size());
    throw;
  }
  *out_returns = returns;
  *out_count = stack.size();
}

}  // namespace opc

opc_status_t opc_op_find(const char *name, opc_op_handle_t **out, opc_error_t *error) {
  return opc::guarded(error, [&]() -> opc_status_t {
    const auto found = c10::Dispatcher::singleton().findSchema(opc::operator_name_parse(name));
    if (!found) return opc_error_set(error, OPC_ERR_NOT_FOUND, "no operator %s with a schema is registered", name);
    *out = new opc_op_handle{*found, {}, false};
    return OPC_OK;
  });
}

void opc_op_at_meta(opc_op_handle_t *op) { op->at_meta = true; }

void opc_op_free(opc_op_handle_t *op) { delete op; }

opc_call_outcome_t opc_op_call(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent, size_t count,
                               opc_value_t **out_returns, size_t *out_count, opc_text_t *message) {
  *out_returns = nullptr;
  *out_count = 0;
  opc::say(message, "");
  std::string text;
  op->stack.clear();
  if (opc::guarded_call(text, [&] { opc::push_arguments(op, arguments, absent, count); }) != OPC_CALL_RETURNED) {
    op->stack.clear();
    opc::say(message, text);
    return OPC_CALL_UNCONVERTIBLE;
  }

  opc_call_outcome_t outcome = opc::guarded_call(text, [&] {
    const opc::CallScope scope(op->op);
    if (op->at_meta) c10::Dispatcher::singleton().callBoxedForDispatchKey(op->op, c10::DispatchKey::Meta, &op->stack);
    else op->op.callBoxed(op->stack);
  });
  if (outcome == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] { opc::take_returns(op->stack, out_returns, out_count); });
  }
  op->stack.clear();
  if (outcome != OPC_CALL_RETURNED) opc::say(message, text);
  return outcome;
}

void opc_handle_free(opc_value_t *value) {
  if (value == nullptr) return;
  switch (value->kind) {
    case OPC_VALUE_TENSOR:
      opc_tensor_free(static_cast<opc_tensor_t *>(value->handle));
      break;
    case OPC_VALUE_OBJECT:
      opc_object_free(static_cast<opc_object_t *>(value->handle));
      for (size_t i = 0; i < value->object.init_count; i++) opc_handle_free(&value->object.init[i]);
      break;
    case OPC_VALUE_LIST:
      for (size_t i = 0; i < value->list.count; i++) opc_handle_free(&value->list.items[i]);
      break;
    default:
      break;
  }
  value->handle = nullptr;
}

void opc_returns_free(opc_value_t *returns, size_t count) {
  if (returns == nullptr) return;
  for (size_t i = 0; i < count; i++) {
    opc_handle_free(&returns[i]);
    opc_value_clear(&returns[i]);
  }
  std::free(returns);
}
