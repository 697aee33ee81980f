// Visits everything that the loaded libraries registered, and other operators in a namespace; describes any operator by
// name.
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "bridge/registry/registrations.h"
#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"

namespace {

// Clears the C struct on every exit path.
template <typename T, void (*clear)(T *)>
struct Cleared {
  T value = {};
  Cleared() = default;
  ~Cleared() { clear(&value); }
  Cleared(const Cleared &) = delete;
  Cleared &operator=(const Cleared &) = delete;
};

}  // namespace

namespace opc {
namespace {

// For a registration from Python libtorch's own text names the file of torch.library, or /dev/null in older versions.
// The place in the user's code takes its position, but not that of a C++ file, whose library the user's code only
// loaded.
void place_in_python(const std::string &place, char **registered_at) {
  if (place.empty() || *registered_at == nullptr || !is_python_place(*registered_at)) return;
  char *copy = strdup(place.c_str());
  if (copy == nullptr) return;
  std::free(*registered_at);
  *registered_at = copy;
}

// The decorated function: "NAME\tLINE\tFILE". Where it is not known, the place of the registration has to do.
void code_in_python(const RegisteredOperator &entry, opc_kernel_t *kernel) {
  char answer[1024] = "";
  const auto word = c10::toString(entry.name) + " " + kernel->key;
  if (interpreter.ask == nullptr || !interpreter.ask("kernel", word.c_str(), answer, sizeof answer)) return;
  const std::string text(answer);
  const auto line = text.find('\t'), file = text.find('\t', line + 1);
  if (line == std::string::npos || file == std::string::npos) return;
  kernel->code.function = copy_string(text.substr(0, line));
  kernel->code.line = std::atoi(answer + line + 1);
  kernel->code.file = copy_string(text.substr(file + 1));
}

void describe_code(const KernelCode &code, opc_kernel_code_t *out) {
  if (code.module.empty()) return;
  out->module = copy_string(code.module);
  out->address = code.address;
  if (!code.functor.empty()) out->functor = copy_string(code.functor);
}

void describe_places(const RegisteredOperator &entry, opc_operator_t *op) {
  place_in_python(entry.place, &op->registered_at);
  for (size_t i = 0; i < op->kernel_count; i++) {
    opc_kernel_t &kernel = op->kernels[i];
    const auto registered = entry.kernels.find(kernel.key);
    if (registered == entry.kernels.end()) continue;
    if (kernel.registered_at != nullptr && is_python_place(kernel.registered_at)) code_in_python(entry, &kernel);
    else describe_code(registered->second.code, &kernel.code);
    place_in_python(registered->second.place, &kernel.registered_at);
    if (registered->second.library != entry.library) kernel.library = strdup(registered->second.library.c_str());
  }
}

// Whether --python imported the module that has the fake kernel.
bool is_imported(const opc_operator_t &op) {
  char answer[8] = "";
  return op.python_module != nullptr && interpreter.ask != nullptr &&
         interpreter.ask("imported", op.python_module, answer, sizeof answer) && answer[0] != '\0';
}

// "": the user's own, or not known.
std::string package_of(const std::string &module_file) {
  char answer[256] = "";
  const bool known = !module_file.empty() && interpreter.ask != nullptr &&
                     interpreter.ask("package", module_file.c_str(), answer, sizeof answer);
  return known ? answer : "";
}

// The installed package that registered the operator, if that is none of --python's and no kernel of it is the user's.
char *imported_from(const RegisteredOperator &entry) {
  const std::string package = package_of(entry.module_file);
  bool imported = !package.empty();
  for (const auto &kernel : entry.kernels) imported = imported && !package_of(kernel.second.module_file).empty();
  return imported ? strdup(package.c_str()) : nullptr;
}

}  // namespace
}  // namespace opc

