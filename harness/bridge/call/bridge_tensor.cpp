// Tensors over storages, and their metadata.
#include <ATen/ATen.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/COW.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"
#include "bridge/torch/torch_version.h"

namespace {

c10::DispatchKey backend_key(const c10::Device &device) {
  if (device.is_cuda()) return c10::DispatchKey::CUDA;
  return device.is_meta() ? c10::DispatchKey::Meta : c10::DispatchKey::CPU;
}

opc_status_t check_bounds(const opc_tensor_spec_t *spec, size_t itemsize, size_t bytes, opc_error_t *error) {
  if (spec->ndim < 0 || spec->ndim > OPC_MAX_DIMS) {
    return opc_error_set(error, OPC_ERR_INPUT, "a tensor has %d dimensions, more than %d", spec->ndim, OPC_MAX_DIMS);
  }
  int64_t last = spec->storage_offset;
  bool empty = false, negative = spec->storage_offset < 0, far = false;
  for (int i = 0; i < spec->ndim; i++) {
    int64_t reach = 0;
    empty = empty || spec->sizes[i] == 0;
    negative = negative || spec->sizes[i] < 0 || spec->strides[i] < 0;
    far = far || __builtin_mul_overflow(spec->sizes[i] - 1, spec->strides[i], &reach) ||
          __builtin_add_overflow(last, reach, &last);
  }
  if (negative) return opc_error_set(error, OPC_ERR_INPUT, "a tensor has a negative size, stride or offset");
  if (!empty && (far || static_cast<uint64_t>(last) >= bytes / itemsize)) {
    return opc_error_set(error, OPC_ERR_INPUT, "a tensor reaches past the end of its storage of %zu bytes", bytes);
  }
  return OPC_OK;
}

// A symbolic size has a hint instead of a number; reading it does not fail, but records a guard.
int64_t known(const c10::SymInt &value) {
  const auto number = value.maybe_as_int();
  return number ? *number : value.guard_int(__FILE__, __LINE__);
}

void describe_sizes(const at::Tensor &tensor, opc_tensor_meta_t *out) {
  const auto sizes = tensor.sym_sizes();
  out->ndim = static_cast<int>(sizes.size());
  for (size_t i = 0; i < std::min<size_t>(sizes.size(), OPC_MAX_DIMS); i++) out->sizes[i] = known(sizes[i]);
  out->numel = known(tensor.sym_numel());
  if (tensor.layout() != c10::kStrided) return;
  const auto strides = tensor.sym_strides();
  for (size_t i = 0; i < std::min<size_t>(strides.size(), OPC_MAX_DIMS); i++) out->strides[i] = known(strides[i]);
  out->storage_offset = known(tensor.sym_storage_offset());
}

void describe_storage(const at::Tensor &tensor, opc_tensor_meta_t *out) {
  if (!tensor.has_storage()) return;
  const auto *storage = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr) return;
  out->storage = storage;
  out->storage_data = storage->data_ptr().get();
  out->copy_on_write = c10::impl::cow::is_cow_data_ptr(storage->data_ptr());
  out->storage_bytes = static_cast<size_t>(std::max<int64_t>(known(storage->sym_nbytes()), 0));
}

void describe(const at::Tensor &tensor, opc_tensor_meta_t *out) {
  auto *impl = tensor.unsafeGetTensorImpl();
  const auto type = tensor.scalar_type();
  out->dtype = opc::dtype_of(type);
  out->dtype_known = out->dtype != OPC_DTYPE_OTHER;
  std::snprintf(out->dtype_text, sizeof out->dtype_text, "%s", c10::toString(type));
  out->itemsize = tensor.itemsize();
  out->device = opc::device_of(tensor.device());
  out->impl = impl;
  out->conj = tensor.is_conj();
  out->neg = tensor.is_neg();
  out->requires_grad = tensor.requires_grad();
  out->has_grad_fn = !tensor.is_leaf();
  out->is_inference = tensor.is_inference();
  out->symbolic = impl->has_symbolic_sizes_strides();
  const auto &counter = impl->version_counter();
  out->version = counter.enabled() ? static_cast<int64_t>(counter.current_version()) : -1;
  // A nested tensor reports the layout strided, and throws when its sizes are queried.
  std::snprintf(out->layout, sizeof out->layout, "%s",
                tensor.is_nested() ? "nested" : opc::layout_name(tensor.layout()));
  describe_storage(tensor, out);
  if (!tensor.is_nested()) describe_sizes(tensor, out);
}

}  // namespace

opc_status_t opc_tensor_new(const opc_tensor_spec_t *spec, opc_storage_t *storage, opc_tensor_t **out,
                            opc_error_t *error) {
  return opc::guarded(error, [&]() -> opc_status_t {
    const auto type = opc::scalar_type_of(spec->dtype);
    if (!type)
      return opc_error_set(error, OPC_ERR_UNSUPPORTED, "a tensor of dtype %s cannot be made",
                           opc_dtype_name(spec->dtype));
    const auto meta = c10::scalarTypeToTypeMeta(*type);
    const opc_status_t status = check_bounds(spec, meta.itemsize(), storage->storage.nbytes(), error);
    if (status != OPC_OK) return status;

    // The same as at::empty, without the allocation: the constructor adds the autograd keys.
    auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(storage->storage),
                                                     c10::DispatchKeySet(backend_key(storage->storage.device())), meta);
    const auto count = static_cast<size_t>(spec->ndim);
    impl->set_sizes_and_strides(c10::IntArrayRef(spec->sizes, count), c10::IntArrayRef(spec->strides, count),
                                spec->storage_offset);
    if (spec->conj) impl->_set_conj(true);
    if (spec->neg) impl->_set_neg(true);
    at::Tensor tensor(std::move(impl));
    if (spec->requires_grad) tensor.set_requires_grad(true);
    *out = new opc_tensor{std::move(tensor)};
    return OPC_OK;
  });
}

void opc_tensor_free(opc_tensor_t *tensor) { delete tensor; }

opc_tensor_t *opc_tensor_ref(opc_tensor_t *tensor) {
  return tensor != nullptr ? new (std::nothrow) opc_tensor{tensor->tensor} : nullptr;
}

void opc_tensor_uses(const opc_tensor_t *tensor, size_t *out_impl, size_t *out_storage) {
  *out_impl = *out_storage = 0;
  if (tensor == nullptr || !tensor->tensor.defined()) return;
  const auto *impl = tensor->tensor.unsafeGetTensorImpl();
  *out_impl = opc::uses_without_wrapper(impl, tensor->tensor.use_count());
  if (!tensor->tensor.has_storage()) return;
  const auto &storage = impl->unsafe_storage();
  *out_storage = opc::uses_without_wrapper(storage.unsafeGetStorageImpl(), storage.use_count());
}

void opc_tensor_describe(const opc_tensor_t *tensor, opc_tensor_meta_t *out) {
  *out = {};
  out->version = -1;
  if (tensor == nullptr || !tensor->tensor.defined()) return;
  out->defined = true;
  // A tensor subclass may refuse any of these queries; earlier answers remain valid.
  (void)opc::guarded(nullptr, [&] {
    describe(tensor->tensor, out);
    return OPC_OK;
  });
}
