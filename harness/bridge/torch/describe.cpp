#include "bridge/torch/convert.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iomanip>
#include <locale>
#include <new>
#include <set>
#include <sstream>
#include <unordered_set>
#include <vector>

#include "bridge/torch/exceptions.h"
#include "bridge/torch/torch_version.h"

namespace opc {
namespace {

constexpr char kRegisteredAt[] = "registered at ";

std::string place_of(const std::string &debug) {
  return debug.rfind(kRegisteredAt, 0) == 0 ? debug.substr(sizeof kRegisteredAt - 1) : debug;
}

template <typename T>
T *zeroed(size_t count) {
  auto *items = static_cast<T *>(std::calloc(count > 0 ? count : 1, sizeof(T)));
  if (items == nullptr) throw std::bad_alloc();
  return items;
}

// An argument's type as c10 prints it, without the alias annotation that c10 inserts in the middle.
std::string type_text(const c10::Argument &argument) {
  const c10::Type *type = argument.real_type().get();
  const bool optional = type->kind() == c10::TypeKind::OptionalType;
  if (optional) type = type->castRaw<c10::OptionalType>()->getElementType().get();

  std::string text;
  if (const auto *list = type->castRaw<c10::ListType>()) {
    const auto length = argument.N() ? std::to_string(*argument.N()) : std::string();
    text = list->getElementType()->str() + "[" + length + "]";
  } else {
    text = type->str();
  }
  return optional ? text + "?" : text;
}

// A library may have set another decimal point.
double number_of(const std::string &text) {
  std::istringstream in(text);
  double number = 0;
  in.imbue(std::locale::classic());
  in >> number;
  return number;
}

// The fewest digits that give the same number: 17 are enough for every double.
std::string shortest(const std::string &text) {
  const double wanted = number_of(text);
  for (int digits = 1; digits <= 17; digits++) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    out << std::setprecision(digits) << wanted;
    const std::string number = out.str();
    if (number_of(number) == wanted) return number + (number.find_first_of(".e") == std::string::npos ? "." : "");
  }
  return text;
}

// Where the number that begins here ends; `at` itself if none does.
size_t end_of_number(const std::string &text, size_t at) {
  static constexpr char kDigits[] = "0123456789";
  const auto after = [&](size_t from) { return std::min(text.size(), text.find_first_not_of(kDigits, from)); };
  size_t end = after(at);
  if (end == at) return at;
  if (end < text.size() && text[end] == '.') end = after(end + 1);
  if (end + 1 < text.size() && text[end] == 'e') end = after(end + 2);  // and its sign
  return end;
}

// c10 prints 1e-6 as 9.9999999999999995e-07. Words in quotes stay.
std::string with_short_numbers(const std::string &text) {
  static constexpr size_t kLong = 17;
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    const char before = i > 0 ? text[i - 1] : ' ';
    const bool in_word = std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_' || before == '.';
    quoted ^= text[i] == '"' && before != '\\';
    const size_t end = quoted || in_word ? i : end_of_number(text, i);
    const std::string part = text.substr(i, std::max<size_t>(end - i, 1));
    out += part.size() >= kLong && part.find('.') != std::string::npos ? shortest(part) : part;
    i += part.size();
  }
  return out;
}

char *alias_set(const std::unordered_set<c10::Symbol> &symbols) {
  std::set<std::string> sorted;
  for (const auto &symbol : symbols) sorted.insert(symbol.toUnqualString());
  std::string text;
  for (const auto &name : sorted) text += (text.empty() ? "" : "|") + name;
  return copy_string(text);
}

// `Tensor(a!)[]` annotates the elements, not the list: the annotation is then one level down.
void fill_alias(const c10::AliasInfo &info, opc_alias_t *out) {
  const c10::AliasInfo *said = &info;
  while (said->beforeSets().empty() && !said->containedTypes().empty()) said = &said->containedTypes()[0];
  if (said->beforeSets().empty()) return;
  out->present = true;
  out->is_write = said->isWrite();
  out->before = alias_set(said->beforeSets());
  out->after = alias_set(said->afterSets());
}

void fill_argument(const c10::Argument &argument, opc_argument_t *out) {
  out->name = copy_string(argument.name());
  const auto text = type_text(argument);
  out->type_text = copy_string(text);
  opc_error_t error = {};
  if (opc_type_parse(text.c_str(), &out->type, &error) != OPC_OK) throw std::runtime_error(error.message);
  if (argument.alias_info() != nullptr) fill_alias(*argument.alias_info(), &out->alias);
  out->kwarg_only = argument.kwarg_only();
  if (argument.default_value()) {
    out->has_default = true;
    std::ostringstream printed;  // "int[2] x=1": c10 formats the default; type and name never contain a '='
    printed << argument;
    const auto all = printed.str();
    out->default_text = copy_string(with_short_numbers(all.substr(all.find('=') + 1)));
  }
}

