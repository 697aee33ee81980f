// Classes of calls. Two calls are of one class if their arguments are similar. The class covers dtypes, ranks, and
// which sizes are 0, 1 or equal to one another. It also covers the tensors' rough size, memory layout and sharing.
// Small integers and words count as they are, other numbers by sign and size.
#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>

#include <algorithm>
#include <cstring>

#include "recording/observer/observer_call.h"

namespace opc {
namespace {

class Hash {
 public:
  void add(uint64_t value) {
    state_ = (state_ ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    state_ ^= state_ >> 32;
  }
  void add(const std::string &text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(text.size());
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = UINT64_C(0xcbf29ce484222325);
};

int magnitude(uint64_t value) { return value == 0 ? 0 : 64 - __builtin_clzll(value); }

class Classifier {
 public:
  opc_reason_t add(const c10::IValue &value);
  uint64_t kind() const { return kind_.value(); }
  uint64_t exact() const { return exact_.value(); }

 private:
  opc_reason_t tensor(const at::Tensor &tensor);
  opc_reason_t object(const c10::IValue &value);
  void integer(int64_t value);
  void floating(double value);
  uint64_t letter(int64_t size);
  uint64_t number_of(std::vector<const void *> &known, const void *one);

  Hash kind_, exact_;
  std::vector<int64_t> sizes_;
  std::vector<const void *> storages_, tensors_;
};

// Equal sizes have the same letter.
uint64_t Classifier::letter(int64_t size) {
  if (size < 2) return static_cast<uint64_t>(size);
  const auto place = std::find(sizes_.begin(), sizes_.end(), size);
  const auto number = static_cast<uint64_t>(place - sizes_.begin());
  if (place == sizes_.end()) sizes_.push_back(size);
  return 2 + number;
}

uint64_t Classifier::number_of(std::vector<const void *> &known, const void *one) {
  const auto place = std::find(known.begin(), known.end(), one);
  const auto number = static_cast<uint64_t>(place - known.begin());
  if (place == known.end()) known.push_back(one);
  return number;
}

opc_reason_t Classifier::tensor(const at::Tensor &tensor) {
  if (!tensor.defined()) {
    kind_.add('-');
    exact_.add('-');
    return OPC_REASON_NONE;
  }
  const opc_reason_t reason = tensor_reason(tensor);
  if (reason != OPC_REASON_NONE) return reason;
  auto *impl = tensor.unsafeGetTensorImpl();
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  kind_.add(static_cast<uint64_t>(tensor.scalar_type()));
  kind_.add(static_cast<uint64_t>(tensor.device().type()));
  kind_.add(sizes.size());
  for (const auto size : sizes) kind_.add(letter(size));
  kind_.add(static_cast<uint64_t>(magnitude(static_cast<uint64_t>(tensor.numel())) / 6));
  int64_t expected = 1;  // dense so far, from the last dimension; otherwise expanded, with gaps, or in another order
  for (size_t i = sizes.size(); i-- > 0;) {
    const auto stride = strides[i];
    kind_.add(sizes[i] < 2 || stride == expected ? 0 : stride == 0 ? 1 : stride < expected ? 2 : 3);
    expected = std::max(expected, stride * std::max<int64_t>(sizes[i], 1));
  }
  kind_.add(static_cast<uint64_t>(tensor.storage_offset() != 0));
  kind_.add(static_cast<uint64_t>(tensor.requires_grad()) | static_cast<uint64_t>(tensor.is_conj()) << 1 |
            static_cast<uint64_t>(tensor.is_neg()) << 2);
  const void *storage = impl->unsafe_storage().unsafeGetStorageImpl();
  kind_.add(number_of(storages_, storage));
  kind_.add(number_of(tensors_, impl));
  exact_.add(reinterpret_cast<uintptr_t>(storage));
  exact_.add(static_cast<uint64_t>(tensor.storage_offset()));
  for (size_t i = 0; i < sizes.size(); i++) {
    exact_.add(static_cast<uint64_t>(sizes[i]));
    exact_.add(static_cast<uint64_t>(strides[i]));
  }
  return OPC_REASON_NONE;
}

// Objects of a class count as alike.
opc_reason_t Classifier::object(const c10::IValue &value) {
  if (!value.isObject()) return OPC_REASON_VALUE;
  const auto type = value.toObjectRef().type();
  if (!value.isCustomClass() || !type->findMethod("__getstate__") || !type->findMethod("__setstate__"))
    return OPC_REASON_OBJECT;
  kind_.add(type->name()->qualifiedName());
  exact_.add(reinterpret_cast<uintptr_t>(value.internalToPointer()));
  return OPC_REASON_NONE;
}

void Classifier::integer(int64_t value) {
  exact_.add(static_cast<uint64_t>(value));
  const bool small = value >= -64 && value <= 64;
  const auto size = static_cast<uint64_t>(magnitude(static_cast<uint64_t>(value < 0 ? -(value + 1) : value)));
  kind_.add(small ? static_cast<uint64_t>(value) : 1000 + 2 * size + static_cast<uint64_t>(value < 0));
}

// Works on bits: comparing a NaN would raise a floating-point flag of the program.
void Classifier::floating(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  exact_.add(bits);
  constexpr uint64_t kOne = UINT64_C(0x3ff0000000000000), kNan = UINT64_C(0x7ff0000000000000);
  const uint64_t sign = bits >> 63, rest = bits & ~(UINT64_C(1) << 63);
  kind_.add(sign * 8 + (rest == 0 ? 0 : rest < kOne ? 1 : rest == kOne ? 2 : rest < kNan ? 3 : rest == kNan ? 4 : 5));
}

opc_reason_t Classifier::add(const c10::IValue &value) {
  if (value.isTensor()) return tensor(value.toTensor());
  if (value.isSymInt() || value.isSymFloat() || value.isSymBool()) return OPC_REASON_TRACING;
  kind_.add(value.isNone() ? 100 : value.isBool() ? 101 : value.isInt() ? 102 : value.isDouble() ? 103 : 104);
  if (value.isNone()) {
    exact_.add(1);
  } else if (value.isBool()) {
    kind_.add(static_cast<uint64_t>(value.toBool()));
    exact_.add(static_cast<uint64_t>(value.toBool()));
  } else if (value.isInt()) {
    integer(value.toInt());
  } else if (value.isDouble()) {
    floating(value.toDouble());
  } else if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    floating(number.real());
    floating(number.imag());
  } else if (value.isString()) {
    kind_.add(value.toStringRef());
    exact_.add(value.toStringRef());
  } else if (value.isDevice()) {
    kind_.add(static_cast<uint64_t>(value.toDevice().type()));
  } else if (value.isGenerator()) {
    kind_.add(105);
  } else if (value.isList()) {
    const auto items = value.toListRef();
    kind_.add(items.size());
    for (const auto &item : items) {
      const opc_reason_t reason = add(item);
      if (reason != OPC_REASON_NONE) return reason;
    }
  } else {
    return object(value);
  }
  return OPC_REASON_NONE;
}

}  // namespace

opc_reason_t classify(c10::ArrayRef<const c10::IValue> inputs, CallClass *out) {
  Classifier classifier;
  opc_reason_t reason = OPC_REASON_NONE;
  for (size_t i = 0; i < inputs.size() && reason == OPC_REASON_NONE; i++) reason = classifier.add(inputs[i]);
  *out = {classifier.kind(), classifier.exact()};
  return reason;
}

}  // namespace opc
