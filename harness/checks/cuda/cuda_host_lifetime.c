#include "checks/cuda/cuda_watch.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "memory/cpu_memory.h"

static const uint64_t stack_bytes = 8 << 20;

static bool is_among(const uint64_t *addresses, size_t count, uint64_t address) {
  for (size_t i = 0; i < count; i++)
    if (addresses[i] == address) return true;
  return false;
}

static void add_address(uint64_t *addresses, size_t *count, uint64_t address) {
  if (*count < OPC_CUDA_HOST_LIFETIME_MAX && !is_among(addresses, *count, address)) addresses[(*count)++] = address;
}

/* Finds the ends of copies that are in pageable memory; returns how many, at most 2. */
static size_t pageable_ends(const opc_cuda_call_t *call, uint64_t out[2]) {
  size_t count = 0;
  if (call->kind != OPC_CUDA_COPY || call->code != 0) return 0;
  if (call->from.place == OPC_CUDA_PAGEABLE) out[count++] = call->from.value;
  if (call->to.place == OPC_CUDA_PAGEABLE) out[count++] = call->to.value;
  return count;
}

void opc_cuda_host_lifetime_see(opc_cuda_host_lifetime_t *lasting, const opc_cuda_log_t *log) {
  for (size_t i = 0; i < log->count; i++) {
    uint64_t ends[2];
    const size_t count = pageable_ends(&log->calls[i], ends);
    for (size_t k = 0; k < count; k++) add_address(lasting->used, &lasting->used_count, ends[k]);
  }
}

static bool is_in_tensor(const opc_tensor_meta_t *meta, uint64_t address) {
  const uint64_t first = (uint64_t)(uintptr_t)meta->storage_data;
  return first && address >= first && address - first < meta->storage_bytes;
}

static bool is_of_tensors(const opc_call_t *call, uint64_t address) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  bool found = false;
  for (size_t i = 0; i < call->tensor_arg_count && !found; i++)
    found = is_in_tensor(&call->tensor_args[i].before, address);
  if (!found && call->outcome == OPC_CALL_RETURNED && opc_call_outputs(call, &outputs, &count, NULL) == OPC_OK)
    for (size_t i = 0; i < count && !found; i++) found = is_in_tensor(&outputs[i].meta, address);
  return found;
}

static bool stays(const opc_cuda_host_lifetime_t *lasting, const opc_call_t *call, uint64_t address) {
  const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
  Dl_info info;
  char byte;
  if (address < here && here - address < stack_bytes) return false;
  if (dladdr((const void *)(uintptr_t)address, &info) != 0 || is_of_tensors(call, address)) return true;
  return is_among(lasting->used, lasting->used_count, address) &&
         opc_memory_safe_read((const void *)(uintptr_t)address, &byte, sizeof byte);
}

void opc_cuda_host_lifetime_find(opc_cuda_host_lifetime_t *lasting, const opc_cuda_log_t *log, const opc_call_t *call) {
  lasting->found_count = 0;
  for (size_t i = 0; i < log->count; i++) {
    uint64_t ends[2];
    const size_t count = pageable_ends(&log->calls[i], ends);
    for (size_t k = 0; k < count; k++)
      if (stays(lasting, call, ends[k])) add_address(lasting->found, &lasting->found_count, ends[k]);
  }
}
