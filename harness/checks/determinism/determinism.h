/* Inside check determinism: its parts, as its cases use them.
 *
 * Ownership: opc_threads_clear; nothing else is kept. Threads: called by one; threads started here end before the
 * return. */
#pragma once

#include <sys/types.h>

#include "checks/determinism/determinism_grow.h"
#include "checks/determinism/determinism_subprocess.h"

/* ---- determinism_aggregate.c: the aggregate case ---- */

/* Frees the subprocess; NULL: there is none. */
void opc_determinism_run_aggregate(opc_case_context_t *context, opc_subprocess_t *subprocess, opc_finding_t *finding);

/* ---- determinism_asynchronous.c: results that are written after the call has returned ---- */

/* The threads of this process. */
typedef struct opc_threads {
  pid_t *ids;
  size_t count;
} opc_threads_t;
/* There is no other thread. */
bool opc_threads_are_one(void);
/* Takes 2 us if there is only one thread: the list is then empty. The caller clears it in any case. */
opc_status_t opc_threads_list(opc_threads_t *out, opc_error_t *error) OPC_CHECKED;
void opc_threads_clear(opc_threads_t *threads);

/* Called right after a call that returned `result`. If the call may have started threads or given threads work, waits a
 * while for them to end and reads the result again. A difference is reported as determinism.late_write. *result becomes
 * the later result. `before`: the threads before the call. Threads that stay are waited for only once per process. */
opc_status_t opc_asynchronous_check(const opc_call_t *call, const opc_threads_t *before, opc_result_t *result,
                                    opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
/* True: a late write was found in this process, so whether two calls agree depends on when their results are read. */
bool opc_asynchronous_found(void);

/* ---- determinism_cache.c: results that the operator keeps by the address of its arguments ---- */

/* New data then gets the result of the data that was there before, which is what happens in programs whose allocator
 * reuses memory. Both are for unmodified samples on the CPU.
 *
 * For an operator whose result was not seen to differ: other data in memory that it has seen. Adds its calls to
 * *calls. */
opc_status_t opc_determinism_cache_check(opc_case_context_t *context, int *calls, opc_finding_t *finding,
                                         opc_error_t *error) OPC_CHECKED;
/* For an operator whose result differs between addresses. *out: the cause is a kept result, and the finding says so.
 * Stays false for an operator that computes with addresses. */
opc_status_t opc_determinism_cache_is_cause(opc_case_context_t *context, bool *out, opc_finding_t *finding,
                                            opc_error_t *error) OPC_CHECKED;

/* ---- determinism_under_load.c: the device runs other work, on another stream and on the call's own ---- */

/* An operator that launches on a stream without synchronising, or reads a result too early, is right on an idle device
 * and wrong under concurrent load. Runs the trial several times under load, and compares with `first`. *out_differs:
 * the bits differed at least once; *out says where. Adds its calls to *calls. */
opc_status_t opc_determinism_under_load(const opc_trial_t *trial, const opc_trial_outcome_t *first, bool *out_differs,
                                        int *calls, opc_text_t *out, opc_error_t *error) OPC_CHECKED;

/* ---- determinism_counts.c, determinism_concurrent.c: threads ---- */

/* Compares the operator with several intra-op threads with itself with one: determinism.threads,
 * determinism.thread_rounding. *compared counts values. */
opc_status_t opc_thread_counts_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *compared,
                                     opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

/* Two threads call the operator concurrently, each with its own arguments; one is delayed in the middle of its calls:
 * determinism.concurrent. */
opc_status_t opc_concurrent_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *compared,
                                  opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
