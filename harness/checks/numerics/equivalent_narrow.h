/* Whether an operator reads only 32 bits of its int64 numbers. Part of check equivalent; for the unmodified sample. */
#pragma once

#include "checks/framework/check.h"

void opc_equivalent_narrow(opc_case_context_t *context, opc_finding_t *finding);
