/* Which memory CUDA tensors of this process have: libtorch's cache, or allocations between zones
 * (memory/device_zones.h). It is chosen before the first use of CUDA and holds for the life of the process: cases that
 * want the other one are for another process.
 *
 * Not where PYTORCH_NO_CUDA_MEMORY_CACHING is set, as under compute-sanitizer: there another tool watches the memory.
 * Threads: one. */
#ifndef OPC_CHECKS_FRAMEWORK_DEVICE_ZONES_USE_H
#define OPC_CHECKS_FRAMEWORK_DEVICE_ZONES_USE_H

#include "checks/framework/check.h"

/* False: the process has the other kind of memory already. */
bool opc_device_zones_choose(bool zones);
/* Another tool watches the memory of devices, and may find something after the check. */
bool opc_device_zones_elsewhere(void);
/* NULL: tensors lie between zones; else why not, in words. */
const char *opc_device_zones_missing(void);

/* Calls the operator once and reports what was written beside its tensors. On a CUDA device, real or simulated. */
void opc_device_zones_check(opc_case_context_t *context, opc_finding_t *finding);

#endif
