#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "reports/terminal/terminal.h"
#include "reports/text/finding_text.h"

enum { HEAD_WIDTH = 100, INPUT_LINES = 2 };
static const int message_lines[] = {
    [OPC_DETAIL_LINE] = 1, [OPC_DETAIL_SENTENCE] = 2, [OPC_DETAIL_WHOLE] = 3, [OPC_DETAIL_CASES] = INT_MAX};

/* The rule's title is on the line of its name if there is room, otherwise on its own line. */
static void terminal_problem_show_head(const opc_screen_t *screen, const opc_terminal_entry_t *entry,
                                       const opc_case_result_t *result, bool detailed) {
  const opc_problem_t *problem = entry->problem;
  const char *rule_name = opc_rule_name(opc_problem_rule(problem)), *word = "FAIL ";
  const opc_rule_t *rule = opc_rule_of(opc_problem_rule(problem));
  if (problem->warning) word = "WARN ";
  else if (result->verdict == OPC_VERDICT_ERROR) word = "ERROR";
  OPC_SCOPED(opc_text_clear) opc_text_t more = {0};
  opc_screen_text(screen, problem->warning ? OPC_TONE_YELLOW : OPC_TONE_RED, word);
  fputc(' ', screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, result->id.operator_name);
  if (entry->operators > 1) opc_text_addf(&more, " and %zu more", entry->operators - 1);
  opc_text_add(&more, "  ");
  opc_screen_text(screen, OPC_TONE_PLAIN, opc_text_c(&more));
  opc_screen_text(screen, OPC_TONE_BOLD, rule_name);
  size_t used = 6 + strlen(result->id.operator_name) + more.length + strlen(rule_name) + 2;
  bool fits = used + strlen(rule->title) <= HEAD_WIDTH;
  if (fits) {
    opc_text_reset(&more);
    opc_text_addf(&more, ": %s", rule->title);
    opc_screen_text(screen, OPC_TONE_PLAIN, opc_text_c(&more));
  }
  fputc('\n', screen->stream);
  if (!fits && detailed) opc_screen_brief(screen, "rule", rule->title, 2);
  opc_text_clear(&more);
}

static void show_where(const opc_screen_t *screen, const opc_case_result_t *result, const json_t *op) {
  OPC_SCOPED(opc_text_clear) opc_text_t where = {0};
  opc_finding_place(result, op, &where);
  opc_screen_brief(screen, "where", opc_text_c(&where), 1);
}

/* Length of "ns::" if all names have it, else 0. */
static size_t common_namespace(const opc_terminal_entry_t *entry) {
  const char *colons = entry->operators ? strstr(entry->names[0], "::") : NULL;
  const size_t length = colons ? (size_t)(colons - entry->names[0]) + 2 : 0;
  for (size_t i = 1; i < entry->operators && i < OPC_TERMINAL_NAMES; i++)
    if (strncmp(entry->names[i], entry->names[0], length) != 0) return 0;
  return length;
}

static void show_operators(const opc_screen_t *screen, const opc_terminal_entry_t *entry, int lines) {
  OPC_SCOPED(opc_text_clear) opc_text_t names = {0};
  const size_t space = common_namespace(entry);
  for (size_t i = 0; i < entry->operators && i < OPC_TERMINAL_NAMES; i++)
    opc_text_addf(&names, "%s%s", i ? ", " : "", entry->names[i] + (i ? space : 0));
  if (entry->operators > OPC_TERMINAL_NAMES) opc_text_add(&names, ", …");
  if (entry->operators > 1) opc_screen_brief(screen, "operators", opc_text_c(&names), lines);
}

static void show_input(const opc_screen_t *screen, const json_t *input) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  opc_input_text(input, &line);
  opc_screen_brief(screen, "input", opc_text_c(&line), INPUT_LINES);
}

static void show_tried(const opc_screen_t *screen, const opc_case_result_t *result) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  opc_finding_tried(result, &line);
  opc_screen_brief(screen, "tried", opc_text_c(&line), 2);
}

/* The id, which a line of an xfail file takes, and what else the entry stands for. */
static void show_id(const opc_screen_t *screen, const opc_terminal_entry_t *entry) {
  const opc_problem_t *problem = entry->problem;
  const char *before = "; also ";
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  opc_text_add(&line, problem->id);
  if (entry->problems > 1)
    opc_text_addf(&line, ", %zu more problem%s", entry->problems - 1, entry->problems == 2 ? "" : "s");
  if (entry->cases > 1)
    opc_text_addf(&line, ", %" PRIu64 " more case%s", entry->cases - 1, entry->cases == 2 ? "" : "s");
  for (size_t i = 0; i < problem->symptom_count; i++) {
    if (problem->symptoms[i].rule == opc_problem_rule(problem)) continue;
    opc_text_addf(&line, "%s%s", before, opc_rule_name(problem->symptoms[i].rule));
    before = ", ";
  }
  opc_screen_brief(screen, "problem", opc_text_c(&line), 1);
}

/* One line each, the case of the line to paste first. */
static void show_cases(const opc_screen_t *screen, const json_t *cases) {
  size_t index;
  json_t *id;
  json_array_foreach(cases, index, id) opc_screen_line(screen, index ? "" : "cases", json_string_value(id));
}

static void terminal_problem_show(const opc_screen_t *screen, const opc_terminal_entry_t *entry, const json_t *json,
                                  const opc_case_result_t *result, const json_t *op, opc_terminal_detail_t detail) {
  const bool detailed = detail >= OPC_DETAIL_WHOLE;
  terminal_problem_show_head(screen, entry, result, detailed);
  opc_screen_brief(screen, "what", opc_record_text(json, "message"), message_lines[detail]);
  if (result->suspect) opc_screen_field(screen, "", "not confirmed: the run stopped early");
  if (detailed) {
    show_where(screen, result, op);
    show_operators(screen, entry, 2);
    show_input(screen, json_object_get(result->evidence, "input"));
    show_tried(screen, result);
    show_id(screen, entry);
    if (detail == OPC_DETAIL_CASES) show_cases(screen, json_object_get(json, "cases"));
    opc_screen_line(screen, "repro", opc_record_text(json, "repro"));
  } else {
    show_operators(screen, entry, 1);
    opc_screen_line(screen, "case", result->case_id);
  }
}

opc_status_t opc_terminal_problem(const opc_problems_t *problems, const opc_terminal_entry_t *entry,
                                  const opc_screen_t *screen, opc_terminal_detail_t detail, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  json_auto_t *json = NULL, *op = NULL;
  OPC_RETURN_IF_ERROR(opc_problem_to_json(problems, entry->problem, &json, &result, error));
  OPC_RETURN_IF_ERROR(
      opc_journal_reader_operator_record(problems->journal, entry->problem->operators[0].index, &op, error));
  terminal_problem_show(screen, entry, json, result, op, detail);
  return OPC_OK;
}
