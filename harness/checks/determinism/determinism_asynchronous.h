/* Inside check determinism: results that are written after the call has returned.
 *
 * Ownership: opc_threads_clear. Threads: one. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "checks/determinism/determinism_trial.h"

/* The threads of this process. */
typedef struct opc_threads {
  pid_t *ids;
  size_t count;
} opc_threads_t;
opc_status_t opc_threads_list(opc_threads_t *out,
                              opc_error_t *error) OPC_CHECKED; /* 2 us if there is only one thread */
void opc_threads_clear(opc_threads_t *threads);

/* Called right after a call that returned `result`. If the call may have started threads or given threads work, waits a
 * while for them to end and reads the result again. A difference is reported as determinism.late_write. *result becomes
 * the later result. `before`: the threads before the call. Threads that stay are waited for only once per process. */
opc_status_t opc_asynchronous_check(const opc_call_t *call, const opc_threads_t *before, opc_result_t *result,
                                    opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
/* True: a late write was found in this process, so whether two calls agree depends on when their results are read. */
bool opc_asynchronous_found(void);
