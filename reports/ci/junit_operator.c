#include <string.h>

#include "reports/ci/check_rows.h"
#include "reports/ci/junit_write.h"
#include "reports/text/screen.h"

enum { SHOWN_NAMES = 20, MESSAGE_SHOWN = 1000 };
static void count_row(const opc_check_row_t *row, opc_journal_counts_t *counts) {
  if (row->found[OPC_CHECK_ERROR]) counts->error++;
  else if (row->found[OPC_CHECK_FAILURE]) counts->fail++;
  else if (row->found[OPC_CHECK_WARNING]) counts->warnings++;
  else if (row->known) counts->skip++;
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
  const size_t shown = opc_xml_text_cut(message, strlen(message), MESSAGE_SHOWN);
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

/* A problem of many operators is written with each of them. */
static opc_status_t add_problem_text(opc_junit_t *junit, const opc_problem_t *problem, opc_text_t *out) {
  const opc_problems_t *problems = junit->source->problems;
  char **shared = &junit->shared[problem - problems->items];
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  json_auto_t *json = NULL;
  if (!*shared) {
    OPC_RETURN_IF_ERROR(opc_problem_to_json(problems, problem, &json, NULL, junit->error));
    add_problem(&text, json);
    if (text.failed) return opc_out_of_memory(junit->error);
  }
  opc_text_add(out, *shared ? *shared : opc_text_c(&text));
  if (!*shared && problem->operator_count > 1) *shared = opc_text_take(&text);
  return OPC_OK;
}

/* Adds the problems that have a finding of this check of the operator, without those that are known. */
static opc_status_t junit_operator_add_problems(opc_junit_t *junit, size_t operator_index, const char *check,
                                                opc_text_t *out) {
  const opc_problems_t *problems = junit->source->problems;
  uint64_t bit = opc_problem_check_bit(check);
  const opc_problem_of_t *own;
  const size_t count = opc_problems_of(problems, operator_index, &own);
  for (size_t i = 0; i < count; i++) {
    if (own[i].problem->known || !((own[i].op->error_checks | own[i].op->warning_checks) & bit)) continue;
    OPC_RETURN_IF_ERROR(add_problem_text(junit, own[i].problem, out));
  }
  return OPC_OK;
}

static opc_status_t write_row(opc_junit_t *junit, size_t operator_index, const opc_check_row_t *row) {
  static const char *const elements[OPC_CHECK_OUTCOMES] = {"error", "failure", "system-out"};
  OPC_SCOPED(opc_text_clear) opc_text_t name = {0}, problems = {0}, skipped = {0};
  opc_text_addf(&name, "%s/%s", junit->op->name, row->name);
  opc_junit_testcase(junit, junit->op->library, junit->op->name, opc_text_c(&name), row->seconds);
  const opc_check_outcome_t outcome = opc_check_row_worst(row);
  if (outcome < OPC_CHECK_OUTCOMES) {
    OPC_SCOPED(opc_scope_case_result) opc_case_result_t *simplest = NULL;
    OPC_RETURN_IF_ERROR(opc_journal_reader_result(junit->journal, row->simplest[outcome], &simplest, junit->error));
    OPC_RETURN_IF_ERROR(junit_operator_add_problems(junit, operator_index, row->name, &problems));
    opc_junit_finding(junit, elements[outcome], simplest, &problems);
  } else if (row->known) {
    opc_junit_known(junit, row->known_as);
  } else if (!row->passed) {
    opc_skip_reason_t reason;
    OPC_RETURN_IF_ERROR(opc_check_row_skip(junit->journal, row, &reason, &skipped, junit->error));
    opc_junit_skip(junit, opc_skip_reason_name(reason), opc_text_c(&skipped));
  }
  opc_junit_close(junit);
  return OPC_OK;
}

opc_status_t opc_junit_operator(opc_junit_t *junit, size_t operator_index) {
  OPC_SCOPED(opc_scope_check_rows) opc_check_rows_t *rows = NULL;
  OPC_RETURN_IF_ERROR(opc_check_rows_make(junit->source, operator_index, junit->xml, &rows, junit->error));
  for (size_t i = 0; i < rows->count; i++) {
    if (junit->xml) OPC_RETURN_IF_ERROR(write_row(junit, operator_index, &rows->rows[i]));
    else count_row(&rows->rows[i], &junit->tests[operator_index]);
  }
  return OPC_OK;
}
