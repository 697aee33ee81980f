// Converts IValues that an operator returned to C values.
#include <cstdlib>
#include <new>
#include <sstream>

#include "bridge/torch/convert.h"
#include "bridge/torch/handles.h"

namespace opc {
namespace {

opc_value_t *make_list(opc_value_t *out, size_t count) {
  auto *items = static_cast<opc_value_t *>(std::calloc(count > 0 ? count : 1, sizeof(opc_value_t)));
  if (items == nullptr) throw std::bad_alloc();
  out->kind = OPC_VALUE_LIST;
  out->list.items = items;
  out->list.count = count;
  return items;
}

// Filled before its kind is set: an incomplete value stays NONE and frees nothing.
void make_text(opc_value_t *out, opc_value_kind_t kind, const std::string &text) {
  out->string = copy_string(text);
  out->kind = kind;
}

void make_object(const c10::IValue &value, opc_value_t *out) {
  out->object.class_name = copy_string(class_short_name(value.type()->expectRef<c10::ClassType>()));
  out->kind = OPC_VALUE_OBJECT;
  out->handle = new opc_object{value};
}

// A dictionary may contain tensors, which no check must miss: it becomes a list of alternating keys and values.
void make_dictionary(const c10::IValue &value, opc_value_t *out) {
  const auto dictionary = value.toGenericDict();
  auto *items = make_list(out, 2 * dictionary.size());
  for (const auto &entry : dictionary) {
    value_from_return(entry.key(), items++);
    value_from_return(entry.value(), items++);
  }
}

}  // namespace

void value_from_return(const c10::IValue &value, opc_value_t *out) {
  if (value.isTensor()) {
    const auto &tensor = value.toTensor();
    if (!tensor.defined()) return;
    out->handle = new opc_tensor{tensor};
    out->kind = OPC_VALUE_TENSOR;
  } else if (value.isNone()) {
    out->kind = OPC_VALUE_NONE;
  } else if (value.isBool()) {
    out->boolean = value.toBool();
    out->kind = OPC_VALUE_BOOL;
  } else if (value.isInt()) {
    out->integer = value.toInt();
    out->kind = OPC_VALUE_INT;
  } else if (value.isDouble()) {
    out->floating = value.toDouble();
    out->kind = OPC_VALUE_FLOAT;
  } else if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    out->complex.re = number.real();
    out->complex.im = number.imag();
    out->kind = OPC_VALUE_COMPLEX;
  } else if (value.isString()) {
    make_text(out, OPC_VALUE_STRING, value.toStringRef());
  } else if (value.isDevice()) {
    out->device = device_of(value.toDevice());
    out->kind = OPC_VALUE_DEVICE;
  } else if (value.isList()) {
    const auto list = value.toListRef();
    auto *items = make_list(out, list.size());
    for (const auto &item : list) value_from_return(item, items++);
  } else if (value.isTuple()) {
    const auto &elements = value.toTupleRef().elements();
    auto *items = make_list(out, elements.size());
    for (const auto &item : elements) value_from_return(item, items++);
  } else if (value.isGenericDict()) {
    make_dictionary(value, out);
  } else if (value.isCustomClass()) {
    make_object(value, out);
  } else {
    make_text(out, OPC_VALUE_OPAQUE, value.tagKind() + " of type " + value.type()->str());
  }
}

}  // namespace opc
