/* Records the details of a call, in the log's terms. */
#include <string.h>

#include "cuda/state/cudart_table.h"

static uint64_t call_notes_number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

void opc_note_stream(opc_cuda_call_t *call, cudaStream_t given, bool per_thread) {
  const cudaStream_t stream = opc_stream_default(given, per_thread);
  opc_stream_t found;
  call->stream = call_notes_number(stream);
  call->stream_device = call->device;
  if (!stream || stream == cudaStreamLegacy) call->stream_kind = OPC_CUDA_STREAM_LEGACY;
  else if (stream == cudaStreamPerThread) call->stream_kind = OPC_CUDA_STREAM_PER_THREAD;
  else if (opc_stream_find(stream, &found)) {
    call->stream_kind = OPC_CUDA_STREAM_CREATED;
    call->stream_device = found.device;
  } else {
    call->stream_kind = OPC_CUDA_STREAM_UNKNOWN;
    call->stream_device = -1;
  }
  if (atomic_load_explicit(&opc_capture_seen, memory_order_relaxed)) call->captured = opc_stream_captures(stream);
}

void opc_note_event(opc_cuda_call_t *call, cudaEvent_t event) { call->event = call_notes_number(event); }

/* CUDA runtime API, "API synchronization behavior": a copy from the device to pageable memory is complete when the
 * function returns, whatever its name; for copies between device memories, cudaMemcpy does not wait either. */
static bool copy_waits(const opc_cuda_call_t *call, bool by_name) {
  if (by_name) return !(call->to.place == OPC_CUDA_DEVICE && call->from.place == OPC_CUDA_DEVICE);
  return call->from.place == OPC_CUDA_DEVICE && call->to.place == OPC_CUDA_PAGEABLE;
}

void opc_note_copy(opc_cuda_call_t *call, const void *to, const void *from, size_t bytes, cudaStream_t stream,
                   bool per_thread, bool waits) {
  opc_note_stream(call, stream, per_thread);
  call->to = opc_address(call_notes_number(to));
  call->from = opc_address(call_notes_number(from));
  call->bytes = bytes;
  call->synchronous = copy_waits(call, waits);
}

void opc_note_copy_3d(opc_cuda_call_t *call, const struct cudaMemcpy3DParms *copy, cudaStream_t stream, bool per_thread,
                      bool waits) {
  if (!copy) return;
  opc_note_copy(call, copy->dstPtr.ptr, copy->srcPtr.ptr, copy->extent.width * copy->extent.height * copy->extent.depth,
                stream, per_thread, waits);
}

void opc_note_symbol(opc_cuda_call_t *call, const void *symbol, size_t offset, bool to_symbol) {
  uint64_t at = 0, bytes = 0;
  if (!opc_variable_find(symbol, call->device, &at, &bytes)) return;
  opc_cuda_address_t *end = to_symbol ? &call->to : &call->from;
  *end = (opc_cuda_address_t){.value = at + offset, .place = OPC_CUDA_DEVICE, .device = call->device, .allocation = at};
  call->synchronous = copy_waits(call, call->synchronous);
}

void opc_note_fill(opc_cuda_call_t *call, const void *to, size_t bytes, cudaStream_t stream, bool per_thread,
                   bool waits) {
  opc_note_stream(call, stream, per_thread);
  call->to = opc_address(call_notes_number(to));
  call->bytes = bytes;
  /* The same section: memset of device memory never waits. */
  call->synchronous = waits && (call->to.place == OPC_CUDA_PINNED || call->to.place == OPC_CUDA_MANAGED);
}

void opc_note_memory(opc_cuda_call_t *call, const void *at, size_t bytes, bool waits) {
  opc_range_t range;
  call->to = opc_address(call_notes_number(at));
  call->bytes = bytes != 0 || !opc_range_starts(at, &range) ? bytes : range.bytes;
  call->synchronous = waits;
}

/* ---- launches ---- */

static void note_address(opc_cuda_call_t *call, uint64_t word, bool first, bool alone) {
  if (call->pointer_count == OPC_CUDA_POINTERS) return;
  const opc_cuda_address_t address = opc_address(word);
  if (address.place == OPC_CUDA_NOWHERE) return;
  /* After a parameter's first word there may be uninitialised ends of arrays: old data there can look like host memory
   * or freed memory. */
  if (!first && (address.place == OPC_CUDA_PAGEABLE || address.place == OPC_CUDA_FREED)) return;
  call->alone[call->pointer_count] = alone;
  call->pointers[call->pointer_count++] = address;
}

static void note_number(opc_cuda_call_t *call, const unsigned char *bytes, size_t position) {
  if (call->number_count == OPC_CUDA_NUMBERS) return;
  opc_cuda_number_t *number = &call->numbers[call->number_count++];
  number->parameter = (uint32_t)position;
  memcpy(&number->value, bytes, sizeof number->value);
}

static void note_parameter(opc_cuda_call_t *call, const unsigned char *bytes, const opc_parameter_t *parameter) {
  /* The offset in the parameter space determines where the words begin: each has the same alignment there as on the
   * host. */
  for (uint32_t at = (8 - parameter->offset % 8) % 8; at + 8 <= parameter->size; at += 8) {
    uint64_t word;
    memcpy(&word, bytes + at, sizeof word);
    note_address(call, word, at == 0, parameter->size == sizeof word);
  }
}

void opc_note_launch(opc_cuda_call_t *call, const void *key, dim3 grid, dim3 block, void **arguments, size_t shared,
                     cudaStream_t stream, bool per_thread, bool cooperative) {
  opc_note_stream(call, stream, per_thread);
  call->grid[0] = grid.x, call->grid[1] = grid.y, call->grid[2] = grid.z;
  call->block[0] = block.x, call->block[1] = block.y, call->block[2] = block.z;
  call->shared = shared;
  call->cooperative = cooperative;
  opc_cuda_kernel_t *kernel = opc_kernel_find(key);
  if (!kernel) return;
  const opc_kernel_image_t *image = opc_kernel_image(kernel);
  call->kernel = kernel->name;
  call->kernel_library = opc_kernel_library(kernel);
  call->parameters_known = image && image->parameters_known && (arguments || image->parameter_count == 0);
  if (!call->parameters_known) return;
  call->parameter_count = (uint32_t)image->parameter_count;
  for (size_t i = 0; i < image->parameter_count; i++) {
    if (!arguments[i]) continue;
    note_parameter(call, arguments[i], &image->parameters[i]);
    if (image->parameters[i].size == sizeof(uint32_t)) note_number(call, arguments[i], i);
  }
}

/* The stub has just popped the configuration that was pushed for it. */
void opc_note_stub_of_12(opc_cuda_call_t *call) {
  if (OPC_CUDART_MAJOR != 12 || !opc_thread.popped) return;
  call->by_stub = true;
  opc_note_stub(call);
}

void opc_note_stub(opc_cuda_call_t *call) {
  if (opc_thread.pushed_from) call->caller = opc_thread.pushed_from;
  opc_thread.pushed_from = 0;
}

static bool cooperative(const cudaLaunchConfig_t *config) {
  for (unsigned i = 0; config->attrs && i < config->numAttrs; i++)
    if (config->attrs[i].id == cudaLaunchAttributeCooperative) return config->attrs[i].val.cooperative != 0;
  return false;
}

void opc_note_launch_config(opc_cuda_call_t *call, const cudaLaunchConfig_t *config, const void *key, void **arguments,
                            bool per_thread) {
  if (!config) return;
  opc_note_launch(call, key, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream,
                  per_thread, cooperative(config));
}
