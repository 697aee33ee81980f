/* A call of the operator with the CUDA runtime's calls written down, and what the judges found in them as findings:
 * what the checks of CUDA share.
 *
 * Ownership: a watched call's log is the wrappers', until the next call is watched. Threads: one. */
#ifndef OPC_CHECKS_CUDA_CUDA_WATCH_H
#define OPC_CHECKS_CUDA_CUDA_WATCH_H

#include "checks/cuda/cuda_host_lifetime.h"
#include "checks/cuda_log/cuda_analysis.h"
#include "checks/framework/check.h"

typedef struct opc_cuda_watch {
  opc_case_context_t *context;
  const opc_launch_api_t *api;
  opc_call_t call;            /* the last one */
  opc_cuda_facts_t facts;     /* of it */
  int device;                 /* that the tensors are made on */
  const opc_sample_t *sample; /* the case's; may be changed to another */
  size_t wanted_launch;       /* of the next call: the launch that is to fail, from 1; 0: none */
  int wanted_code;
  const char *lacked; /* by the last call: a function that the simulated device does not have, and before which
                         facts.log ends; "": none */

  bool capture;            /* the next call is captured in a CUDA graph */
  opc_cuda_graph_t *graph; /* of the last one that was; NULL: no capture could be begun */
  opc_status_t captured;   /* what its end came to, or its beginning */
  opc_error_t capture_error;
  opc_cuda_host_lifetime_t lasting;
} opc_cuda_watch_t;

/* False: the finding says why nothing can be watched here. The watch is ended with opc_cuda_watch_end all the same. */
bool opc_cuda_watch_begin(opc_cuda_watch_t *watch, opc_case_context_t *context, opc_finding_t *finding);
/* Makes the arguments on watch->device, in place of an earlier call's. */
opc_status_t opc_cuda_watch_make(opc_cuda_watch_t *watch, opc_error_t *error) OPC_CHECKED;
/* Calls the operator with the arguments that were made, and writes facts and log. phase as of opc_case_context_t. The
 * current device is what it was before. */
opc_call_outcome_t opc_cuda_watch_run(opc_cuda_watch_t *watch, const char *phase);
/* What facts are known without a call: device, limits, who is own. opc_cuda_watch_run does it too. */
void opc_cuda_watch_facts(opc_cuda_watch_t *watch);
void opc_cuda_watch_end(opc_cuda_watch_t *watch);

/* The last call's log ends before a function that the simulated device lacks: the finding is made, a skip unless
 * something was found before. */
bool opc_cuda_watch_lacks(const opc_cuda_watch_t *watch, const opc_cuda_founds_t *founds, opc_finding_t *finding);
/* The case's finding, out of what was found in the last call, how it ended, and what its log cannot say. True: it is
 * decided; false: all is well so far. */
bool opc_cuda_watch_settle(opc_cuda_watch_t *watch, const opc_cuda_founds_t *founds, opc_finding_t *finding);
/* Reports what was found, with the calls as evidence. `calls`: of the log that it refers to. */
void opc_cuda_report(const opc_cuda_founds_t *founds, const opc_cuda_call_t *calls, opc_finding_t *finding);
/* A skip that says why, where not all calls of the library are seen: nothing can be told by absence. False: they are.
 */
bool opc_cuda_watch_is_blind(const opc_cuda_watch_t *watch, opc_finding_t *finding);
/* A pass, or a skip where the library itself made no call that this check judges, or calls that are not seen. `seen`:
 * how many it made. */
void opc_cuda_pass(const opc_cuda_watch_t *watch, size_t seen, opc_finding_t *finding, const char *format, ...)
    OPC_PRINTF(4, 5);
/* Work (opc_cuda_is_work) of the libraries under test in the last call. */
size_t opc_cuda_own_work(const opc_cuda_watch_t *watch);

#endif