void fill_schema(const c10::FunctionSchema &schema, opc_operator_t *out) {
  out->schema = copy_string(with_short_numbers(c10::toString(schema)));
  out->arguments = zeroed<opc_argument_t>(schema.arguments().size());
  for (const auto &argument : schema.arguments()) fill_argument(argument, &out->arguments[out->argument_count++]);
  out->returns = zeroed<opc_argument_t>(schema.returns().size());
  for (const auto &value : schema.returns()) fill_argument(value, &out->returns[out->return_count++]);
  out->is_vararg = schema.is_vararg();
  out->is_varret = schema.is_varret();
}

void fill_tags(const c10::OperatorHandle &handle, opc_operator_t *out) {
  const auto tags = handle.getTags();
  out->tags = zeroed<char *>(tags.size());
  for (const auto tag : tags) {
    const char *name = tag_name(tag);
    out->tags[out->tag_count++] = copy_string(name != nullptr ? name : "tag_" + std::to_string(static_cast<int>(tag)));
  }
}

// For a kernel of a library only what libraries define counts: the rest may be in Python modules that nobody has
// imported. getAllOpNames also lists operators without a schema.
bool is_namespace_defined(const c10::OperatorName &name, bool kernel_in_python) {
  auto &dispatcher = c10::Dispatcher::singleton();
  for (const auto &other : dispatcher.getAllOpNames()) {
    if (other.getNamespace() != name.getNamespace()) continue;
    const auto defined = dispatcher.findSchema(other);
    if (defined && (kernel_in_python || !is_python_place(defined->debug()))) return true;
  }
  return false;
}

}  // namespace

bool is_python_place(const std::string &place) {
  return place.find(".py:") != std::string::npos || place.find("/dev/null:") != std::string::npos;
}

void describe_operator(const c10::OperatorHandle &handle, const std::string &library, bool defined_here,
                       opc_operator_t *out) {
  out->name = copy_string(c10::toString(handle.operator_name()));
  if (!library.empty()) out->library = copy_string(library);
  out->defined_here = defined_here;
  out->in_python = interpreter.ask != nullptr;
  if (handle.hasSchema()) {
    fill_schema(handle.schema(), out);
    out->registered_at = copy_string(place_of(handle.debug()));
    fill_tags(handle, out);
  }
  const auto stub = c10::Dispatcher::singleton().getPyStub(handle.operator_name());
  if (stub && stub->first != nullptr) out->python_module = copy_string(stub->first);
  describe_kernels(handle, out);
  if (!handle.hasSchema()) {
    const char *place = out->kernel_count > 0 ? out->kernels[0].registered_at : nullptr;
    out->namespace_defined = is_namespace_defined(handle.operator_name(), place != nullptr && is_python_place(place));
  }
}

// OperatorHandle answers for one key at a time, without file and signature: only its printed state has them, one line
// per kernel:
//   CPU: registered at file.cpp:12 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
//   CompositeImplicitAutograd[alias] (inactive): registered at file.cpp:13 :: (none) [ boxed ]
void describe_kernels(const c10::OperatorHandle &handle, opc_operator_t *out) {
  const auto state = handle.dumpState();
  const auto lines = static_cast<size_t>(std::count(state.begin(), state.end(), '\n'));
  out->kernels = zeroed<opc_kernel_t>(lines);

  std::istringstream stream(state);
  std::string line;
  while (std::getline(stream, line)) {
    const auto colon = line.find(": ");
    const auto flags = line.rfind(" [ ");
    const auto middle = line.rfind(" :: ", flags);
    if (colon == std::string::npos || flags == std::string::npos || middle == std::string::npos || middle < colon)
      continue;

    auto key = line.substr(0, colon);
    if (key.find(" (inactive)") != std::string::npos) continue;  // a later registration replaces it
    if (key == "name" || key == "schema" || key == "debug" || key == "alias analysis kind") continue;
    key = key.substr(0, key.find("[alias]"));
    const auto signature = line.substr(middle + 4, flags - middle - 4);

    auto &kernel = out->kernels[out->kernel_count++];
    kernel.key = copy_string(key);
    kernel.registered_at = copy_string(place_of(line.substr(colon + 2, middle - colon - 2)));
    if (signature != "(none)") kernel.cpp_signature = copy_string(signature);
    kernel.fallthrough = line.find("fallthrough", flags) != std::string::npos;
  }
}

std::string class_short_name(const c10::ClassType &type) {
  constexpr char prefix[] = "__torch__.torch.classes.";
  const auto name = type.name() ? type.name()->qualifiedName() : std::string();
  return name.rfind(prefix, 0) == 0 ? name.substr(sizeof prefix - 1) : name;
}

void describe_class(const c10::ClassTypePtr &type, const std::string &library, opc_class_t *out) {
  out->name = copy_string(class_short_name(*type));
  out->library = copy_string(library);
  const auto &methods = type->methods();
  out->methods = zeroed<opc_method_t>(methods.size());
  for (auto *method : methods) {
    auto &place = out->methods[out->method_count++];
    place.name = copy_string(method->name());
    place.schema = copy_string(with_short_numbers(c10::toString(method->getSchema())));
  }
}

}  // namespace opc
