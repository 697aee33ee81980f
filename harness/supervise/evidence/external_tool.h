/* Adds what an external tool (Valgrind, compute-sanitizer) found while a case ran to the case's result.
 *
 * Threads: one. */
#pragma once

#include "result/case_result.h"

/* The first finding becomes the result if it is worse than the check's; the others become further findings. Sets
 * `witnessed`. Takes the findings: the list is empty then. */
opc_status_t opc_external_tool_merge(opc_case_result_t *result, opc_also_list_t *findings,
                                     opc_error_t *error) OPC_CHECKED;
