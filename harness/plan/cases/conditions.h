/* Evaluates the conditions of case rules on an operator and a sample. No libtorch, no call.
 *
 * Threads: any. Ownership: nothing is kept. */
#pragma once

#include "plan/cases/case_rule.h"

/* True if all conditions (OPC_WHEN_…) hold. The planner evaluates OPC_WHEN_DTYPE_CHANGES, which is about a case. */
bool opc_case_conditions_hold(const opc_case_rule_t *rule, const opc_operator_t *op, const opc_sample_t *sample);

/* The size of the sample that the rule chooses; 0: none. */
int64_t opc_case_size(const opc_case_rule_t *rule, const opc_sample_t *sample);
bool opc_sample_has_float8(const opc_sample_t *sample);
bool opc_sample_has_complex(const opc_sample_t *sample);
/* A variant made numbers negative of which the sample says that they are between 0 and 1. */
bool opc_sample_leaves_range(const opc_sample_t *sample);
int64_t opc_sample_numel_max(const opc_sample_t *sample); /* elements of its largest tensor */
