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

/* How to make a call again: the sample, and the values to give it. */
typedef struct opc_again {
  opc_case_context_t *context;
  const opc_sample_t *sample;
  opc_replay_t *replay; /* NULL: the sample's own fills */
  uint64_t seed;        /* of fills and generators */
  const char *phase;    /* what the crash report calls it */
  opc_places_t *places; /* memory for its tensors; NULL: wherever there is some */
  bool other_gaps;      /* other bytes in their storages, beside their elements */
} opc_again_t;

/* Makes the arguments, runs, takes the result (with mutable arguments). OPC_OK with *out_outcome other than RETURNED:
 * the result is empty. message (may be NULL) gets the exception's text. */
opc_status_t opc_again_run(const opc_again_t *again, opc_result_t *out, opc_call_outcome_t *out_outcome,
                           opc_text_t *message, opc_error_t *error) OPC_CHECKED;

#endif
