/* The id of a problem: a hash of the library's stem, the rule, and either operator, argument and kind of change, or, of
 * several operators, the function. No line, address, seed, count or path is in it, so that it stays from run to run.
 *
 * Ownership: plain data. Threads: pure functions. */
#pragma once

#include "reports/problems/problem.h"

/* library: path; NULL: unknown. function: "" for the form with the operator. */
void opc_problem_id_set(opc_problem_t *problem, const char *library, const char *operator_name, const char *function);
