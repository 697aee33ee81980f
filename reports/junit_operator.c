#include "reports/junit_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKS_MAX = 64, SHOWN_NAMES = 20, MESSAGE_SHOWN = 1000 };
typedef enum outcome { OUTCOME_ERROR, OUTCOME_FAILURE, OUTCOME_WARNING, OUTCOMES } outcome_t;

typedef struct check_row {
  char name[40];
  uint64_t found[OUTCOMES], passed, skips[OPC_SKIP_COUNT];
  char *details[OPC_SKIP_COUNT]; /* of the first skip for each reason */
  uint64_t simplest[OUTCOMES];   /* where the simplest case of each is (opc_journal_reader_offset) */
  int complexities[OUTCOMES];
  double seconds;
} check_row_t;

typedef struct check_rows {
  check_row_t rows[CHECKS_MAX];
  size_t count;
  bool keep; /* details, too */
  const opc_journal_reader_t *journal;
} check_rows_t;

static check_row_t *row_of(check_rows_t *rows, const char *name) {
  for (size_t i = 0; i < rows->count; i++)
    if (strcmp(rows->rows[i].name, name) == 0) return &rows->rows[i];
  /* A journal of ours never has more names; further ones are counted together. */
  if (rows->count == CHECKS_MAX) return &rows->rows[CHECKS_MAX - 1];
  check_row_t *row = &rows->rows[rows->count++];
  opc_string_put(row->name, sizeof row->name, name);
  return row;
}

static void keep_finding(check_row_t *row, outcome_t outcome, const opc_case_id_t *id, uint64_t offset) {
  const int complexity = opc_case_id_complexity(id);
  if (row->found[outcome]++ > 0 && complexity >= row->complexities[outcome]) return;
  row->simplest[outcome] = offset;
  row->complexities[outcome] = complexity;
}

static bool junit_operator_visit_result(const opc_case_result_t *result, void *context) {
  check_rows_t *rows = context;
  check_row_t *row = row_of(rows, result->id.check);
  row->seconds += result->seconds;
  if (result->verdict == OPC_VERDICT_PASS) {
    row->passed++;
  } else if (result->verdict == OPC_VERDICT_SKIP) {
    row->skips[result->reason]++;
    if (rows->keep && !row->details[result->reason]) row->details[result->reason] = opc_string_copy(result->message);
  } else {
    const outcome_t outcome = result->severity == OPC_SEVERITY_WARNING ? OUTCOME_WARNING
                              : result->verdict == OPC_VERDICT_FAIL    ? OUTCOME_FAILURE
                                                                       : OUTCOME_ERROR;
    keep_finding(row, outcome, &result->id, opc_journal_reader_offset(rows->journal));
  }
  return true;
}

static void scope_rows(check_rows_t **rows) {
  for (size_t i = 0; *rows && i < (*rows)->count; i++)
    for (size_t k = 0; k < OPC_SKIP_COUNT; k++) free((*rows)->rows[i].details[k]);
  free(*rows);
}

static void count_row(const check_row_t *row, opc_journal_counts_t *counts) {
  if (row->found[OUTCOME_ERROR]) counts->error++;
  else if (row->found[OUTCOME_FAILURE]) counts->fail++;
  else if (row->found[OUTCOME_WARNING]) counts->warnings++;
  else if (row->passed) counts->pass++;
  else counts->skip++;
}

static void junit_operator_add_names(opc_text_t *out, const json_t *names) {
  size_t index, total = json_array_size(names);
  json_t *name;
  json_array_foreach(names, index, name) {
    if (index == SHOWN_NAMES) break;
    opc_text_addf(out, "%s%s", index ? ", " : "", json_string_value(name));
  }
  if (total > SHOWN_NAMES) opc_text_addf(out, " and %zu more", total - SHOWN_NAMES);
  opc_text_add(out, "\n");
}

