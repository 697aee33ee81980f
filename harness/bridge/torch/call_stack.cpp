#include "bridge/torch/handles.h"

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"

namespace {

void (*before_call)() = nullptr;
bool of_libtorch;  // the operator called last

}  // namespace

namespace opc {

c10::DispatchKey replacing_key = c10::DispatchKey::Undefined;

CallScope::CallScope() {
  if (replacing_key != c10::DispatchKey::Undefined && !of_libtorch) replaced_.emplace(replacing_key);
}

CallScope::CallScope(const c10::OperatorHandle &op) {
  of_libtorch = op.operator_name().name.rfind("aten::", 0) == 0;
  if (replacing_key != c10::DispatchKey::Undefined && !of_libtorch) replaced_.emplace(replacing_key);
  if (before_call != nullptr) before_call();
}

void say(opc_text_t *message, const std::string &text) {
  if (message == nullptr) return;
  opc_text_reset(message);
  opc_text_add(message, text.c_str());
}

void push_arguments(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent, size_t count) {
  const auto &schema = op->op.schema();
  const auto &expected = schema.arguments();
  if (count != expected.size()) {
    throw opc::Unconvertible(std::to_string(count) + " arguments were given, the schema has " +
                             std::to_string(expected.size()));
  }
  op->stack.reserve(count);
  for (size_t i = 0; i < count; i++) {
    try {
      const bool given = absent == nullptr || !absent[i];
      op->stack.push_back(given ? opc::argument_from_value(arguments[i], expected[i])
                                : opc::argument_default(expected[i]));
    } catch (const opc::Unconvertible &e) {
      throw opc::Unconvertible("argument " + expected[i].name() + ": " + e.what());
    }
  }
}

}  // namespace opc

void opc_bridge_before_call(void (*prepare)()) { before_call = prepare; }
