/* Inside of check determinism: an operator that divides its work among threads, and one that several threads call.
 *
 * Ownership: nothing is kept. Threads: called by one; those that are started end before the return. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_THREADS_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_THREADS_H

#include "checks/determinism/determinism_grow.h"

/* The operator with several intra-op threads against itself with one: determinism.threads, determinism.thread_rounding.
 * *out_compared counts values. */
opc_status_t opc_thread_counts_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *out_compared,
                                     opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

/* Two threads that call at once, each with arguments of its own, one of them held up in the middle of its calls:
 * determinism.concurrent. */
opc_status_t opc_concurrent_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *out_compared,
                                  opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

#endif
