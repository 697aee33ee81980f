/* --list-cases: the plan of a run, without running any of it. Samples of files, recordings, classes and packages are
 * planned as in a worker; operators without a sample are listed as to be searched first.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "supervise/session/session.h"

/* Operators from index `searched` on are never searched. Passes each case to options->planned. */
opc_status_t opc_list_cases(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                            size_t searched, opc_error_t *error) OPC_CHECKED;
