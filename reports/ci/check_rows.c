#include "reports/ci/check_rows.h"

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

static void keep_skip(opc_check_row_t *row, opc_skip_reason_t reason, uint64_t offset) {
  if (row->skips[reason]++ == 0) row->first_skips[reason] = offset;
}

/* True: the finding is of a known problem, and counted. */
static bool take_known(opc_check_rows_t *rows, opc_check_row_t *row, const opc_case_result_t *result) {
  const opc_problems_t *problems = rows->source->problems;
  const bool any = problems->fresh < problems->count;
  const opc_problem_t *problem = any ? opc_problems_find(problems, rows->operator_index, result) : NULL;
  if (!problem || !problem->known) return false;
  row->known++;
  if (row->known_as) return true;
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_known_say(problem->known, &text);
  opc_text_addf(&text, " (problem %s): %s", problem->id, result->message);
  row->known_as = opc_text_take(&text);
  return true;
}

static bool check_rows_visit(const opc_case_result_t *result, void *context) {
  opc_check_rows_t *rows = context;
  opc_check_row_t *row = row_of(rows, result->id.check);
  const uint64_t offset = opc_journal_reader_offset(rows->source->journal);
  row->seconds += result->seconds;
  if (result->verdict == OPC_VERDICT_PASS) {
    row->passed++;
  } else if (result->verdict == OPC_VERDICT_SKIP) {
    keep_skip(row, result->reason, offset);
  } else if (!take_known(rows, row, result)) {
    const opc_check_outcome_t outcome = result->severity == OPC_SEVERITY_WARNING ? OPC_CHECK_WARNING
                                        : result->verdict == OPC_VERDICT_FAIL    ? OPC_CHECK_FAILURE
                                                                                 : OPC_CHECK_ERROR;
    keep_finding(row, outcome, &result->id, offset);
  }
  return true;
}

static opc_status_t visit_outline(const opc_result_outline_t *outline, void *context, opc_error_t *error) {
  opc_check_rows_t *rows = context;
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  if (outline->finding || outline->check < 0) {
    OPC_RETURN_IF_ERROR(opc_journal_reader_result(rows->source->journal, outline->offset, &result, error));
    (void)check_rows_visit(result, rows);
    return OPC_OK;
  }
  opc_check_row_t *row = row_of(rows, opc_check_infos[outline->check].name);
  if (outline->reason == OPC_SKIP_NONE) row->passed++;
  else keep_skip(row, outline->reason, outline->offset);
  return OPC_OK;
}

opc_status_t opc_check_rows_make(const opc_report_source_t *source, size_t operator_index, bool seconds,
                                 opc_check_rows_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_check_rows) opc_check_rows_t *rows = calloc(1, sizeof *rows);
  *out = NULL;
  if (!rows) return opc_out_of_memory(error);
  rows->source = source;
  rows->operator_index = operator_index;
  OPC_RETURN_IF_ERROR(seconds
                          ? opc_journal_reader_results(source->journal, operator_index, check_rows_visit, rows, error)
                          : opc_journal_reader_outlines(source->journal, operator_index, visit_outline, rows, error));
  OPC_MOVE(out, rows);
  return OPC_OK;
}

void opc_check_rows_free(opc_check_rows_t *rows) {
  for (size_t i = 0; rows && i < rows->count; i++) free(rows->rows[i].known_as);
  free(rows);
}

void opc_scope_check_rows(opc_check_rows_t **rows) { opc_check_rows_free(*rows); }

opc_check_outcome_t opc_check_row_worst(const opc_check_row_t *row) {
  int outcome = 0;
  while (outcome < OPC_CHECK_OUTCOMES && row->found[outcome] == 0) outcome++;
  return (opc_check_outcome_t)outcome;
}

opc_status_t opc_check_row_detail(opc_journal_reader_t *journal, const opc_check_row_t *row, opc_skip_reason_t reason,
                                  opc_text_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  if (row->skips[reason] == 0) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_journal_reader_result(journal, row->first_skips[reason], &result, error));
  opc_text_add(out, result->message);
  return OPC_OK;
}

opc_status_t opc_check_row_skip(opc_journal_reader_t *journal, const opc_check_row_t *row,
                                opc_skip_reason_t *out_reason, opc_text_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t detail = {0};
  size_t most = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < OPC_SKIP_COUNT; i++) {
    if (row->skips[i] > row->skips[most]) most = i;
    total += row->skips[i];
  }
  *out_reason = (opc_skip_reason_t)most;
  OPC_RETURN_IF_ERROR(opc_check_row_detail(journal, row, *out_reason, &detail, error));
  if (total > 1) opc_text_addf(out, "%" PRIu64 " of %" PRIu64 " cases", row->skips[most], total);
  if (detail.length > 0) opc_text_addf(out, "%s%s", total > 1 ? "; " : "", opc_text_c(&detail));
  return OPC_OK;
}
