/* Which severity a finding has, and under which rule it is reported: a function of the result and the options alone.
 * catalogue/severity.h says what each rule claims.
 *
 * Threads: any. Errors: none. */
#pragma once

#include "result/case_result.h"

/* For a failure or an error, before it is counted and written; any other result stays as it is. The most severe of the
 * rule and those in `also` becomes the rule. A finding that would be an error only on valid input becomes
 * memory.unchecked_arguments, with its effect, its own rule, and the argument that was varied (NULL: not a single one).
 * untrusted_input: arguments that are not checked are an error (--untrusted-input). */
void opc_case_result_judge(opc_case_result_t *result, bool untrusted_input);
