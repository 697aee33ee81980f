/* What check package asks of a model, on a device that computes and on the simulated one.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_OBJECTS_PACKAGE_CASE_H
#define OPC_CHECKS_OBJECTS_PACKAGE_CASE_H

#include "checks/framework/check.h"

/* What the package says of its own inputs must be true. True: it is not, and the finding is made. */
bool opc_package_refuses_its_own(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);
/* The whole case on the simulated CUDA device, where no output has values: how the model asks the device for its work.
 */
void opc_package_run_simulated(opc_case_context_t *context, opc_finding_t *finding);

#endif
