// Custom class instances, created by their constructors as in TorchScript.
#include <torch/custom_class.h>

#include <torch/csrc/jit/serialization/pickle.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace {

c10::ClassTypePtr find_class(const char *name) {
  auto type = torch::getCustomClass(std::string("__torch__.torch.classes.") + name);
  if (!type) throw opc::Unconvertible(std::string("no class ") + name + " is registered");
  return type;
}

void push_init(torch::jit::Function &constructor, const opc_value_t *init, const bool *absent, size_t count,
               torch::jit::Stack &stack) {
  const auto &expected = constructor.getSchema().arguments();  // the first one is self
  if (count + 1 > expected.size()) {
    throw opc::Unconvertible(std::to_string(count) + " arguments were given, the constructor has " +
                             std::to_string(expected.size() - 1));
  }
  for (size_t i = 1; i < expected.size(); i++) {
    try {
      const bool given = i <= count && (absent == nullptr || !absent[i - 1]);
      stack.push_back(given ? opc::argument_from_value(init[i - 1], expected[i]) : opc::argument_default(expected[i]));
    } catch (const opc::Unconvertible &e) {
      throw opc::Unconvertible("argument " + std::to_string(i) + " of the constructor: " + e.what());
    }
  }
}

}  // namespace

opc_call_outcome_t opc_object_new(const char *class_name, const opc_value_t *init, const bool *absent, size_t count,
                                  opc_object_t **out, opc_text_t *message) {
  *out = nullptr;
  std::string text;
  c10::IValue self;
  torch::jit::Stack stack;
  torch::jit::Function *constructor = nullptr;
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  const auto prepared = opc::guarded_call(text, [&] {
    const auto type = find_class(class_name);
    constructor = type->findMethod("__init__");
    if (constructor == nullptr) throw opc::Unconvertible(std::string("class ") + class_name + " has no constructor");
    self = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), /*numSlots=*/1);
    stack.push_back(self);
    push_init(*constructor, init, absent, count, stack);
  });
  if (prepared == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] {
      constructor->run(stack);
      *out = new opc_object{std::move(self)};
    });
  }
  if (message != nullptr) {
    opc_text_reset(message);
    opc_text_add(message, text.c_str());
  }
  return outcome;
}

opc_call_outcome_t opc_object_from(const char *operator_name, const char *class_name, const opc_value_t *arguments,
                                   size_t count, opc_object_t **out, opc_text_t *message) {
  *out = nullptr;
  std::string text;
  torch::jit::Stack stack;
  std::optional<c10::OperatorHandle> maker;
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  const auto prepared = opc::guarded_call(text, [&] {
    maker = c10::Dispatcher::singleton().findSchema(opc::operator_name_parse(operator_name));
    if (!maker) throw opc::Unconvertible(std::string("no operator ") + operator_name + " is registered");
    const auto &expected = maker->schema().arguments();
    if (count > expected.size())
      throw opc::Unconvertible(std::to_string(count) + " arguments were given, " + operator_name + " has " +
                               std::to_string(expected.size()));
    for (size_t i = 0; i < expected.size(); i++) {
      try {
        stack.push_back(i < count ? opc::argument_from_value(arguments[i], expected[i])
                                  : opc::argument_default(expected[i]));
      } catch (const opc::Unconvertible &e) {
        throw opc::Unconvertible("argument " + std::to_string(i + 1) + " of " + operator_name + ": " + e.what());
      }
    }
  });
  if (prepared == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] {
      maker->callBoxed(stack);
      const auto type = find_class(class_name);
      if (stack.size() != 1 || !stack[0].isObject() || !stack[0].type()->isSubtypeOf(*type))
        throw opc::Unconvertible(std::string(operator_name) + " returns no object of class " + class_name);
      *out = new opc_object{stack[0]};
    });
  }
  if (message != nullptr) {
    opc_text_reset(message);
    opc_text_add(message, text.c_str());
  }
  return outcome;
}

opc_call_outcome_t opc_object_load(const char *file, const char *class_name, opc_object_t **out, opc_text_t *message) {
  *out = nullptr;
  std::string text;
  const auto outcome = opc::guarded_call(text, [&] {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    if (!stream) throw opc::Unconvertible(std::string("cannot read ") + file);
    const auto type = find_class(class_name);
    auto value = torch::jit::pickle_load_obj(bytes);
    if (!value.isObject() || !value.type()->isSubtypeOf(*type))
      throw opc::Unconvertible(std::string(file) + " holds no object of class " + class_name);
    *out = new opc_object{std::move(value)};
  });
  if (message != nullptr) {
    opc_text_reset(message);
    opc_text_add(message, text.c_str());
  }
  return outcome;
}

char *opc_class_constructor(const char *class_name) {
  try {
    auto *constructor = find_class(class_name)->findMethod("__init__");
    if (constructor == nullptr) return nullptr;
    std::ostringstream text;
    text << constructor->getSchema();
    return strdup(text.str().c_str());
  } catch (const std::exception &) {
    return nullptr;
  }
}

void opc_object_free(opc_object_t *object) { delete object; }
