// Operators under torch.vmap and torch.autocast.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace {

namespace functorch = at::functorch;

// torch.vmap is in force during the object's life. Random numbers are refused, as by default in Python.
class VmapLayer {
 public:
  explicit VmapLayer(size_t size)
      : level_(functorch::initAndPushDynamicLayer(functorch::TransformType::Vmap,
                                                  c10::SymInt(static_cast<int64_t>(size)),
                                                  functorch::RandomnessType::Error)) {}
  VmapLayer(const VmapLayer &) = delete;
  VmapLayer &operator=(const VmapLayer &) = delete;
  ~VmapLayer() { functorch::popDynamicLayerAndDeleteMetadata(); }
  [[nodiscard]] int64_t level() const { return level_; }

 private:
  int64_t level_;
};

class Autocast {
 public:
  explicit Autocast(c10::ScalarType dtype)
      : was_on_(at::autocast::is_autocast_enabled(at::kCPU)), was_(at::autocast::get_autocast_dtype(at::kCPU)) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
    at::autocast::increment_nesting();
  }
  Autocast(const Autocast &) = delete;
  Autocast &operator=(const Autocast &) = delete;
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, was_on_);
    at::autocast::set_autocast_dtype(at::kCPU, was_);
  }

 private:
  bool was_on_;
  c10::ScalarType was_;
};

using Tensors = std::vector<at::Tensor>;

Tensors tensors_of(const std::vector<c10::IValue> &stack) {
  Tensors tensors;
  for (const auto &value : stack) {
    opc::with_tensors(value, [&](const at::Tensor &tensor) {
      tensors.push_back(tensor);
      return tensor;
    });
  }
  return tensors;
}

// What vmap's caller passes: the slices' tensors stacked, or the first slice's own.
Tensors stacked(const std::vector<Tensors> &slices, const int *dims, size_t tensor_count) {
  Tensors out;
  for (size_t i = 0; i < slices.at(0).size(); i++) {
    Tensors parts;
    if (i < tensor_count && dims[i] != OPC_NOT_BATCHED)
      for (const auto &slice : slices) parts.push_back(slice.at(i));
    out.push_back(parts.empty() ? slices.at(0).at(i) : at::stack(parts, dims[i]));
  }
  return out;
}

at::Tensor slice_of(const at::Tensor &tensor, int64_t level, int64_t slice) {
  const auto *batched = functorch::maybeGetBatchedImpl(tensor);
  if (batched == nullptr || batched->level() != level) return tensor;
  return batched->value().select(batched->bdim(), slice);
}

// A rule may give back a batch of another size; then no slice is taken.
int64_t size_of_batch(const std::vector<c10::IValue> &stack, int64_t level, size_t slice_count) {
  auto size = static_cast<int64_t>(slice_count);
  for (const auto &value : stack) {
    opc::with_tensors(value, [&](const at::Tensor &tensor) {
      const auto *batched = functorch::maybeGetBatchedImpl(tensor);
      if (batched != nullptr && batched->level() == level && batched->value().size(batched->bdim()) != size)
        size = batched->value().size(batched->bdim());
      return tensor;
    });
  }
  return size;
}

void take_slices(const std::vector<c10::IValue> &stack, int64_t level, size_t slice_count, opc_value_t **out_returns,
                 size_t *out_count) {
  for (size_t slice = 0; slice < slice_count; slice++) {
    std::vector<c10::IValue> of_slice;
    of_slice.reserve(stack.size());
    for (const auto &value : stack) {
      of_slice.push_back(opc::with_tensors(
          value, [&](const at::Tensor &tensor) { return slice_of(tensor, level, static_cast<int64_t>(slice)); }));
    }
    opc::take_returns(of_slice, &out_returns[slice], out_count);
  }
}

}  // namespace

opc_call_outcome_t opc_op_call_vmap(opc_op_handle_t *op, const opc_value_t *const *slices, size_t slice_count,
                                    const bool *absent, size_t count, const int *dims, size_t tensor_count,
                                    opc_value_t **out_returns, size_t *out_count, int64_t *out_slices,
                                    opc_text_t *message) {
  std::string text;
  Tensors tensors;
  int64_t level = 0;
  *out_count = 0;
  *out_slices = static_cast<int64_t>(slice_count);
  for (size_t i = 0; i < slice_count; i++) out_returns[i] = nullptr;
  opc::say(message, "");
  opc_call_outcome_t outcome = opc::guarded_call(text, [&] {
    std::vector<Tensors> of_slices(slice_count);
    for (size_t i = slice_count; i-- > 0;) {  // the first one's stack stays
      op->stack.clear();
      opc::push_arguments(op, slices[i], absent, count);
      of_slices[i] = tensors_of(op->stack);
    }
    tensors = stacked(of_slices, dims, tensor_count);
  });
  if (outcome != OPC_CALL_RETURNED) outcome = OPC_CALL_UNCONVERTIBLE;
  if (outcome == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] {
      const VmapLayer layer(slice_count);
      size_t index = 0;
      level = layer.level();
      for (auto &value : op->stack) {
        value = opc::with_tensors(value, [&](const at::Tensor &tensor) {
          const size_t own = index++;
          if (own >= tensor_count || dims[own] == OPC_NOT_BATCHED) return tensor;
          return functorch::makeBatched(tensors[own], dims[own], level);
        });
      }
      const opc::CallScope scope(op->op);
      op->op.callBoxed(op->stack);
    });
  }
  if (outcome == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] {
      *out_slices = size_of_batch(op->stack, level, slice_count);
      if (*out_slices == static_cast<int64_t>(slice_count))
        take_slices(op->stack, level, slice_count, out_returns, out_count);
    });
  }
  op->stack.clear();
  if (outcome == OPC_CALL_RETURNED) return outcome;
  for (size_t i = 0; i < slice_count; i++) {
    opc_returns_free(out_returns[i], *out_count);
    out_returns[i] = nullptr;
  }
  opc::say(message, text);
  return outcome;
}

opc_call_outcome_t opc_op_call_autocast(opc_op_handle_t *op, const opc_value_t *arguments, const bool *absent,
                                        size_t count, opc_dtype_t dtype, opc_value_t **out_returns, size_t *out_count,
                                        opc_text_t *message) {
  std::string text;
  *out_returns = nullptr;
  *out_count = 0;
  opc::say(message, "");
  op->stack.clear();
  opc_call_outcome_t outcome = opc::guarded_call(text, [&] { opc::push_arguments(op, arguments, absent, count); });
  if (outcome != OPC_CALL_RETURNED) outcome = OPC_CALL_UNCONVERTIBLE;
  if (outcome == OPC_CALL_RETURNED) {
    outcome = opc::guarded_call(text, [&] {
      const Autocast on(opc::scalar_type_of(dtype).value());
      const opc::CallScope scope(op->op);
      op->op.callBoxed(op->stack);
    });
  }
  if (outcome == OPC_CALL_RETURNED)
    outcome = opc::guarded_call(text, [&] { opc::take_returns(op->stack, out_returns, out_count); });
  op->stack.clear();
  if (outcome != OPC_CALL_RETURNED) opc::say(message, text);
  return outcome;
}