opc_status_t opc_bridge_list(opc_operator_visit_t *visit_operator, opc_class_visit_t *visit_class, void *context,
                             opc_error_t *error) {
  return opc::guarded(error, [&] {
    auto &dispatcher = c10::Dispatcher::singleton();
    for (const auto &entry : opc::registered_operators()) {
      const auto handle = dispatcher.findOp(entry.name);
      if (!handle || visit_operator == nullptr) continue;  // a registration that was removed
      Cleared<opc_operator_t, opc_operator_clear> op;
      opc::describe_operator(*handle, entry.library, entry.defined, &op.value);
      opc::describe_places(entry, &op.value);
      op.value.python_module_imported = opc::is_imported(op.value);
      op.value.imported_from = opc::imported_from(entry);
      visit_operator(&op.value, context);
    }
    for (const auto &entry : opc::registered_classes()) {
      if (visit_class == nullptr) break;
      Cleared<opc_class_t, opc_class_clear> class_;
      opc::describe_class(entry.type, entry.library, &class_.value);
      visit_class(&class_.value, context);
    }
    return OPC_OK;
  });
}

opc_status_t opc_bridge_list_namespace(const char *name, opc_operator_visit_t *visit, void *context,
                                       opc_error_t *error) {
  return opc::guarded(error, [&] {
    auto &dispatcher = c10::Dispatcher::singleton();
    std::unordered_set<c10::OperatorName> listed;
    for (const auto &entry : opc::registered_operators()) listed.insert(entry.name);
    std::vector<c10::OperatorName> found;
    const std::string wanted(name);
    for (const auto &entry : dispatcher.getAllOpNames()) {
      if (entry.getNamespace() == wanted && listed.count(entry) == 0) found.push_back(entry);
    }
    std::sort(found.begin(), found.end(), [](const auto &left, const auto &right) {
      return left.name != right.name ? left.name < right.name : left.overload_name < right.overload_name;
    });
    for (const auto &entry : found) {
      const auto handle = dispatcher.findOp(entry);
      if (!handle || !handle->hasSchema()) continue;
      Cleared<opc_operator_t, opc_operator_clear> op;
      opc::describe_operator(*handle, "", true, &op.value);
      visit(&op.value, context);
    }
    return OPC_OK;
  });
}

opc_status_t opc_bridge_describe(const char *name, opc_operator_t *out, opc_error_t *error) {
  return opc::guarded(error, [&]() -> opc_status_t {
    *out = {};
    const auto parsed = opc::operator_name_parse(name);
    const auto handle = c10::Dispatcher::singleton().findOp(parsed);
    if (!handle) return opc_error_set(error, OPC_ERR_NOT_FOUND, "there is no operator %s", name);

    std::string library;
    bool defined_here = false;
    for (const auto &entry : opc::registered_operators()) {
      if (entry.name != parsed) continue;
      library = entry.library;
      defined_here = entry.defined;
    }
    Cleared<opc_operator_t, opc_operator_clear> op;
    opc::describe_operator(*handle, library, defined_here, &op.value);
    *out = op.value;
    op.value = {};
    return OPC_OK;
  });
}

opc_status_t opc_bridge_overloads(const char *name, char ***out_names, size_t *out_count, opc_error_t *error) {
  *out_names = nullptr;
  *out_count = 0;
  return opc::guarded(error, [&]() -> opc_status_t {
    const auto overloads = torch::jit::getAllSortedOperatorsFor(c10::Symbol::fromQualString(name));
    if (overloads.empty()) return opc_error_set(error, OPC_ERR_NOT_FOUND, "there is no operator %s", name);
    auto **names = static_cast<char **>(std::calloc(overloads.size(), sizeof(char *)));
    if (names == nullptr) return opc_out_of_memory(error);
    *out_names = names;
    for (const auto &overload : overloads) {
      const auto full = c10::toString(overload->schema().operator_name());
      names[*out_count] = strdup(full.c_str());
      if (names[*out_count] == nullptr) return opc_out_of_memory(error);
      ++*out_count;
    }
    return OPC_OK;
  });
}
