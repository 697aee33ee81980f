/* What guarded memory noted while the operator ran (memory/guard.h), as findings.
 *
 * Ownership: nothing is kept. Threads: one, while no operator runs. */
#ifndef OPC_CHECKS_FRAMEWORK_GUARD_FINDINGS_H
#define OPC_CHECKS_FRAMEWORK_GUARD_FINDINGS_H

#include "checks/framework/check.h"
#include "memory/guard.h"

/* Every argument that the schema does not declare mutable, and that shares no storage with one that is, becomes
 * read-only, or writable again. Memory that is not guarded stays as it is. */
void opc_call_protect(const opc_call_t *call, bool read_only);

/* Damage to the slack is found afterwards: nobody knows which instruction did it. */
typedef enum opc_accesses_wanted {
  OPC_ACCESSES_ALL = 0,
  OPC_ACCESSES_PLACED /* at a known instruction */
} opc_accesses_wanted_t;

/* Reports the accesses of these kinds (1u << OPC_ACCESS_…), and leaves them where they are. The same instruction is
 * reported once per case and rule. OUTSIDE: memory.out_of_bounds_read, memory.out_of_bounds_write; FREED:
 * memory.use_after_free. The evidence gets "accesses", with raw frames that the supervisor names: it adds the place to
 * the text, and `remark` (may be NULL) behind it. */
void opc_accesses_report(const opc_case_context_t *context, unsigned kinds, opc_accesses_wanted_t wanted,
                         const char *remark, opc_finding_t *finding);
/* How many of these kinds there are. */
size_t opc_accesses_count(unsigned kinds);
/* READ_ONLY: mutation.undeclared, mutation.outside_view; the call tells which element a byte is. */
void opc_accesses_report_writes(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);

#endif
