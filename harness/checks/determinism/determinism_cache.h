/* Inside check determinism: results that the operator keeps by the address of its arguments. New data then gets the
 * result of the data that was there before, which is what happens in programs whose allocator reuses memory. For
 * unmodified samples on the CPU. Threads: one. */
#pragma once

#include "checks/determinism/determinism_trial.h"

/* For an operator whose result was not seen to differ: other data in memory that it has seen. Adds its calls to
 * *calls. */
opc_status_t opc_determinism_cache_check(opc_case_context_t *context, int *calls, opc_finding_t *finding,
                                         opc_error_t *error) OPC_CHECKED;
/* For an operator whose result differs between addresses. *out: the cause is a kept result, and the finding says so.
 * Stays false for an operator that computes with addresses. */
opc_status_t opc_determinism_cache_is_cause(opc_case_context_t *context, bool *out, opc_finding_t *finding,
                                            opc_error_t *error) OPC_CHECKED;
