/* Inside check package: its cases on the simulated CUDA device.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* Runs the whole case on the simulated CUDA device, where outputs have no values: checks the model's CUDA calls. */
void opc_package_run_simulated(opc_case_context_t *context, opc_finding_t *finding);
