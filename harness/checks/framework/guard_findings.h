/* Reports the accesses that guarded memory recorded while the operator ran (memory/guard.h).
 *
 * Ownership: nothing is kept. Threads: one, while no operator runs. */
#pragma once

#include "checks/framework/check.h"
#include "memory/guard.h"

/* Makes arguments read-only, or writable again. Applies to arguments that the schema does not declare mutable and that
 * share no storage with a mutable one. Memory that is not guarded stays unchanged. */
void opc_call_protect(const opc_call_t *call, bool read_only);

/* Damage to the slack is found afterwards, so the instruction is unknown. */
typedef enum opc_accesses_wanted {
  OPC_ACCESSES_ALL = 0,
  OPC_ACCESSES_PLACED /* accesses with a known instruction */
} opc_accesses_wanted_t;

/* Reports the accesses of these kinds (1u << OPC_ACCESS_…) without removing them. The same instruction is reported once
 * per case and rule. OUTSIDE: memory.out_of_bounds_read, memory.out_of_bounds_write; FREED: memory.use_after_free. The
 * evidence gets "accesses", with raw frames that the supervisor symbolises: it appends the source location to the text,
 * then `remark` (may be NULL). */
void opc_accesses_report(const opc_case_context_t *context, unsigned kinds, opc_accesses_wanted_t wanted,
                         const char *remark, opc_finding_t *finding);
/* Kinds of accesses: out of bounds, or to freed memory. */
enum { OPC_ACCESSES_INVALID = 1u << OPC_ACCESS_OUTSIDE | 1u << OPC_ACCESS_FREED };
/* The number of accesses of these kinds. */
size_t opc_accesses_count(unsigned kinds);
/* READ_ONLY: mutation.undeclared, mutation.outside_view; the call gives the element that a byte belongs to. */
void opc_accesses_report_writes(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding);
