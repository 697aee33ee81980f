/* The simulated devices: their properties, and the current device. */
#include <stdio.h>
#include <string.h>

#include "cuda/simulated/simulated.h"

enum { REGISTERS = 65536, WARP = 32 };
static const size_t memory_bytes = (size_t)80 << 30;
static const char *const bus_ids[OPC_SIMULATED_DEVICES] = {"0000:01:00.0", "0000:02:00.0"};

static bool device_ok(int device) { return device >= 0 && device < OPC_SIMULATED_DEVICES; }
#define DEMAND(condition, code)    \
  do {                             \
    if (!(condition)) return code; \
  } while (0)

size_t opc_simulated_memory(void) { return memory_bytes; }

cudaError_t opc_sim_cudaGetDeviceCount(int *count) {
  DEMAND(count, cudaErrorInvalidValue);
  *count = OPC_SIMULATED_DEVICES;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaGetDevice(int *device) {
  DEMAND(device, cudaErrorInvalidValue);
  *device = opc_thread.device;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaSetDevice(int device) {
  DEMAND(device_ok(device), cudaErrorInvalidDevice);
  opc_thread.device = device;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  (void)device_flags, (void)flags;
  return device_ok(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t opc_device_properties(struct cudaDeviceProp *out, int device) {
  const opc_cuda_limits_t *limits = &opc_runtime.limits;
  DEMAND(out, cudaErrorInvalidValue);
  DEMAND(device_ok(device), cudaErrorInvalidDevice);
  *out = (struct cudaDeviceProp){
      .totalGlobalMem = memory_bytes,
      .sharedMemPerBlock = limits->shared,
      .regsPerBlock = REGISTERS,
      .warpSize = WARP,
      .memPitch = 2147483647,
      .maxThreadsPerBlock = (int)limits->threads,
      .maxThreadsDim = {(int)limits->block[0], (int)limits->block[1], (int)limits->block[2]},
      .maxGridSize = {(int)limits->grid[0], (int)limits->grid[1], (int)limits->grid[2]},
      .totalConstMem = 65536,
      .major = limits->major,
      .minor = limits->minor,
      .textureAlignment = 512,
      .texturePitchAlignment = 32,
      .multiProcessorCount = (int)opc_runtime.multiprocessors,
      .canMapHostMemory = 1,
      .concurrentKernels = 1,
      .ECCEnabled = 1,
      .pciBusID = device + 1,
      .asyncEngineCount = 3,
      .unifiedAddressing = 1,
      .memoryBusWidth = 5120,
      .l2CacheSize = (int)opc_runtime.l2_bytes,
      .maxThreadsPerMultiProcessor = (int)opc_runtime.threads_multiprocessor,
      .streamPrioritiesSupported = 1,
      .globalL1CacheSupported = 1,
      .localL1CacheSupported = 1,
      .sharedMemPerMultiprocessor = opc_runtime.shared_multiprocessor,
      .regsPerMultiprocessor = REGISTERS,
      .managedMemory = 1,
      .concurrentManagedAccess = 1,
      .computePreemptionSupported = 1,
      .canUseHostPointerForRegisteredMem = 1,
      .cooperativeLaunch = 1,
      .sharedMemPerBlockOptin = limits->shared_optin,
      .maxBlocksPerMultiProcessor = (int)opc_runtime.blocks_multiprocessor,
      .reservedSharedMemPerBlock = limits->major >= 8 ? 1024 : 0,
      .hostRegisterSupported = 1,
      .memoryPoolsSupported = 1,
      .clusterLaunch = limits->major >= 9,
  };
  snprintf(out->name, sizeof out->name, "opcheck-c simulated %s", limits->architecture);
  memcpy(out->uuid.bytes, "opcheck-c sim  ", 15);
  out->uuid.bytes[15] = (char)('0' + device);
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceGetAttribute(int *out, enum cudaDeviceAttr attribute, int device) {
  struct cudaDeviceProp properties;
  DEMAND(out, cudaErrorInvalidValue);
  const cudaError_t code = opc_device_properties(&properties, device);
  if (code != cudaSuccess) return code;
  switch ((int)attribute) {
#define ATTRIBUTE(name, value) \
  case cudaDevAttr##name:      \
    *out = (int)(value);       \
    return cudaSuccess;
    ATTRIBUTE(MaxThreadsPerBlock, properties.maxThreadsPerBlock)
    ATTRIBUTE(MaxBlockDimX, properties.maxThreadsDim[0])
    ATTRIBUTE(MaxBlockDimY, properties.maxThreadsDim[1])
    ATTRIBUTE(MaxBlockDimZ, properties.maxThreadsDim[2])
    ATTRIBUTE(MaxGridDimX, properties.maxGridSize[0])
    ATTRIBUTE(MaxGridDimY, properties.maxGridSize[1])
    ATTRIBUTE(MaxGridDimZ, properties.maxGridSize[2])
    ATTRIBUTE(MaxSharedMemoryPerBlock, properties.sharedMemPerBlock)
    ATTRIBUTE(TotalConstantMemory, properties.totalConstMem)
    ATTRIBUTE(WarpSize, properties.warpSize)
    ATTRIBUTE(MaxPitch, properties.memPitch)
    ATTRIBUTE(MaxRegistersPerBlock, properties.regsPerBlock)
    ATTRIBUTE(ClockRate, 1500000)
    ATTRIBUTE(TextureAlignment, properties.textureAlignment)
    ATTRIBUTE(GpuOverlap, 1)
    ATTRIBUTE(MultiProcessorCount, properties.multiProcessorCount)
    ATTRIBUTE(KernelExecTimeout, 0)
    ATTRIBUTE(Integrated, 0)
    ATTRIBUTE(CanMapHostMemory, 1)
    ATTRIBUTE(ComputeMode, cudaComputeModeDefault)
    ATTRIBUTE(ConcurrentKernels, 1)
    ATTRIBUTE(EccEnabled, properties.ECCEnabled)
    ATTRIBUTE(PciBusId, properties.pciBusID)
    ATTRIBUTE(PciDeviceId, properties.pciDeviceID)
    ATTRIBUTE(PciDomainId, properties.pciDomainID)
    ATTRIBUTE(TccDriver, 0)
    ATTRIBUTE(MemoryClockRate, 2000000)
    ATTRIBUTE(GlobalMemoryBusWidth, properties.memoryBusWidth)
    ATTRIBUTE(L2CacheSize, properties.l2CacheSize)
    ATTRIBUTE(MaxThreadsPerMultiProcessor, properties.maxThreadsPerMultiProcessor)
    ATTRIBUTE(AsyncEngineCount, properties.asyncEngineCount)
    ATTRIBUTE(UnifiedAddressing, 1)
    ATTRIBUTE(ComputeCapabilityMajor, properties.major)
    ATTRIBUTE(ComputeCapabilityMinor, properties.minor)
    ATTRIBUTE(StreamPrioritiesSupported, 1)
    ATTRIBUTE(GlobalL1CacheSupported, 1)
    ATTRIBUTE(LocalL1CacheSupported, 1)
    ATTRIBUTE(MaxSharedMemoryPerMultiprocessor, properties.sharedMemPerMultiprocessor)
    ATTRIBUTE(MaxRegistersPerMultiprocessor, properties.regsPerMultiprocessor)
    ATTRIBUTE(ManagedMemory, 1)
    ATTRIBUTE(IsMultiGpuBoard, 0)
    ATTRIBUTE(HostNativeAtomicSupported, 0)
    ATTRIBUTE(PageableMemoryAccess, 0)
    ATTRIBUTE(ConcurrentManagedAccess, 1)
    ATTRIBUTE(ComputePreemptionSupported, 1)
    ATTRIBUTE(CanUseHostPointerForRegisteredMem, 1)
    ATTRIBUTE(CooperativeLaunch, 1)
    ATTRIBUTE(MaxSharedMemoryPerBlockOptin, properties.sharedMemPerBlockOptin)
    ATTRIBUTE(HostRegisterSupported, 1)
    ATTRIBUTE(MaxBlocksPerMultiprocessor, properties.maxBlocksPerMultiProcessor)
    ATTRIBUTE(ReservedSharedMemoryPerBlock, properties.reservedSharedMemPerBlock)
    ATTRIBUTE(MemoryPoolsSupported, 1)
    ATTRIBUTE(ClusterLaunch, properties.clusterLaunch)
#undef ATTRIBUTE
    default:
      *out = 0;
      return cudaSuccess; /* features that these devices lack */
  }
}

/* All work is always finished. */
cudaError_t opc_sim_cudaDeviceSynchronize(void) {
  const cudaError_t code = opc_capture_asked_device(opc_thread.device);
  if (code == cudaSuccess) opc_host_functions_wait();
  return code;
}

cudaError_t opc_sim_cudaDeviceGetPCIBusId(char *out, int length, int device) {
  DEMAND(out && length > 0, cudaErrorInvalidValue);
  DEMAND(device_ok(device), cudaErrorInvalidDevice);
  DEMAND((size_t)length > strlen(bus_ids[device]), cudaErrorInvalidValue);
  strcpy(out, bus_ids[device]);
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceGetByPCIBusId(int *out, const char *bus) {
  DEMAND(out && bus, cudaErrorInvalidValue);
  for (int i = 0; i < OPC_SIMULATED_DEVICES; i++)
    if (strcmp(bus, bus_ids[i]) == 0) {
      *out = i;
      return cudaSuccess;
    }
  return cudaErrorInvalidDevice;
}

/* ---- peers ---- */

static atomic_bool peer_access[OPC_SIMULATED_DEVICES][OPC_SIMULATED_DEVICES];

cudaError_t opc_sim_cudaDeviceCanAccessPeer(int *out, int device, int peer) {
  DEMAND(out, cudaErrorInvalidValue);
  DEMAND(device_ok(device) && device_ok(peer), cudaErrorInvalidDevice);
  *out = device != peer;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  DEMAND(flags == 0, cudaErrorInvalidValue);
  DEMAND(device_ok(peer) && peer != opc_thread.device, cudaErrorInvalidDevice);
  return atomic_exchange(&peer_access[opc_thread.device][peer], true) ? cudaErrorPeerAccessAlreadyEnabled : cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceDisablePeerAccess(int peer) {
  DEMAND(device_ok(peer) && peer != opc_thread.device, cudaErrorInvalidDevice);
  return atomic_exchange(&peer_access[opc_thread.device][peer], false) ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
}

cudaError_t opc_sim_cudaDeviceGetP2PAttribute(int *out, enum cudaDeviceP2PAttr attribute, int from_device,
                                              int to_device) {
  DEMAND(out, cudaErrorInvalidValue);
  DEMAND(device_ok(from_device) && device_ok(to_device) && from_device != to_device, cudaErrorInvalidDevice);
  *out = attribute == cudaDevP2PAttrAccessSupported;
  return cudaSuccess;
}

/* ---- settings without effect ---- */

cudaError_t opc_sim_cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

static _Atomic size_t device_limits[OPC_SIMULATED_DEVICES][cudaLimitPersistingL2CacheSize + 1];

cudaError_t opc_sim_cudaDeviceGetLimit(size_t *out, enum cudaLimit limit) {
  static const size_t usual[] = {
      [cudaLimitStackSize] = 1024, [cudaLimitPrintfFifoSize] = 1 << 20, [cudaLimitMallocHeapSize] = 8 << 20};
  DEMAND(out, cudaErrorInvalidValue);
  DEMAND((unsigned)limit <= cudaLimitPersistingL2CacheSize, cudaErrorUnsupportedLimit);
  const size_t set = device_limits[opc_thread.device][limit];
  *out = set != 0 ? set : (unsigned)limit < sizeof usual / sizeof usual[0] ? usual[limit] : 0;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  DEMAND((unsigned)limit <= cudaLimitPersistingL2CacheSize, cudaErrorUnsupportedLimit);
  device_limits[opc_thread.device][limit] = value;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceGetCacheConfig(enum cudaFuncCache *out) {
  DEMAND(out, cudaErrorInvalidValue);
  *out = cudaFuncCachePreferNone;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
  return (unsigned)config <= cudaFuncCachePreferEqual ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaGetDeviceFlags(unsigned *out) {
  DEMAND(out, cudaErrorInvalidValue);
  *out = opc_thread.device_flags;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaSetDeviceFlags(unsigned flags) {
  DEMAND((flags & ~(unsigned)cudaDeviceMask) == 0, cudaErrorInvalidValue);
  opc_thread.device_flags = flags;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaDriverGetVersion(int *out) { return opc_sim_cudaRuntimeGetVersion(out); }

cudaError_t opc_sim_cudaRuntimeGetVersion(int *out) {
  DEMAND(out, cudaErrorInvalidValue);
  *out = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t opc_sim_cudaProfilerStop(void) { return cudaSuccess; }
