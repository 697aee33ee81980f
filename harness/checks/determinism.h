/* Inside of check determinism: its two kinds of cases.
 *
 * Ownership: the session belongs to the child and ends with it. Threads: one. */
#ifndef OPC_CHECKS_DETERMINISM_H
#define OPC_CHECKS_DETERMINISM_H

#include "checks/determinism_apart.h"

/* What lives across the cases of an operator. */
typedef struct opc_determinism_session {
  opc_apart_t *apart; /* NULL: none, or it was looked at */
  bool waited;        /* for threads, the whole time */
} opc_determinism_session_t;

/* The tags that change what is asked for. */
bool opc_operator_is_seeded(const opc_operator_t *op);
bool opc_operator_is_repeatable(const opc_operator_t *op); /* not tagged nondeterministic_bitwise */

/* The aggregating case. */
void opc_determinism_run_once(opc_case_context_t *context, opc_determinism_session_t *session, opc_finding_t *finding);

#endif
