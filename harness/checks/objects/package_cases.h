/* Inside check package.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* A package's description of its own inputs must be right. True: the model refuses them, and the finding is set. */
bool opc_package_refuses_its_own(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);

/* Runs the whole case on the simulated CUDA device, where its values are not compared: checks the model's CUDA calls.
 */
opc_status_t opc_package_run_simulated(opc_case_context_t *context, opc_finding_t *finding,
                                       opc_error_t *error) OPC_CHECKED;
