/* What another program saw while a case ran (Valgrind, compute-sanitizer), put into the case's result.
 *
 * A finding is an object {"rule", "message", …}; "severity" where it is not the rule's. Ownership: JSON stays the
 * caller's. Threads: one. */
#ifndef OPC_SUPERVISE_EVIDENCE_EXTERNAL_TOOL_H
#define OPC_SUPERVISE_EVIDENCE_EXTERNAL_TOOL_H

#include <jansson.h>

/* The first finding becomes the result where it is worse than what the check found; the others are in evidence.also.
 * evidence.witnessed is set. */
void opc_external_tool_merge(json_t *result, const json_t *findings);
void opc_external_tool_also(json_t *evidence, const json_t *findings);

#endif
