/* Allocations on the simulated devices. The wrappers record them (address_table.c); device_memory.c has the
 * contents. */
#include "cuda/simulated/simulated.h"

enum { PITCH = 512 };

static cudaError_t simulated_allocate(void **out, opc_cuda_place_t place, uint64_t bytes) {
  if (!out) return cudaErrorInvalidValue;
  *out = NULL;
  if (bytes == 0) return cudaSuccess;
  const int device = opc_thread.device;
  const uint64_t used = place == OPC_CUDA_PINNED ? 0 : opc_range_live_bytes(device), room = opc_simulated_memory();
  if (bytes > room || used > room - bytes) return cudaErrorMemoryAllocation;
  *out = (void *)(uintptr_t)opc_device_place(place, place == OPC_CUDA_PINNED ? -1 : device, bytes);
  if (*out && place == OPC_CUDA_DEVICE) opc_watch_allocated(*out, bytes);
  return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* Outside any stream: a capture may forbid it. */
static cudaError_t allocate_now(void **out, opc_cuda_place_t place, uint64_t bytes) {
  const cudaError_t code = opc_capture_unsafe();
  return code == cudaSuccess ? simulated_allocate(out, place, bytes) : code;
}

/* Releases a live allocation that begins there and is of one of the two kinds. */
static cudaError_t simulated_release(void *at, opc_cuda_place_t place, opc_cuda_place_t other) {
  opc_range_t range;
  if (!at) return cudaSuccess;
  if (!opc_range_starts(at, &range) || (range.place != place && range.place != other)) return cudaErrorInvalidValue;
  if (!opc_device_contains(range.base)) return cudaErrorInvalidValue; /* registered, not allocated */
  opc_host_functions_wait();
  opc_device_shut(range.base, range.bytes, range.place);
  opc_watch_released(range.base, range.bytes);
  return cudaSuccess;
}

static cudaError_t release_now(void *at, opc_cuda_place_t place, opc_cuda_place_t other) {
  const cudaError_t code = opc_capture_unsafe();
  return code == cudaSuccess ? simulated_release(at, place, other) : code;
}

cudaError_t opc_sim_cudaMalloc(void **out, size_t bytes) { return allocate_now(out, OPC_CUDA_DEVICE, bytes); }

cudaError_t opc_sim_cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
  size_t bytes;
  if (!out || !pitch || width > SIZE_MAX - PITCH) return cudaErrorInvalidValue;
  *pitch = (width + PITCH - 1) / PITCH * PITCH;
  if (__builtin_mul_overflow(*pitch, height, &bytes)) return cudaErrorMemoryAllocation;
  return allocate_now(out, OPC_CUDA_DEVICE, bytes);
}

cudaError_t opc_sim_cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent) {
  size_t rows;
  if (!out || __builtin_mul_overflow(extent.height, extent.depth, &rows)) return cudaErrorInvalidValue;
  out->xsize = extent.width;
  out->ysize = extent.height;
  return opc_sim_cudaMallocPitch(&out->ptr, &out->pitch, extent.width, rows);
}

cudaError_t opc_sim_cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
  const cudaError_t code = opc_stream_put(stream, &(opc_work_t){.type = cudaGraphNodeTypeMemAlloc});
  return code == cudaSuccess ? simulated_allocate(out, OPC_CUDA_DEVICE, bytes) : code;
}

cudaError_t opc_sim_cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return pool ? opc_sim_cudaMallocAsync(out, bytes, stream) : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaMallocManaged(void **out, size_t bytes, unsigned flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
  return bytes == 0 ? cudaErrorInvalidValue : allocate_now(out, OPC_CUDA_MANAGED, bytes);
}

cudaError_t opc_sim_cudaFree(void *at) { return release_now(at, OPC_CUDA_DEVICE, OPC_CUDA_MANAGED); }

cudaError_t opc_sim_cudaFreeAsync(void *at, cudaStream_t stream) {
  const cudaError_t code = opc_stream_put(stream, &(opc_work_t){.type = cudaGraphNodeTypeMemFree});
  if (code != cudaSuccess) return code;
  return at ? simulated_release(at, OPC_CUDA_DEVICE, OPC_CUDA_DEVICE) : cudaErrorInvalidValue;
}

