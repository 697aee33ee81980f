/* The TAP report: a test point for each operator and check, as in JUnit, and one for each thing that made the run as a
 * whole fail. A known failure is a failed TODO, which no reader counts as a failure.
 *
 * Version 13, which readers of 14 read, too. Its YAML blocks hold strings in double quotes and a list of such strings,
 * because several readers know no more of YAML. Source: the TAP specification, versions 13 and 14. */
#include <string.h>

#include "model/json/json_write.h"
#include "reports/ci/check_rows.h"
#include "reports/ci/ci.h"
#include "reports/text/screen.h"

typedef struct tap {
  const opc_report_source_t *source;
  FILE *stream;
  uint64_t count;
} tap_t;

static void tap_add(opc_text_t *out, const char *text) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  opc_xml_text_message(&line, text, strlen(text));
  for (const char *at = opc_text_c(&line); *at; at++) {
    if (*at == '#' || *at == '\\') opc_text_add(out, "\\");
    opc_text_add_bytes(out, at, 1);
  }
}

/* directive: "", " # SKIP" or " # TODO". */
static void add_point(tap_t *tap, opc_text_t *out, bool ok, const char *name, const char *directive,
                      const char *reason) {
  opc_text_addf(out, "%s %" JSON_INTEGER_FORMAT " - ", ok ? "ok" : "not ok", (json_int_t)++tap->count);
  tap_add(out, name);
  opc_text_add(out, directive);
  if (*directive && *reason) opc_text_add(out, " ");
  if (*directive) tap_add(out, reason);
  opc_text_add(out, "\n");
}

static void add_yaml(opc_text_t *out, const char *before, const char *text) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  opc_xml_text_message(&line, text, strlen(text));
  json_auto_t *value = json_string(opc_text_c(&line));
  OPC_SCOPED(opc_scope_free) char *quoted = json_dumps(value, JSON_ENCODE_ANY);
  if (*text && quoted) opc_text_addf(out, "  %s%s\n", before, quoted);
}

static opc_status_t put_tap(tap_t *tap, const opc_text_t *text, opc_error_t *error) {
  if (text->failed) return opc_out_of_memory(error);
  return fwrite(opc_text_c(text), 1, text->length, tap->stream) == text->length
             ? OPC_OK
             : opc_error_set(error, OPC_ERR_IO, "cannot write the TAP report");
}

/* The ids of the problems that have a finding of this check of the operator. */
static void add_problem_ids(const tap_t *tap, size_t operator_index, const char *check, opc_text_t *out) {
  const opc_problems_t *problems = tap->source->problems;
  const uint64_t bit = opc_problem_check_bit(check);
  bool first = true;
  const opc_problem_of_t *own;
  const size_t count = opc_problems_of(problems, operator_index, &own);
  for (size_t i = 0; i < count; i++) {
    if (own[i].problem->known || !((own[i].op->error_checks | own[i].op->warning_checks) & bit)) continue;
    if (first) opc_text_add(out, "  problems:\n");
    first = false;
    add_yaml(out, "  - ", own[i].problem->id);
  }
}

static opc_status_t add_tap_finding(tap_t *tap, size_t operator_index, const opc_check_row_t *row, opc_text_t *out,
                                    opc_error_t *error) {
  static const char *const severities[OPC_CHECK_OUTCOMES] = {"error", "fail", "warning"};
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *simplest = NULL;
  const opc_check_outcome_t outcome = opc_check_row_worst(row);
  OPC_RETURN_IF_ERROR(opc_journal_reader_result(tap->source->journal, row->simplest[outcome], &simplest, error));
  opc_text_add(out, "  ---\n");
  add_yaml(out, "message: ", simplest->message);
  add_yaml(out, "severity: ", severities[outcome]);
  add_yaml(out, "rule: ", opc_rule_name(simplest->rule));
  add_yaml(out, "case: ", simplest->case_id);
  add_yaml(out, "repro: ", simplest->repro ? simplest->repro : "");
  add_problem_ids(tap, operator_index, row->name, out);
  opc_text_add(out, "  ...\n");
  return OPC_OK;
}

