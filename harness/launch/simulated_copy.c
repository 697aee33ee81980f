/* Copies and fills on the simulated devices: done at once, and refused as CUDA refuses them. */
#include "launch/simulated.h"

static uint64_t number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

/* Whether `bytes` from there are one allocation's, or memory of the process; *out_device: a device's, where host code cannot go. */
static bool side_ok(const void *at, uint64_t bytes, bool *out_device, bool *out_host) {
  const uint64_t address = number(at);
  opc_range_t range;
  *out_device = *out_host = false;
  if (opc_device_contains(address)) {
    if (!opc_range_find(address, &range) || !range.live || bytes > range.base + range.bytes - address) return false;
    *out_device = range.place != OPC_CUDA_PINNED;
    *out_host = range.place != OPC_CUDA_DEVICE;
    return true;
  }
  *out_device = opc_range_find(address, &range) && range.live; /* registered memory is mapped */
  *out_host = true;
  return *out_device || (opc_address(address).place == OPC_CUDA_PAGEABLE && opc_address(address + bytes - 1).place == OPC_CUDA_PAGEABLE);
}

/* `to_bytes`, `from_bytes`: from the first byte to behind the last one. */
static cudaError_t copy_ok(const void *to, uint64_t to_bytes, const void *from, uint64_t from_bytes, enum cudaMemcpyKind kind) {
  bool to_device, to_host, from_device, from_host;
  if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (to_bytes == 0) return cudaSuccess;
  if (!side_ok(to, to_bytes, &to_device, &to_host) || !side_ok(from, from_bytes, &from_device, &from_host)) return cudaErrorInvalidValue;
  const bool fits[] = {
    [cudaMemcpyHostToHost] = from_host && to_host,         [cudaMemcpyHostToDevice] = from_host && to_device,
    [cudaMemcpyDeviceToHost] = from_device && to_host,     [cudaMemcpyDeviceToDevice] = from_device && to_device,
    [cudaMemcpyDefault] = true,
  };
  return fits[kind] ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t stream_ok(cudaStream_t stream) {
  int device;
  return opc_stream_usable(stream, &device) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t opc_sim_cudaMemcpy(void *to, const void *source, size_t bytes, enum cudaMemcpyKind kind) {
  const cudaError_t code = copy_ok(to, bytes, source, bytes, kind);
  if (code == cudaSuccess) opc_device_copy(number(to), number(source), bytes);
  return code;
}

cudaError_t opc_sim_cudaMemcpyAsync(void *to, const void *source, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t code = stream_ok(stream);
  return code == cudaSuccess ? opc_sim_cudaMemcpy(to, source, bytes, kind) : code;
}

cudaError_t opc_sim_cudaMemcpy2D(void *to, size_t to_pitch, const void *source, size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind) {
  if (width > to_pitch || width > pitch) return cudaErrorInvalidPitchValue;
  if (width == 0 || height == 0) return cudaSuccess;
  const size_t most = to_pitch > pitch ? to_pitch : pitch;
  if (height > SIZE_MAX / most) return cudaErrorInvalidValue;
  const cudaError_t code = copy_ok(to, (height - 1) * to_pitch + width, source, (height - 1) * pitch + width, kind);
  /* Row by row takes minutes then; the contents stay as they are, as after a kernel. */
  const size_t rows_most = 1 << 16;
  if (code == cudaSuccess && height > rows_most && opc_device_contains(number(to)) && opc_device_contains(number(source))) return cudaSuccess;
  for (size_t row = 0; code == cudaSuccess && row < height; row++) opc_device_copy(number(to) + row * to_pitch, number(source) + row * pitch, width);
  return code;
}

cudaError_t opc_sim_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *source, size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  const cudaError_t code = stream_ok(stream);
  return code == cudaSuccess ? opc_sim_cudaMemcpy2D(to, to_pitch, source, pitch, width, height, kind) : code;
}

cudaError_t opc_sim_cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
  if (!p) return cudaErrorInvalidValue;
  if (p->srcArray || p->dstArray) return cudaErrorNotSupported; /* arrays cannot be made here */
  for (size_t z = 0; z < p->extent.depth; z++) {
    const size_t to_slice = p->dstPtr.pitch * p->dstPtr.ysize, from_slice = p->srcPtr.pitch * p->srcPtr.ysize;
    unsigned char *to = (unsigned char *)p->dstPtr.ptr + (p->dstPos.z + z) * to_slice + p->dstPos.y * p->dstPtr.pitch + p->dstPos.x;
    const unsigned char *from = (const unsigned char *)p->srcPtr.ptr + (p->srcPos.z + z) * from_slice + p->srcPos.y * p->srcPtr.pitch + p->srcPos.x;
    const cudaError_t code = opc_sim_cudaMemcpy2D(to, p->dstPtr.pitch, from, p->srcPtr.pitch, p->extent.width, p->extent.height, p->kind);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  const cudaError_t code = stream_ok(stream);
  return code == cudaSuccess ? opc_sim_cudaMemcpy3D(p) : code;
}

cudaError_t opc_sim_cudaMemcpyPeer(void *to, int to_device, const void *source, int source_device, size_t bytes) {
  if (to_device < 0 || to_device >= OPC_SIMULATED_DEVICES || source_device < 0 || source_device >= OPC_SIMULATED_DEVICES) return cudaErrorInvalidDevice;
  return opc_sim_cudaMemcpy(to, source, bytes, cudaMemcpyDefault);
}

cudaError_t opc_sim_cudaMemcpyPeerAsync(void *to, int to_device, const void *source, int source_device, size_t bytes, cudaStream_t stream) {
  const cudaError_t code = stream_ok(stream);
  return code == cudaSuccess ? opc_sim_cudaMemcpyPeer(to, to_device, source, source_device, bytes) : code;
}

/* ---- variables ---- */

static cudaError_t symbol_at(const void *symbol, size_t offset, size_t bytes, void **out) {
  uint64_t at, size;
  if (!opc_variable_find(symbol, opc_thread.device, &at, &size)) return cudaErrorInvalidSymbol;
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  *out = (void *)(uintptr_t)(at + offset);
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemcpyToSymbol(const void *symbol, const void *source, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
  void *to;
  const cudaError_t code = symbol_at(symbol, offset, bytes, &to);
  return code == cudaSuccess ? opc_sim_cudaMemcpy(to, source, bytes, kind) : code;
}

cudaError_t opc_sim_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind) {
  void *from;
  const cudaError_t code = symbol_at(symbol, offset, bytes, &from);
  return code == cudaSuccess ? opc_sim_cudaMemcpy(to, from, bytes, kind) : code;
}

cudaError_t opc_sim_cudaMemcpyToSymbolAsync(const void *symbol, const void *source, size_t bytes, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t code = stream_ok(stream);
  return code == cudaSuccess ? opc_sim_cudaMemcpyToSymbol(symbol, source, bytes, offset, kind) : code;
}

cudaError_t opc_sim_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t code = stream_ok(stream);
  return code == cudaSuccess ? opc_sim_cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind) : code;
}

