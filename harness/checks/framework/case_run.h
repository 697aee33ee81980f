/* The calls of a case: the one under test, and similar ones.
 *
 * Every call is announced, for a crash report. Ownership, threads: as checks/call/call.h. */
#pragma once

#include "checks/call/argument_places.h"
#include "checks/call/replay.h"
#include "checks/call/result.h"
#include "checks/framework/check.h"

/* Makes the case's own arguments, copies their storages if `snapshot`, and runs the operator. False: the finding is set
 * (refused, no kernel…). The caller clears the call in any case. */
bool opc_case_call(opc_case_context_t *context, bool snapshot, opc_call_t *call, opc_finding_t *finding);
/* The same, and takes the arguments' values before the call, so that the call can be repeated with them. */
bool opc_case_call_keeping(opc_case_context_t *context, opc_replay_t *values, opc_call_t *call, opc_finding_t *finding);

/* How to repeat a call. Omitted fields mean the case's own. */
typedef struct opc_again {
  opc_case_context_t *context;
  const opc_sample_t *sample;
  opc_replay_t *replay;            /* the values to use; NULL: those of `values` */
  opc_tensor_arg_values_t *values; /* NULL: the sample's own fills */
  void *values_context;
  const opc_device_t *device;
  uint64_t other_seed;    /* added to the case's seed, for fills and generators */
  opc_call_label_t label; /* name of the call in a crash report */
  opc_places_t *places;   /* memory for its tensors; NULL: any */
  bool other_padding;     /* other padding bytes in their storages */
  bool only_shapes;       /* the result has no mutable arguments and no values */
} opc_again_t;

/* Makes the arguments. The caller clears the call, whatever the status. */
opc_status_t opc_again_make(const opc_again_t *again, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* Makes the arguments and runs; the result is in the call's outcome. The caller clears the call, whatever the
 * status. */
opc_status_t opc_again_call(const opc_again_t *again, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
/* Makes the arguments, runs, takes the result (with mutable arguments). OPC_OK with *out_outcome other than RETURNED:
 * the result is empty. message (may be NULL) gets the exception's text. */
opc_status_t opc_again_run(const opc_again_t *again, opc_result_t *out, opc_call_outcome_t *out_outcome,
                           opc_text_t *message, opc_error_t *error) OPC_CHECKED;
/* The same. *out_returned false: the result is empty, also on an error. */
opc_status_t opc_again_try(const opc_again_t *again, opc_result_t *out, bool *out_returned,
                           opc_error_t *error) OPC_CHECKED;
/* The values of the arguments of such a call; the operator is not called. */
opc_status_t opc_again_values(const opc_again_t *again, opc_replay_t *out, opc_error_t *error) OPC_CHECKED;
