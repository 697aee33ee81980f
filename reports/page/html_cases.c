/* All cases, as data: most of them passed or were skipped, and the page shows them only when somebody asks. Cases of
 * one operator that differ in nothing but their variant are one row. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/page/html_page.h"

enum {
  CASES_MESSAGE = 300,
  MESSAGES_KEPT = 20000, /* different texts of one operator; most have some dozen */
  CASES_FIELDS = 6,      /* of a row: check, device, dtype, sample, outcome, message; its variants follow */
  CASES_CHECKS = 64
};

typedef struct case_rows {
  opc_html_t *html;
  json_t *words; /* of this operator: text → number, in the order of the numbers */
  size_t row[CASES_FIELDS];
  bool begun; /* a row is open */
  opc_journal_counts_t checks[CASES_CHECKS];
} case_rows_t;

static size_t word_number(case_rows_t *rows, const char *text) {
  const json_t *known = json_object_get(rows->words, text);
  const size_t number = json_object_size(rows->words);
  if (known) return (size_t)json_integer_value(known);
  if (json_object_set_new(rows->words, text, json_integer((json_int_t)number)) != 0)
    opc_html_keep(rows->html, opc_out_of_memory(rows->html->error));
  return number;
}

static size_t number_of_message(case_rows_t *rows, const char *message) {
  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  opc_html_clean(message ? message : "", CASES_MESSAGE, &clean);
  if (json_object_size(rows->words) >= MESSAGES_KEPT && !json_object_get(rows->words, opc_text_c(&clean)))
    return word_number(rows, "(one of too many different messages for this page: --json FILE keeps them)");
  return word_number(rows, opc_text_c(&clean));
}

/* "pass", "skip rejected", "fail stride.wrong_result", "warning memory.unchecked_arguments" */
static size_t number_of_outcome(case_rows_t *rows, const opc_case_result_t *result) {
  char outcome[128];
  const char *word = opc_verdict_name(result->verdict), *detail = "";
  if (opc_case_result_is_finding(result)) {
    if (result->severity == OPC_SEVERITY_WARNING) word = "warning";
    detail = opc_rule_name(result->rule);
  } else if (result->verdict == OPC_VERDICT_SKIP) {
    detail = opc_skip_reason_name(result->reason);
  }
  snprintf(outcome, sizeof outcome, "%s%s%s", word, detail && *detail ? " " : "", detail ? detail : "");
  return word_number(rows, outcome);
}

static void count_case(case_rows_t *rows, const opc_case_result_t *result) {
  const int check = opc_check_info_find(result->id.check);
  opc_journal_counts_t *counts = &rows->checks[check >= 0 && check < CASES_CHECKS ? check : CASES_CHECKS - 1];
  if (opc_case_result_is_finding(result) && result->severity == OPC_SEVERITY_WARNING) counts->warnings++;
  else if (result->verdict == OPC_VERDICT_PASS) counts->pass++;
  else if (result->verdict == OPC_VERDICT_SKIP) counts->skip++;
  else if (result->verdict == OPC_VERDICT_FAIL) counts->fail++;
  else counts->error++;
}

static bool cases_visit_result(const opc_case_result_t *result, void *context) {
  case_rows_t *rows = context;
  opc_html_t *html = rows->html;
  const size_t row[CASES_FIELDS] = {word_number(rows, result->id.check), word_number(rows, result->id.device),
                                    word_number(rows, result->id.dtype), word_number(rows, result->id.sample),
                                    number_of_outcome(rows, result),     number_of_message(rows, result->message)};
  count_case(rows, result);
  if (!rows->begun || memcmp(row, rows->row, sizeof row) != 0) {
    opc_html_put(html, rows->begun ? "],\n[" : "[");
    for (size_t i = 0; i < CASES_FIELDS; i++) opc_html_putf(html, "%zu,", row[i]);
    memcpy(rows->row, row, sizeof row);
    rows->begun = true;
  } else {
    opc_html_put(html, ",");
  }
  opc_html_putf(html, "%zu", word_number(rows, result->id.variant));
  return !html->status;
}

static void cases_put_operator(case_rows_t *rows, size_t index) {
  opc_html_t *html = rows->html;
  opc_journal_reader_t *journal = html->source->journal;
  const char *word;
  json_t *number;
  bool first = true;
  rows->begun = false;
  rows->words = json_object();
  opc_html_put(html, "<script type=\"application/json\" class=\"cases\" data-operator=\"");
  opc_html_text(html, opc_journal_reader_operator(journal, index)->name, OPC_HTML_WORD);
  opc_html_put(html, "\">{\"rows\":[");
  if (!html->status)
    opc_html_keep(html, opc_journal_reader_results(journal, index, cases_visit_result, rows, html->error));
  opc_html_put(html, rows->begun ? "]],\n\"words\":[" : "],\n\"words\":[");
  json_object_foreach(rows->words, word, number) {
    opc_html_put(html, first ? "" : ",");
    opc_html_json(html, json_string(word));
    first = false;
  }
  opc_html_put(html, "]}</script>\n");
  json_decref(rows->words);
}

static void put_check(opc_html_t *html, const char *name, const char *summary, const opc_journal_counts_t *counts) {
  const uint64_t numbers[] = {counts->error, counts->fail, counts->warnings, counts->pass, counts->skip};
  opc_html_put(html, "<tr><th scope=\"row\"><code>");
  opc_html_escaped(html, name);
  opc_html_put(html, "</code> <span class=\"quiet\">");
  opc_html_escaped(html, summary);
  opc_html_put(html, "</span></th>");
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    opc_html_putf(html, "<td%s>%" PRIu64 "</td>", numbers[i] ? "" : " class=\"zero\"", numbers[i]);
  opc_html_put(html, "</tr>\n");
}

static void put_checks(const case_rows_t *rows) {
  opc_html_t *html = rows->html;
  opc_html_put(html,
               "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Cases of each check\">"
               "<table class=\"checks\"><caption>Cases of each check</caption><thead><tr><th "
               "scope=\"col\">check</th><th scope=\"col\">error</th><th scope=\"col\">fail</th><th "
               "scope=\"col\">warning</th><th scope=\"col\">pass</th><th scope=\"col\">skip</th></tr></thead>"
               "<tbody>\n");
  for (size_t i = 0; i < CASES_CHECKS; i++) {
    const opc_journal_counts_t *counts = &rows->checks[i];
    if (counts->error + counts->fail + counts->warnings + counts->pass + counts->skip == 0) continue;
    const bool known = i < opc_check_info_count;
    put_check(html, known ? opc_check_infos[i].name : "other", known ? opc_check_infos[i].summary : "", counts);
  }
  opc_html_put(html, "</tbody></table></div>\n");
}

void opc_html_cases(opc_html_t *html) {
  OPC_SCOPED(opc_scope_free) case_rows_t *rows = calloc(1, sizeof *rows);
  if (!rows) {
    opc_html_keep(html, opc_out_of_memory(html->error));
    return;
  }
  rows->html = html;
  opc_html_put(html,
               "<section id=\"cases\" aria-labelledby=\"cases-title\"><h2 id=\"cases-title\">All cases</h2>\n"
               "<noscript><p>The list of all cases needs JavaScript; --json FILE has them too.</p></noscript>\n"
               "<div id=\"case-list\"></div>\n");
  for (size_t i = 0; i < opc_journal_reader_operator_count(html->source->journal) && !html->status; i++)
    cases_put_operator(rows, i);
  put_checks(rows);
  opc_html_put(html, "</section>\n");
}
