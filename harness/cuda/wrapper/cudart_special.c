/* The functions that fit no entry of the table: those that return no cudaError_t of their own, and those about
 * errors. */
#include <dlfcn.h>
#include <string.h>

#include "cuda/simulated/simulated.h"

/* ---- errors ---- */

static cudaError_t error_take(bool clear) {
  cudaError_t code = opc_thread.last_error;
  if (opc_runtime.simulated || code != cudaSuccess) {
    if (clear) {
      opc_thread.last_error = cudaSuccess;
      if (!opc_runtime.simulated) (void)opc_real_errors.last();
    }
    return code;
  }
  return clear ? opc_real_errors.last() : opc_real_errors.peek();
}

cudaError_t opc_last_error_take(void) { return error_take(true); }

#define ERROR_FUNCTION(name, kind, clear)                                               \
  cudaError_t name(void) {                                                              \
    opc_cuda_call_t call;                                                               \
    opc_runtime_ready();                                                                \
    const bool noted = opc_call_begin(&call, kind, #name, __builtin_return_address(0)); \
    const cudaError_t code = error_take(clear);                                         \
    if (noted) opc_call_end(&call, code);                                               \
    return code;                                                                        \
  }
ERROR_FUNCTION(cudaGetLastError, OPC_CUDA_LAST_ERROR, true)
ERROR_FUNCTION(cudaPeekAtLastError, OPC_CUDA_PEEK_ERROR, false)

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
#define OPC_CUDA_ERROR(code, name, text) {code, name, text},
#include "cuda/log/cuda_errors.def"
};

const char *cudaGetErrorName(cudaError_t error) {
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
    if (errors[i].code == (int)error) return errors[i].name;
  opc_runtime_ready();
  return opc_runtime.simulated ? opc_unknown_error : opc_real_errors.name(error); /* of a newer version */
}

const char *cudaGetErrorString(cudaError_t error) {
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
    if (errors[i].code == (int)error) return errors[i].text;
  opc_runtime_ready();
  return opc_runtime.simulated ? opc_unknown_error : opc_real_errors.text(error);
}

/* ---- launches by <<<…>>>: pushed before the arguments are evaluated, popped in the stub ---- */

enum { CONFIGURATIONS = 64 };
static _Thread_local struct configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
} configurations[CONFIGURATIONS];
static _Thread_local size_t configuration_count;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  opc_runtime_ready();
  opc_thread.pushed_from = (uint64_t)(uintptr_t)__builtin_return_address(0);
  if (!opc_runtime.simulated) return opc_real_registry.push(grid, block, shared, stream);
  if (configuration_count == CONFIGURATIONS) return 1; /* then the stub does not launch */
  configurations[configuration_count++] = (struct configuration){grid, block, shared, stream};
  return 0;
}

cudaError_t opc_sim___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  if (configuration_count == 0) return cudaErrorMissingConfiguration;
  const struct configuration *last = &configurations[--configuration_count];
  *grid = last->grid;
  *block = last->block;
  *shared = last->shared;
  memcpy(stream, &last->stream, sizeof last->stream);
  return cudaSuccess;
}

/* ---- registration, by initialisers of libraries ---- */

void **__cudaRegisterFatBinary(void *image) {
  opc_runtime_ready();
  void **handle = opc_runtime.simulated ? NULL : opc_real_registry.binary(image);
  opc_module_t *module = opc_module_add(image, handle);
  return opc_runtime.simulated ? (void **)module : handle;
}

void __cudaRegisterFatBinaryEnd(void **handle) {
  if (!opc_runtime.simulated) opc_real_registry.end(handle);
}

void __cudaUnregisterFatBinary(void **handle) {
  opc_module_t *module = opc_module_find(handle);
  opc_module_end(module);
  if (opc_runtime.simulated) opc_kernel_programs_end(module);
  if (!opc_runtime.simulated) opc_real_registry.unregister(handle);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                            uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp) {
  opc_kernel_add(opc_module_find(handle), host, name);
  if (!opc_runtime.simulated)
    opc_real_registry.function(handle, host, device, name, thread_limit, tid, bid, block, grid, warp);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global) {
  opc_variable_add(opc_module_find(handle), host, name, size);
  if (!opc_runtime.simulated) opc_real_registry.variable(handle, host, device, name, external, size, constant, global);
}

/* Host code may read the pointer any time after __cudaInitModule, which fills the memory. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t size,
                              int constant, int global) {
  if (!opc_runtime.simulated) {
    opc_real_registry.managed(handle, host, device, name, external, size, constant, global);
    return;
  }
  const uint64_t at = opc_device_place(OPC_CUDA_MANAGED, 0, size);
  opc_range_add((void *)(uintptr_t)at, size, OPC_CUDA_MANAGED, 0, (uint64_t)(uintptr_t)__builtin_return_address(0), 0);
  *host = (void *)(uintptr_t)at;
  opc_variable_t *variable = opc_variable_add(opc_module_find(handle), *host, name, size);
  for (int i = 0; variable && i < OPC_SIMULATED_DEVICES; i++) variable->at[i] = at;
}

char __cudaInitModule(void **handle) {
  if (!opc_runtime.simulated) return opc_real_registry.init(handle);
  opc_managed_begin(opc_module_find(handle));
  return 1;
}
