#include "bridge/replaced/host_copies.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>

#include "bridge/torch/exceptions.h"
#include "cuda/log/launch.h"

namespace opc {
namespace {

// Of all tensors of one call: the CPU sorts as many in a second.
constexpr size_t kBytesMost = size_t{1} << 26;
// What a call costs in instructions of a thread, as kernels on the simulated device do, besides one for each byte.
constexpr uint64_t kPerCall = 1 << 14;

uint64_t address_of(const void *data) { return reinterpret_cast<uintptr_t>(data); }

void require_plain(const at::Tensor &tensor) {
  if (tensor.layout() != c10::kStrided || tensor.is_nested() || tensor.is_quantized() || tensor._is_zerotensor() ||
      tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() || !tensor.has_storage())
    throw Unconvertible("a tensor is not strided");
  const auto reach = at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                                      static_cast<size_t>(tensor.storage_offset()));
  if (tensor.numel() != 0 && reach > tensor.storage().nbytes())
    throw Unconvertible("a tensor reaches past the end of its storage");
}

c10::Storage copied(const c10::Storage &storage) {
  const size_t bytes = storage.nbytes();
  c10::Storage copy(c10::Storage::use_byte_size_t(), bytes, c10::GetCPUAllocator(), /*resizable=*/true);
  if (bytes > 0 && storage.data() != nullptr) {
    opc_launch()->copy(address_of(copy.data()), address_of(storage.data()), bytes);
    opc_launch()->written(copy.data(), bytes);  // this host memory may get other uses
  }
  return copy;
}

at::Tensor over(const c10::Storage &storage, const at::Tensor &like) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                   like.dtype());
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.is_conj()) impl->_set_conj(true);
  if (like.is_neg()) impl->_set_neg(true);
  return at::Tensor(std::move(impl));
}

}  // namespace

void HostCopies::begin() {
  too_costly_ = !opc_launch()->call_afford(kPerCall);
  if (too_costly_) throw Unconvertible("the calls of this case would take too long");
}

void HostCopies::count(const at::Tensor &tensor) {
  if (!tensor.is_cuda() || !tensor.has_storage() || holds(tensor)) return;
  const size_t bytes = tensor.storage().nbytes();
  too_costly_ |= bytes > kBytesMost || (bytes_ += bytes) > kBytesMost;
  if (too_costly_) throw Unconvertible("its tensors take more than 64 MiB");
  too_costly_ = !opc_launch()->call_afford(bytes);
  if (too_costly_) throw Unconvertible("the calls of this case would take too long");
}

at::Tensor HostCopies::of(const at::Tensor &tensor) {
  if (!tensor.is_cuda()) return tensor;
  require_plain(tensor);
  count(tensor);
  const auto &storage = tensor.storage();
  auto found = storages_.find(storage.unsafeGetStorageImpl());
  if (found == storages_.end()) found = storages_.emplace(storage.unsafeGetStorageImpl(), copied(storage)).first;
  return over(found->second, tensor);
}

bool HostCopies::holds(const at::Tensor &tensor) const {
  return tensor.is_cuda() && tensor.has_storage() && storages_.count(tensor.storage().unsafeGetStorageImpl()) != 0;
}

void HostCopies::plan(const at::Tensor &to, const at::Tensor &from) {
  require_plain(to);
  require_plain(from);
  if (!to.is_cuda() || !from.is_cpu()) throw Unconvertible("its CPU kernel returns a tensor on another device");
  if (to.sizes() != from.sizes()) throw Unconvertible("its CPU kernel returns a tensor of other sizes");
  if (to.scalar_type() != from.scalar_type()) throw Unconvertible("its CPU kernel returns a tensor of another dtype");
  planned_.emplace_back(to, from);
}

void HostCopies::write() {
  for (const auto &[to, from] : planned_) {
    const auto &storage = to.storage();
    if (to.numel() == 0) continue;
    const c10::Storage copy = copied(storage);
    over(copy, to).copy_(from);
    opc_launch()->copy(address_of(storage.data()), address_of(copy.data()), storage.nbytes());
    opc_launch()->written(storage.data(), storage.nbytes());
  }
  planned_.clear();
}

}  // namespace opc
