#include "checks/call/device_faults.h"

#include <stdio.h>

#include "checks/call/own_library.h"
#include "memory/guard.h"

static opc_device_fault_t device_faults[OPC_ACCESSES_MAX]; /* accesses point at them */
static size_t device_fault_count;
static opc_device_fault_t fatal;
static bool has_fatal;

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

static void outside_add(const opc_call_t *call, const opc_device_fault_t *fault) {
  if (device_fault_count == OPC_ACCESSES_MAX) return;
  opc_device_fault_t *kept = &device_faults[device_fault_count++];
  *kept = *fault;
  opc_access_t access = {.kind = fault->place == OPC_CUDA_FREED ? OPC_ACCESS_FREED : OPC_ACCESS_OUTSIDE,
                         .write = fault->write,
                         .address = fault->address,
                         .block = {.data = (const void *)(uintptr_t)fault->nearest, .bytes = fault->nearest_bytes},
                         .offset = (int64_t)(fault->address - fault->nearest),
                         .device = kept};
  fault_label(call, fault, &access.block);
  opc_guard_access_add(&access);
}

void opc_device_faults_take(const opc_call_t *call) {
  const opc_launch_api_t *launch = opc_launch();
  const opc_device_fault_t *faults;
  if (!launch || launch->mode != OPC_LAUNCH_SIMULATED) return;
  const size_t count = launch->faults(&faults);
  for (size_t i = 0; i < count; i++) {
    if (!opc_library_is_own(faults[i].kernel_library)) continue;
    if (faults[i].kind == OPC_FAULT_OUTSIDE) {
      outside_add(call, &faults[i]);
    } else if (!has_fatal) {
      fatal = faults[i];
      has_fatal = true;
    }
  }
  launch->faults_forget();
}

void opc_device_faults_reset(void) {
  if (opc_cuda_simulated()) opc_launch()->faults_forget();
  device_fault_count = 0;
  has_fatal = false;
}

const opc_device_fault_t *opc_device_fault_fatal(void) { return has_fatal ? &fatal : NULL; }
