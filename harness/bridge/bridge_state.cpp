// Process-wide state of libtorch: generators, grad mode, threads, devices.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/GradMode.h>
#include <dirent.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "bridge/bridge.h"
#include "bridge/cuda_use.h"
#include "bridge/guard.h"

namespace {

bool used;

// at::detail::getCUDAHooks keeps its first answer: asked before libtorch_cuda is there, CUDA would stay off for good.
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
    generator.set_current_seed(seed);
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

// The driver opens its device files when it is initialised, by whomever: libtorch, or a library's initialiser that it knows nothing of.
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
    if (cuda_is_loaded()) {
      opc::cuda_is_used();
      count = static_cast<int>(at::detail::getCUDAHooks().deviceCount());
    }
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
