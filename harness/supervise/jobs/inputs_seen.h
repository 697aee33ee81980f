/* The inputs with which an operator was called, and what it did with them: for each tensor argument the numbers of
 * dimensions, dtypes, layouts and sizes, for other arguments the values, and the devices. Reports show it as the
 * operator's coverage (reports/text/gaps.c).
 *
 * Ownership: opc_inputs_seen_clear. A zeroed value is empty and valid. Threads: one. */
#pragma once

#include "model/case/hash_set.h"
#include "model/sample/sample.h"
#include "result/case_result.h"

typedef struct opc_inputs_seen {
  opc_hash_set_t inputs; /* those noted, each with its outcome */
  json_t *record;        /* NULL: none was noted */
} opc_inputs_seen_t;

/* Takes the result of a case into account: a result of a call, a refusal, or a crash. Ignores other skips, and cases
 * without input. */
opc_status_t opc_inputs_seen_note(opc_inputs_seen_t *seen, const opc_case_result_t *result, bool crashed,
                                  const opc_sample_set_t *samples, const opc_operator_t *op,
                                  opc_error_t *error) OPC_CHECKED;
/* The "coverage" record of reports/journal/journal_reader.h; new reference. NULL: no input was noted. */
json_t *opc_inputs_seen_record(const opc_inputs_seen_t *seen, const opc_operator_t *op);
void opc_inputs_seen_clear(opc_inputs_seen_t *seen);
