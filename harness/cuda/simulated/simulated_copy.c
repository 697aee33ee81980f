/* Copies and fills on the simulated devices: done immediately or captured, with the same errors as in CUDA. */
#include "cuda/simulated/simulated.h"

static uint64_t simulated_copy_number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

/* Whether `bytes` from there belong to one allocation, or are memory of the process. *out_device, *out_host: the device
 * or host can access it. */
static bool side_ok(const void *at, uint64_t bytes, bool *out_device, bool *out_host) {
  const uint64_t address = simulated_copy_number(at);
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
  return *out_device || (opc_address(address).place == OPC_CUDA_PAGEABLE &&
                         opc_address(address + bytes - 1).place == OPC_CUDA_PAGEABLE);
}

static bool on_a_device(uint64_t address) {
  opc_range_t range;
  return opc_device_contains(address) && opc_range_find(address, &range) && range.place != OPC_CUDA_PINNED;
}

/* `to_bytes`, `from_bytes`: from the first byte to past the last one. */
static cudaError_t copy_ok(const void *to, uint64_t to_bytes, const void *from, uint64_t from_bytes,
                           enum cudaMemcpyKind kind) {
  bool to_device, to_host, from_device, from_host;
  if ((unsigned)kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (to_bytes == 0) return cudaSuccess;
  if (!side_ok(to, to_bytes, &to_device, &to_host) || !side_ok(from, from_bytes, &from_device, &from_host))
    return cudaErrorInvalidValue;
  const bool fits[] = {
      [cudaMemcpyHostToHost] = from_host && to_host,
      [cudaMemcpyHostToDevice] = from_host && to_device,
      [cudaMemcpyDeviceToHost] = from_device && to_host,
      [cudaMemcpyDeviceToDevice] = from_device && to_device,
      [cudaMemcpyDefault] = true,
  };
  return fits[kind] ? cudaSuccess : cudaErrorInvalidValue;
}

/* Rows of `width` bytes; one copy is one row. */
static cudaError_t copy_check(const opc_work_t *work) {
  const struct opc_work_copy *copy = &work->of.copy;
  if (copy->width > copy->to_pitch || copy->width > copy->from_pitch) return cudaErrorInvalidPitchValue;
  if (copy->width == 0 || copy->height == 0) return copy_ok(copy->to, 0, copy->from, 0, copy->kind);
  if (copy->height > SIZE_MAX / (copy->to_pitch > copy->from_pitch ? copy->to_pitch : copy->from_pitch))
    return cudaErrorInvalidValue;
  return copy_ok(copy->to, (copy->height - 1) * copy->to_pitch + copy->width, copy->from,
                 (copy->height - 1) * copy->from_pitch + copy->width, copy->kind);
}

static cudaError_t copy_run(const opc_work_t *work) {
  const struct opc_work_copy *copy = &work->of.copy;
  const uint64_t to = simulated_copy_number(copy->to), from = simulated_copy_number(copy->from);
  const cudaError_t code = copy_check(work);
  /* Copying that many rows takes minutes; the contents stay unchanged, as after a kernel. */
  const size_t rows_most = 1 << 16;
  if (code != cudaSuccess || copy->width == 0) return code;
  if (!on_a_device(to) && on_a_device(from) && opc_torch_call_refuses()) return cudaErrorNotSupported;
  if (!on_a_device(to) && on_a_device(from)) opc_run_note_read();
  if (copy->height > rows_most && opc_device_contains(to) && opc_device_contains(from)) {
    opc_watch_written(copy->to, (copy->height - 1) * copy->to_pitch + copy->width);
    return cudaSuccess;
  }
  for (size_t row = 0; row < copy->height; row++)
    opc_device_copy(to + row * copy->to_pitch, from + row * copy->from_pitch, copy->width);
  return cudaSuccess;
}

static opc_work_t copy_work(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                            enum cudaMemcpyKind kind) {
  return (opc_work_t){.type = cudaGraphNodeTypeMemcpy,
                      .check = copy_check,
                      .run = copy_run,
                      .of.copy = {to, from, to_pitch, from_pitch, width, height, kind}};
}

/* In the default stream, then waits for it. */
static cudaError_t done_now(const opc_work_t *work) {
  const cudaError_t code = opc_capture_asked(NULL);
  return code == cudaSuccess ? work->run(work) : code;
}

cudaError_t opc_sim_cudaMemcpy(void *to, const void *source, size_t bytes, enum cudaMemcpyKind kind) {
  const opc_work_t work = copy_work(to, bytes, source, bytes, bytes, 1, kind);
  return done_now(&work);
}

cudaError_t opc_sim_cudaMemcpyAsync(void *to, const void *source, size_t bytes, enum cudaMemcpyKind kind,
                                    cudaStream_t stream) {
  const opc_work_t work = copy_work(to, bytes, source, bytes, bytes, 1, kind);
  return opc_stream_put(stream, &work);
}

cudaError_t opc_sim_cudaMemcpy2D(void *to, size_t to_pitch, const void *source, size_t pitch, size_t width,
                                 size_t height, enum cudaMemcpyKind kind) {
  const opc_work_t work = copy_work(to, to_pitch, source, pitch, width, height, kind);
  return done_now(&work);
}

cudaError_t opc_sim_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *source, size_t pitch, size_t width,
                                      size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  const opc_work_t work = copy_work(to, to_pitch, source, pitch, width, height, kind);
  return opc_stream_put(stream, &work);
}

