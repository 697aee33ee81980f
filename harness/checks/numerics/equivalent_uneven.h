/* Whether equal inputs give equal results at every position. Part of check equivalent; for larger samples.
 *
 * All elements, rows or columns of the arguments are made equal. An operator that treats each of them alone then gives
 * equal ones. Code for a border, or for what a whole vector or tile leaves over, may give something else at a few
 * positions. Operators that depend on the position by definition are recognised: they differ at most positions, or a
 * changed position shows at others. Threads: one. */
#pragma once

#include "checks/framework/check.h"

void opc_equivalent_uneven(opc_case_context_t *context, opc_finding_t *finding);
