/* Functions of the driver that libtorch and others get from the runtime (cudaGetDriverEntryPoint). On the simulated
 * device most do not work, and record their names in the log when called. Those that c10 calls by itself are
 * implemented here, those for modules and their kernels in driver_module.c. A statically linked runtime also comes
 * here, through cuGetProcAddress, and gives up: it needs tables from cuGetExportTable, which are not documented
 * anywhere. Its library's operators are therefore not checked on the simulated device
 * (checks/cuda/cuda_watch.h). */
#include <string.h>

#include "cuda/simulated/simulated.h"

enum { CU_SUCCESS = 0, CU_ERROR_INVALID_VALUE = 1, CU_ERROR_NOT_SUPPORTED = 801, STUBS = 256 };

static const char *stub_names[STUBS];
static size_t stub_count;

int opc_driver_refused(size_t i, void *caller);
int opc_driver_refused(size_t i, void *caller) {
  opc_cuda_call_t call;
  if (opc_call_begin(&call, OPC_CUDA_UNCOVERED, stub_names[i], caller)) opc_call_end(&call, CU_ERROR_NOT_SUPPORTED);
  return CU_ERROR_NOT_SUPPORTED;
}

/* One entry of 16 bytes each, so that the address gives the number. */
__asm__(
    ".pushsection .text\n"
    ".balign 16\n"
    ".local opc_driver_stubs\n"
    "opc_driver_stubs:\n"
    ".set opc_driver_stub, 0\n"
    ".rept 256\n"
    "  .balign 16\n"
    "  mov $opc_driver_stub, %edi\n"
    "  mov (%rsp), %rsi\n"
    "  jmp opc_driver_refused\n"
    "  .set opc_driver_stub, opc_driver_stub + 1\n"
    ".endr\n"
    ".popsection\n");
extern const unsigned char opc_driver_stubs[];

/* ---- working functions ---- */

static int primary_context_state(int device, unsigned *flags, int *active) {
  if (device < 0 || device >= OPC_SIMULATED_DEVICES) return cudaErrorInvalidDevice;
  if (flags) *flags = 0;
  if (active) *active = 1;
  return CU_SUCCESS;
}

static int device_get(int *out, int ordinal) {
  if (!out) return CU_ERROR_INVALID_VALUE;
  *out = ordinal;
  return ordinal >= 0 && ordinal < OPC_SIMULATED_DEVICES ? CU_SUCCESS : cudaErrorInvalidDevice;
}

static int device_attribute(int *out, int attribute, int device) {
  return (int)opc_sim_cudaDeviceGetAttribute(out, (enum cudaDeviceAttr)attribute, device);
}

static int device_uuid(cudaUUID_t *out, int device) {
  struct cudaDeviceProp properties;
  const cudaError_t code = opc_device_properties(&properties, device);
  if (code == cudaSuccess) *out = properties.uuid;
  return (int)code;
}

static int initialise(unsigned flags) { return flags == 0 ? CU_SUCCESS : CU_ERROR_INVALID_VALUE; }
static int version(int *out) { return (int)opc_sim_cudaDriverGetVersion(out); }
static int driver_stub_count(int *out) { return (int)opc_sim_cudaGetDeviceCount(out); }

static char context;
static int context_current(void **out) {
  if (!out) return CU_ERROR_INVALID_VALUE;
  *out = &context;
  return CU_SUCCESS;
}
static int context_set(void *given) {
  (void)given;
  return CU_SUCCESS;
}
static int context_device(int *out) {
  if (!out) return CU_ERROR_INVALID_VALUE;
  *out = opc_thread.device;
  return CU_SUCCESS;
}
static int context_retain(void **out, int device) {
  (void)device;
  return context_current(out);
}

static int limit_get(size_t *out, int limit) { return (int)opc_sim_cudaDeviceGetLimit(out, (enum cudaLimit)limit); }
static int driver_stub_limit_set(int limit, size_t value) {
  return (int)opc_sim_cudaDeviceSetLimit((enum cudaLimit)limit, value);
}

