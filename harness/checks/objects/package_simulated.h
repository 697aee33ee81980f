/* Inside of check package: its cases on the simulated CUDA device.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_OBJECTS_PACKAGE_SIMULATED_H
#define OPC_CHECKS_OBJECTS_PACKAGE_SIMULATED_H

#include "checks/framework/check.h"

/* The whole case on the simulated CUDA device, where no output has values: how the model asks the device for its work.
 */
void opc_package_run_simulated(opc_case_context_t *context, opc_finding_t *finding);

#endif
