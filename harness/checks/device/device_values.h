/* Inside of check device: the values that the operator's CUDA kernel gives, against those of its CPU kernel on the same
 * arguments.
 *
 * Where the CPU kernel only moves data the bits must be the same, NaN payloads and signed zeros among them; else what
 * the operator itself makes of one unit in the last place of its arguments is the scale (checks/compare/tolerance.h).
 * Ownership, threads: as checks/call/call.h. */
#ifndef OPC_CHECKS_DEVICE_DEVICE_VALUES_H
#define OPC_CHECKS_DEVICE_DEVICE_VALUES_H

#include "checks/framework/check.h"

/* Not on the simulated device, where kernels do not run. */
void opc_device_values_check(opc_case_context_t *context, opc_finding_t *finding);

#endif
