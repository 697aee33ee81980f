// Storages: over memory of the caller, or newly allocated on a device.
#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace {

struct Release {
  void (*function)(void *data, void *context);
  void *context;
};

// oneDNN requires a DataPtr whose context is the data itself, so the deleter is looked up by address. The tables are
// never destroyed: storages may outlive every static object.
struct Releases {
  std::mutex mutex;
  std::unordered_multimap<void *, Release> by_address;
};

Releases &releases() {
  static auto *all = new Releases;
  return *all;
}

void release_memory(void *data) {
  auto &all = releases();
  Release release = {};
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto place = all.by_address.find(data);
    if (place == all.by_address.end()) return;
    release = place->second;
    all.by_address.erase(place);
  }
  release.function(data, release.context);
}

// Resizable, with the allocator of libtorch's own tensors: resize_ then behaves as for any other tensor.
c10::Storage make_storage(size_t bytes, c10::DataPtr data, c10::Allocator *allocator) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                               c10::SymInt(static_cast<int64_t>(bytes)), std::move(data), allocator,
                                               /*resizable=*/true);
}

}  // namespace

opc_status_t opc_storage_from_memory(void *data, size_t bytes, void (*release)(void *data, void *context),
                                     void *context, opc_storage_t **out, opc_error_t *error) {
  return opc::guarded(error, [&] {
    const bool owned = release != nullptr && data != nullptr;
    if (owned) {
      auto &all = releases();
      const std::lock_guard<std::mutex> lock(all.mutex);
      all.by_address.emplace(data, Release{release, context});
    }
    c10::DataPtr pointer(data, data, owned ? &release_memory : &c10::detail::deleteNothing, c10::Device(c10::kCPU));
    *out = new opc_storage{make_storage(bytes, std::move(pointer), c10::GetCPUAllocator())};
    return OPC_OK;
  });
}

opc_status_t opc_storage_new(size_t bytes, opc_device_t device, opc_storage_t **out, opc_error_t *error) {
  return opc::guarded(error, [&]() -> opc_status_t {
    const auto where = opc::torch_device_of(device);
    if (!where) return opc_error_set(error, OPC_ERR_UNSUPPORTED, "no storage can be made on this device");
    if (where->is_cuda()) {
      opc::cuda_is_used();
      const auto options = at::TensorOptions().dtype(at::kByte).device(*where);
      *out = new opc_storage{at::empty({static_cast<int64_t>(bytes)}, options).storage()};
      return OPC_OK;
    }
    auto *allocator = c10::GetAllocator(where->type());
    *out = new opc_storage{make_storage(bytes, allocator->allocate(where->is_meta() ? 0 : bytes), allocator)};
    return OPC_OK;
  });
}

void opc_storage_free(opc_storage_t *storage) { delete storage; }

void *opc_storage_data(opc_storage_t *storage) {
  return storage->storage.device().is_cpu() && storage->storage.nbytes() > 0 ? storage->storage.mutable_data()
                                                                             : nullptr;
}

opc_status_t opc_storage_write(opc_storage_t *storage, const void *bytes, size_t size, opc_error_t *error) {
  return opc::guarded(error, [&]() -> opc_status_t {
    if (size > storage->storage.nbytes()) {
      return opc_error_set(error, OPC_ERR_INPUT, "%zu bytes do not fit into a storage of %zu", size,
                           storage->storage.nbytes());
    }
    if (size == 0) return OPC_OK;
    const auto device = storage->storage.device();
    if (device.is_cpu()) {
      std::memcpy(storage->storage.mutable_data(), bytes, size);
      return OPC_OK;
    }
    if (!device.is_cuda())
      return opc_error_set(error, OPC_ERR_UNSUPPORTED, "a %s storage holds no bytes", device.str().c_str());
    const auto count = static_cast<int64_t>(size);
    const at::NoGradGuard no_grad;
    const auto source = at::from_blob(const_cast<void *>(bytes), {count}, at::kByte);  // only read
    at::empty({0}, at::TensorOptions().dtype(at::kByte).device(device))
        .set_(storage->storage, 0, {count})
        .copy_(source);
    return OPC_OK;
  });
}
