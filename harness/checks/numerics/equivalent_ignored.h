/* Whether NaN reaches the result from elements that the operator ignores. Part of check equivalent.
 *
 * A mask, a length or an index decides which elements of another tensor count. An element that may hold any number
 * without a change in the result is ignored. With NaN in it the result must be the same too; it is not if the operator
 * multiplies such elements by 0. Threads: one. */
#pragma once

#include "checks/framework/check.h"

void opc_equivalent_ignored(opc_case_context_t *context, opc_finding_t *finding);
