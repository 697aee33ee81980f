// Calls operators with symbols as sizes, as torch.compile calls Meta kernels under dynamic shapes.
#include <c10/core/TensorImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdio>

#include "bridge/symbolic/symbolic_record.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"
#include "bridge/torch/torch_version.h"

#if !OPC_TORCH_AT_LEAST(2, 9)
// Where the operator makes a tensor with symbols as sizes and asks for a plain one, these versions ask Python, and a
// process without Python ends. This definition precedes libtorch's, and throws as later versions do.
c10::impl::PyInterpreter &c10::impl::PyObjectSlot::load_pyobj_interpreter() const {
  PyInterpreter *interpreter = const_cast<PyObjectSlot *>(this)->pyobj_interpreter();
  TORCH_CHECK(interpreter != nullptr, "Cannot ask for a plain size of a tensor with symbolic sizes/strides");
  return *interpreter;
}
#endif

namespace {

// A tensor that answers where libtorch's own would throw: it returns the hints, and records the caller. So one call
// finds every place.
class SymbolicTensor : public c10::TensorImpl {
 public:
  SymbolicTensor(const at::Tensor &like, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides, int argument)
      : c10::TensorImpl(c10::Storage(like.storage()), c10::DispatchKeySet(c10::DispatchKey::Meta), like.dtype()),
        sizes_(like.sizes().vec()),
        strides_(like.strides().vec()),
        numel_of_hints_(like.numel()),
        argument_(argument) {
    set_sizes_and_strides(sizes, strides, c10::SymInt(like.storage_offset()));
    if (like.is_conj()) _set_conj(true);
    if (like.is_neg()) _set_neg(true);
  }

 protected:
  c10::IntArrayRef sizes_custom() const override { return read("sizes()"), sizes_; }
  c10::IntArrayRef strides_custom() const override { return read("strides()"), strides_; }
  int64_t numel_custom() const override { return read("numel()"), numel_of_hints_; }
  int64_t size_custom(int64_t dimension) const override {
    const auto d = c10::maybe_wrap_dim(dimension, static_cast<int64_t>(sizes_.size()), false);
    if (!sym_sizes_custom()[static_cast<size_t>(d)].maybe_as_int()) read(("size(" + std::to_string(d) + ")").c_str());
    return sizes_[static_cast<size_t>(d)];
  }
  int64_t storage_offset_custom() const override { return storage_offset_of_hints(); }

 private:
  void read(const char *what) const { opc::SymbolicRecord::note(OPC_SYMBOLIC_READ, what, 0, argument_); }
  int64_t storage_offset_of_hints() const { return opc::hint_of(sym_storage_offset_custom()); }

  std::vector<int64_t> sizes_, strides_;
  int64_t numel_of_hints_;
  int argument_;
};

// One symbol per number, as in torch.compile; 0 and 1 stay numbers.
class Symbols {
 public:
  c10::SymInt of(int64_t number) {
    if (number < 2) return number;
    const auto found = known_.find(number);
    if (found != known_.end()) return found->second;
    return known_.emplace(number, opc::symbol("s" + std::to_string(known_.size()), number)).first->second;
  }
  size_t count() const { return known_.size(); }

 private:
  std::map<int64_t, c10::SymInt> known_;
};

at::Tensor with_symbols(const at::Tensor &tensor, Symbols &symbols, int argument) {
  if (tensor.layout() != c10::kStrided || !tensor.is_meta())
    throw opc::Unconvertible("a tensor is not strided or not on Meta");
  std::vector<c10::SymInt> sizes, strides(static_cast<size_t>(tensor.dim()), c10::SymInt(1));
  for (const int64_t size : tensor.sizes()) sizes.push_back(symbols.of(size));
  c10::SymInt expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = tensor.is_contiguous() ? expected : c10::SymInt(tensor.strides()[i]);
    expected = expected * (tensor.sizes()[i] == 0 ? c10::SymInt(1) : sizes[i]);
  }
  return at::Tensor(c10::make_intrusive<SymbolicTensor>(tensor, sizes, strides, argument));
}

bool is_symbolic_type(const c10::TypePtr &type) {
  switch (type->kind()) {
    case c10::TypeKind::SymIntType:
      return true;
    case c10::TypeKind::OptionalType:
      return is_symbolic_type(type->castRaw<c10::OptionalType>()->getElementType());
    case c10::TypeKind::ListType:
      return is_symbolic_type(type->castRaw<c10::ListType>()->getElementType());
    default:
      return false;
  }
}

c10::IValue with_symbols(const c10::IValue &value, bool symbolic, Symbols &symbols, int &argument) {
  if (value.isTensor())
    return value.toTensor().defined() ? with_symbols(value.toTensor(), symbols, argument++) : value.toTensor();
  if (symbolic && value.isInt()) return symbols.of(value.toInt());
  if (symbolic && value.isIntList()) {
    std::vector<c10::SymInt> numbers;
    for (const int64_t number : value.toIntVector()) numbers.push_back(symbols.of(number));
    return c10::SymIntArrayRef(numbers);
  }
  if (!value.isList()) return value;
  const auto list = value.toList();
  c10::impl::GenericList changed(list.elementType());
  for (const auto &item : value.toListRef()) changed.push_back(with_symbols(item, false, symbols, argument));
  return changed;
}

