#include "reports/problems/problems.h"

#include <inttypes.h>

bool opc_operator_is_checked(const opc_journal_operator_t *op) { return op->asked ? op->called : op->has_verdict; }

bool opc_operator_is_counted(const opc_journal_operator_t *op) {
  const opc_journal_counts_t *counts = &op->counts;
  return !op->is_file && counts->pass + counts->fail + counts->error + counts->warnings + counts->skip > 0;
}

opc_skip_reason_t opc_operator_main_skip(const opc_journal_operator_t *op) {
  size_t most = OPC_SKIP_NONE;
  for (size_t i = 0; i < OPC_SKIP_COUNT; i++)
    if (op->skips[i] > op->skips[most]) most = i;
  return (opc_skip_reason_t)most;
}

opc_coverage_t opc_coverage_of(const opc_journal_reader_t *journal) {
  opc_journal_summary_t summary;
  opc_journal_reader_summary(journal, &summary);
  opc_coverage_t coverage = {.stopped = !summary.complete};
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(journal, i);
    if (!opc_operator_is_counted(op)) continue;
    coverage.total++;
    coverage.asked_checks |= op->asked_checks;
    for (size_t check = 0; check < 64; check++) coverage.proved[check] += op->proved_checks >> check & 1U;
    if (opc_operator_is_checked(op)) coverage.checked++;
    else if (op->skips[OPC_SKIP_NO_SAMPLE]) coverage.without_inputs++;
    else if (op->skips[OPC_SKIP_NO_KERNEL]) coverage.without_kernel++;
    else coverage.other++;
  }
  return coverage;
}

uint64_t opc_coverage_required(const opc_coverage_t *coverage, int percent) {
  return (coverage->total * (uint64_t)percent + 99) / 100;
}

uint64_t opc_coverage_checks(const opc_coverage_t *coverage, uint64_t *out_proved) {
  uint64_t asked = 0;
  *out_proved = 0;
  for (size_t check = 0; check < 64; check++) {
    asked += coverage->asked_checks >> check & 1U;
    *out_proved += coverage->proved[check] > 0;
  }
  return asked;
}

void opc_coverage_say(const opc_coverage_t *coverage, opc_text_t *out) {
  uint64_t proved;
  const uint64_t checks = opc_coverage_checks(coverage, &proved);
  if (coverage->stopped)
    opc_text_addf(out, "%" PRIu64 " operators and classes checked before the run stopped", coverage->checked);
  else
    opc_text_addf(out, "%" PRIu64 " of %" PRIu64 " operators and classes checked", coverage->checked, coverage->total);
  if (!coverage->stopped && proved > 0 && proved < checks)
    opc_text_addf(out, ", by %" PRIu64 " of %" PRIu64 " checks", proved, checks);
  if (coverage->without_inputs) opc_text_addf(out, ", %" PRIu64 " without inputs", coverage->without_inputs);
  if (coverage->without_kernel) opc_text_addf(out, ", %" PRIu64 " without a kernel", coverage->without_kernel);
  if (coverage->other) opc_text_addf(out, ", %" PRIu64 " skipped", coverage->other);
}
