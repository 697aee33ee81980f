/* Conversions of floating-point numbers to integers that do not fit: a part of check dtype. */
#pragma once

#include "checks/framework/check.h"

/* NULL: conversions of the case's call can be seen. Otherwise why they cannot, as text. */
const char *opc_conversions_unseen(const opc_case_context_t *context);
/* Calls the operator once more on the values of `replay`, and reports dtype.conversion_overflow if its result rests on
 * such a conversion in the code under test. Where that cannot be seen, nothing is called. For a case of
 * OPC_JUDGE_CONVERSIONS, the finding is decided.
 */
opc_status_t opc_conversions_check(opc_case_context_t *context, opc_replay_t *replay, opc_finding_t *finding,
                                   opc_error_t *error) OPC_CHECKED;
