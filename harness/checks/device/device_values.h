/* Inside check device: compares the values of the operator's CUDA kernel with those of its CPU kernel on the same
 * arguments.
 *
 * If the CPU kernel only moves data, the bits must be equal, including NaN payloads and signed zeros. Otherwise the
 * scale is the operator's own response to changing its arguments by one unit in the last place
 * (checks/compare/compare.h). Ownership, threads: as checks/call/call.h. */
#pragma once

#include "checks/framework/check.h"

opc_status_t opc_device_values_check(opc_case_context_t *context, opc_finding_t *finding,
                                     opc_error_t *error) OPC_CHECKED;
