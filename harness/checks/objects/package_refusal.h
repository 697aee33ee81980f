/* Inside of check package: a model that refuses the inputs that its own package describes.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_OBJECTS_PACKAGE_REFUSAL_H
#define OPC_CHECKS_OBJECTS_PACKAGE_REFUSAL_H

#include "checks/framework/check.h"

/* What the package says of its own inputs must be true. True: it is not, and the finding is made. */
bool opc_package_refuses_its_own(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);

#endif
