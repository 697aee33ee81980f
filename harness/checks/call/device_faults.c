#include "checks/call/device_faults.h"

#include <stdio.h>

#include "checks/call/own_library.h"
#include "memory/guard.h"

static opc_device_fault_t device_faults[OPC_ACCESSES_MAX]; /* accesses point at them */
static size_t device_fault_count;
static opc_device_fault_t fatal;
static bool has_fatal;
static bool of_others;

/* "x", if the allocation is the storage of this argument. */
static void fault_label(const opc_call_t *call, const opc_device_fault_t *fault, opc_guard_block_t *block) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_meta_t *meta = &call->tensor_args[i].before;
    if ((uint64_t)(uintptr_t)meta->storage_data != fault->nearest || meta->storage_bytes != fault->nearest_bytes)
      continue;
    snprintf(block->label, sizeof block->label, "%.63s", call->tensor_args[i].path);
    return;
  }
}

static opc_access_kind_t access_kind_of(const opc_device_fault_t *fault) {
  if (fault->kind != OPC_FAULT_OUTSIDE) return OPC_ACCESS_INSIDE;
  return fault->place == OPC_CUDA_FREED ? OPC_ACCESS_FREED : OPC_ACCESS_OUTSIDE;
}

static void fault_access_add(const opc_call_t *call, const opc_device_fault_t *fault) {
  if (device_fault_count == OPC_ACCESSES_MAX) return;
  opc_device_fault_t *kept = &device_faults[device_fault_count++];
  *kept = *fault;
  opc_access_t access = {.kind = access_kind_of(fault),
                         .write = fault->write,
                         .address = fault->address,
                         .block = {.data = (const void *)(uintptr_t)fault->nearest, .bytes = fault->nearest_bytes},
                         .offset = (int64_t)(fault->address - fault->nearest),
                         .device = kept};
  fault_label(call, fault, &access.block);
  opc_guard_access_add(&access);
}

/* ---- what is only watched for ---- */

void opc_device_faults_watch(bool on) {
  if (opc_cuda_simulated()) opc_launch()->watch(on);
}

void opc_device_faults_begin(const opc_call_t *call) {
  for (size_t i = 0; opc_cuda_simulated() && i < call->tensor_arg_count; i++) {
    const opc_tensor_meta_t *meta = &call->tensor_args[i].before;
    if (meta->device.type == OPC_DEVICE_CUDA) opc_launch()->written(meta->storage_data, meta->storage_bytes);
  }
}

/* Whether the caller of the operator sees the memory: an argument's, or a result's. */
static bool is_seen_by_caller(const opc_call_t *call, const opc_output_t *outputs, size_t count, uint64_t data) {
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if ((uint64_t)(uintptr_t)call->tensor_args[i].before.storage_data == data) return true;
  for (size_t i = 0; i < count; i++)
    if ((uint64_t)(uintptr_t)outputs[i].meta.storage_data == data) return true;
  return false;
}

static void watched_add(const opc_call_t *call, const opc_output_t *outputs, size_t count,
                        const opc_device_fault_t *fault) {
  opc_device_fault_t changed = *fault;
  if (fault->kind == OPC_FAULT_UNINITIALISED && fault->stored_in != 0 &&
      !is_seen_by_caller(call, outputs, count, fault->stored_in))
    changed.kind = OPC_FAULT_UNINITIALISED_SCRATCH;
  fault_access_add(call, &changed);
}

static void watched_take(const opc_call_t *call, const opc_device_fault_t *faults, size_t fault_count) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  opc_error_t error = {0};
  size_t count = 0;
  bool listed = call->outcome == OPC_CALL_RETURNED && opc_call_outputs(call, &outputs, &count, &error) == OPC_OK;
  for (size_t i = 0; i < fault_count; i++)
    if (faults[i].kind >= OPC_FAULT_RACE && opc_library_is_own(faults[i].kernel_library))
      watched_add(call, outputs, listed ? count : 0, &faults[i]);
}

/* ---- all of them ---- */

void opc_device_faults_take(const opc_call_t *call) {
  const opc_launch_api_t *launch = opc_launch();
  const opc_device_fault_t *faults;
  if (!launch || launch->mode != OPC_LAUNCH_SIMULATED) return;
  const size_t count = launch->faults(&faults);
  bool watched = false;
  for (size_t i = 0; i < count; i++) {
    if (!opc_library_is_own(faults[i].kernel_library)) continue;
    if (of_others) continue;
    watched |= faults[i].kind >= OPC_FAULT_RACE;
    if (faults[i].kind == OPC_FAULT_OUTSIDE) {
      fault_access_add(call, &faults[i]);
    } else if (faults[i].kind < OPC_FAULT_RACE && !has_fatal) {
      fatal = faults[i];
      has_fatal = true;
    }
  }
  if (watched) watched_take(call, faults, count);
  launch->faults_forget();
}

void opc_device_faults_of_others(bool on) {
  static const opc_call_t none = {.outcome = OPC_CALL_REJECTED};
  if (on == of_others) return;
  opc_device_faults_take(&none); /* of a backward after the last call */
  of_others = on;
}

void opc_device_faults_reset(void) {
  if (opc_cuda_simulated()) opc_launch()->faults_forget();
  device_fault_count = 0;
  has_fatal = false;
  of_others = false;
}

const opc_device_fault_t *opc_device_fault_fatal(void) { return has_fatal ? &fatal : NULL; }
