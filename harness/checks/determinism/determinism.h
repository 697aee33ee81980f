/* Inside of check determinism: its two kinds of cases.
 *
 * Ownership: see below. Threads: one. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_H

#include "checks/determinism/determinism_apart.h"

/* The tags that change what is asked for. */
bool opc_operator_is_seeded(const opc_operator_t *op);
bool opc_operator_is_repeatable(const opc_operator_t *op); /* not tagged nondeterministic_bitwise */

/* The aggregating case. Clears the process apart; NULL: there is none. */
void opc_determinism_run_once(opc_case_context_t *context, opc_apart_t *apart, opc_finding_t *finding);

#endif
