/* Out arguments: by PyTorch's convention, mutable keyword-only arguments (`*, Tensor(a!) out`). Their previous contents
 * are not an input, so the call must write every element.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* If the operator has out arguments, calls it twice, with other values in them the second time. Reports
 * initialisation.out_not_written if some elements keep their old values while the others do not depend on these at all.
 * An operator that keeps all elements, or computes with the old values, treats them as inputs: no finding. */
opc_status_t opc_out_arguments_check(opc_case_context_t *context, opc_finding_t *finding,
                                     opc_error_t *error) OPC_CHECKED;