/* Plane by plane. */
static cudaError_t copy_3d_run(const opc_work_t *work) {
  const struct cudaMemcpy3DParms *p = &work->of.copy_3d;
  for (size_t z = 0; z < p->extent.depth; z++) {
    const size_t to_slice = p->dstPtr.pitch * p->dstPtr.ysize, from_slice = p->srcPtr.pitch * p->srcPtr.ysize;
    unsigned char *to =
        (unsigned char *)p->dstPtr.ptr + (p->dstPos.z + z) * to_slice + p->dstPos.y * p->dstPtr.pitch + p->dstPos.x;
    const unsigned char *from = (const unsigned char *)p->srcPtr.ptr + (p->srcPos.z + z) * from_slice +
                                p->srcPos.y * p->srcPtr.pitch + p->srcPos.x;
    const opc_work_t plane =
        copy_work(to, p->dstPtr.pitch, from, p->srcPtr.pitch, p->extent.width, p->extent.height, p->kind);
    const cudaError_t code = copy_run(&plane);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

static cudaError_t copy_3d_work(const struct cudaMemcpy3DParms *p, opc_work_t *out) {
  if (!p) return cudaErrorInvalidValue;
  if (p->srcArray || p->dstArray) return cudaErrorNotSupported; /* arrays cannot be created here */
  *out = (opc_work_t){.type = cudaGraphNodeTypeMemcpy, .run = copy_3d_run, .of.copy_3d = *p};
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
  opc_work_t work;
  const cudaError_t code = copy_3d_work(p, &work);
  return code == cudaSuccess ? done_now(&work) : code;
}

cudaError_t opc_sim_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  opc_work_t work;
  const cudaError_t code = copy_3d_work(p, &work);
  return code == cudaSuccess ? opc_stream_put(stream, &work) : code;
}

static cudaError_t peers_ok(int to_device, int source_device) {
  const bool known = to_device >= 0 && to_device < OPC_SIMULATED_DEVICES && source_device >= 0 &&
                     source_device < OPC_SIMULATED_DEVICES;
  return known ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t opc_sim_cudaMemcpyPeer(void *to, int to_device, const void *source, int source_device, size_t bytes) {
  const cudaError_t code = peers_ok(to_device, source_device);
  return code == cudaSuccess ? opc_sim_cudaMemcpy(to, source, bytes, cudaMemcpyDefault) : code;
}

cudaError_t opc_sim_cudaMemcpyPeerAsync(void *to, int to_device, const void *source, int source_device, size_t bytes,
                                        cudaStream_t stream) {
  const cudaError_t code = peers_ok(to_device, source_device);
  return code == cudaSuccess ? opc_sim_cudaMemcpyAsync(to, source, bytes, cudaMemcpyDefault, stream) : code;
}

/* ---- variables ---- */

static cudaError_t symbol_at(const void *symbol, size_t offset, size_t bytes, void **out) {
  uint64_t at, size;
  if (!opc_variable_find(symbol, opc_thread.device, &at, &size)) return cudaErrorInvalidSymbol;
  opc_variable_begin(symbol, opc_thread.device);
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  *out = (void *)(uintptr_t)(at + offset);
  return cudaSuccess;
}

cudaError_t opc_sim_cudaMemcpyToSymbol(const void *symbol, const void *source, size_t bytes, size_t offset,
                                       enum cudaMemcpyKind kind) {
  void *to;
  const cudaError_t code = symbol_at(symbol, offset, bytes, &to);
  return code == cudaSuccess ? opc_sim_cudaMemcpy(to, source, bytes, kind) : code;
}

cudaError_t opc_sim_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                         enum cudaMemcpyKind kind) {
  void *from;
  const cudaError_t code = symbol_at(symbol, offset, bytes, &from);
  return code == cudaSuccess ? opc_sim_cudaMemcpy(to, from, bytes, kind) : code;
}

cudaError_t opc_sim_cudaMemcpyToSymbolAsync(const void *symbol, const void *source, size_t bytes, size_t offset,
                                            enum cudaMemcpyKind kind, cudaStream_t stream) {
  void *to;
  const cudaError_t code = symbol_at(symbol, offset, bytes, &to);
  return code == cudaSuccess ? opc_sim_cudaMemcpyAsync(to, source, bytes, kind, stream) : code;
}

cudaError_t opc_sim_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  void *from;
  const cudaError_t code = symbol_at(symbol, offset, bytes, &from);
  return code == cudaSuccess ? opc_sim_cudaMemcpyAsync(to, from, bytes, kind, stream) : code;
}