/* ---- host memory ---- */

cudaError_t opc_sim_cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
  if ((flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) != 0)
    return cudaErrorInvalidValue;
  return allocate_now(out, OPC_CUDA_PINNED, bytes);
}

cudaError_t opc_sim_cudaMallocHost(void **out, size_t bytes) { return allocate_now(out, OPC_CUDA_PINNED, bytes); }

cudaError_t opc_sim_cudaFreeHost(void *at) { return release_now(at, OPC_CUDA_PINNED, OPC_CUDA_PINNED); }

cudaError_t opc_sim_cudaHostRegister(void *at, size_t bytes, unsigned flags) {
  opc_range_t range;
  const uint64_t address = (uint64_t)(uintptr_t)at;
  (void)flags;
  if (!at || bytes == 0) return cudaErrorInvalidValue;
  if (opc_range_find(address, &range) && range.live)
    return range.place == OPC_CUDA_PINNED ? cudaErrorHostMemoryAlreadyRegistered : cudaErrorInvalidValue;
  if (opc_address(address).place != OPC_CUDA_PAGEABLE || opc_address(address + bytes - 1).place != OPC_CUDA_PAGEABLE)
    return cudaErrorInvalidValue;
  return opc_capture_unsafe();
}

cudaError_t opc_sim_cudaHostUnregister(void *at) {
  opc_range_t range;
  if (!at) return cudaErrorInvalidValue;
  if (!opc_range_starts(at, &range) || range.place != OPC_CUDA_PINNED) return cudaErrorHostMemoryNotRegistered;
  return opc_device_contains(range.base) ? cudaErrorInvalidValue : opc_capture_unsafe(); /* allocated, not registered */
}

cudaError_t opc_sim_cudaHostGetDevicePointer(void **out, void *at, unsigned flags) {
  opc_range_t range;
  if (!out || flags != 0 || !opc_range_find((uint64_t)(uintptr_t)at, &range) || !range.live ||
      range.place != OPC_CUDA_PINNED)
    return cudaErrorInvalidValue;
  *out = at; /* one address space */
  return cudaSuccess;
}

cudaError_t opc_sim_cudaHostGetFlags(unsigned *out, void *at) {
  opc_range_t range;
  if (!out || !opc_range_find((uint64_t)(uintptr_t)at, &range) || !range.live || range.place != OPC_CUDA_PINNED)
    return cudaErrorInvalidValue;
  *out = range.flags | cudaHostAllocMapped;
  return cudaSuccess;
}

/* ---- queries ---- */

cudaError_t opc_sim_cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  const uint64_t all = opc_simulated_memory(), used = opc_range_live_bytes(opc_thread.device);
  if (free_bytes) *free_bytes = used < all ? all - used : 0;
  if (total) *total = all;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *at) {
  opc_range_t range;
  if (!out || !at) return cudaErrorInvalidValue;
  *out = (struct cudaPointerAttributes){
      .type = cudaMemoryTypeUnregistered, .device = -2, .hostPointer = (void *)(uintptr_t)at};
  if (!opc_range_find((uint64_t)(uintptr_t)at, &range) || !range.live) return cudaSuccess;
  out->type = range.place == OPC_CUDA_DEVICE    ? cudaMemoryTypeDevice
              : range.place == OPC_CUDA_MANAGED ? cudaMemoryTypeManaged
                                                : cudaMemoryTypeHost;
  out->device = range.place == OPC_CUDA_PINNED ? opc_thread.device : range.device;
  out->devicePointer = (void *)(uintptr_t)at;
  if (range.place == OPC_CUDA_DEVICE) out->hostPointer = NULL;
  return cudaSuccess;
}

