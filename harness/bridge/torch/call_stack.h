// Shared by calls through the dispatcher: push arguments onto the stack, take returns off it.
#ifndef OPC_BRIDGE_TORCH_CALL_STACK_H
#define OPC_BRIDGE_TORCH_CALL_STACK_H

#include <string>
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

}  // namespace opc

#endif
