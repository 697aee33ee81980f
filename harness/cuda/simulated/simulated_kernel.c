/* Kernels on the simulated devices: launches are checked, then run if they have PTX (kernel_run.c). */
#include "cuda/simulated/simulated.h"

enum { REGISTERS = 65536, WARP = 32, REGISTER_UNIT = 256, RESERVED_SHARED = 1024 };

/* The launch's result, checked in CUDA's order: the kernel, its configuration, the stream, the resources, a capture. */
static cudaError_t launch_checked(opc_cuda_kernel_t *kernel, dim3 grid, dim3 block, uint64_t shared,
                                  cudaStream_t stream, bool cooperative, void **arguments) {
  const opc_cuda_limits_t *limits = &opc_runtime.limits;
  int device;
  opc_thread.ran = OPC_CUDA_RECORDED;
  opc_thread.not_run = "it was captured into a graph";
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  const cudaError_t fits = opc_kernel_fits(kernel);
  if (fits != cudaSuccess) return fits;
  const uint32_t g[3] = {grid.x, grid.y, grid.z}, b[3] = {block.x, block.y, block.z};
  for (int i = 0; i < 3; i++)
    if (g[i] == 0 || g[i] > limits->grid[i] || b[i] == 0 || b[i] > limits->block[i])
      return cudaErrorInvalidConfiguration;
  const uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
  if (threads > limits->threads) return cudaErrorInvalidConfiguration;
  if (!opc_stream_usable(stream, &device) || device != opc_thread.device) return cudaErrorInvalidResourceHandle;
  const opc_kernel_image_t *image = opc_kernel_resources(kernel);
  const uint64_t fixed = image ? image->shared_static : 0, asked = (uint64_t)kernel->dynamic_shared[device];
  const uint64_t allowed = asked != 0 ? asked : fixed < limits->shared ? limits->shared - fixed : 0;
  if (shared > allowed || shared + fixed > limits->shared_optin) return cudaErrorInvalidValue;
  if (image && image->max_threads != 0 && threads > image->max_threads) return cudaErrorInvalidValue;
  if (opc_blocks_resident(kernel, threads, shared) == 0) return cudaErrorLaunchOutOfResources;
  if (cooperative && (uint64_t)grid.x * grid.y * grid.z >
                         (uint64_t)opc_blocks_resident(kernel, threads, shared) * opc_runtime.multiprocessors)
    return cudaErrorCooperativeLaunchTooLarge;
  const opc_work_t work = {
      .type = cudaGraphNodeTypeKernel,
      .run = opc_kernel_run,
      .keep = opc_kernel_keep,
      .of.kernel = {kernel, grid, block, (uint32_t)shared, cooperative, .arguments = arguments},
  };
  return opc_stream_put(stream, &work);
}

static uint64_t up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/* Number of blocks of a kernel that fit on a multiprocessor. CUDA Programming Guide, "Calculating Occupancy"; a kernel
 * whose image cannot be read counts as small. */
uint32_t opc_blocks_resident(opc_cuda_kernel_t *kernel, uint64_t threads, uint64_t shared) {
  const opc_kernel_image_t *image = opc_kernel_resources(kernel);
  const uint64_t warps = up(threads, WARP) / WARP;
  uint64_t blocks = opc_runtime.blocks_multiprocessor;
  if (warps == 0) return 0;
  const uint64_t by_threads = opc_runtime.threads_multiprocessor / (warps * WARP);
  if (by_threads < blocks) blocks = by_threads;
  if (image && image->registers != 0) {
    const uint64_t by_registers = REGISTERS / up((uint64_t)image->registers * WARP, REGISTER_UNIT) / warps;
    if (by_registers < blocks) blocks = by_registers;
  }
  const uint64_t used =
      shared + (image ? image->shared_static : 0) + (opc_runtime.limits.major >= 8 ? RESERVED_SHARED : 0);
  if (used != 0 && opc_runtime.shared_multiprocessor / used < blocks) blocks = opc_runtime.shared_multiprocessor / used;
  return (uint32_t)blocks;
}

cudaError_t opc_sim_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                                     cudaStream_t stream) {
  return launch_checked(opc_kernel_find(function), grid, block, shared, stream, false, arguments);
}