/* Of CUpointer_attribute, only the three that callers query. */
static int pointer_attribute(void *out, int attribute, uint64_t pointer) {
  enum { MEMORY_TYPE = 2, DEVICE_POINTER = 3, DEVICE_ORDINAL = 9, TYPE_HOST = 1, TYPE_DEVICE = 2 };
  struct cudaPointerAttributes has;
  if (!out || opc_sim_cudaPointerGetAttributes(&has, (const void *)(uintptr_t)pointer) != cudaSuccess ||
      has.type == cudaMemoryTypeUnregistered)
    return CU_ERROR_INVALID_VALUE;
  const unsigned type = has.type == cudaMemoryTypeHost ? TYPE_HOST : TYPE_DEVICE;
  switch (attribute) {
    case MEMORY_TYPE:
      memcpy(out, &type, sizeof type);
      return CU_SUCCESS;
    case DEVICE_POINTER:
      memcpy(out, &has.devicePointer, sizeof has.devicePointer);
      return CU_SUCCESS;
    case DEVICE_ORDINAL:
      memcpy(out, &has.device, sizeof has.device);
      return CU_SUCCESS;
    default:
      return CU_ERROR_NOT_SUPPORTED;
  }
}

static int stream_capturing(cudaStream_t stream, int *out) {
  enum cudaStreamCaptureStatus status;
  if (!out) return CU_ERROR_INVALID_VALUE;
  const cudaError_t code = opc_sim_cudaStreamIsCapturing(stream, &status);
  if (code == cudaSuccess) *out = (int)status;
  return (int)code;
}

static int error_text(int code, const char **out) {
  if (!out) return CU_ERROR_INVALID_VALUE;
  *out = cudaGetErrorString((cudaError_t)code);
  return CU_SUCCESS;
}

/* c10 queries the driver's messages from libtorch 2.15 on; there are none here. */
static char log_callback;
static int logs_register(void *function, void *data, void **out) {
  (void)data;
  if (!function) return CU_ERROR_INVALID_VALUE;
  if (out) *out = &log_callback;
  return CU_SUCCESS;
}
static int logs_unregister(void *callback) { return callback == &log_callback ? CU_SUCCESS : CU_ERROR_INVALID_VALUE; }

typedef opc_driver_function_t function_t;
static const opc_driver_row_t functions[] = {
    {"cuInit", (function_t *)initialise},
    {"cuDriverGetVersion", (function_t *)version},
    {"cuDeviceGetCount", (function_t *)driver_stub_count},
    {"cuDeviceGet", (function_t *)device_get},
    {"cuDeviceGetAttribute", (function_t *)device_attribute},
    {"cuDeviceGetUuid", (function_t *)device_uuid},
    {"cuDevicePrimaryCtxGetState", (function_t *)primary_context_state},
    {"cuDevicePrimaryCtxRetain", (function_t *)context_retain},
    {"cuCtxGetCurrent", (function_t *)context_current},
    {"cuCtxSetCurrent", (function_t *)context_set},
    {"cuCtxGetDevice", (function_t *)context_device},
    {"cuCtxGetLimit", (function_t *)limit_get},
    {"cuCtxSetLimit", (function_t *)driver_stub_limit_set},
    {"cuPointerGetAttribute", (function_t *)pointer_attribute},
    {"cuStreamIsCapturing", (function_t *)stream_capturing},
    {"cuGetErrorString", (function_t *)error_text},
    {"cuLogsRegisterCallback", (function_t *)logs_register},
    {"cuLogsUnregisterCallback", (function_t *)logs_unregister},
    {0},
};

static void *function_among(const opc_driver_row_t *rows, const char *name) {
  while (rows->name && strcmp(rows->name, name) != 0) rows++;
  return *(void *const *)&rows->function;
}

/* ---- driver functions that libtorch gets from the runtime ---- */
static void *driver_function(const char *name) {
  void *found = function_among(functions, name);
  if (!found) found = function_among(opc_driver_module_functions, name);
  if (!found) found = opc_library_function(name);
  if (found) return found;
  pthread_mutex_lock(&opc_lock_streams);
  size_t i = 0;
  while (i < stub_count && strcmp(stub_names[i], name) != 0) i++;
  if (i < STUBS) {
    if (i == stub_count) stub_names[stub_count++] = opc_log_intern(name);
    found = (void *)(uintptr_t)(opc_driver_stubs + 16 * i);
  }
  pthread_mutex_unlock(&opc_lock_streams);
  return found;
}

cudaError_t opc_sim_cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned driver_version,
                                                     unsigned long long flags,
                                                     enum cudaDriverEntryPointQueryResult *status) {
  (void)driver_version, (void)flags;
  if (!name || !out) return cudaErrorInvalidValue;
  *out = driver_function(name);
  if (status) *status = *out ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *out ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t opc_sim_cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags,
                                            enum cudaDriverEntryPointQueryResult *status) {
  return opc_sim_cudaGetDriverEntryPointByVersion(name, out, CUDART_VERSION, flags, status);
}
