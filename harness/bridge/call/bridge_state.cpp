// Process-wide state of libtorch: generators, grad mode, threads, devices.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/record_function.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "bridge/torch/convert.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"

namespace {

bool used;

// For this thread: the depth of nested operators, and its number of threads outside.
struct Inner {
  int threads = 0, depth = 0, outside = 0;
  at::CallbackHandle handle = 0;
};
thread_local Inner inner;

std::unique_ptr<at::ObserverContext> inner_start(const at::RecordFunction &) {
  if (++inner.depth != 2) return nullptr;
  inner.outside = at::get_num_threads();
  at::set_num_threads(inner.threads);
  return nullptr;
}

void inner_end(const at::RecordFunction &, at::ObserverContext *) {
  if (inner.depth-- == 2) at::set_num_threads(inner.outside);
}

// at::detail::getCUDAHooks keeps its first answer: if called before libtorch_cuda is loaded, CUDA stays disabled.
bool cuda_is_loaded() { return at::CUDAHooksRegistry()->Has("CUDAHooks"); }

}  // namespace

namespace opc {
void cuda_is_used() { used = true; }
bool cuda_was_used() { return used; }
}  // namespace opc

void opc_bridge_seed(uint64_t seed) {
  (void)opc::guarded(nullptr, [&] {
    if (opc::cuda_was_used()) {
      at::manual_seed(seed);  // all devices; would initialise CUDA
      return OPC_OK;
    }
    auto generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(generator.mutex());
    // The same as set_current_seed; refilling the engine's state from the same seed in every call would cost more than
    // many calls. A forward and its backward have one seed each.
    static at::mt19937 fresh[2] = {at::mt19937(seed), at::mt19937(seed)};
    static size_t latest = 0;
    if (fresh[latest].seed() != seed) latest ^= 1;
    if (fresh[latest].seed() != seed) fresh[latest] = at::mt19937(seed);
    auto *cpu = generator.get<at::CPUGeneratorImpl>();
    cpu->set_engine(fresh[latest]);
    cpu->set_next_float_normal_sample(std::nullopt);
    cpu->set_next_double_normal_sample(std::nullopt);
    return OPC_OK;
  });
}

opc_status_t opc_bridge_generator_state(opc_device_t device, void **out, size_t *out_size, opc_error_t *error) {
  return opc::guarded(error, [&]() -> opc_status_t {
    const auto where = opc::torch_device_of(device);
    if (!where || !(where->is_cpu() || where->is_cuda()))
      return opc_error_set(error, OPC_ERR_UNSUPPORTED, "this device has no generator");
    auto generator =
        where->is_cpu() ? at::detail::getDefaultCPUGenerator() : at::globalContext().defaultGenerator(*where);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    const at::Tensor state = generator.get_state();
    *out = std::malloc(state.nbytes() + 1);
    if (*out == nullptr) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a generator's state");
    std::memcpy(*out, state.const_data_ptr(), state.nbytes());
    *out_size = state.nbytes();
    return OPC_OK;
  });
}

void opc_bridge_grad_mode(bool on) { c10::GradMode::set_enabled(on); }

void opc_bridge_threads(int count) {
  (void)opc::guarded(nullptr, [&] {
    at::set_num_threads(count);
    return OPC_OK;
  });
}

void opc_bridge_inner_threads(int count) {
  (void)opc::guarded(nullptr, [&] {
    if (inner.threads != 0) at::removeCallback(inner.handle);
    inner = {count, 0, 0, 0};
    if (count != 0)
      inner.handle = at::addThreadLocalCallback(
          at::RecordFunctionCallback(inner_start, inner_end).scopes({at::RecordScope::FUNCTION}));
    return OPC_OK;
  });
}

void opc_bridge_deterministic_algorithms(bool only) { at::globalContext().setDeterministicAlgorithms(only, false); }

void opc_bridge_default_dtype(opc_dtype_t dtype) {
  (void)opc::guarded(nullptr, [&] {
    const auto type = opc::scalar_type_of(dtype);
    if (type) c10::set_default_dtype(c10::scalarTypeToTypeMeta(*type));
    return OPC_OK;
  });
}

// The driver opens its device files when it is initialised, by libtorch or by a library's initialiser that libtorch
// does not know of.
bool opc_bridge_cuda_initialised(void) {
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(opendir("/proc/self/fd"), &closedir);
  if (!folder) return false;
  while (const dirent *entry = readdir(folder.get())) {
    char target[64];
    const ssize_t length = readlinkat(dirfd(folder.get()), entry->d_name, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    if (std::strncmp(target, "/dev/nvidia", 11) == 0) return true;
  }
  return false;
}

int opc_bridge_cuda_devices(void) {
  int count = 0;
  (void)opc::guarded(nullptr, [&] {
    if (cuda_is_loaded()) count = static_cast<int>(at::detail::getCUDAHooks().deviceCount());
    return OPC_OK;
  });
  return count;
}

bool opc_bridge_device_available(opc_device_t device) {
  switch (device.type) {
    case OPC_DEVICE_CPU:
    case OPC_DEVICE_META:
      return true;
    case OPC_DEVICE_CUDA:
      return (device.index < 0 ? 0 : device.index) < opc_bridge_cuda_devices();
    case OPC_DEVICE_OTHER:
      break;
  }
  return false;
}