static opc_status_t put_point(tap_t *tap, size_t operator_index, const opc_check_row_t *row, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t name = {0}, reason = {0}, detail = {0}, text = {0};
  const opc_check_outcome_t worst = opc_check_row_worst(row);
  const bool broken = worst <= (tap->source->strict ? OPC_CHECK_WARNING : OPC_CHECK_FAILURE);
  opc_text_addf(&name, "%s/%s", opc_journal_reader_operator(tap->source->journal, operator_index)->name, row->name);
  if (!broken && row->known > 0) {
    add_point(tap, &text, false, opc_text_c(&name), " # TODO", row->known_as ? row->known_as : "");
  } else if (!broken && row->skips[OPC_SKIP_XFAIL] > 0) {
    OPC_RETURN_IF_ERROR(opc_check_row_detail(tap->source->journal, row, OPC_SKIP_XFAIL, &detail, error));
    add_point(tap, &text, false, opc_text_c(&name), " # TODO", opc_text_c(&detail));
  } else if (worst == OPC_CHECK_OUTCOMES && !row->passed) {
    opc_skip_reason_t why;
    OPC_RETURN_IF_ERROR(opc_check_row_skip(tap->source->journal, row, &why, &detail, error));
    opc_text_addf(&reason, "%s%s%s", opc_skip_reason_name(why), detail.length ? ": " : "", opc_text_c(&detail));
    add_point(tap, &text, true, opc_text_c(&name), " # SKIP", opc_text_c(&reason));
  } else {
    add_point(tap, &text, !broken, opc_text_c(&name), "", "");
  }
  if (worst < OPC_CHECK_OUTCOMES) OPC_RETURN_IF_ERROR(add_tap_finding(tap, operator_index, row, &text, error));
  return put_tap(tap, &text, error);
}

static opc_status_t put_tap_trouble(const opc_ci_trouble_t *trouble, void *context, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t name = {0}, text = {0};
  opc_text_addf(&name, "%s%s", trouble->path ? "load " : "run", trouble->path ? trouble->path : "");
  add_point(context, &text, false, opc_text_c(&name), "", "");
  opc_text_add(&text, "  ---\n");
  add_yaml(&text, "message: ", trouble->message);
  add_yaml(&text, "severity: ", "error");
  add_yaml(&text, "rule: ", trouble->rule);
  opc_text_add(&text, "  ...\n");
  return put_tap(context, &text, error);
}

static opc_status_t put_points(tap_t *tap, size_t operator_index, opc_error_t *error) {
  OPC_SCOPED(opc_scope_check_rows) opc_check_rows_t *rows = NULL;
  OPC_RETURN_IF_ERROR(opc_check_rows_make(tap->source, operator_index, false, &rows, error));
  for (size_t i = 0; i < rows->count; i++) OPC_RETURN_IF_ERROR(put_point(tap, operator_index, &rows->rows[i], error));
  return OPC_OK;
}

static opc_status_t write_tap(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t plan = {0};
  tap_t tap = {.source = source, .stream = stream};
  opc_text_add(&plan, "TAP version 13\n");
  OPC_RETURN_IF_ERROR(put_tap(&tap, &plan, error));
  OPC_RETURN_IF_ERROR(opc_ci_each_trouble(source, put_tap_trouble, &tap, error));
  for (size_t i = 0; i < opc_journal_reader_operator_count(source->journal); i++)
    OPC_RETURN_IF_ERROR(put_points(&tap, i, error));
  opc_text_reset(&plan);
  opc_text_addf(&plan, "1..%" JSON_INTEGER_FORMAT "\n", (json_int_t)tap.count);
  return put_tap(&tap, &plan, error);
}

const opc_report_t opc_report_tap = {"tap", "operators and checks as TAP (version 13)", false, false, write_tap};