cudaError_t opc_sim_cudaGetSymbolAddress(void **out, const void *symbol) { return out ? symbol_at(symbol, 0, 0, out) : cudaErrorInvalidValue; }

cudaError_t opc_sim_cudaGetSymbolSize(size_t *out, const void *symbol) {
  uint64_t at, size;
  if (!out) return cudaErrorInvalidValue;
  if (!opc_variable_find(symbol, opc_thread.device, &at, &size)) return cudaErrorInvalidSymbol;
  *out = size;
  return cudaSuccess;
}

/* ---- fills ---- */

cudaError_t opc_sim_cudaMemset(void *to, int value, size_t bytes) {
  bool device, host;
  if (bytes == 0) return cudaSuccess;
  if (!side_ok(to, bytes, &device, &host) || !(device || opc_device_contains(number(to)))) return cudaErrorInvalidValue;
  opc_device_fill(number(to), (unsigned char)value, bytes);
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  const cudaError_t code = stream_ok(stream);
  return code == cudaSuccess ? opc_sim_cudaMemset(to, value, bytes) : code;
}

cudaError_t opc_sim_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  bool device, host;
  if (width == 0 || height == 0) return cudaSuccess;
  if (width > pitch) return cudaErrorInvalidValue;
  if (height > SIZE_MAX / pitch || !side_ok(to, (height - 1) * pitch + width, &device, &host) || !device) return cudaErrorInvalidValue;
  for (size_t row = 0; row < height; row++) opc_device_fill(number(to) + row * pitch, (unsigned char)value, width);
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  const cudaError_t code = stream_ok(stream);
  return code == cudaSuccess ? opc_sim_cudaMemset2D(to, pitch, value, width, height) : code;
}
