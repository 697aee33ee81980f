/* Where this process allocates CUDA tensors: in libtorch's cache, or between red zones (memory/device_zones.h). The
 * choice is made before the first use of CUDA and holds for the life of the process: cases that need the other
 * allocator run in another process.
 *
 * Red zones are not used if PYTORCH_NO_CUDA_MEMORY_CACHING is set, as under compute-sanitizer: then another tool
 * watches the memory. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* False: the process already uses the other allocator. */
bool opc_device_zones_choose(bool zones);
/* True: another tool watches device memory, and may report something after the check. */
bool opc_device_zones_elsewhere(void);
/* NULL: tensors lie between red zones; otherwise why they do not, as text. */
const char *opc_device_zones_missing(void);

/* Calls the operator once and reports out-of-bounds writes next to its tensors. On a CUDA device, real or simulated. */
void opc_device_zones_check(opc_case_context_t *context, opc_finding_t *finding);
