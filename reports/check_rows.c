#include "reports/check_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static opc_check_row_t *row_of(opc_check_rows_t *rows, const char *name) {
  for (size_t i = 0; i < rows->count; i++)
    if (strcmp(rows->rows[i].name, name) == 0) return &rows->rows[i];
  /* A journal of ours never has more names; further ones are counted together. */
  if (rows->count == OPC_CHECK_ROWS) return &rows->rows[OPC_CHECK_ROWS - 1];
  opc_check_row_t *row = &rows->rows[rows->count++];
  opc_string_put(row->name, sizeof row->name, name);
  return row;
}

static void keep_finding(opc_check_row_t *row, opc_check_outcome_t outcome, const opc_case_id_t *id, uint64_t offset) {
  const int complexity = opc_case_id_complexity(id);
  if (row->found[outcome]++ > 0 && complexity >= row->complexities[outcome]) return;
  row->simplest[outcome] = offset;
  row->complexities[outcome] = complexity;
}

static bool check_rows_visit(const opc_case_result_t *result, void *context) {
  opc_check_rows_t *rows = context;
  opc_check_row_t *row = row_of(rows, result->id.check);
  row->seconds += result->seconds;
  if (result->verdict == OPC_VERDICT_PASS) {
    row->passed++;
  } else if (result->verdict == OPC_VERDICT_SKIP) {
    row->skips[result->reason]++;
    if (rows->details && !row->details[result->reason]) row->details[result->reason] = opc_string_copy(result->message);
  } else {
    const opc_check_outcome_t outcome = result->severity == OPC_SEVERITY_WARNING ? OPC_CHECK_WARNING
                                        : result->verdict == OPC_VERDICT_FAIL    ? OPC_CHECK_FAILURE
                                                                                 : OPC_CHECK_ERROR;
    keep_finding(row, outcome, &result->id, opc_journal_reader_offset(rows->journal));
  }
  return true;
}

opc_status_t opc_check_rows_make(opc_journal_reader_t *journal, size_t operator_index, bool details,
                                 opc_check_rows_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_check_rows) opc_check_rows_t *rows = calloc(1, sizeof *rows);
  *out = NULL;
  if (!rows) return opc_out_of_memory(error);
  rows->details = details;
  rows->journal = journal;
  OPC_RETURN_IF_ERROR(opc_journal_reader_results(journal, operator_index, check_rows_visit, rows, error));
  OPC_MOVE(out, rows);
  return OPC_OK;
}

void opc_check_rows_free(opc_check_rows_t *rows) {
  for (size_t i = 0; rows && i < rows->count; i++)
    for (size_t k = 0; k < OPC_SKIP_COUNT; k++) free(rows->rows[i].details[k]);
  free(rows);
}

void opc_scope_check_rows(opc_check_rows_t **rows) { opc_check_rows_free(*rows); }

opc_check_outcome_t opc_check_row_worst(const opc_check_row_t *row) {
  int outcome = 0;
  while (outcome < OPC_CHECK_OUTCOMES && row->found[outcome] == 0) outcome++;
  return (opc_check_outcome_t)outcome;
}

opc_skip_reason_t opc_check_row_skip(const opc_check_row_t *row, opc_text_t *out) {
  size_t most = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < OPC_SKIP_COUNT; i++) {
    if (row->skips[i] > row->skips[most]) most = i;
    total += row->skips[i];
  }
  const char *detail = row->details[most];
  if (total > 1) opc_text_addf(out, "%" PRIu64 " of %" PRIu64 " cases", row->skips[most], total);
  if (detail && *detail) opc_text_addf(out, "%s%s", total > 1 ? "; " : "", detail);
  return (opc_skip_reason_t)most;
}
