/* Names the kernel that a finding is about: its function, and the line where that is defined.
 *
 * Threads: one. */
#pragma once

#include "supervise/session/session.h"

/* Adds evidence "kernel" ({"key", "module", "offset", "symbol", "file", "line"}, what is known of it) to a finding that
 * is about a kernel. */
opc_status_t opc_kernel_place_add(opc_session_t *session, const opc_operator_t *op, opc_case_result_t *result,
                                  opc_error_t *error) OPC_CHECKED;
