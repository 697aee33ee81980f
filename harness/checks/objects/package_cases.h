/* Inside check package.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* A package's description of its own inputs must be right. True: the model refuses them, and the finding is set. */
bool opc_package_refuses_its_own(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);

/* Checks the model's CUDA calls on the simulated device. An undecided finding leaves values to be compared; `out` then
 * says what the model asked the device for. */
opc_status_t opc_package_run_simulated(opc_case_context_t *context, opc_text_t *out, opc_finding_t *finding,
                                       opc_error_t *error) OPC_CHECKED;
