/* Results that are handles: their bytes hold addresses of objects that the operator made, and so differ from call to
 * call.
 *
 * Ownership: the caller's. Threads: one. */
#ifndef OPC_CHECKS_COMPARE_HANDLES_H
#define OPC_CHECKS_COMPARE_HANDLES_H

#include "checks/call/result.h"

/* Whether all words in which the two differ, and there is one, are addresses of memory of this process in both. */
bool opc_results_are_handles(const opc_result_t *left, const opc_result_t *right);

#endif
