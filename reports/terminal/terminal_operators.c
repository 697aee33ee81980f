/* The operators of `run --verbose`: what was found in each, what passed, and why the rest was skipped. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/terminal/terminal.h"

enum {
  DETAILED_OPERATORS = 20, /* if there are more, the skips of a checked operator are only counted */
  CASES_OF_RULE = 5,       /* listed for each operator and rule */
  TEXTS_OF_REASON = 3      /* different messages that are shown of the skips with one reason */
};

typedef struct operator_results {
  const opc_screen_t *screen;
  json_t *rules;                                  /* rule -> how many findings of it were seen */
  char *skipped[OPC_SKIP_COUNT][TEXTS_OF_REASON]; /* the first different messages of each reason */
  uint64_t left;                                  /* findings that are not listed */
} operator_results_t;

static void operator_results_clear(operator_results_t *results) {
  json_decref(results->rules);
  for (size_t i = 0; i < OPC_SKIP_COUNT; i++)
    for (size_t k = 0; k < TEXTS_OF_REASON; k++) free(results->skipped[i][k]);
}

static void show_finding(operator_results_t *results, const opc_case_result_t *result) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  const char *rule = opc_rule_name(result->rule);
  const json_int_t before = json_integer_value(json_object_get(results->rules, rule));
  if (json_object_set_new(results->rules, rule, json_integer(before + 1)) != 0 || before >= CASES_OF_RULE) {
    results->left++;
    return;
  }
  opc_text_addf(&line, "%s\n%s: %s", result->case_id, rule, result->message);
  for (size_t i = 0; i < result->also.count; i++)
    opc_text_addf(&line, "\n%s: %s", opc_rule_name(result->also.items[i].rule), result->also.items[i].message);
  opc_screen_field(results->screen, "found", opc_text_c(&line));
}

static void keep_text(char *texts[TEXTS_OF_REASON], const char *message) {
  for (size_t i = 0; i < TEXTS_OF_REASON; i++) {
    if (!texts[i]) texts[i] = opc_string_copy(message);
    if (!texts[i] || strcmp(texts[i], message) == 0) return;
  }
}

static bool terminal_operators_visit_result(const opc_case_result_t *result, void *context) {
  operator_results_t *results = context;
  if (opc_case_result_is_finding(result)) show_finding(results, result);
  else if (result->verdict == OPC_VERDICT_SKIP) keep_text(results->skipped[result->reason], result->message);
  return true;
}

static void show_skips(const operator_results_t *results, const opc_journal_operator_t *op) {
  for (size_t reason = 0; reason < OPC_SKIP_COUNT; reason++) {
    const char *name = opc_skip_reason_name((opc_skip_reason_t)reason);
    OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
    if (!results->skipped[reason][0]) continue;
    opc_text_addf(&line, "%" PRIu32 " %s: ", op->skips[reason], *name ? name : "without a reason");
    for (size_t i = 0; i < TEXTS_OF_REASON && results->skipped[reason][i]; i++) {
      const char *why = results->skipped[reason][i];
      opc_text_addf(&line, "%s%.*s", i > 0 ? "\n" : "", (int)strcspn(why, "\n"), why);
    }
    opc_screen_field(results->screen, "skipped", opc_text_c(&line));
  }
}

static void add_count(opc_text_t *line, uint64_t count, const char *what) {
  if (count > 0) opc_text_addf(line, "%s%" PRIu64 " %s", line->length ? ", " : "", count, what);
}

/* "FAIL  n::a  (libn.so)  1 fail, 12 pass, 3 rejected" */
static void terminal_operators_show_head(const opc_screen_t *screen, const opc_journal_operator_t *op) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  const opc_journal_counts_t *counts = &op->counts;
  const bool checked = opc_operator_is_checked(op);
  if (counts->fail + counts->error) opc_screen_text(screen, OPC_TONE_RED, "FAIL");
  else if (counts->warnings) opc_screen_text(screen, OPC_TONE_YELLOW, "warn");
  else opc_screen_text(screen, checked ? OPC_TONE_GREEN : OPC_TONE_YELLOW, checked ? "ok  " : "----");
  fputs("  ", screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, op->name);
  add_count(&line, counts->fail, "fail");
  add_count(&line, counts->error, "error");
  add_count(&line, counts->warnings, counts->warnings == 1 ? "warning" : "warnings");
  add_count(&line, counts->pass, "pass");
  for (size_t reason = 0; reason < OPC_SKIP_COUNT; reason++) {
    const char *name = opc_skip_reason_name((opc_skip_reason_t)reason);
    add_count(&line, op->skips[reason], *name ? name : "skipped without a reason");
  }
  if (op->library) fprintf(screen->stream, "  (%s)", opc_base_name(op->library));
  fprintf(screen->stream, "  %s%s\n", opc_text_c(&line), checked ? "" : "; no call of it proved anything");
}

/* Where its inputs came from. */
static void show_inputs(const opc_screen_t *screen, const json_t *source) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  const char *detail = opc_record_text(source, "detail"), *recipe = opc_record_text(source, "recipe");
  if (!source || (!*detail && strcmp(opc_record_text(source, "source"), "none") == 0)) return;
  opc_text_addf(&line, "%s%s%s%s%s", opc_record_text(source, "source"), *recipe ? " by the recipe " : "",
                opc_base_name(recipe), *detail ? ": " : "", detail);
  opc_screen_field(screen, "inputs", opc_text_c(&line));
}

static opc_status_t show_operator(opc_journal_reader_t *journal, size_t index, bool detailed,
                                  const opc_screen_t *screen, opc_error_t *error) {
  const opc_journal_operator_t *op = opc_journal_reader_operator(journal, index);
  OPC_SCOPED(operator_results_clear) operator_results_t results = {.screen = screen, .rules = json_object()};
  json_auto_t *source = NULL;
  OPC_RETURN_IF_ERROR(opc_journal_reader_sample_source(journal, op->name, &source, error));
  terminal_operators_show_head(screen, op);
  show_inputs(screen, source);
  opc_status_t status;
  if (detailed || !opc_operator_is_checked(op))
    status = opc_journal_reader_results(journal, index, terminal_operators_visit_result, &results, error);
  else status = opc_journal_reader_findings(journal, index, terminal_operators_visit_result, &results, error);
  if (results.left > 0) {
    OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
    opc_text_addf(&line, "%" PRIu64 " more cases with findings of these rules: --json FILE keeps them", results.left);
    opc_screen_field(screen, "and", opc_text_c(&line));
  }
  show_skips(&results, op);
  return status;
}

static bool has_results(const opc_journal_operator_t *op) {
  const opc_journal_counts_t *counts = &op->counts;
  return counts->pass + counts->fail + counts->error + counts->warnings + counts->skip > 0;
}

opc_status_t opc_terminal_operators(opc_journal_reader_t *journal, const opc_screen_t *screen, opc_error_t *error) {
  const size_t count = opc_journal_reader_operator_count(journal);
  size_t tested = 0;
  for (size_t i = 0; i < count; i++) tested += has_results(opc_journal_reader_operator(journal, i));
  if (tested > 0) fputc('\n', screen->stream);
  for (size_t i = 0; i < count; i++) {
    if (!has_results(opc_journal_reader_operator(journal, i))) continue;
    OPC_RETURN_IF_ERROR(show_operator(journal, i, tested <= DETAILED_OPERATORS, screen, error));
  }
  return OPC_OK;
}