cudaError_t opc_sim_cudaGetSymbolAddress(void **out, const void *symbol) {
  return out ? symbol_at(symbol, 0, 0, out) : cudaErrorInvalidValue;
}

cudaError_t opc_sim_cudaGetSymbolSize(size_t *out, const void *symbol) {
  uint64_t at, size;
  if (!out) return cudaErrorInvalidValue;
  if (!opc_variable_find(symbol, opc_thread.device, &at, &size)) return cudaErrorInvalidSymbol;
  *out = size;
  return cudaSuccess;
}

/* ---- fills ---- */

static cudaError_t fill_check(const opc_work_t *work) {
  const struct opc_work_fill *fill = &work->of.fill;
  bool device, host;
  if (fill->width == 0 || fill->height == 0) return cudaSuccess;
  if (fill->width > fill->pitch || fill->height > SIZE_MAX / fill->pitch) return cudaErrorInvalidValue;
  if (!side_ok(fill->to, (fill->height - 1) * fill->pitch + fill->width, &device, &host)) return cudaErrorInvalidValue;
  return device || opc_device_contains(simulated_copy_number(fill->to)) ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t fill_run(const opc_work_t *work) {
  const struct opc_work_fill *fill = &work->of.fill;
  const cudaError_t code = fill_check(work);
  if (code != cudaSuccess || fill->width == 0) return code;
  for (size_t row = 0; row < fill->height; row++)
    opc_device_fill(simulated_copy_number(fill->to) + row * fill->pitch, fill->byte, fill->width);
  return cudaSuccess;
}

static opc_work_t fill_work(void *to, size_t pitch, int value, size_t width, size_t height) {
  return (opc_work_t){.type = cudaGraphNodeTypeMemset,
                      .check = fill_check,
                      .run = fill_run,
                      .of.fill = {to, pitch, width, height, (unsigned char)value}};
}

cudaError_t opc_sim_cudaMemset(void *to, int value, size_t bytes) {
  const opc_work_t work = fill_work(to, bytes, value, bytes, 1);
  return done_now(&work);
}

cudaError_t opc_sim_cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  const opc_work_t work = fill_work(to, bytes, value, bytes, 1);
  return opc_stream_put(stream, &work);
}

cudaError_t opc_sim_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  const opc_work_t work = fill_work(to, pitch, value, width, height);
  return done_now(&work);
}

cudaError_t opc_sim_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                      cudaStream_t stream) {
  const opc_work_t work = fill_work(to, pitch, value, width, height);
  return opc_stream_put(stream, &work);
}
