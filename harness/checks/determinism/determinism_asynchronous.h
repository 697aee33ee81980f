/* Inside of check determinism: results that are written after the call returned.
 *
 * Ownership: opc_threads_clear. Threads: one. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_ASYNCHRONOUS_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_ASYNCHRONOUS_H

#include <stdbool.h>
#include <sys/types.h>

#include "checks/determinism/determinism_trial.h"

/* The threads of this process. */
typedef struct opc_threads {
  pid_t *ids;
  size_t count;
} opc_threads_t;
opc_status_t opc_threads_list(opc_threads_t *out, opc_error_t *error) OPC_CHECKED; /* 2 us where there is but one */
void opc_threads_clear(opc_threads_t *threads);

/* Right after a call that returned and gave `result`: where threads are there that it may have started or given work,
 * waits a while for their end and looks again: determinism.late_write. *result is what it is then. `before`: the
 * threads before the call. Threads that stay are waited for once in a process. */
opc_status_t opc_asynchronous_check(const opc_call_t *call, const opc_threads_t *before, opc_result_t *result,
                                    opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
/* It has found that in this process: whether two calls agree depends on when they are looked at. */
bool opc_asynchronous_found(void);

#endif
