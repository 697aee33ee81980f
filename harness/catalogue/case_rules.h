/* Which cases each check wants, and why: tables for the planner (plan/cases/planner.h). No libtorch.
 *
 * Threads, fork: constant tables. */
#ifndef OPC_CATALOGUE_CASE_RULES_H
#define OPC_CATALOGUE_CASE_RULES_H

#include "plan/cases/case_rule.h"

extern const opc_case_table_t opc_case_tables[]; /* opc_check_info_count tables, in the order of opc_check_infos */

#endif
