#include "bridge/registry/registrations.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>
#include <torch/custom_class.h>

#include <cstring>
#include <unordered_map>

#include "bridge/torch/exceptions.h"

namespace opc {
namespace {

struct Registrations {
  std::vector<RegisteredOperator> operators;
  std::vector<RegisteredClass> classes;
  std::unordered_map<c10::OperatorName, size_t> index;  // into operators
};

// libtorch's initialisers call these functions before the initialisers of this file have run: only data without a
// constructor may be used then.
const std::string *current_library;
bool seen;

Registrations &registrations() {
  static auto *all =
      new Registrations;  // never destroyed: libraries deregister in their own destructors, in an unknown order
  return *all;
}

std::string python_place() {
  char text[1024];
  return interpreter.place != nullptr && interpreter.place(text, sizeof text) ? text : "";
}

std::string python_module_file() {
  char text[1024];
  return interpreter.ask != nullptr && interpreter.ask("module file", "", text, sizeof text) ? text : "";
}

// host.py looks for the kernel's function among what torch.library was given.
void note_in_python(const c10::OperatorName &name, const std::string &key) {
  char text[1024];
  const auto word = c10::toString(name) + " " + key;
  if (interpreter.ask != nullptr) (void)interpreter.ask("registered", word.c_str(), text, sizeof text);
}

RegisteredOperator &note_operator(const c10::OperatorName &name, bool defined) {
  auto &all = registrations();
  const auto [place, is_new] = all.index.emplace(name, all.operators.size());
  if (is_new) {
    all.operators.push_back({name, *current_library, defined, python_place(), python_module_file(), {}});
  } else if (defined && !all.operators[place->second].defined) {
    all.operators[place->second].defined = true;
    all.operators[place->second].library = *current_library;
    all.operators[place->second].place = python_place();
    all.operators[place->second].module_file = python_module_file();
  }
  return all.operators[place->second];
}

// libtorch's own definition of the function at `here`. The loader gives its mangled name, so that none is hard-coded:
// the names change with the types in the signatures from version to version.
void *next_definition(void *here) {
  Dl_info info = {};
  void *next = dladdr(here, &info) != 0 && info.dli_sname != nullptr ? dlsym(RTLD_NEXT, info.dli_sname) : nullptr;
  if (next == nullptr) throw std::runtime_error("opcheck-worker: libtorch's own registration function was not found");
  return next;
}

// In the Itanium C++ ABI, a pointer to a non-virtual member function starts with the function's address.
template <typename Member>
Member next_member(Member mine) {
  void *address = nullptr;
  static_assert(sizeof mine >= sizeof address);
  std::memcpy(&address, &mine, sizeof address);
  address = next_definition(address);
  std::memcpy(&mine, &address, sizeof address);
  return mine;
}

}  // namespace

Attribution::Attribution(std::string library) { current_library = new std::string(std::move(library)); }

Attribution::~Attribution() {
  delete current_library;
  current_library = nullptr;
}

const std::vector<RegisteredOperator> &registered_operators() { return registrations().operators; }
const std::vector<RegisteredClass> &registered_classes() { return registrations().classes; }
bool registrations_are_seen() { return seen; }

}  // namespace opc

namespace c10 {

RegistrationHandleRAII Dispatcher::registerDef(FunctionSchema schema, std::string debug, std::vector<at::Tag> tags) {
  static const auto next = opc::next_member(&Dispatcher::registerDef);
  opc::seen = true;
  if (opc::current_library == nullptr) return (this->*next)(std::move(schema), std::move(debug), std::move(tags));
  const auto name = schema.operator_name();
  auto handle = (this->*next)(std::move(schema), std::move(debug), std::move(tags));
  opc::note_operator(name, true);
  return handle;
}

RegistrationHandleRAII Dispatcher::registerImpl(OperatorName op_name, std::optional<DispatchKey> dispatch_key,
                                                KernelFunction kernel, std::optional<impl::CppSignature> cpp_signature,
                                                std::unique_ptr<FunctionSchema> inferred_function_schema,
                                                std::string debug) {
  static const auto next = opc::next_member(&Dispatcher::registerImpl);
  if (opc::current_library == nullptr) {
    return (this->*next)(std::move(op_name), dispatch_key, std::move(kernel), std::move(cpp_signature),
                         std::move(inferred_function_schema), std::move(debug));
  }
  const auto name = op_name;
  auto code = opc::code_of(kernel);
  auto handle = (this->*next)(std::move(op_name), dispatch_key, std::move(kernel), std::move(cpp_signature),
                              std::move(inferred_function_schema), std::move(debug));
  auto &entry = opc::note_operator(name, false);
  if (!dispatch_key) return handle;
  const std::string key = c10::toString(*dispatch_key);
  entry.kernels[key] = {*opc::current_library, opc::python_place(), opc::python_module_file(), std::move(code)};
  opc::note_in_python(name, key);
  return handle;
}

}  // namespace c10

namespace torch {

void registerCustomClass(at::ClassTypePtr class_type) {
  using Function = void (*)(at::ClassTypePtr);
  static const auto next =
      reinterpret_cast<Function>(opc::next_definition(reinterpret_cast<void *>(&torch::registerCustomClass)));
  next(class_type);
  if (opc::current_library != nullptr)
    opc::registrations().classes.push_back({std::move(class_type), *opc::current_library});
}

}  // namespace torch
