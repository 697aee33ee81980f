/* Inside check determinism: an operator that splits its work among threads, and one that several threads call.
 *
 * Ownership: nothing is kept. Threads: called by one; threads started here end before the return. */
#pragma once

#include "checks/determinism/determinism_grow.h"

/* Compares the operator with several intra-op threads with itself with one: determinism.threads,
 * determinism.thread_rounding. *out_compared counts values. */
opc_status_t opc_thread_counts_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *out_compared,
                                     opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

/* Two threads call the operator concurrently, each with its own arguments; one is delayed in the middle of its calls:
 * determinism.concurrent. */
opc_status_t opc_concurrent_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *out_compared,
                                  opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
