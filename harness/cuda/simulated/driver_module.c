/* Modules of the driver on the simulated devices. Code compiled at run time or ahead of time, and not registered by a
 * library, loads and launches its kernels through them. Triton does that, so the models in AOTInductor packages do.
 *
 * Each function returns its result to its caller and leaves the thread's last error alone. */
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/simulated/simulated.h"

/* CUresult, from cuda.h. */
enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_IMAGE = 200,
  NO_BINARY = 209,
  FILE_NOT_FOUND = 301,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500
};
enum { FUNCTIONS_MAX = 1 << 16 };

/* The runtime's codes equal the driver's, except for these. */
static int result_of(cudaError_t code) {
  if (code == cudaErrorInvalidConfiguration) return INVALID_VALUE;
  if (code == cudaErrorInvalidDeviceFunction) return INVALID_HANDLE;
  return (int)code;
}

static int module_add(void **out, const void *bytes, size_t size, const void *caller) {
  void *wrapper = opc_image_wrap(bytes, size);
  if (!wrapper) return INVALID_IMAGE;
  const opc_image_code_t code = opc_image_code(wrapper, opc_runtime.limits.major, opc_runtime.limits.minor);
  opc_module_t *module = code.machine != 0 || code.ptx != 0 ? opc_module_add(wrapper, NULL) : NULL;
  if (module) {
    module->library = opc_log_library((uint64_t)(uintptr_t)caller);
    *out = module;
    return SUCCESS;
  }
  opc_image_wrapped_free(wrapper);
  return code.machine != 0 || code.ptx != 0 ? OUT_OF_MEMORY : NO_BINARY;
}

static int module_load_data(void **out, const void *image) {
  if (!out || !image) return INVALID_VALUE;
  return module_add(out, image, 0, __builtin_return_address(0));
}

static int module_load_data_options(void **out, const void *image, unsigned count, int *options, void **values) {
  (void)count, (void)options, (void)values;
  if (!out || !image) return INVALID_VALUE;
  return module_add(out, image, 0, __builtin_return_address(0));
}

/* The file's bytes, terminated by a NUL. */
static int file_read(const char *path, char **out, size_t *out_size) {
  struct stat info;
  size_t got = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC), code = file < 0 && errno == ENOENT ? FILE_NOT_FOUND : INVALID_IMAGE;
  *out = NULL;
  if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
    *out = opc_reserve((size_t)info.st_size + 1, PROT_READ | PROT_WRITE);
  for (ssize_t part = 1; *out && part > 0 && got<(size_t)info.st_size; got += part> 0 ? (size_t)part : 0)
    part = read(file, *out + got, (size_t)info.st_size - got);
  if (file >= 0) close(file);
  *out_size = got;
  if (*out && got != (size_t)info.st_size) {
    munmap(*out, (size_t)info.st_size + 1);
    *out = NULL;
  }
  return *out ? SUCCESS : code;
}

static int module_load(void **out, const char *path) {
  const void *caller = __builtin_return_address(0);
  char *bytes;
  size_t size;
  if (!out || !path) return INVALID_VALUE;
  int code = file_read(path, &bytes, &size);
  if (code != SUCCESS) return code;
  code = module_add(out, bytes, size, caller);
  munmap(bytes, size + 1);
  return code;
}

static int module_unload(void *handle) {
  opc_module_t *module = opc_module_find(handle);
  if (!module) return INVALID_HANDLE;
  opc_module_end(module);
  opc_kernel_programs_end(module);
  opc_image_wrapped_free((void *)(uintptr_t)module->wrapper);
  return SUCCESS;
}

static int module_function(void **out, void *handle, const char *name) {
  static char keys[FUNCTIONS_MAX]; /* their addresses are handles; they stay empty */
  static atomic_size_t used;
  opc_module_t *module = opc_module_find(handle);
  if (!out || !name) return INVALID_VALUE;
  if (!module) return INVALID_HANDLE;
  if (!opc_image_has(module->wrapper, name)) return NOT_FOUND;
  const size_t key = atomic_fetch_add(&used, 1);
  if (key >= FUNCTIONS_MAX) return OUT_OF_MEMORY;
  opc_kernel_add(module, &keys[key], opc_log_intern(name));
  *out = &keys[key];
  return SUCCESS;
}

/* ---- functions ---- */

/* Pointers to each of a kernel's parameters, which were given as such (`parameters`) or in one buffer (`extra`). */
static int parameters_of(const void *function, void **parameters, void **extra, void *items[OPC_KERNEL_PARAMETERS],
                         void ***out) {
  unsigned char *buffer = NULL;
  const size_t *size = NULL;
  *out = parameters;
  if (!extra) return SUCCESS;
  if (parameters) return INVALID_VALUE;
  for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = extra[1];
    else return INVALID_VALUE;
  }
  opc_cuda_kernel_t *kernel = opc_kernel_find(function);
  const opc_kernel_image_t *image = kernel ? opc_kernel_image(kernel) : NULL;
  if (!image || !image->parameters_known || image->parameter_count == 0) return SUCCESS;
  if (!buffer || !size) return INVALID_VALUE;
  for (size_t i = 0; i < image->parameter_count; i++) {
    const opc_parameter_t *parameter = &image->parameters[i];
    if (parameter->size > *size || parameter->offset > *size - parameter->size) return INVALID_VALUE;
    items[i] = buffer + parameter->offset;
  }
  *out = items;
  return SUCCESS;
}

typedef struct driver_module_launch {
  const char *name;
  const void *function, *caller;
  dim3 grid, block;
  unsigned shared;
  cudaStream_t stream;
  void **parameters, **extra;
  bool cooperative;
} launch_t;

