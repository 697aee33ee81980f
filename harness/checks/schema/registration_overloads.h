/* Whether a call of torch.ops.ns.op can reach an overload. Part of check registration; calls nothing. Threads: one. */
#pragma once

#include "checks/framework/check.h"

void opc_registration_check_overloads(const opc_case_context_t *context, opc_finding_t *finding);
