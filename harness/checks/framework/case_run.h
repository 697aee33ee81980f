/* The calls of a case: the one that it is about, and others like it.
 *
 * Every call is announced by its phase, so that a crash says which one it was. Ownership, threads: as
 * checks/call/call.h. */
#ifndef OPC_CHECKS_FRAMEWORK_CASE_RUN_H
#define OPC_CHECKS_FRAMEWORK_CASE_RUN_H

#include "checks/call/argument_places.h"
#include "checks/call/replay.h"
#include "checks/call/result.h"
#include "checks/framework/check.h"

/* Makes the case's own arguments, keeps a copy of their storages where `snapshot` says so, and runs the operator.
 * False: the finding is made (refused, no kernel…); the call is to be cleared all the same. */
bool opc_case_call(opc_case_context_t *context, bool snapshot, opc_call_t *call, opc_finding_t *finding);
/* The same, and takes the arguments' values before the call, so that it can be made again with them. */
bool opc_case_call_keeping(opc_case_context_t *context, opc_replay_t *values, opc_call_t *call, opc_finding_t *finding);

/* How to make a call again. What is left out is the case's. */
typedef struct opc_again {
  opc_case_context_t *context;
  const opc_sample_t *sample;
  opc_replay_t *replay;            /* the values to give; NULL: those of `values` */
  opc_tensor_arg_values_t *values; /* NULL: the sample's own fills */
  void *values_context;
  const opc_device_t *device;
  uint64_t other_seed;  /* added to the case's, of fills and generators */
  const char *phase;    /* what the crash report calls it */
  opc_places_t *places; /* memory for its tensors; NULL: wherever there is some */
  bool other_gaps;      /* other bytes in their storages, beside their elements */
  bool only_shapes;     /* the result is without mutable arguments and values */
} opc_again_t;

/* Makes the arguments. The caller clears the call, whatever the status. */
opc_status_t opc_again_make(const opc_again_t *again, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* Makes the arguments and runs; what came of it is the call's outcome. The caller clears the call, whatever the status.
 */
opc_status_t opc_again_call(const opc_again_t *again, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* Makes the arguments, runs, takes the result (with mutable arguments). OPC_OK with *out_outcome other than RETURNED:
 * the result is empty. message (may be NULL) gets the exception's text. */
opc_status_t opc_again_run(const opc_again_t *again, opc_result_t *out, opc_call_outcome_t *out_outcome,
                           opc_text_t *message, opc_error_t *error) OPC_CHECKED;
/* The values that the arguments of such a call have, which is not made. */
opc_status_t opc_again_values(const opc_again_t *again, opc_replay_t *out, opc_error_t *error) OPC_CHECKED;

#endif
