/* Results that are handles: they contain addresses of objects that the operator made, so they differ from call to call.
 *
 * Ownership: the caller's. Threads: one. */
#pragma once

#include "checks/call/result.h"

/* True: the two differ, and every differing word is an address in this process's memory on both sides. */
bool opc_results_are_handles(const opc_result_t *left, const opc_result_t *right);
