/* Adds what an external tool (Valgrind, compute-sanitizer) found while a case ran to the case's result.
 *
 * A finding is an object {"rule", "message", …}, with "severity" if it differs from the rule's. Ownership: JSON stays
 * the caller's. Threads: one. */
#pragma once

#include <jansson.h>

/* The first finding becomes the result if it is worse than the check's; the others go to evidence.also. Sets
 * evidence.witnessed. */
void opc_external_tool_merge(json_t *result, const json_t *findings);
void opc_external_tool_also(json_t *evidence, const json_t *findings);
