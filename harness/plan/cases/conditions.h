/* The conditions of case rules: what must hold of an operator and a sample. No libtorch, no call.
 *
 * Threads: any. Ownership: nothing is kept. */
#ifndef OPC_PLAN_CASES_CONDITIONS_H
#define OPC_PLAN_CASES_CONDITIONS_H

#include "plan/cases/case_rule.h"

/* Whether all conditions (OPC_WHEN_…) hold. OPC_WHEN_DTYPE_CHANGES, of a case, is the planner's to ask. */
bool opc_case_conditions_hold(const opc_case_rule_t *rule, const opc_operator_t *op, const opc_sample_t *sample);

/* The size that the rule chooses of a sample; 0: it has none. */
int64_t opc_case_size(const opc_case_rule_t *rule, const opc_sample_t *sample);
bool opc_sample_has_float8(const opc_sample_t *sample);
int64_t opc_sample_numel_max(const opc_sample_t *sample); /* elements of its largest tensor */

#endif
