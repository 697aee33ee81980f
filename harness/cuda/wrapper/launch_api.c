/* The interface that the worker looks up (launch.h). */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cuda/cupti/untracked.h"
#include "cuda/simulated/simulated.h"

static int current_device(void) {
  opc_runtime_ready();
  return opc_device_now();
}

static void log_begin(void) {
  opc_device_close_opened();
  opc_log_begin();
}

static int last_error(void) {
  opc_runtime_ready();
  return (int)opc_last_error_take();
}

static int synchronize(void) {
  opc_runtime_ready();
  return opc_runtime.simulated ? (int)opc_sim_cudaDeviceSynchronize() : (int)opc_real.cudaDeviceSynchronize();
}

static int device_count(void) {
  int count = 0;
  opc_runtime_ready();
  const cudaError_t code =
      opc_runtime.simulated ? opc_sim_cudaGetDeviceCount(&count) : opc_real.cudaGetDeviceCount(&count);
  return code == cudaSuccess ? count : 0;
}

static bool limits(int device, opc_cuda_limits_t *out) {
  static const struct {
    enum cudaDeviceAttr attribute;
    size_t at;
  } numbers[] = {
      {cudaDevAttrMaxGridDimX, offsetof(opc_cuda_limits_t, grid)},
      {cudaDevAttrMaxGridDimY, offsetof(opc_cuda_limits_t, grid) + 4},
      {cudaDevAttrMaxGridDimZ, offsetof(opc_cuda_limits_t, grid) + 8},
      {cudaDevAttrMaxBlockDimX, offsetof(opc_cuda_limits_t, block)},
      {cudaDevAttrMaxBlockDimY, offsetof(opc_cuda_limits_t, block) + 4},
      {cudaDevAttrMaxBlockDimZ, offsetof(opc_cuda_limits_t, block) + 8},
      {cudaDevAttrMaxThreadsPerBlock, offsetof(opc_cuda_limits_t, threads)},
      {cudaDevAttrMaxSharedMemoryPerBlock, offsetof(opc_cuda_limits_t, shared)},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, offsetof(opc_cuda_limits_t, shared_optin)},
      {cudaDevAttrComputeCapabilityMajor, offsetof(opc_cuda_limits_t, major)},
      {cudaDevAttrComputeCapabilityMinor, offsetof(opc_cuda_limits_t, minor)},
  };
  if (device < 0 || device >= device_count()) return false;
  if (opc_runtime.simulated) {
    *out = opc_runtime.limits;
    return true;
  }
  memset(out, 0, sizeof *out);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (opc_real.cudaDeviceGetAttribute((int *)(void *)((char *)out + numbers[i].at), numbers[i].attribute, device) !=
        cudaSuccess)
      return false;
  snprintf(out->architecture, sizeof out->architecture, "sm_%d%d", out->major, out->minor);
  return true;
}

static bool locate(uint64_t address, opc_cuda_address_t *out) {
  opc_range_t range;
  if (!opc_range_find(address, &range) || range.place == OPC_CUDA_PINNED) return false;
  *out = opc_address_of_range(address, &range);
  return true;
}

static void *real(const char *function) { return opc_runtime.simulated ? NULL : opc_real_function(function); }

opc_launch_api_t opc_launch_api = {
    .version = OPC_LAUNCH_API_VERSION,
    .mode = OPC_LAUNCH_THROUGH,
    .runtime_version = CUDART_VERSION,
    .log_begin = log_begin,
    .log_end = opc_log_end,
    .fail_launch = opc_injection_set,
    .launch_failed = opc_injection_happened,
    .last_error = last_error,
    .synchronize = synchronize,
    .current_device = current_device,
    .device_count = device_count,
    .limits = limits,
    .allocations = opc_range_list,
    .locate = locate,
    .host_access = opc_device_touched,
    .real = real,
    .watch_untracked = opc_untracked_watch,
    .kernel_counts = opc_run_counts,
    .kernel_budget = opc_run_budget_set,
    .faults = opc_fault_list,
    .faults_forget = opc_fault_forget,
    .bound = opc_watch_bound,
    .watch = opc_watch_set,
    .written = opc_watch_written,
    .schedule = opc_schedule_set,
    .call_begin = opc_torch_call_begin,
    .call_open = opc_torch_call_open,
    .call_end = opc_torch_call_end,
    .call_afford = opc_torch_call_afford,
    .copy = opc_device_copy,
};

/* ---- when the library is loaded ---- */

/* In a folder next to this library, of its major version. Anything that then loads a libcuda.so.1 gets this one,
 * because it is already loaded; and it precedes the libraries of kernels. */
static void driver_load(void) {
  Dl_info self;
  char path[PATH_MAX];
  if (dladdr(&opc_runtime, &self) == 0 || !self.dli_fname) return;
  const char *slash = strrchr(self.dli_fname, '/');
  const int folder = slash ? (int)(slash - self.dli_fname) : 0;
  if (!slash || snprintf(path, sizeof path, "%.*s/simulated-%d/libcuda.so.1", folder, self.dli_fname,
                         OPC_CUDART_MAJOR) >= (int)sizeof path)
    return;
  if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL))
    fprintf(stderr, "opcheck-c: the simulated device's driver cannot be loaded: %s\n", dlerror());
}

/* The table must be right before anything can query it; initialisers of other libraries may call this library before
 * this function runs. The real runtime is looked up at the first call, when its caller has loaded it. */
__attribute__((constructor)) static void loaded(void) {
  opc_runtime_mode();
  opc_launch_api.mode = opc_runtime.simulated ? OPC_LAUNCH_SIMULATED : OPC_LAUNCH_THROUGH;
  if (opc_runtime.simulated) driver_load();
}
