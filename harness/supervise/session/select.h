/* The selection of a run: checks, devices, operators, shards.
 *
 * Ownership: fills the session's fields. Threads: one. */
#pragma once

#include "supervise/session/session.h"

/* Sets checks, devices, absent, calls, has_only, only. OPC_ERR_USAGE: unknown name; the message lists the known
 * ones. */
opc_status_t opc_select_plan(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* True if --op, --namespace, --shard and --case select the operator. Operators of packages that a module of --python
 * imports must be named by --op, --namespace or --case. */
bool opc_select_operator(const opc_session_t *session, const opc_operator_t *op);
/* True if it is such an operator, and none of these options is given. */
bool opc_select_leaves_out(const opc_session_t *session, const opc_operator_t *op);
