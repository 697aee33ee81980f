#include "reports/terminal_problem.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "checks/catalogue/rules.h"
#include "reports/problems/problem_json.h"

enum { HEAD_WIDTH = 100, MESSAGE_LINES = 3, INPUT_LINES = 2 };

/* Counts characters, not bytes; the end is cut off if it does not fit. */
static void add_cut(opc_text_t *out, const char *text, size_t columns) {
  size_t at = 0, seen = 0;
  for (; text[at] && seen < columns; seen++)
    for (at++; ((unsigned char)text[at] & 0xc0) == 0x80;) at++;
  opc_text_add_bytes(out, text, at);
  if (text[at]) opc_text_add(out, "…");
}

static void show_head(const opc_screen_t *screen, const opc_terminal_entry_t *entry, const json_t *record) {
  const opc_problem_t *problem = entry->problem;
  const char *rule_name = opc_problem_rule(problem), *word = "FAIL ";
  const opc_rule_t *rule = opc_rule_find(rule_name);
  if (problem->warning) word = "WARN ";
  else if (strcmp(opc_record_text(record, "verdict"), opc_verdict_name(OPC_VERDICT_ERROR)) == 0) word = "ERROR";
  opc_text_t more = {0}, title = {0};
  opc_screen_text(screen, problem->warning ? OPC_TONE_YELLOW : OPC_TONE_RED, word);
  fputc(' ', screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, opc_record_text(record, "operator"));
  if (entry->operators > 1) opc_text_addf(&more, " and %zu more", entry->operators - 1);
  opc_text_add(&more, "  ");
  opc_screen_text(screen, OPC_TONE_PLAIN, opc_text_c(&more));
  opc_screen_text(screen, OPC_TONE_BOLD, rule_name);
  size_t used = 6 + strlen(opc_record_text(record, "operator")) + more.length + strlen(rule_name) + 3;
  if (rule && used + 16 < HEAD_WIDTH) {
    opc_text_add(&title, ": ");
    add_cut(&title, rule->title, HEAD_WIDTH - used);
    opc_screen_text(screen, OPC_TONE_PLAIN, opc_text_c(&title));
  }
  fputc('\n', screen->stream);
  opc_text_clear(&more);
  opc_text_clear(&title);
}

static void show_where(const opc_screen_t *screen, const json_t *json, const json_t *op) {
  opc_text_t where = {0};
  const char *location = opc_record_text(json, "location"), *registered = opc_record_text(op, "registered_at");
  const char *library = opc_base_name(opc_record_text(op, "library"));
  if (*location) opc_text_addf(&where, "%s", location);
  else if (strncmp(registered, "registered ", 11) == 0) opc_text_add(&where, registered); /* torch::RegisterOperators */
  else if (*registered) opc_text_addf(&where, "registered at %s", opc_base_name(registered));
  if (where.length && *library && !strstr(location, library)) opc_text_addf(&where, " in %s", library);
  opc_screen_brief(screen, "where", opc_text_c(&where), 1);
  opc_text_clear(&where);
}

static void show_operators(const opc_screen_t *screen, const opc_terminal_entry_t *entry) {
  opc_text_t names = {0};
  for (size_t i = 0; i < entry->operators && i < OPC_TERMINAL_NAMES; i++)
    opc_text_addf(&names, "%s%s", i ? ", " : "", entry->names[i]);
  if (entry->operators > OPC_TERMINAL_NAMES) opc_text_add(&names, ", …");
  if (entry->operators > 1) opc_screen_brief(screen, "operators", opc_text_c(&names), 1);
  opc_text_clear(&names);
}

static void show_input(const opc_screen_t *screen, const json_t *input) {
  opc_text_t line = {0};
  const char *name;
  json_t *value;
  if (json_is_string(input)) opc_text_add(&line, json_string_value(input));
  json_object_foreach((json_t *)input, name, value) opc_text_addf(
      &line, "%s%s = %s", line.length ? ", " : "", name, json_is_string(value) ? json_string_value(value) : "?");
  opc_screen_brief(screen, "input", opc_text_c(&line), INPUT_LINES);
  opc_text_clear(&line);
}

/* Shows why such an input was tried, and who vouches for it. */
static void show_tried(const opc_screen_t *screen, const json_t *record) {
  opc_text_t line = {0};
  const char *why = opc_record_text(json_object_get(record, "evidence"), "why");
  const char *standing = opc_record_text(record, "standing");
  if (*standing) opc_text_addf(&line, "%s%s", standing, *why ? ", " : "");
  if (*why) opc_text_addf(&line, "because %s", why);
  opc_screen_brief(screen, "tried", opc_text_c(&line), 1);
  opc_text_clear(&line);
}

static void show_also(const opc_screen_t *screen, const opc_problem_t *problem) {
  opc_text_t line = {0};
  for (size_t i = 0; i < problem->symptom_count; i++)
    if (strcmp(problem->symptoms[i].rule, opc_problem_rule(problem)) != 0)
      opc_text_addf(&line, "%s%s", line.length ? ", " : "", problem->symptoms[i].rule);
  opc_text_t all = {0};
  if (problem->count > 1)
    opc_text_addf(&all, "%" PRIu64 " more case%s%s", problem->count - 1, problem->count == 2 ? "" : "s",
                  line.length ? "; also " : "");
  opc_text_add(&all, opc_text_c(&line));
  opc_screen_brief(screen, "and", opc_text_c(&all), 1);
  opc_text_clear(&line);
  opc_text_clear(&all);
}

static void show(const opc_screen_t *screen, const opc_terminal_entry_t *entry, const json_t *json,
                 const json_t *record, const json_t *op, bool detailed) {
  bool suspect = strcmp(opc_record_text(record, "t"), "suspect") == 0;
  show_head(screen, entry, record);
  opc_screen_brief(screen, "what", opc_record_text(json, "message"), detailed ? MESSAGE_LINES : 1);
  if (suspect) opc_screen_field(screen, "", "not confirmed: the run stopped early");
  if (detailed) {
    show_where(screen, json, op);
    show_operators(screen, entry);
    show_input(screen, json_object_get(json_object_get(record, "evidence"), "input"));
    show_tried(screen, record);
    show_also(screen, entry->problem);
    opc_screen_line(screen, "repro", opc_record_text(json, "repro"));
  } else {
    opc_screen_line(screen, "case", opc_record_text(record, "case"));
  }
}

opc_status_t opc_terminal_problem(const opc_problems_t *problems, const opc_terminal_entry_t *entry,
                                  const opc_screen_t *screen, bool detailed, opc_error_t *error) {
  json_t *json = NULL, *record = NULL, *op = NULL;
  opc_status_t status = opc_problem_to_json(problems, entry->problem, &json, &record, error);
  if (status == OPC_OK)
    status = opc_journal_reader_operator_record(problems->journal, entry->problem->operators[0].index, &op, error);
  if (status == OPC_OK) show(screen, entry, json, record, op, detailed);
  json_decref(json);
  json_decref(record);
  json_decref(op);
  return status;
}
