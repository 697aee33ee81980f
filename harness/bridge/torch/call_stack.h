// What calls through the dispatcher have in common: arguments onto the stack, returns off it.
#ifndef OPC_BRIDGE_TORCH_CALL_STACK_H
#define OPC_BRIDGE_TORCH_CALL_STACK_H

#include <string>
#include <vector>

#include "bridge/torch/handles.h"

namespace opc {

// Throws Unconvertible with the argument's name in it.
void push_arguments(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent, size_t count);
// On failure nothing is left to free.
void take_returns(const std::vector<c10::IValue> &stack, opc_value_t **out_returns, size_t *out_count);
// What opc_bridge_before_call asked for.
void prepare_call();
void say(opc_text_t *message, const std::string &text);

}  // namespace opc

#endif