// Pushes the arguments, and replaces their sizes by symbols.
void push_with_symbols(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent, size_t count,
                       Symbols &symbols) {
  int argument = 0;
  op->stack.clear();
  opc::push_arguments(op, arguments, absent, count);
  for (size_t i = 0; i < op->stack.size(); i++) {
    const bool symbolic = is_symbolic_type(op->op.schema().arguments()[i].real_type());
    op->stack[i] = with_symbols(op->stack[i], symbolic, symbols, argument);
  }
}

void collect_tensors(const c10::IValue &value, std::vector<at::Tensor> &out) {
  if (value.isTensor() && value.toTensor().defined()) {
    out.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const auto &item : value.toListRef()) collect_tensors(item, out);
  } else if (value.isTuple()) {
    for (const auto &item : value.toTupleRef().elements()) collect_tensors(item, out);
  }
}

std::vector<at::Tensor> tensors_of(const std::vector<c10::IValue> &stack) {
  std::vector<at::Tensor> found;
  for (const auto &value : stack) collect_tensors(value, found);
  return found;
}

// An incoming gradient: the output's symbols, contiguous.
at::Tensor gradient_for(const at::Tensor &output) {
  std::vector<int64_t> hints;
  for (const auto &size : output.sym_sizes()) hints.push_back(opc::hint_of(size));
  const auto like = at::empty(hints, at::TensorOptions().dtype(output.dtype()).device(at::kMeta));
  std::vector<c10::SymInt> sizes = output.sym_sizes().vec(), strides(sizes.size(), c10::SymInt(1));
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * (hints[i] == 0 ? c10::SymInt(1) : sizes[i]);
  return at::Tensor(c10::make_intrusive<SymbolicTensor>(like, sizes, strides, OPC_SYMBOLIC_GRADIENT));
}

void describe_outputs(const c10::IValue &value, opc_symbolic_t *out) {
  if (value.isTensor() && value.toTensor().defined() && out->output_count < OPC_SYMBOLIC_OUTPUTS) {
    auto *output = &out->outputs[out->output_count++];
    const auto sizes = value.toTensor().sym_sizes();
    output->ndim = static_cast<int>(sizes.size());
    for (size_t d = 0; d < std::min<size_t>(sizes.size(), OPC_MAX_DIMS); d++) {
      output->number[d] = sizes[d].maybe_as_int().has_value();
      output->sizes[d] = opc::hint_of(sizes[d]);
    }
  } else if (value.isList()) {
    for (const auto &item : value.toListRef()) describe_outputs(item, out);
  } else if (value.isTuple()) {
    for (const auto &item : value.toTupleRef().elements()) describe_outputs(item, out);
  }
}

}  // namespace

opc_call_outcome_t opc_op_call_symbolic(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent,
                                        size_t count, opc_symbolic_t *out, opc_text_t *message) {
  std::string text;
  *out = {};
  opc::say(message, "");
  op->stack.clear();
  opc_call_outcome_t outcome = opc::guarded_call(text, [&] {
    Symbols symbols;
    push_with_symbols(op, arguments, absent, count, symbols);
    out->symbols = symbols.count();
  });
  if (outcome != OPC_CALL_RETURNED) {
    outcome = OPC_CALL_UNCONVERTIBLE;
  } else {
    outcome = opc::guarded_call(text, [&] {
      const opc::SymbolicRecord record(out, op->op.operator_name().name);
      const opc::CallScope scope(op->op);
      op->op.callBoxed(op->stack);
    });
  }
  if (outcome == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] {
      for (const auto &value : op->stack) describe_outputs(value, out);
    });
  }
  op->stack.clear();
  if (outcome != OPC_CALL_RETURNED) opc::say(message, text);
  return outcome;
}

opc_call_outcome_t opc_op_backward_symbolic(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent,
                                            size_t count, opc_symbolic_t *out, opc_text_t *message) {
  std::string text;
  std::vector<at::Tensor> inputs, outputs, gradients;
  *out = {};
  opc::say(message, "");
  opc_call_outcome_t outcome = opc::guarded_call(text, [&] {
    Symbols symbols;
    push_with_symbols(op, arguments, absent, count, symbols);
    out->symbols = symbols.count();
    for (const auto &tensor : tensors_of(op->stack)) {
      if (!c10::isFloatingType(tensor.scalar_type()) && !c10::isComplexType(tensor.scalar_type())) continue;
      tensor.set_requires_grad(true);
      inputs.push_back(tensor);
    }
    const opc::CallScope scope(op->op);
    op->op.callBoxed(op->stack);
    for (const auto &tensor : tensors_of(op->stack)) {
      if (!tensor.requires_grad() || !tensor.is_meta()) continue;
      outputs.push_back(tensor);
      gradients.push_back(gradient_for(tensor));
    }
    if (inputs.empty() || outputs.empty()) throw opc::Unconvertible("no output requires grad");
  });
  op->stack.clear();
  if (outcome != OPC_CALL_RETURNED) {
    outcome = OPC_CALL_UNCONVERTIBLE;
  } else {
    outcome = opc::guarded_call(text, [&] {
      const opc::SymbolicRecord record(out);
      torch::autograd::grad(outputs, inputs, gradients, /*retain_graph=*/false, /*create_graph=*/false,
                            /*allow_unused=*/true);
    });
  }
  if (outcome != OPC_CALL_RETURNED) opc::say(message, text);
  return outcome;
}
