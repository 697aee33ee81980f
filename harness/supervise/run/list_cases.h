/* --list-cases: the plan of a run, without running any of it. What sample files, recordings, classes and packages give
 * is planned as a worker plans it; an operator without a sample would be searched first, and says so.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_SUPERVISE_RUN_LIST_CASES_H
#define OPC_SUPERVISE_RUN_LIST_CASES_H

#include "supervise/session/session.h"

/* The operators from `searched` on are never searched. Each case goes to options->planned. */
opc_status_t opc_list_cases(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                            size_t searched, opc_error_t *error) OPC_CHECKED;

#endif