cudaError_t opc_sim___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                       cudaStream_t stream) {
  return opc_sim_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t opc_sim_cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                                size_t shared, cudaStream_t stream) {
  return launch_checked(opc_kernel_find(function), grid, block, shared, stream, true, arguments);
}

cudaError_t opc_sim_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
  bool cooperative = false;
  uint64_t cluster = 1;
  if (!config || (!config->attrs && config->numAttrs != 0)) return cudaErrorInvalidValue;
  const uint32_t grid[3] = {config->gridDim.x, config->gridDim.y, config->gridDim.z};
  for (unsigned i = 0; i < config->numAttrs; i++) {
    const cudaLaunchAttribute *attribute = &config->attrs[i];
    if (attribute->id == cudaLaunchAttributeCooperative) cooperative = attribute->val.cooperative != 0;
    if (attribute->id != cudaLaunchAttributeClusterDimension) continue;
    const uint32_t size[3] = {attribute->val.clusterDim.x, attribute->val.clusterDim.y, attribute->val.clusterDim.z};
    if (opc_runtime.limits.major < 9) return cudaErrorInvalidClusterSize;
    for (int axis = 0; axis < 3; axis++) {
      if (size[axis] == 0 || grid[axis] % size[axis] != 0) return cudaErrorInvalidClusterSize;
      cluster *= size[axis];
    }
    if (cluster > 8)
      return cudaErrorInvalidClusterSize; /* the portable size; larger ones require an attribute of the kernel */
  }
  return launch_checked(opc_kernel_find(function), config->gridDim, config->blockDim, config->dynamicSmemBytes,
                        config->stream, cooperative, arguments);
}

/* ---- handles ---- */

cudaError_t opc_sim_cudaGetKernel(cudaKernel_t *out, const void *function) {
  opc_cuda_kernel_t *kernel = opc_kernel_find(function);
  if (!out) return cudaErrorInvalidValue;
  *out = (cudaKernel_t)(void *)kernel;
  return kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t opc_sim___cudaGetKernel(cudaKernel_t *out, const void *function) {
  return opc_sim_cudaGetKernel(out, function);
}

cudaError_t opc_sim_cudaGetFuncBySymbol(cudaFunction_t *out, const void *function) {
  opc_cuda_kernel_t *kernel = opc_kernel_find(function);
  if (!out) return cudaErrorInvalidValue;
  *out = (cudaFunction_t)(void *)kernel;
  return kernel ? opc_kernel_fits(kernel) : cudaErrorInvalidDeviceFunction;
}

/* ---- attributes ---- */

static cudaError_t kernel_ready(const void *function, opc_cuda_kernel_t **out) {
  *out = opc_kernel_find(function);
  return *out ? opc_kernel_fits(*out) : cudaErrorInvalidDeviceFunction;
}

cudaError_t opc_sim_cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *function) {
  opc_cuda_kernel_t *kernel;
  if (!out) return cudaErrorInvalidValue;
  const cudaError_t code = kernel_ready(function, &kernel);
  if (code != cudaSuccess) return code;
  const opc_kernel_image_t *image = opc_kernel_resources(kernel);
  const opc_image_code_t runs = opc_kernel_code(kernel);
  const int set = kernel->dynamic_shared[opc_thread.device],
            own = opc_runtime.limits.major * 10 + opc_runtime.limits.minor;
  const uint32_t registers = image && image->registers != 0 ? image->registers : WARP,
                 fixed = image ? image->shared_static : 0;
  const uint32_t by_registers = REGISTERS / (uint32_t)up((uint64_t)registers * WARP, REGISTER_UNIT) * WARP;
  uint32_t most = opc_runtime.limits.threads < by_registers ? opc_runtime.limits.threads : by_registers;
  if (image && image->max_threads != 0 && image->max_threads < most) most = image->max_threads;
  *out = (struct cudaFuncAttributes){
      .sharedSizeBytes = fixed,
      .maxThreadsPerBlock = (int)most,
      .numRegs = (int)registers,
      .ptxVersion = (int)(runs.machine != 0 ? runs.machine : runs.ptx),
      .binaryVersion = runs.machine != 0 ? (int)runs.machine : own, /* PTX is compiled for the device itself */
      .maxDynamicSharedSizeBytes = set != 0 ? set : (int)(opc_runtime.limits.shared - fixed),
      .preferredShmemCarveout = kernel->carveout,
  };
  return cudaSuccess;
}

