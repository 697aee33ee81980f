/* How much of what was selected was really checked: a run that called two operators of fourteen proves little.
 *
 * Ownership: plain data. Threads: pure functions. */
#pragma once

#include "base/text.h"
#include "reports/journal/journal_reader.h"

typedef struct opc_coverage {
  uint64_t total; /* operators and classes that have a result */
  uint64_t checked;
  uint64_t without_inputs, without_kernel, other; /* of those that were not */
  bool stopped;                                   /* the run stopped early: more than `total` were to be checked */
} opc_coverage_t;

/* A call of it was checked or refused; where no check that calls was asked for: any verdict. */
bool opc_operator_is_checked(const opc_journal_operator_t *op);
bool opc_operator_is_counted(const opc_journal_operator_t *op); /* it has results, and is no file */
opc_coverage_t opc_coverage_of(const opc_journal_reader_t *journal);
/* How many have to be checked for so many percent of them. */
uint64_t opc_coverage_required(const opc_coverage_t *coverage, int percent);
/* "2 of 14 operators and classes checked, 12 without inputs", or "2 operators and classes checked before the run
 * stopped" */
void opc_coverage_say(const opc_coverage_t *coverage, opc_text_t *out);
