// Writes a call as a sample of the sample file format.
#include "recording/observer/observer_call.h"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "bridge/torch/convert.h"

namespace opc {
namespace {

class Writer {
 public:
  explicit Writer(opc_text_t *notes) : notes_(notes) {}
  void collect(const c10::IValue &value);  // all tensors of a call, before the first is written
  opc_reason_t value(const c10::IValue &value, const c10::TypePtr &type, const std::string &path, opc_text_t *out);

 private:
  opc_reason_t tensor(const at::Tensor &tensor, const std::string &path, opc_text_t *out);
  opc_reason_t integer(int64_t value, const c10::Type &type, opc_text_t *out);
  opc_reason_t object(const c10::IValue &value, opc_text_t *out);
  opc_reason_t list(const c10::IValue &value, const c10::TypePtr &type, const std::string &path, opc_text_t *out);

  CallTensors tensors_;
  opc_text_t *notes_;
};

void Writer::collect(const c10::IValue &value) {
  if (value.isTensor() && value.toTensor().defined()) tensors_.add(value.toTensor());
  if (value.isList()) {
    for (const auto &item : value.toListRef()) collect(item);
  }
}

// A JSON string: bytes that are not UTF-8 are shown as escapes.
void text(const std::string &message, opc_text_t *out) {
  opc_text_t clean = {};
  opc_text_add_utf8(&clean, message.data(), message.size());
  opc_text_add(out, "\"");
  for (size_t i = 0; i < clean.length; i++) {
    const char c = clean.data[i];
    if (c == '"' || c == '\\') opc_text_addf(out, "\\%c", c);
    else if (static_cast<unsigned char>(c) < 0x20) opc_text_addf(out, "\\u%04x", c);
    else opc_text_add_bytes(out, &c, 1);
  }
  opc_text_add(out, "\"");
  opc_text_clear(&clean);
}

const char *memory_format_name(int64_t format) {
  static const char *const names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  return format >= 0 && format < 4 ? names[format] : nullptr;
}

opc_reason_t Writer::tensor(const at::Tensor &tensor, const std::string &path, opc_text_t *out) {
  at::Tensor copy;
  const opc_seen_tensor_t seen = tensor_seen(tensor, tensors_, &copy);
  if (seen.data == nullptr && seen.device < 0 && tensor.numel() > 0) return OPC_REASON_NO_DATA;
  return opc_seen_tensor_write(&seen, path.c_str(), out, notes_);
}

// dtypes, layouts and memory formats arrive as integers; the schema distinguishes them from numbers.
opc_reason_t Writer::integer(int64_t value, const c10::Type &type, opc_text_t *out) {
  const char *name = nullptr;
  switch (type.kind()) {
    case c10::TypeKind::ScalarTypeType: {
      const auto dtype = dtype_of(static_cast<c10::ScalarType>(value));
      if (dtype == OPC_DTYPE_OTHER) return OPC_REASON_DTYPE;
      opc_text_addf(out, "{\"dtype\": \"%s\"}", opc_dtype_name(dtype));
      return OPC_REASON_NONE;
    }
    case c10::TypeKind::LayoutType:
      name = layout_name(static_cast<c10::Layout>(value));
      break;
    case c10::TypeKind::MemoryFormatType:
      name = memory_format_name(value);
      if (name == nullptr) return OPC_REASON_VALUE;
      break;
    default:
      if (opc_number_is_address(static_cast<uint64_t>(value))) return OPC_REASON_HANDLE;
      if (type.kind() == c10::TypeKind::FloatType) opc_text_addf(out, "%lld.0", static_cast<long long>(value));
      else opc_text_addf(out, "%lld", static_cast<long long>(value));
      return OPC_REASON_NONE;
  }
  opc_text_addf(out, "\"%s\"", name);
  return OPC_REASON_NONE;
}

// Runs the class's __getstate__, which the observer does not look at. Values on a GPU are copied only with --values.
opc_reason_t Writer::object(const c10::IValue &value, opc_text_t *out) {
  const at::RecordFunctionGuard unobserved(false);
  std::vector<char> bytes;
  try {
    std::vector<at::Tensor> tensors;
    torch::jit::pickle(value, &tensors);
    for (const auto &tensor : tensors) {
      if (!tensor.is_cpu() && !opc_recorder_keeps_values()) return OPC_REASON_OBJECT;
    }
    bytes = torch::jit::pickle_save(value);
  } catch (...) {
    return OPC_REASON_OBJECT;
  }
  static const std::string prefix = "__torch__.torch.classes.";
  const std::string name = value.type()->expectRef<c10::ClassType>().name()->qualifiedName();
  opc_text_addf(out, "{\"object\": {\"class\": \"%s\", \"pickle\": \"",
                name.c_str() + (name.rfind(prefix, 0) == 0 ? prefix.size() : 0));
  const bool written = opc_side_file_write_object(bytes.data(), bytes.size(), out);
  opc_text_add(out, "\"}}");
  return written ? OPC_REASON_NONE : OPC_REASON_OBJECT;
}

opc_reason_t Writer::list(const c10::IValue &value, const c10::TypePtr &type, const std::string &path,
                          opc_text_t *out) {
  const auto element =
      type->kind() == c10::TypeKind::ListType ? type->castRaw<c10::ListType>()->getElementType() : type;
  size_t index = 0;
  opc_reason_t reason = OPC_REASON_NONE;
  opc_text_add(out, "[");
  for (const auto &item : value.toListRef()) {
    if (index > 0) opc_text_add(out, ", ");
    reason = this->value(item, element, path + '[' + std::to_string(index++) + ']', out);
    if (reason != OPC_REASON_NONE) return reason;
  }
  opc_text_add(out, "]");
  return OPC_REASON_NONE;
}

opc_reason_t Writer::value(const c10::IValue &value, const c10::TypePtr &type, const std::string &path,
                           opc_text_t *out) {
  const bool optional = type->kind() == c10::TypeKind::OptionalType,
             nullable = optional || type->kind() == c10::TypeKind::AnyType,
             absent = value.isNone() || (value.isTensor() && !value.toTensor().defined());
  if (absent && !nullable) return OPC_REASON_VALUE;  // a sample file cannot hold an undefined tensor
  if (optional && !absent) return this->value(value, type->castRaw<c10::OptionalType>()->getElementType(), path, out);
  if (value.isTensor() && !absent) return tensor(value.toTensor(), path, out);
  if (value.isInt()) return integer(value.toInt(), *type, out);
  if (value.isList()) return list(value, type, path, out);
  if (absent) {
    opc_text_add(out, "null");
  } else if (value.isBool()) {
    opc_text_add(out, value.toBool() ? "true" : "false");
  } else if (value.isDouble()) {
    opc_seen_number_write(value.toDouble(), 53, out);
  } else if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    opc_text_add(out, "{\"complex\": [");
    opc_seen_number_write(number.real(), 53, out);
    opc_text_add(out, ", ");
    opc_seen_number_write(number.imag(), 53, out);
    opc_text_add(out, "]}");
  } else if (value.isString()) {
    text(value.toStringRef(), out);
  } else if (value.isDevice()) {
    const auto device = value.toDevice();
    if (device_of(device).type == OPC_DEVICE_OTHER) return OPC_REASON_DEVICE;
    opc_text_addf(out, "{\"device\": \"%s\"}", device.str().c_str());
  } else if (value.isGenerator()) {
    const auto generator = value.toGenerator();
    if (!generator.device().is_cpu()) return OPC_REASON_VALUE;
    opc_text_addf(out, "{\"generator\": %lld}", static_cast<long long>(generator.current_seed()));
  } else if (value.isObject()) {
    return object(value, out);
  } else {
    return OPC_REASON_VALUE;
  }
  return OPC_REASON_NONE;
}

std::string full_name(const c10::FunctionSchema &schema) {
  return schema.overload_name().empty() ? schema.name() : schema.name() + '.' + schema.overload_name();
}

}  // namespace

