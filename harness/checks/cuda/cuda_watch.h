/* Shared by the CUDA checks: calls the operator with CUDA calls logged, and turns the results of the log analysis into
 * findings.
 *
 * Ownership: the wrappers own a watched call's log; it is valid until the next watched call. Threads: one. */
#pragma once

#include "checks/cuda_log/cuda_analysis.h"
#include "checks/framework/check.h"

/* Which host memory used by copies of a captured call still exists after the call: a graph accesses it again at each
 * replay.
 *
 * Memory counts as lasting if it is a library's data, belongs to an argument or output, or was also used for a copy in
 * an earlier call, in which malloc gave other addresses (opc_scratch_memory_shift). Memory on the stack below the
 * caller, or no longer readable, is gone. */
enum { OPC_CUDA_HOST_LIFETIME_MAX = 64 };

typedef struct opc_cuda_host_lifetime {
  uint64_t used[OPC_CUDA_HOST_LIFETIME_MAX]; /* addresses used by copies of the earlier call */
  size_t used_count;
  uint64_t found[OPC_CUDA_HOST_LIFETIME_MAX];
  size_t found_count;
} opc_cuda_host_lifetime_t;

typedef struct opc_cuda_watch {
  opc_case_context_t *context;
  const opc_launch_api_t *api;
  opc_call_t call;            /* the last one */
  opc_cuda_facts_t facts;     /* of the last call */
  int device;                 /* device on which the tensors are made */
  const opc_sample_t *sample; /* the case's; may be set to another */
  size_t wanted_launch;       /* of the next call: number of the launch that must fail, from 1; 0: none */
  int wanted_code;
  const char *lacked; /* the function that the last call needed and the simulated device lacks; facts.log ends before
                         it; "": none */

  bool capture;            /* the next call is captured in a CUDA graph */
  opc_cuda_graph_t *graph; /* of the last captured call; NULL: the capture could not begin */
  opc_status_t captured;   /* status of ending the capture, or of beginning it */
  opc_error_t capture_error;
  opc_cuda_host_lifetime_t lasting;

  opc_cuda_count_t counts[OPC_CUDA_COUNTS_MAX]; /* of facts.counts */
  size_t count_count;
} opc_cuda_watch_t;

/* False: the finding says why calls cannot be watched here. Call opc_cuda_watch_end in any case. */
bool opc_cuda_watch_begin(opc_cuda_watch_t *watch, opc_case_context_t *context, opc_finding_t *finding);
/* Makes the arguments on watch->device, replacing those of an earlier call. */
opc_status_t opc_cuda_watch_make(opc_cuda_watch_t *watch, opc_error_t *error) OPC_CHECKED;
/* Calls the operator with these arguments, and fills in facts and log. label: as in opc_case_context_t. Restores the
 * current device. */
opc_call_outcome_t opc_cuda_watch_run(opc_cuda_watch_t *watch, opc_call_label_t label);
/* Sets facts.counts from the last call's tensors. (cuda_counts.c) */
opc_status_t opc_cuda_watch_count(opc_cuda_watch_t *watch, opc_error_t *error) OPC_CHECKED;
/* Sets the facts that are known without a call: device, limits, owners. opc_cuda_watch_run does it too. */
void opc_cuda_watch_facts(opc_cuda_watch_t *watch);
void opc_cuda_watch_end(opc_cuda_watch_t *watch);

/* True: the last call's log ends before a function that the simulated device lacks. The finding is set: a skip, unless
 * something was found before. */
bool opc_cuda_watch_lacks(const opc_cuda_watch_t *watch, const opc_cuda_founds_t *founds, opc_finding_t *finding);
/* Sets the case's finding from what was found in the last call, how the call ended, and what its log cannot show. True:
 * decided; false: no problem so far. */
bool opc_cuda_watch_settle(opc_cuda_watch_t *watch, const opc_cuda_founds_t *founds, opc_finding_t *finding);
/* Reports what was found, with the calls as evidence. `calls`: those of the log that the findings refer to. */
void opc_cuda_report(const opc_cuda_founds_t *founds, const opc_cuda_call_t *calls, opc_finding_t *finding);
/* True: some calls of the library are not tracked, so that absence proves nothing; the finding is a skip with the
 * reason. False: all are tracked. */
bool opc_cuda_watch_is_blind(const opc_cuda_watch_t *watch, opc_finding_t *finding);
/* Sets a pass, or a skip if some of the library's calls are not tracked, or if it made no call that this check looks
 * at. `seen`: number of such calls. */
void opc_cuda_pass(const opc_cuda_watch_t *watch, size_t seen, opc_finding_t *finding, const char *format, ...)
    OPC_PRINTF(4, 5);
/* Work (opc_cuda_is_work) of the libraries under test in the last call. */
size_t opc_cuda_own_work(const opc_cuda_watch_t *watch);

/* ---- memory of the host (cuda_host_lifetime.c) ---- */

/* Adds the addresses from the log of an earlier call. */
void opc_cuda_host_lifetime_see(opc_cuda_host_lifetime_t *lasting, const opc_cuda_log_t *log);
/* Fills in `found` from the log of the captured call, which has returned; *call still has its arguments. */
void opc_cuda_host_lifetime_find(opc_cuda_host_lifetime_t *lasting, const opc_cuda_log_t *log, const opc_call_t *call);

/* ---- replays of a captured call (capture_replay.c) ---- */

typedef struct opc_capture_replay {
  size_t replays; /* number of compared replays */
  bool differs;
  const char *why_not; /* why nothing was compared; NULL: something was */
  opc_text_t text;     /* how it differs; opc_text_clear */
} opc_capture_replay_t;

/* Compares a captured call with ordinary ones: the graph is replayed twice, with other values in the captured tensors,
 * and must give the same bits as a call with these values.
 *
 * `watch`: its last call was captured in watch->graph, and its stream is current. Returns an error if the harness
 * cannot make the calls. */
opc_status_t opc_capture_replay(opc_cuda_watch_t *watch, opc_capture_replay_t *out, opc_error_t *error) OPC_CHECKED;

/* Which CUDA calls of an operator are not tracked: the wrappers (cuda/log/launch.h) only see calls of the shared
 * runtime. On a real device, calls of a statically linked runtime or of the driver are tracked through CUPTI, if
 * available. The simulated device replaces only the shared runtime.
 *
 * Ownership: texts are kept for the process's life. */

/* Why some calls of the operator's library, or of the libraries under test that it needs, are not tracked; "": all are.
 * Call it before the operator's first call in this process, so that CUPTI sees that call, and again afterwards: the
 * call may have shown that CUPTI does not work. */
const char *opc_cuda_untracked(const opc_operator_t *op);