static int driver_module_launch(const launch_t *given) {
  opc_cuda_call_t call;
  cudaError_t code = cudaSuccess;
  void *items[OPC_KERNEL_PARAMETERS], **parameters;
  const int given_wrong = parameters_of(given->function, given->parameters, given->extra, items, &parameters);
  const bool noted = opc_call_begin(&call, OPC_CUDA_LAUNCH, given->name, (void *)(uintptr_t)given->caller);
  if (noted)
    opc_note_launch(&call, given->function, given->grid, given->block, parameters, given->shared, given->stream, false,
                    given->cooperative);
  opc_thread.per_thread = false;
  const bool injected = opc_injection_takes(&code);
  if (!injected && given_wrong) code = cudaErrorInvalidValue;
  else if (!injected)
    code = (given->cooperative ? opc_sim_cudaLaunchCooperativeKernel : opc_sim_cudaLaunchKernel)(
        given->function, given->grid, given->block, parameters, given->shared, given->stream);
  if (noted) call.injected = injected;
  if (noted) opc_call_end(&call, (int)code);
  return result_of(code);
}

static int launch_kernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                         unsigned block_y, unsigned block_z, unsigned shared, cudaStream_t stream, void **parameters,
                         void **extra) {
  return driver_module_launch(&(launch_t){"cuLaunchKernel",
                                          function,
                                          __builtin_return_address(0),
                                          {grid_x, grid_y, grid_z},
                                          {block_x, block_y, block_z},
                                          shared,
                                          stream,
                                          parameters,
                                          extra,
                                          false});
}

static int launch_cooperative(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared, cudaStream_t stream,
                              void **parameters) {
  return driver_module_launch(&(launch_t){"cuLaunchCooperativeKernel",
                                          function,
                                          __builtin_return_address(0),
                                          {grid_x, grid_y, grid_z},
                                          {block_x, block_y, block_z},
                                          shared,
                                          stream,
                                          parameters,
                                          NULL,
                                          true});
}

/* Launch attributes have the same layout in both interfaces. */
static int launch_config(const CUlaunchConfig *given, void *function, void **parameters, void **extra) {
  opc_cuda_call_t call;
  cudaError_t code = cudaSuccess;
  void *items[OPC_KERNEL_PARAMETERS];
  if (!given || parameters_of(function, parameters, extra, items, &parameters) != SUCCESS) return INVALID_VALUE;
  const cudaLaunchConfig_t config = {.gridDim = {given->gridDimX, given->gridDimY, given->gridDimZ},
                                     .blockDim = {given->blockDimX, given->blockDimY, given->blockDimZ},
                                     .dynamicSmemBytes = given->sharedMemBytes,
                                     .stream = given->hStream,
                                     .attrs = (cudaLaunchAttribute *)(void *)given->attrs,
                                     .numAttrs = given->numAttrs};
  const bool noted = opc_call_begin(&call, OPC_CUDA_LAUNCH, "cuLaunchKernelEx", __builtin_return_address(0));
  if (noted) opc_note_launch_config(&call, &config, function, parameters, false);
  const bool injected = opc_injection_takes(&code);
  if (!injected) code = opc_sim_cudaLaunchKernelExC(&config, function, parameters);
  if (noted) call.injected = injected;
  if (noted) opc_call_end(&call, (int)code);
  return result_of(code);
}

static int function_set(void *function, int attribute, int value) {
  return result_of(opc_sim_cudaFuncSetAttribute(function, (enum cudaFuncAttribute)attribute, value));
}

static int function_cache(void *function, int config) {
  return result_of(opc_sim_cudaFuncSetCacheConfig(function, (enum cudaFuncCache)config));
}

/* In the order of CUfunction_attribute. */
static int function_get(int *out, int attribute, void *function) {
  struct cudaFuncAttributes has;
  const cudaError_t code = opc_sim_cudaFuncGetAttributes(&has, function);
  if (!out) return INVALID_VALUE;
  if (code != cudaSuccess) return result_of(code);
  const int values[] = {has.maxThreadsPerBlock,
                        (int)has.sharedSizeBytes,
                        (int)has.constSizeBytes,
                        (int)has.localSizeBytes,
                        has.numRegs,
                        has.ptxVersion,
                        has.binaryVersion,
                        has.cacheModeCA,
                        has.maxDynamicSharedSizeBytes,
                        has.preferredShmemCarveout};
  if (attribute < 0 || (size_t)attribute >= sizeof values / sizeof values[0]) return INVALID_VALUE;
  *out = values[attribute];
  return SUCCESS;
}

static int blocks_resident(int *out, void *function, int block, size_t shared) {
  return result_of(opc_sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(out, function, block, shared));
}

#define FUNCTION(name, function) \
  { #name, (opc_driver_function_t *)(function) }
const opc_driver_row_t opc_driver_module_functions[] = {
    FUNCTION(cuModuleLoad, module_load),
    FUNCTION(cuModuleLoadData, module_load_data),
    FUNCTION(cuModuleLoadDataEx, module_load_data_options),
    FUNCTION(cuModuleLoadFatBinary, module_load_data),
    FUNCTION(cuModuleUnload, module_unload),
    FUNCTION(cuModuleGetFunction, module_function),
    FUNCTION(cuLaunchKernel, launch_kernel),
    FUNCTION(cuLaunchKernelEx, launch_config),
    FUNCTION(cuLaunchCooperativeKernel, launch_cooperative),
    FUNCTION(cuFuncSetAttribute, function_set),
    FUNCTION(cuFuncGetAttribute, function_get),
    FUNCTION(cuFuncSetCacheConfig, function_cache),
    FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks_resident),
    {0},
};