opc_reason_t write_call(const c10::FunctionSchema &schema, c10::ArrayRef<const c10::IValue> inputs, opc_text_t *out) {
  struct Notes {
    opc_text_t text = {};
    ~Notes() { opc_text_clear(&text); }
  } notes, kwargs;
  Writer writer(&notes.text);
  for (const auto &input : inputs) writer.collect(input);
  opc_text_addf(out, "{\"operator\": \"%s\", \"source\": \"recorded\", \"args\": [", full_name(schema).c_str());
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto &argument = schema.arguments()[i];
    opc_text_t *to = argument.kwarg_only() ? &kwargs.text : out;
    if (argument.kwarg_only()) opc_text_addf(to, "%s\"%s\": ", to->length > 0 ? ", " : "", argument.name().c_str());
    else if (i > 0) opc_text_add(to, ", ");
    const opc_reason_t reason = writer.value(inputs[i], argument.real_type(), argument.name(), to);
    if (reason != OPC_REASON_NONE) return reason;
  }
  opc_text_add(out, "]");
  if (kwargs.text.length > 0) opc_text_addf(out, ", \"kwargs\": {%s}", opc_text_c(&kwargs.text));
  if (notes.text.length > 0) opc_text_addf(out, ", \"recorded\": {\"tensors\": {%s}}", opc_text_c(&notes.text));
  opc_text_add(out, "}");
  if (kwargs.text.failed || notes.text.failed) return OPC_REASON_TROUBLE;
  return OPC_REASON_NONE;
}

bool aten_is_wanted() {
  static const bool wanted = opc_recorder_wants_namespace("aten");
  return wanted;
}

}  // namespace opc
