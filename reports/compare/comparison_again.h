/* Whether the cases of a problem were tried again in a later run, and what came of it: a problem that is gone because
 * nobody looked is not fixed. A case is found by its id, or, because another search finds other samples, by what is
 * left of its id without the sample.
 *
 * Ownership: a new reference. Threads: one. */
#pragma once

#include "reports/compare/comparison.h"

enum {
  OPC_AGAIN_PASSED = 1 << 0,
  OPC_AGAIN_REFUSED = 1 << 1,
  OPC_AGAIN_FOUND = 1 << 2, /* something was found */
  OPC_AGAIN_EXCUSED = 1 << 3,
  OPC_AGAIN_REASONS = 4
};
#define OPC_AGAIN_SKIPPED(reason) (1U << (OPC_AGAIN_REASONS + (unsigned)(reason))) /* opc_skip_reason_t */

/* The cases to look for; before NULL: none. NULL: out of memory. */
json_t *opc_compare_again_of(const opc_compare_run_t *before);
/* False: out of memory. */
bool opc_compare_again_note(json_t *again, const opc_case_id_t *id, opc_verdict_kind_t verdict,
                            opc_skip_reason_t reason);
/* OPC_AGAIN_… bits of the cases of a problem; 0: none of them ran. */
unsigned opc_compare_again_find(const json_t *again, const json_t *problem);

/* Each case of the problem is known, and has a result. */
bool opc_compare_again_has_all(const json_t *again, const json_t *problem);

/* The problem in `other` about the same argument of the same operator, which has another name in the schema there:
 * libraries name arguments when they write down schemas. NULL: there is none. */
const json_t *opc_compare_renamed(const opc_compare_run_t *own, const json_t *problem, const opc_compare_run_t *other);
