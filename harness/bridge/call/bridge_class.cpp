// Methods of custom class instances, and pickling them.
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/custom_class.h>

#include <cstdlib>
#include <new>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace {

torch::jit::Function &find_method(const opc_object_t *object, const char *name) {
  auto *method = object->value.type()->expectRef<c10::ClassType>().findMethod(name);
  if (method == nullptr) throw opc::Unconvertible(std::string("there is no method ") + name);
  return *method;
}

void push_arguments(torch::jit::Function &method, const opc_value_t *arguments, size_t count,
                    torch::jit::Stack &stack) {
  const auto &expected = method.getSchema().arguments();  // the first one is self
  if (count + 1 > expected.size()) throw opc::Unconvertible("more arguments were given than the method has");
  for (size_t i = 1; i < expected.size(); i++) {
    try {
      stack.push_back(i <= count ? opc::argument_from_value(arguments[i - 1], expected[i])
                                 : opc::argument_default(expected[i]));
    } catch (const opc::Unconvertible &e) {
      throw opc::Unconvertible("argument " + expected[i].name() + ": " + e.what());
    }
  }
}

}  // namespace

opc_call_outcome_t opc_object_call(const opc_object_t *object, const char *method, const opc_value_t *arguments,
                                   size_t count, opc_value_t **out_returns, size_t *out_count, opc_text_t *message) {
  *out_returns = nullptr;
  *out_count = 0;
  std::string text;
  torch::jit::Function *function = nullptr;
  torch::jit::Stack stack;
  const auto prepared = opc::guarded_call(text, [&] {
    function = &find_method(object, method);
    stack.push_back(object->value);
    push_arguments(*function, arguments, count, stack);
  });
  auto outcome =
      prepared == OPC_CALL_RETURNED ? opc::guarded_call(text, [&] { function->run(stack); }) : OPC_CALL_UNCONVERTIBLE;
  if (outcome == OPC_CALL_RETURNED) {
    auto *returns = static_cast<opc_value_t *>(std::calloc(stack.size() + 1, sizeof(opc_value_t)));
    outcome = opc::guarded_call(text, [&] {
      if (returns == nullptr) throw std::bad_alloc();
      for (size_t i = 0; i < stack.size(); i++) opc::value_from_return(stack[i], &returns[i]);
    });
    if (outcome == OPC_CALL_RETURNED) {
      *out_returns = returns;
      *out_count = stack.size();
    } else {
      opc_returns_free(returns, stack.size());
    }
  }
  opc::say(message, text);
  return outcome;
}

opc_call_outcome_t opc_object_round_trip(const opc_object_t *object, opc_object_t **out, bool *out_pickled,
                                         opc_text_t *message) {
  *out = nullptr;
  if (out_pickled != nullptr) *out_pickled = false;
  std::string text;
  const auto outcome = opc::guarded_call(text, [&] {
    const auto bytes = torch::jit::pickle_save(object->value);
    if (out_pickled != nullptr) *out_pickled = true;
    *out = new opc_object{torch::jit::pickle_load_obj(std::string_view(bytes.data(), bytes.size()))};
  });
  opc::say(message, text);
  return outcome;
}
