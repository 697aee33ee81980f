/* A problem as the JSON report has it, which the other reports show, too.
 *
 * Ownership: see below. Threads: one. */
#pragma once

#include "reports/problems/problems.h"

/* The fields of the JSON report's problems, a new reference. *out_result (optional) is the case that stands for
 * it: opc_case_result_free. */
opc_status_t opc_problem_to_json(const opc_problems_t *problems, const opc_problem_t *problem, json_t **out,
                                 opc_case_result_t **out_result, opc_error_t *error) OPC_CHECKED;