static void add_problem(opc_text_t *out, const json_t *problem) {
  const char *message = opc_record_text(problem, "message");
  size_t shown = strlen(message);
  if (shown > MESSAGE_SHOWN)
    for (shown = MESSAGE_SHOWN; ((unsigned char)message[shown] & 0xc0) == 0x80;) shown--;
  opc_text_addf(out, "problem %s, %s: %.*s%s\n", opc_record_text(problem, "id"), opc_record_text(problem, "severity"),
                (int)shown, message, message[shown] ? "…" : "");
  opc_text_add(out, "  rules: ");
  junit_operator_add_names(out, json_object_get(problem, "symptoms"));
  if (*opc_record_text(problem, "location")) opc_text_addf(out, "  where: %s\n", opc_record_text(problem, "location"));
  if (json_array_size(json_object_get(problem, "operators")) > 1) {
    opc_text_add(out, "  operators: ");
    junit_operator_add_names(out, json_object_get(problem, "operators"));
  }
  opc_text_addf(out, "  cases: %" JSON_INTEGER_FORMAT "\n", json_integer_value(json_object_get(problem, "count")));
  if (*opc_record_text(problem, "repro")) opc_text_addf(out, "  repro: %s\n", opc_record_text(problem, "repro"));
}

/* Adds the problems that have a finding of this check of the operator. */
static opc_status_t junit_operator_add_problems(opc_junit_t *junit, size_t operator_index, const char *check,
                                                opc_text_t *out) {
  const opc_problems_t *problems = junit->source->problems;
  uint64_t bit = opc_problem_check_bit(check);
  for (size_t i = 0; i < problems->count; i++) {
    const opc_problem_t *problem = &problems->items[i];
    for (size_t k = 0; k < problem->operator_count; k++) {
      const opc_problem_operator_t *op = &problem->operators[k];
      json_auto_t *json = NULL;
      if (op->index != operator_index || !((op->error_checks | op->warning_checks) & bit)) continue;
      OPC_RETURN_IF_ERROR(opc_problem_to_json(problems, problem, &json, NULL, junit->error));
      add_problem(out, json);
    }
  }
  return OPC_OK;
}

static void write_skipped(opc_junit_t *junit, const check_row_t *row) {
  size_t most = 0;
  uint64_t total = 0;
  for (size_t i = 0; i < OPC_SKIP_COUNT; i++) {
    if (row->skips[i] > row->skips[most]) most = i;
    total += row->skips[i];
  }
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  if (total > 1) opc_text_addf(&message, "%" PRIu64 " of %" PRIu64 " cases", row->skips[most], total);
  if (row->details[most] && *row->details[most])
    opc_text_addf(&message, "%s%s", message.length ? "; " : "", row->details[most]);
  opc_junit_skip(junit, opc_skip_reason_name((opc_skip_reason_t)most), opc_text_c(&message));
}

static opc_status_t write_row(opc_junit_t *junit, size_t operator_index, const check_row_t *row) {
  static const char *const elements[OUTCOMES] = {"error", "failure", "system-out"};
  OPC_SCOPED(opc_text_clear) opc_text_t name = {0}, problems = {0};
  opc_text_addf(&name, "%s/%s", junit->op->name, row->name);
  opc_junit_testcase(junit, junit->op->library, junit->op->name, opc_text_c(&name), row->seconds);
  int outcome = 0;
  while (outcome < OUTCOMES && row->found[outcome] == 0) outcome++;
  if (outcome < OUTCOMES) {
    OPC_SCOPED(opc_scope_case_result) opc_case_result_t *simplest = NULL;
    OPC_RETURN_IF_ERROR(opc_journal_reader_result(junit->journal, row->simplest[outcome], &simplest, junit->error));
    OPC_RETURN_IF_ERROR(junit_operator_add_problems(junit, operator_index, row->name, &problems));
    opc_junit_finding(junit, elements[outcome], simplest, &problems);
  } else if (!row->passed) {
    write_skipped(junit, row);
  }
  opc_junit_close(junit);
  return OPC_OK;
}

opc_status_t opc_junit_operator(opc_junit_t *junit, size_t operator_index) {
  OPC_SCOPED(scope_rows) check_rows_t *rows = calloc(1, sizeof *rows);
  if (!rows) return opc_out_of_memory(junit->error);
  rows->keep = junit->xml;
  rows->journal = junit->journal;
  OPC_RETURN_IF_ERROR(
      opc_journal_reader_results(junit->journal, operator_index, junit_operator_visit_result, rows, junit->error));
  for (size_t i = 0; i < rows->count; i++) {
    if (rows->keep) OPC_RETURN_IF_ERROR(write_row(junit, operator_index, &rows->rows[i]));
    else count_row(&rows->rows[i], &junit->tests[operator_index]);
  }
  return OPC_OK;
}