static cudaError_t attribute_set(opc_cuda_kernel_t *kernel, enum cudaFuncAttribute attribute, int value, int device) {
  const opc_kernel_image_t *image = opc_kernel_resources(kernel);
  const int room = (int)(opc_runtime.limits.shared_optin - (image ? image->shared_static : 0));
  switch ((int)attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || value > room) return cudaErrorInvalidValue;
      kernel->dynamic_shared[device] = value;
      return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return cudaErrorInvalidValue;
      kernel->carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeClusterDimMustBeSet:
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t opc_sim_cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
  opc_cuda_kernel_t *kernel;
  const cudaError_t code = kernel_ready(function, &kernel);
  return code == cudaSuccess ? attribute_set(kernel, attribute, value, opc_thread.device) : code;
}

cudaError_t opc_sim_cudaKernelSetAttributeForDevice(cudaKernel_t function, enum cudaFuncAttribute attribute, int value,
                                                    int device) {
  opc_cuda_kernel_t *kernel;
  const cudaError_t code = kernel_ready(function, &kernel);
  if (device < 0 || device >= OPC_SIMULATED_DEVICES) return cudaErrorInvalidDevice;
  return code == cudaSuccess ? attribute_set(kernel, attribute, value, device) : code;
}

cudaError_t opc_sim_cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) {
  opc_cuda_kernel_t *kernel;
  (void)config;
  return kernel_ready(function, &kernel);
}

cudaError_t opc_sim_cudaFuncGetName(const char **out, const void *function) {
  opc_cuda_kernel_t *kernel;
  if (!out) return cudaErrorInvalidValue;
  const cudaError_t code = kernel_ready(function, &kernel);
  if (code == cudaSuccess) *out = kernel->name;
  return code;
}

cudaError_t opc_sim_cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *size) {
  opc_cuda_kernel_t *kernel;
  const cudaError_t code = kernel_ready(function, &kernel);
  if (code != cudaSuccess) return code;
  const opc_kernel_image_t *image = opc_kernel_image(kernel);
  if (!offset || !image || !image->parameters_known || index >= image->parameter_count) return cudaErrorInvalidValue;
  *offset = image->parameters[index].offset;
  if (size) *size = image->parameters[index].size;
  return cudaSuccess;
}

/* ---- occupancy ---- */

cudaError_t opc_sim_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, const void *function, int block,
                                                                           size_t shared, unsigned flags) {
  opc_cuda_kernel_t *kernel;
  if (!out || block <= 0 || flags > cudaOccupancyDisableCachingOverride) return cudaErrorInvalidValue;
  const cudaError_t code = kernel_ready(function, &kernel);
  if (code == cudaSuccess)
    *out = (uint32_t)block > opc_runtime.limits.threads ? 0 : (int)opc_blocks_resident(kernel, (uint64_t)block, shared);
  return code;
}

cudaError_t opc_sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *out, const void *function, int block,
                                                                  size_t shared) {
  return opc_sim_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, function, block, shared,
                                                                        cudaOccupancyDefault);
}

cudaError_t opc_sim_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *out, const void *function, int blocks,
                                                              int block) {
  opc_cuda_kernel_t *kernel;
  if (!out || blocks <= 0 || block <= 0) return cudaErrorInvalidValue;
  const cudaError_t code = kernel_ready(function, &kernel);
  if (code != cudaSuccess) return code;
  const opc_kernel_image_t *image = opc_kernel_resources(kernel);
  const uint64_t taken = (image ? image->shared_static : 0) + (opc_runtime.limits.major >= 8 ? RESERVED_SHARED : 0);
  uint64_t room = opc_runtime.shared_multiprocessor / (uint64_t)blocks;
  room = room > taken ? room - taken : 0;
  *out = room < opc_runtime.limits.shared_optin ? room : opc_runtime.limits.shared_optin;
  return cudaSuccess;
}
