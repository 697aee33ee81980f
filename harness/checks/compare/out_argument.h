/* Arguments that a call is to fill: by PyTorch's convention those that are mutable and can only be given by name, `*,
 * Tensor(a!) out`. What they held before is no input, so that every element of them is written.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_COMPARE_OUT_ARGUMENT_H
#define OPC_CHECKS_COMPARE_OUT_ARGUMENT_H

#include "checks/framework/check.h"

/* Calls the operator twice, with other values in these arguments the second time, where it has any. Elements that keep
 * what they held, while the others do not follow it at all, are initialisation.out_not_written. An operator that keeps
 * all, or that computes with what was there, treats them as inputs: nothing is said. */
opc_status_t opc_out_arguments_check(opc_case_context_t *context, opc_finding_t *finding,
                                     opc_error_t *error) OPC_CHECKED;

#endif
