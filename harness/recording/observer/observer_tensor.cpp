#include "recording/observer/observer_call.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

#include "bridge/torch/convert.h"

namespace opc {
namespace {

// In a large storage the parts before and after a view are left out, in steps that keep every alignment.
constexpr int64_t kStep = 1 << 16, kKept = 1 << 24;  // bytes

int place_in(const std::vector<const void *> &known, const void *one) {
  const auto place = std::find(known.begin(), known.end(), one);
  return place == known.end() ? -1 : static_cast<int>(place - known.begin());
}

void add_to(std::vector<const void *> &once, std::vector<const void *> &more, const void *one) {
  if (place_in(once, one) < 0) once.push_back(one);
  else if (place_in(more, one) < 0) more.push_back(one);
}

bool is_wrapped(c10::DispatchKeySet keys) {
  return keys.has(c10::DispatchKey::Functionalize) || keys.has(c10::DispatchKey::FuncTorchBatched) ||
         keys.has(c10::DispatchKey::FuncTorchGradWrapper) || keys.has(c10::DispatchKey::Batched);
}

// The tensor is alone in its storage: no other argument depends on where the storage begins.
void cut_storage(opc_seen_tensor_t *seen) {
  const auto width = static_cast<int64_t>(opc_dtype_size(seen->dtype));
  const int64_t step = kStep / width, kept = kKept / width;
  if (seen->storage_offset > kept) {
    const int64_t cut = (seen->storage_offset - kept / 2) / step * step;
    seen->storage_offset -= cut;
    seen->storage_size -= cut;
  }
  seen->storage_size = std::min(seen->storage_size, opc_seen_needed(seen) + kept);
}

}  // namespace

opc_reason_t tensor_reason(const at::Tensor &tensor) {
  auto *impl = tensor.unsafeGetTensorImpl();
  const auto keys = impl->key_set();
  if (is_wrapped(keys)) return OPC_REASON_TRACING;
  if (keys.has(c10::DispatchKey::Python)) {
    return tensor.device().is_meta() ? OPC_REASON_TRACING : OPC_REASON_SUBCLASS;
  }
  if (impl->has_symbolic_sizes_strides()) return OPC_REASON_TRACING;
  if (tensor.is_nested() || tensor.layout() != c10::kStrided) return OPC_REASON_LAYOUT;
  if (tensor.device().is_meta()) return OPC_REASON_META;
  if (!tensor.device().is_cpu() && !tensor.device().is_cuda()) return OPC_REASON_DEVICE;
  if (dtype_of(tensor.scalar_type()) == OPC_DTYPE_OTHER) return OPC_REASON_DTYPE;
  if (tensor.dim() > OPC_SEEN_DIMS) return OPC_REASON_VALUE;
  if (!tensor.has_storage()) return OPC_REASON_NO_DATA;
  // Not data_ptr(): that makes a copy-on-write tensor its own owner.
  return impl->unsafe_storage().data() == nullptr && tensor.numel() > 0 ? OPC_REASON_NO_DATA : OPC_REASON_NONE;
}

void CallTensors::add(const at::Tensor &tensor) {
  auto *impl = tensor.unsafeGetTensorImpl();
  add_to(impls, repeated, impl);
  add_to(storages, shared, impl->unsafe_storage().unsafeGetStorageImpl());
}

opc_seen_tensor_t tensor_seen(const at::Tensor &tensor, const CallTensors &all, at::Tensor *copy) {
  auto *impl = tensor.unsafeGetTensorImpl();
  const auto &storage = impl->unsafe_storage();
  opc_seen_tensor_t seen = {};
  seen.dtype = dtype_of(tensor.scalar_type());
  seen.ndim = static_cast<int>(tensor.dim());
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), seen.sizes);
  std::copy(tensor.strides().begin(), tensor.strides().end(), seen.strides);
  std::copy(tensor.strides().begin(), tensor.strides().end(), seen.data_strides);
  seen.storage_offset = tensor.storage_offset();
  seen.storage_size = static_cast<int64_t>(storage.nbytes() / opc_dtype_size(seen.dtype));
  seen.conj = tensor.is_conj();
  seen.neg = tensor.is_neg();
  seen.requires_grad = tensor.requires_grad();
  seen.storage_id = place_in(all.shared, storage.unsafeGetStorageImpl());
  seen.identity_id = place_in(all.repeated, impl);
  seen.device = tensor.device().is_cuda() ? std::max<int>(tensor.device().index(), 0) : -1;
  const auto *bytes = static_cast<const char *>(storage.data());
  const bool inside = opc_seen_needed(&seen) <= seen.storage_size;
  if (tensor.device().is_cpu()) {
    if (inside && bytes != nullptr)
      seen.data = bytes + seen.storage_offset * static_cast<int64_t>(opc_dtype_size(seen.dtype));
  } else if (opc_recorder_keeps_values()) {
    const at::DisableRecordFunctionGuard untracked;
    const c10::AutoGradMode no_grad(false);
    *copy = tensor.resolve_conj().resolve_neg().to(c10::kCPU).contiguous();
    std::copy(copy->strides().begin(), copy->strides().end(), seen.data_strides);
    seen.resolved = true;
    seen.data = copy->unsafeGetTensorImpl()->unsafe_storage().data();
  }
  if (seen.storage_id < 0) cut_storage(&seen);
  return seen;
}

}  // namespace opc
