/* Inside check package: a model that refuses the inputs described in its own package.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* A package's description of its own inputs must be right. True: it is not, and the finding is set. */
bool opc_package_refuses_its_own(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);
