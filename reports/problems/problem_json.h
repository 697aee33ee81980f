/* A problem as the JSON report has it, which the other reports show, too.
 *
 * Ownership: see below. Threads: one. */
#pragma once

#include "reports/problems/problems.h"

/* The fields of the JSON report's problems, a new reference. *out_record (optional) is the case that stands for it, a
 * new reference. */
opc_status_t opc_problem_to_json(const opc_problems_t *problems, const opc_problem_t *problem, json_t **out,
                                 json_t **out_record, opc_error_t *error) OPC_CHECKED;
