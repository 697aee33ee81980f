/* What the worker finds (launch.h). */
#include <stdio.h>
#include <string.h>

#include "launch/cudart_table.h"
#include "launch/unwrapped.h"

/* ---- a launch that is to fail ---- */

static _Atomic uint64_t launches_left; /* 0: none */
static atomic_int launch_code;
static atomic_bool launch_has_failed;

void opc_watch_update(void) { atomic_store(&opc_watchful, opc_runtime.simulated || atomic_load(&opc_log_open)); }

static void fail_launch(uint64_t nth, int code) {
  atomic_store(&launches_left, 0);
  atomic_store(&launch_has_failed, false);
  atomic_store(&launch_code, code);
  atomic_store(&launches_left, nth);
}

bool opc_injection_takes(cudaError_t *out_code) {
  uint64_t left = atomic_load_explicit(&launches_left, memory_order_relaxed);
  do {
    if (left == 0) return false;
  } while (!atomic_compare_exchange_weak(&launches_left, &left, left - 1));
  if (left != 1) return false;
  *out_code = (cudaError_t)atomic_load(&launch_code);
  atomic_store(&launch_has_failed, true);
  return true;
}

static bool launch_failed(void) { return atomic_load(&launch_has_failed); }

/* ---- captures ---- */

atomic_bool opc_capture_seen;

/* The legacy stream never does, and asking for it is an error that would stay with the thread. */
bool opc_stream_captures(cudaStream_t stream) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (stream == NULL || stream == cudaStreamLegacy) return false;
  const cudaError_t code = opc_runtime.simulated ? opc_sim_cudaStreamIsCapturing(stream, &status)
                                                 : opc_real.cudaStreamIsCapturing(stream, &status);
  return code == cudaSuccess && status == cudaStreamCaptureStatusActive;
}

/* ---- the rest ---- */

int opc_device_now(void) {
  int device = -1;
  opc_runtime_ready();
  if (opc_runtime.simulated) return opc_thread.device;
  return opc_real.cudaGetDevice(&device) == cudaSuccess ? device : -1;
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
    .log_begin = opc_log_begin,
    .log_end = opc_log_end,
    .fail_launch = fail_launch,
    .launch_failed = launch_failed,
    .last_error = last_error,
    .synchronize = synchronize,
    .current_device = opc_device_now,
    .device_count = device_count,
    .limits = limits,
    .allocations = opc_range_list,
    .locate = locate,
    .host_access = opc_device_touched,
    .real = real,
    .watch_unwrapped = opc_unwrapped_watch,
};

void opc_cuda_api_fill(bool simulated) { opc_launch_api.mode = simulated ? OPC_LAUNCH_SIMULATED : OPC_LAUNCH_THROUGH; }
