/* What a call that did not return means for a case: one answer for all checks, so that a refusal reads the same
 * everywhere.
 *
 * A check makes its call with the case's own arguments (context->sample on context->device), and asks here first:
 *   if (opc_finding_from_outcome(context, &call, finding)) goto release;
 * Calls that a check makes besides (the Meta kernel, other devices, a reference in float64) are its own to judge.
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_FRAMEWORK_OUTCOME_H
#define OPC_CHECKS_FRAMEWORK_OUTCOME_H

#include "checks/framework/check.h"

/* What context->session points at. */
typedef struct opc_check_session {
  void **own; /* the running check's own pointer: *own is NULL at the first case of a command; what it points at is
                 never freed, it ends with the child */
  bool
      *sample_reported; /* this sample's refusal on this device was a finding already; NULL for a case without sample */
} opc_check_session_t;

/* False: the call returned what can be read, and the check goes on. True: the finding is made:
 *   a file's unmodified sample (plain, its own dtype) that is refused: fail sample.rejected, once a device; any other
 * refusal: skip/rejected; on the simulated device, a refusal that may be that device's own
 * (checks/framework/simulated_case.h): skip/simulated; an INTERNAL ASSERT: fail sample.internal_assert (a warning); no
 * kernel, a fake kernel in Python: skips; a tensor that it gives back or leaves behind reaches outside of its storage:
 * fail memory.output_outside, and nothing else can be judged; out of memory: error memory for a file's unmodified
 * sample, skip/budget otherwise; no std::exception: error foreign_exception; arguments that the harness cannot make:
 * error harness for a file's unmodified sample, skip/not_applicable otherwise. */
bool opc_finding_from_outcome(opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);

/* The same for arguments that could not be made (opc_call_make, opc_call_snapshot…). */
void opc_finding_from_error(const opc_case_context_t *context, const opc_error_t *error, opc_finding_t *finding);

/* The sample of a file exactly as the person wrote it: its promises hold here and nowhere else. */
bool opc_case_is_declared(const opc_case_context_t *context);

/* Whether the case's arguments are as good as the sample's: the variant kept the values, or every known relation
 * between the arguments (model/case/standing.h). Otherwise an operator may rightly expect others. */
bool opc_case_arguments_fit(const opc_case_context_t *context);
/* An expanded tensor of integers in arguments that a search made up holds one element over and over: as counts or
 * places those are others than the search found to be taken. */
bool opc_case_has_other_integers(const opc_case_context_t *context);

#endif
