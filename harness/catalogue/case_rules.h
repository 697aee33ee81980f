/* Which cases each check wants, and why: tables for the planner (plan/cases/planner.h). No libtorch.
 *
 * Threads, fork: constant tables. */
#pragma once

#include "plan/cases/case_rule.h"

extern const opc_case_table_t opc_case_tables[]; /* opc_check_info_count tables, in the order of opc_check_infos */
