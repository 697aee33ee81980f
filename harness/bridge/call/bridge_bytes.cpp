// A tensor's bytes: those of its storage, and those of its elements in logical order.
#include <ATen/ATen.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace {

struct Freed {
  void operator()(void *memory) const { std::free(memory); }
};
using Bytes = std::unique_ptr<unsigned char, Freed>;

Bytes make_bytes(size_t size) {
  Bytes bytes(static_cast<unsigned char *>(std::malloc(size > 0 ? size : 1)));
  if (!bytes) throw std::bad_alloc();
  return bytes;
}

// The host's view of a whole storage; `owned` holds the copy if the storage is on another device.
const unsigned char *host_bytes(const c10::Storage &storage, Bytes &owned) {
  if (storage.device().is_cpu()) return static_cast<const unsigned char *>(storage.data());
  if (!storage.device().is_cuda())
    throw opc::Unconvertible("a tensor on " + storage.device().str() + " has no bytes to read");
  const auto count = static_cast<int64_t>(storage.nbytes());
  const at::NoGradGuard no_grad;
  const auto all =
      at::empty({0}, at::TensorOptions().dtype(at::kByte).device(storage.device())).set_(storage, 0, {count}).cpu();
  owned = make_bytes(storage.nbytes());
  std::memcpy(owned.get(), all.const_data_ptr(), storage.nbytes());
  return owned.get();
}

// Operators can return tensors that extend past their storage: reading one would crash the harness instead of the
// operator.
bool lies_inside(const at::Tensor &tensor, const c10::Storage &storage) {
  if (tensor.numel() == 0) return true;
  if (tensor.itemsize() == 0 || (storage.device().is_cpu() && storage.data() == nullptr)) return false;
  int64_t last = tensor.storage_offset();
  for (int64_t i = 0; i < tensor.dim(); i++) {
    int64_t reach = 0;
    if (tensor.stride(i) < 0 || __builtin_mul_overflow(tensor.size(i) - 1, tensor.stride(i), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return last >= 0 && static_cast<uint64_t>(last) < storage.nbytes() / tensor.itemsize();
}

template <size_t kSize>
void gather_row(const unsigned char *from, int64_t step, int64_t count, unsigned char *to) {
  for (int64_t i = 0; i < count; i++) std::memcpy(to + static_cast<size_t>(i) * kSize, from + i * step, kSize);
}

// Rows of the last dimension, one after the other; the other indices count up like an odometer.
template <size_t kSize>
void gather(const at::Tensor &tensor, const unsigned char *storage, unsigned char *out) {
  constexpr auto kItem = static_cast<int64_t>(kSize);
  const int64_t dims = tensor.dim(), total = tensor.numel();
  const int64_t row = dims > 0 ? tensor.size(dims - 1) : 1, step = dims > 0 ? tensor.stride(dims - 1) * kItem : 0;
  std::vector<int64_t> at(static_cast<size_t>(std::max<int64_t>(dims, 1)), 0);
  int64_t place = tensor.storage_offset();
  for (int64_t done = 0; done < total; done += row) {
    gather_row<kSize>(storage + place * kItem, step, row, out + done * kItem);
    for (int64_t i = dims - 2; i >= 0; i--) {
      auto &index = at[static_cast<size_t>(i)];
      place += tensor.stride(i);
      if (++index < tensor.size(i)) break;
      place -= index * tensor.stride(i);
      index = 0;
    }
  }
}

bool gather_by_size(const at::Tensor &tensor, const unsigned char *storage, unsigned char *out) {
  switch (tensor.itemsize()) {
    case 1:
      gather<1>(tensor, storage, out);
      return true;
    case 2:
      gather<2>(tensor, storage, out);
      return true;
    case 4:
      gather<4>(tensor, storage, out);
      return true;
    case 8:
      gather<8>(tensor, storage, out);
      return true;
    case 16:
      gather<16>(tensor, storage, out);
      return true;
    default:
      return false;
  }
}

// Flips the sign of every `stride`-th component from `first` on. The sign of a floating-point number is the highest bit
// of its last byte (little-endian), for any width; integers are negated in two's complement.
void negate(unsigned char *bytes, size_t size, size_t component, size_t first, size_t stride, bool floating) {
  for (size_t i = first * component; i + component <= size; i += stride * component) {
    if (floating) {
      bytes[i + component - 1] ^= 0x80U;
      continue;
    }
    unsigned carry = 1;
    for (size_t j = i; j < i + component; j++) {
      carry += static_cast<unsigned char>(~bytes[j]);
      bytes[j] = static_cast<unsigned char>(carry);
      carry >>= 8;
    }
  }
}

void resolve_bits(const at::Tensor &tensor, unsigned char *bytes, size_t size) {
  const bool complex = tensor.is_complex();
  const size_t component = complex ? tensor.itemsize() / 2 : tensor.itemsize();
  if (tensor.is_conj()) negate(bytes, size, component, 1, 2, true);
  if (tensor.is_neg()) negate(bytes, size, component, 0, 1, complex || tensor.is_floating_point());
}

void require_readable(const at::Tensor &tensor) {
  if (!tensor.defined()) throw opc::Unconvertible("an undefined tensor has no bytes");
  if (tensor.layout() != c10::kStrided || tensor.is_nested() || !tensor.has_storage()) {
    throw opc::Unconvertible("a tensor that is not strided has no bytes in order");
  }
}

}  // namespace

opc_status_t opc_tensor_storage_bytes(const opc_tensor_t *tensor, const void **out_bytes, size_t *out_size,
                                      void **out_owned, opc_error_t *error) {
  return opc::guarded(error, [&] {
    *out_bytes = nullptr;
    *out_size = 0;
    *out_owned = nullptr;
    require_readable(tensor->tensor);
    Bytes owned;
    const auto &storage = tensor->tensor.storage();
    *out_bytes = host_bytes(storage, owned);
    *out_size = storage.nbytes();
    *out_owned = owned.release();
    return OPC_OK;
  });
}

opc_status_t opc_tensor_logical_bytes(const opc_tensor_t *tensor, void **out, size_t *out_size, opc_error_t *error) {
  return opc::guarded(error, [&]() -> opc_status_t {
    *out = nullptr;
    *out_size = 0;
    const auto &self = tensor->tensor;
    require_readable(self);
    const auto &storage = self.storage();
    if (!lies_inside(self, storage)) {
      return opc_error_set(error, OPC_ERR_INPUT, "the tensor reaches past the end of its storage of %zu bytes",
                           storage.nbytes());
    }

    Bytes owned;
    const auto *from = host_bytes(storage, owned);
    const size_t size = static_cast<size_t>(self.numel()) * self.itemsize();
    auto bytes = make_bytes(size);
    if (size > 0 && self.is_contiguous()) {
      std::memcpy(bytes.get(), from + static_cast<size_t>(self.storage_offset()) * self.itemsize(), size);
    } else if (size > 0 && !gather_by_size(self, from, bytes.get())) {
      return opc_error_set(error, OPC_ERR_UNSUPPORTED, "elements of %zu bytes", self.itemsize());
    }
    resolve_bits(self, bytes.get(), size);
    *out = bytes.release();
    *out_size = size;
    return OPC_OK;
  });
}