static cudaError_t managed_only(const void *at, size_t bytes) {
  opc_range_t range;
  const uint64_t address = (uint64_t)(uintptr_t)at;
  if (!opc_range_find(address, &range) || !range.live || range.place != OPC_CUDA_MANAGED ||
      bytes > range.base + range.bytes - address)
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

cudaError_t opc_memory_advise(const void *at, size_t bytes) { return managed_only(at, bytes); }

cudaError_t opc_memory_prefetch(const void *at, size_t bytes, cudaStream_t stream) {
  const cudaError_t code = opc_capture_asked(stream); /* no graph has memory */
  return code == cudaSuccess ? managed_only(at, bytes) : code;
}

/* ---- pools: one per device and those that are created; they cache nothing ---- */

enum { POOLS = 256, POOL_ATTRIBUTES = 16 };
static struct pool {
  bool live;
  int device;
  uint64_t attributes[POOL_ATTRIBUTES];
} pools[POOLS];
static atomic_size_t pool_count = OPC_SIMULATED_DEVICES; /* the first entries are the devices' own pools */
static atomic_size_t current_pool[OPC_SIMULATED_DEVICES] = {0, 1};

static cudaMemPool_t pool_handle(size_t i) { return (cudaMemPool_t)(void *)&pools[i]; }

static struct pool *pool_of(cudaMemPool_t handle) {
  struct pool *pool = (struct pool *)(void *)handle;
  if (pool < pools || pool >= pools + atomic_load(&pool_count) || pool >= pools + POOLS) return NULL;
  return pool < pools + OPC_SIMULATED_DEVICES || pool->live ? pool : NULL;
}

cudaError_t opc_sim_cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device) {
  if (!out) return cudaErrorInvalidValue;
  if (device < 0 || device >= OPC_SIMULATED_DEVICES) return cudaErrorInvalidDevice;
  *out = pool_handle((size_t)device);
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceGetMemPool(cudaMemPool_t *out, int device) {
  if (!out) return cudaErrorInvalidValue;
  if (device < 0 || device >= OPC_SIMULATED_DEVICES) return cudaErrorInvalidDevice;
  *out = pool_handle(atomic_load(&current_pool[device]));
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  const struct pool *pool = pool_of(handle);
  if (device < 0 || device >= OPC_SIMULATED_DEVICES) return cudaErrorInvalidDevice;
  if (!pool) return cudaErrorInvalidValue;
  atomic_store(&current_pool[device], (size_t)(pool - pools));
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *properties) {
  if (!out || !properties) return cudaErrorInvalidValue;
  const size_t i = atomic_fetch_add(&pool_count, 1);
  if (i >= POOLS) {
    atomic_store(&pool_count, POOLS);
    return cudaErrorMemoryAllocation;
  }
  pools[i] = (struct pool){.live = true, .device = properties->location.id};
  *out = pool_handle(i);
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemPoolDestroy(cudaMemPool_t handle) {
  struct pool *pool = pool_of(handle);
  if (!pool || pool < pools + OPC_SIMULATED_DEVICES) return cudaErrorInvalidValue;
  pool->live = false;
  return cudaSuccess;
}

/* The first three are int, the others 64-bit. */
static bool attribute_narrow(enum cudaMemPoolAttr attribute) {
  return attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t opc_sim_cudaMemPoolGetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr attribute, void *value) {
  const struct pool *pool = pool_of(handle);
  if (!pool || !value || (unsigned)attribute >= POOL_ATTRIBUTES) return cudaErrorInvalidValue;
  if (attribute_narrow(attribute)) *(int *)value = (int)pool->attributes[attribute];
  else *(uint64_t *)value = pool->attributes[attribute];
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemPoolSetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr attribute, void *value) {
  struct pool *pool = pool_of(handle);
  if (!pool || !value || (unsigned)attribute >= POOL_ATTRIBUTES) return cudaErrorInvalidValue;
  pool->attributes[attribute] = attribute_narrow(attribute) ? (uint64_t) * (int *)value : *(uint64_t *)value;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count) {
  return pool_of(pool) && (list || count == 0) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaMemPoolGetAccess(enum cudaMemAccessFlags *out, cudaMemPool_t pool,
                                         struct cudaMemLocation *location) {
  if (!out || !location || !pool_of(pool)) return cudaErrorInvalidValue;
  *out = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  (void)keep;
  return pool_of(pool) ? cudaSuccess : cudaErrorInvalidValue;
}
