// Converts C values to IValues of the type in the schema.
#include <ATen/CPUGeneratorImpl.h>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace opc {
namespace {

const char *kind_words(const opc_value_t &value) {
  switch (value.kind) {
    case OPC_VALUE_NONE:
      return "nothing";
    case OPC_VALUE_BOOL:
      return "a boolean";
    case OPC_VALUE_INT:
      return "an integer";
    case OPC_VALUE_FLOAT:
      return "a floating-point number";
    case OPC_VALUE_COMPLEX:
      return "a complex number";
    case OPC_VALUE_STRING:
      return "a string";
    case OPC_VALUE_DTYPE:
      return "a dtype";
    case OPC_VALUE_DEVICE:
      return "a device";
    case OPC_VALUE_GENERATOR:
      return "a generator";
    case OPC_VALUE_TENSOR:
      return "a tensor";
    case OPC_VALUE_LIST:
      return "a list";
    case OPC_VALUE_OBJECT:
      return "an object";
    case OPC_VALUE_OPAQUE:
      return "an opaque value";
  }
  return "an unknown value";
}

[[noreturn]] void mismatch(const opc_value_t &value, const c10::Type &type) {
  throw Unconvertible(std::string(kind_words(value)) + " was given where the schema says " + type.str());
}

c10::IValue number(const opc_value_t &value, const c10::Type &type) {
  switch (value.kind) {
    case OPC_VALUE_BOOL:
      return value.boolean;
    case OPC_VALUE_INT:
      return value.integer;
    case OPC_VALUE_FLOAT:
      return value.floating;
    case OPC_VALUE_COMPLEX:
      return c10::complex<double>(value.complex.re, value.complex.im);
    default:
      mismatch(value, type);
  }
}

c10::complex<double> complex_number(const opc_value_t &value, const c10::Type &type) {
  if (value.kind == OPC_VALUE_COMPLEX) return {value.complex.re, value.complex.im};
  if (value.kind == OPC_VALUE_FLOAT) return {value.floating, 0};
  if (value.kind == OPC_VALUE_INT) return {static_cast<double>(value.integer), 0};
  mismatch(value, type);
}

double real_number(const opc_value_t &value, const c10::Type &type) {
  if (value.kind == OPC_VALUE_FLOAT) return value.floating;
  if (value.kind == OPC_VALUE_INT) return static_cast<double>(value.integer);
  mismatch(value, type);
}

const char *text_of(const opc_value_t &value, const c10::Type &type) {
  if (value.kind != OPC_VALUE_STRING) mismatch(value, type);
  return value.string != nullptr ? value.string : "";
}

c10::IValue scalar_type(const opc_value_t &value, const c10::Type &type) {
  if (value.kind != OPC_VALUE_DTYPE) mismatch(value, type);
  const auto found = scalar_type_of(value.dtype);
  if (!found) throw Unconvertible("a dtype was given that the harness has no number for");
  return static_cast<int64_t>(*found);
}

c10::IValue device(const opc_value_t &value, const c10::Type &type) {
  if (value.kind != OPC_VALUE_DEVICE) mismatch(value, type);
  const auto found = torch_device_of(value.device);
  if (!found) throw Unconvertible("a device was given that the harness does not know");
  return *found;
}

c10::IValue layout(const opc_value_t &value, const c10::Type &type) {
  const auto found = layout_find(text_of(value, type));
  if (!found) throw Unconvertible("there is no layout called '" + std::string(text_of(value, type)) + "'");
  return static_cast<int64_t>(*found);
}

c10::IValue memory_format(const opc_value_t &value, const c10::Type &type) {
  const auto found = memory_format_find(text_of(value, type));
  if (!found) throw Unconvertible("there is no memory format called '" + std::string(text_of(value, type)) + "'");
  return static_cast<int64_t>(*found);
}

c10::IValue tensor(const opc_value_t &value, const c10::Type &type) {
  if (value.kind != OPC_VALUE_TENSOR) mismatch(value, type);
  if (value.handle == nullptr) throw Unconvertible("a tensor was given that was never made");
  return static_cast<const opc_tensor *>(value.handle)->tensor;
}

c10::IValue object(const opc_value_t &value, const c10::Type &type) {
  if (value.kind != OPC_VALUE_OBJECT) mismatch(value, type);
  if (value.handle == nullptr) throw Unconvertible("an object was given that was never made");
  const auto &made = static_cast<const opc_object *>(value.handle)->value;
  if (!made.type()->isSubtypeOf(type))
    throw Unconvertible("an object of " + made.type()->str() + " was given where the schema says " + type.str());
  return made;
}

// The element type that a kernel's c10::List is checked for. Symbolic numbers with plain values are passed as plain
// numbers.
c10::TypePtr carried_type(const c10::TypePtr &type) {
  switch (type->kind()) {
    case c10::TypeKind::SymIntType:
      return c10::IntType::get();
    case c10::TypeKind::SymFloatType:
      return c10::FloatType::get();
    case c10::TypeKind::SymBoolType:
      return c10::BoolType::get();
    case c10::TypeKind::OptionalType:
      return c10::OptionalType::create(carried_type(type->castRaw<c10::OptionalType>()->getElementType()));
    case c10::TypeKind::ListType:
      return c10::ListType::create(carried_type(type->castRaw<c10::ListType>()->getElementType()));
    default:
      return type;
  }
}

c10::IValue convert(const opc_value_t &value, const c10::TypePtr &type, std::optional<int32_t> length);

// `int[2] x` accepts one integer for both.
c10::IValue list(const opc_value_t &value, const c10::TypePtr &type, std::optional<int32_t> length) {
  const auto &element = type->castRaw<c10::ListType>()->getElementType();
  const bool repeated = value.kind != OPC_VALUE_LIST && length.value_or(0) > 0;
  if (value.kind != OPC_VALUE_LIST && !repeated) mismatch(value, *type);
  const auto count = repeated ? static_cast<size_t>(*length) : value.list.count;

  c10::impl::GenericList out(carried_type(element));
  out.reserve(count);
  for (size_t i = 0; i < count; i++)
    out.push_back(convert(repeated ? value : value.list.items[i], element, std::nullopt));
  return out;
}

c10::TypePtr type_of(const opc_value_t &value);

// What all items of a list are, as Python and C++ infer it for a list that is passed as Any; a list of mixed or of no
// items has items of type Any.
c10::TypePtr item_type_of(const opc_value_t &list) {
  if (list.list.count == 0) return c10::AnyType::get();
  auto type = type_of(list.list.items[0]);
  for (size_t i = 1; i < list.list.count; i++)
    if (*type_of(list.list.items[i]) != *type) return c10::AnyType::get();
  return type;
}

// The type that a value has by itself, where the schema says Any.
c10::TypePtr type_of(const opc_value_t &value) {
  switch (value.kind) {
    case OPC_VALUE_BOOL:
      return c10::BoolType::get();
    case OPC_VALUE_INT:
      return c10::IntType::get();
    case OPC_VALUE_FLOAT:
      return c10::FloatType::get();
    case OPC_VALUE_COMPLEX:
      return c10::ComplexType::get();
    case OPC_VALUE_STRING:
      return c10::StringType::get();
    case OPC_VALUE_DTYPE:
      return c10::ScalarTypeType::get();
    case OPC_VALUE_DEVICE:
      return c10::DeviceObjType::get();
    case OPC_VALUE_GENERATOR:
      return c10::GeneratorType::get();
    case OPC_VALUE_TENSOR:
      return c10::TensorType::get();
    case OPC_VALUE_LIST:
      return c10::ListType::create(item_type_of(value));
    case OPC_VALUE_OBJECT:
      if (value.handle != nullptr) return static_cast<const opc_object *>(value.handle)->value.type();
      break;
    case OPC_VALUE_NONE:
    case OPC_VALUE_OPAQUE:
      break;
  }
  return c10::AnyType::get();
}

c10::IValue any(const opc_value_t &value, const c10::Type &type) {
  if (value.kind == OPC_VALUE_NONE) return {};
  const auto own = type_of(value);
  if (own->kind() == c10::TypeKind::AnyType) mismatch(value, type);
  return convert(value, own, std::nullopt);
}

c10::IValue convert(const opc_value_t &value, const c10::TypePtr &type, std::optional<int32_t> length) {
  switch (type->kind()) {
    case c10::TypeKind::AnyType:
      return any(value, *type);
    case c10::TypeKind::OptionalType:
      if (value.kind == OPC_VALUE_NONE) return {};
      return convert(value, type->castRaw<c10::OptionalType>()->getElementType(), length);
    case c10::TypeKind::ListType:
      return list(value, type, length);
    case c10::TypeKind::TensorType:
      return tensor(value, *type);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      if (value.kind != OPC_VALUE_INT) mismatch(value, *type);
      return value.integer;
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType:
      return real_number(value, *type);
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType:
      if (value.kind != OPC_VALUE_BOOL) mismatch(value, *type);
      return value.boolean;
    case c10::TypeKind::ComplexType:
      return complex_number(value, *type);
    case c10::TypeKind::NumberType:
      return number(value, *type);
    case c10::TypeKind::StringType:
      return std::string(text_of(value, *type));
    case c10::TypeKind::ScalarTypeType:
      return scalar_type(value, *type);
    case c10::TypeKind::DeviceObjType:
      return device(value, *type);
    case c10::TypeKind::LayoutType:
      return layout(value, *type);
    case c10::TypeKind::MemoryFormatType:
      return memory_format(value, *type);
    case c10::TypeKind::GeneratorType:
      if (value.kind != OPC_VALUE_GENERATOR) mismatch(value, *type);
      return at::detail::createCPUGenerator(value.seed);
    case c10::TypeKind::ClassType:
      return object(value, *type);
    default:
      throw Unconvertible("the harness cannot make a value of type " + type->str());
  }
}

}  // namespace

c10::IValue argument_from_value(const opc_value_t &value, const c10::Argument &argument) {
  return convert(value, argument.real_type(), argument.N());
}

c10::IValue argument_default(const c10::Argument &argument) {
  if (argument.default_value()) return *argument.default_value();
  if (argument.real_type()->kind() == c10::TypeKind::OptionalType) return {};
  throw Unconvertible("it was not given and has no default");
}

}  // namespace opc
