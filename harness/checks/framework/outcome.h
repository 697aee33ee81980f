/* What a call that did not return means for a case: the same for all checks, so that a refusal reads the same
 * everywhere.
 *
 * A check calls the operator with the case's own arguments (context->sample on context->device), then first asks here:
 *   if (opc_finding_from_outcome(context, &call, finding)) return;
 * For additional calls (the Meta kernel, other devices, a reference in float64), the check itself decides. Ownership:
 * nothing is kept. Threads: one. */
#pragma once

#include "bridge/api/torch_texts.h"
#include "checks/framework/check.h"

/* What context->session points at. */
typedef struct opc_check_session {
  void **own; /* the running check's own pointer: *own is NULL at the first case of a command; the object it points at
                 is never freed and ends with the child */
  bool *sample_reported; /* this sample's refusal on this device was already reported; NULL for a case without sample */
} opc_check_session_t;

/* False: the call returned readable tensors, and the check continues. True: the finding is set:
 *   a file's unmodified sample (plain, its own dtype) that is refused: fail sample.rejected, once per device, unless
 * the sample expects it: pass; any other refusal: skip/rejected; on the simulated device, a refusal that may be caused
 * by that device (checks/framework/simulated_case.h): skip/simulated; an INTERNAL ASSERT: fail sample.internal_assert
 * (a warning); no kernel, a fake kernel in Python: skips; an output or argument that extends past its storage: fail
 * memory.output_outside, and nothing else can be checked; out of memory: error memory for a file's unmodified sample,
 * skip/budget otherwise; an exception that is no std::exception: error foreign_exception; arguments that the harness
 * cannot make: error harness for a file's unmodified sample, skip/not_applicable otherwise. */
bool opc_finding_from_outcome(opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);

/* The same for arguments that could not be made (opc_call_make, opc_call_snapshot…). */
void opc_finding_from_error(const opc_case_context_t *context, const opc_error_t *error, opc_finding_t *finding);

/* It says none of what the Meta kernels of torch say of themselves (bridge/api/torch_texts.h): the Meta kernel refuses
 * the arguments. */
bool opc_message_refuses_arguments(const char *message);
/* An exception of Python code that fails by mistake, for example on an argument that is None or a name that does not
 * exist: not meant for the caller. */
bool opc_message_is_mistake(const char *message);

/* True: the case is a file's unmodified sample. The expectations in the file apply only here. */
bool opc_case_is_declared(const opc_case_context_t *context);

/* True: the case's arguments are as valid as the sample's: the variant kept the values, or every known relation between
 * the arguments (model/case/provenance.h). Otherwise the operator may legitimately expect other arguments. */
bool opc_case_arguments_fit(const opc_case_context_t *context);
/* True: the sample comes from a search and has an expanded tensor of integers, which repeats one element. Used as
 * counts or indices, these are not the values that the search found to be accepted. */
bool opc_case_has_other_integers(const opc_case_context_t *context);
