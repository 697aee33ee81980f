/* Internals of the JUnit report: one testcase for each check of an operator.
 *
 * Ownership: nothing is kept but junit->tests. Threads: one. */
#pragma once

#include "reports/junit_write.h"

/* The testcases of an operator: error if any case is one, else failure, else passed if any case passed (a warning is a
 * pass with text), else skipped with the most frequent reason. During the pass that only looks at names: counts them in
 * junit->tests. */
opc_status_t opc_junit_operator(opc_junit_t *junit, size_t operator_index) OPC_CHECKED;
