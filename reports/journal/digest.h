/* Summary of one operator's results: one finding per rule, counts per check, skips by reason, which dtypes it takes.
 *
 * Ownership: opc_digest_clear. Threads: one. Sizes are bounded by the number of rules, checks, reasons and dtypes, not
 * by that of the results. */
#ifndef OPC_REPORTS_JOURNAL_DIGEST_H
#define OPC_REPORTS_JOURNAL_DIGEST_H

#include "model/case/verdict.h"
#include "reports/journal/journal_reader.h"

typedef struct opc_digest_finding {
  json_t
      *record; /* of the simplest case: fewest transformations, the sample's own dtype before others, then the first */
  int complexity;
  uint64_t cases;
  bool warning;
} opc_digest_finding_t;

typedef struct opc_digest_check {
  char name[32];
  opc_journal_counts_t counts;
  uint64_t skips[OPC_SKIP_COUNT];
  char *skip_details[OPC_SKIP_COUNT]; /* the first one of each reason */
} opc_digest_check_t;

typedef struct opc_digest_dtype {
  char device[16], dtype[16];
  bool accepted, rejected, crashed;
} opc_digest_dtype_t;

enum { OPC_DIGEST_CHECKS = 64, OPC_DIGEST_DTYPES = 128 };

typedef struct opc_digest {
  opc_digest_finding_t *findings; /* failures and warnings, in order of the journal */
  size_t finding_count, finding_capacity;
  opc_digest_check_t checks[OPC_DIGEST_CHECKS];
  size_t check_count;
  opc_digest_dtype_t dtypes[OPC_DIGEST_DTYPES]; /* what the dtype check tried */
  size_t dtype_count;
  opc_status_t status;
} opc_digest_t;

opc_status_t opc_digest_make(opc_journal_reader_t *journal, size_t operator_index, opc_digest_t *out,
                             opc_error_t *error) OPC_CHECKED;
void opc_digest_clear(opc_digest_t *digest);

#endif
