/* Whether a call takes far more memory than its tensors. Part of check memory; for the unmodified sample. Threads:
 * one. */
#pragma once

#include "checks/framework/check.h"

/* Makes one call, in plain memory. */
opc_status_t opc_memory_use_check(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
