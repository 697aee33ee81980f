/* What of a run was asked for: checks, devices, operators, shards.
 *
 * Ownership: fills the session's fields. Threads: one. */
#ifndef OPC_SUPERVISE_SESSION_SELECT_H
#define OPC_SUPERVISE_SESSION_SELECT_H

#include "supervise/session/session.h"

/* checks, devices, absent, calls, has_only, only. OPC_ERR_USAGE: a name is not known; the message lists those that are.
 */
opc_status_t opc_select_plan(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* Whether the operator passes --op, --namespace, --shard and --case. */
bool opc_select_operator(const opc_session_t *session, const opc_operator_t *op);

#endif
