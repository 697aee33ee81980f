/* Whether an operator keeps fewer bits of a number argument (float, Scalar) than its tensors have. Part of check
 * equivalent. Threads: one. */
#pragma once

#include "checks/call/replay.h"
#include "checks/framework/check.h"

/* For a sample in float64: float and Scalar arguments. */
void opc_equivalent_float(opc_case_context_t *context, opc_finding_t *finding);
/* For a sample with int64 tensors, whose values are `values`: integral Scalars. Sets *out_judged if one could be
 * judged. */
opc_status_t opc_equivalent_integer(opc_case_context_t *context, opc_replay_t *values, bool *out_judged,
                                    opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
