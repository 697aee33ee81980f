/* The HTML report: one file that needs no network. What matters is plain markup; the page's script adds the filters,
 * the drawings and the list of all cases. Streamed from the journal. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "reports/ci/ci.h"
#include "reports/page/html_page.h"
#include "reports/terminal/terminal.h"

enum {
  WORST_SHOWN = 3,
  PROBLEMS_MOST = 3000, /* of a page that still opens at once */
  NOTES_MOST = 100
};

/* The last line of the terminal's report: "FAILED: 3 problems…". */
static opc_status_t html_conclude(const opc_report_source_t *source, char **out, opc_error_t *error) {
  opc_journal_summary_t summary;
  size_t length = 0;
  FILE *stream = open_memstream(out, &length);
  if (!stream) return opc_out_of_memory(error);
  const opc_screen_t screen = {.stream = stream};
  opc_journal_reader_summary(source->journal, &summary);
  const opc_terminal_view_t view = {.exit_code = opc_ci_exit_code(source, summary.exit_code),
                                    .required = source->required};
  opc_terminal_end(source->problems, &screen, &view);
  if (fclose(stream) != 0 || !*out) return opc_out_of_memory(error);
  (*out)[strcspn(*out, "\n")] = '\0';
  return OPC_OK;
}

static bool html_visit_library(const json_t *record, void *context) {
  json_t *paths = context;
  json_array_append(paths, json_object_get(record, "path"));
  return true;
}

/* "libmy_ops.so and 2 more" */
static void add_subject(opc_html_t *html, opc_text_t *out) {
  json_auto_t *paths = json_array();
  const size_t before = out->length;
  if (!html->status)
    opc_html_keep(html,
                  opc_journal_reader_each(html->source->journal, "library", html_visit_library, paths, html->error));
  const char *first = json_string_value(json_array_get(paths, 0));
  if (first) opc_html_clean(opc_html_library_name(first), OPC_HTML_WORD, out);
  if (out->length == before) opc_text_add(out, "operators");
  if (json_array_size(paths) > 1) opc_text_addf(out, " and %zu more", json_array_size(paths) - 1);
}

/* ---- the first screen ---- */

enum { WITH_ERRORS, WITH_WARNINGS, KNOWN_ONLY, CLEAN, NOT_CHECKED, OPERATOR_PARTS };

/* By its first problem: errors come first, and known ones last. */
static int part_of_operator(const opc_problems_t *problems, size_t index) {
  const opc_problem_of_t *own;
  if (opc_problems_of(problems, index, &own) > 0)
    return own->problem->known ? KNOWN_ONLY : own->problem->warning ? WITH_WARNINGS : WITH_ERRORS;
  return opc_operator_is_checked(opc_journal_reader_operator(problems->journal, index)) ? CLEAN : NOT_CHECKED;
}

static void count_operators(const opc_problems_t *problems, opc_html_part_t parts[OPERATOR_PARTS]) {
  for (size_t i = 0; i < opc_journal_reader_operator_count(problems->journal); i++)
    if (opc_operator_is_counted(opc_journal_reader_operator(problems->journal, i)))
      parts[part_of_operator(problems, i)].count++;
}

static void put_bars(opc_html_t *html, const opc_journal_summary_t *summary) {
  opc_html_part_t operators[OPERATOR_PARTS] = {[WITH_ERRORS] = {"w", "with errors", 0},
                                               [WITH_WARNINGS] = {"d", "with warnings", 0},
                                               [KNOWN_ONLY] = {"k", "known problems only", 0},
                                               [CLEAN] = {"a", "clean", 0},
                                               [NOT_CHECKED] = {"n", "not checked", 0}};
  const opc_html_part_t cases[] = {{"c", "error", summary->error},
                                   {"w", "fail", summary->fail},
                                   {"d", "warning", summary->warnings},
                                   {"a", "pass", summary->pass},
                                   {"n", "skip", summary->skip}};
  count_operators(html->source->problems, operators);
  opc_html_put(html, "<div class=\"bars\">\n");
  opc_html_bar(html, "Operators", operators, OPERATOR_PARTS);
  opc_html_bar(html, "Cases", cases, sizeof cases / sizeof *cases);
  opc_html_put(html, "</div>\n");
}

static void put_worst_item(opc_html_t *html, const opc_problem_t *problem) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  json_auto_t *json = NULL;
  if (!html->status) html->status = opc_problem_to_json(html->source->problems, problem, &json, &result, html->error);
  if (html->status) return;
  opc_html_putf(html, "<li class=\"%s\"><a href=\"#problem-%s\"><code>", problem->warning ? "warning" : "error",
                problem->id);
  opc_html_text(html, result->id.operator_name, OPC_HTML_WORD);
  opc_html_put(html, "</code></a> <span class=\"brief\">");
  opc_html_prose(html, opc_record_text(json, "message"), OPC_HTML_BRIEF);
  opc_html_put(html, "</span>");
  if (*opc_record_text(json, "location")) {
    opc_html_put(html, " <span class=\"quiet\">");
    opc_html_text(html, opc_record_text(json, "location"), OPC_HTML_WORD);
    opc_html_put(html, "</span>");
  }
  opc_html_put(html, "</li>\n");
}

static void put_worst(opc_html_t *html) {
  const opc_problems_t *problems = html->source->problems;
  if (problems->fresh == 0) return;
  opc_html_putf(html, "<div class=\"worst\"><h2>%s</h2><ol>\n", problems->fresh == 1 ? "The problem" : "The worst");
  for (size_t i = 0; i < problems->fresh && i < WORST_SHOWN; i++) put_worst_item(html, &problems->items[i]);
  opc_html_put(html, "</ol></div>\n");
}

static void put_first_screen(opc_html_t *html, const char *conclusion, const char *subject,
                             const opc_journal_summary_t *summary, const json_t *tool) {
  const size_t word = strcspn(conclusion, ":");
  const bool passed = strncmp(conclusion, "PASSED", word) == 0;
  const char *torch = opc_record_text(tool, "torch"), *cuda = opc_record_text(tool, "cuda");
  opc_html_putf(html, "<section id=\"summary\" class=\"%s\">\n<p class=\"quiet\">opcheck-c report of <strong>",
                passed ? "passed" : "failed");
  opc_html_escaped(html, subject);
  opc_html_put(html, "</strong>");
  if (*torch) opc_html_put(html, ", libtorch "), opc_html_text(html, torch, OPC_HTML_WORD);
  if (*cuda) opc_html_put(html, ", CUDA "), opc_html_text(html, cuda, OPC_HTML_WORD);
  opc_html_putf(html, "</p>\n<h1><span class=\"verdict\">%.*s</span>", (int)word, conclusion);
  opc_html_put(html, "</h1>\n<p class=\"lead\">");
  opc_html_escaped(html, conclusion[word] ? conclusion + word + 2 : "");
  opc_html_put(html, "</p>\n");
  if (!summary->complete)
    opc_html_put(html,
                 "<p class=\"alarm\" role=\"note\">This report is incomplete: the run has not finished, or it stopped "
                 "early.</p>\n");
  opc_html_put(html, "<div class=\"columns\">\n");
  put_bars(html, summary);
  put_worst(html);
  opc_html_put(html, "</div>\n</section>\n");
}

/* ---- problems, the run ---- */

static void html_put_problems(opc_html_t *html) {
  const opc_problems_t *problems = html->source->problems;
  opc_html_put(html,
               "<section id=\"problems\" aria-labelledby=\"problems-title\">\n<h2 id=\"problems-title\">Problems</h2>\n"
               "<div id=\"filters\"></div>\n<div id=\"problem-list\">\n");
  if (problems->count == 0) opc_html_put(html, "<p>None was found.</p>\n");
  for (size_t i = 0; i < problems->count && i < PROBLEMS_MOST && !html->status; i++)
    opc_html_problem(html, &problems->items[i], i == 0);
  opc_html_put(html, "</div>\n");
  if (problems->count > PROBLEMS_MOST)
    opc_html_putf(html, "<p>%zu more problems: --json FILE has them all.</p>\n", problems->count - PROBLEMS_MOST);
  opc_html_put(html, "</section>\n");
}

static bool html_put_library(const json_t *record, void *context) {
  opc_html_t *html = context;
  const json_t *failure = json_object_get(record, "error");
  opc_html_put(html, "<dt>library</dt><dd><code>");
  opc_html_text(html, opc_record_text(record, "path"), OPC_HTML_WORD);
  opc_html_put(html, "</code>");
  if (json_is_object(failure)) {
    opc_html_put(html, " <strong class=\"alarm\">could not be loaded: ");
    opc_html_text(html, opc_record_text(failure, "message"), OPC_HTML_MESSAGE);
    opc_html_put(html, "</strong>");
  }
  opc_html_put(html, "</dd>\n");
  return !html->status;
}

typedef struct html_notes {
  opc_html_t *html;
  size_t count;
} html_notes_t;

static bool html_put_note(const json_t *record, void *context) {
  html_notes_t *notes = context;
  if (notes->count++ >= NOTES_MOST) return false;
  opc_html_put(notes->html, "<dt>note</dt><dd>");
  opc_html_text(notes->html, opc_record_text(record, "message"), OPC_HTML_MESSAGE);
  opc_html_put(notes->html, "</dd>\n");
  return !notes->html->status;
}

static void put_arguments(opc_html_t *html, const json_t *argv) {
  size_t i;
  json_t *argument;
  opc_html_put(html, "<dt>command</dt><dd><code>");
  json_array_foreach((json_t *)argv, i, argument) {
    opc_html_put(html, i ? " " : "");
    opc_html_text(html, json_is_string(argument) ? json_string_value(argument) : "?", OPC_HTML_WORD);
  }
  opc_html_put(html, "</code></dd>\n");
}

static void put_run(opc_html_t *html, const opc_journal_summary_t *summary, const json_t *run) {
  opc_journal_reader_t *journal = html->source->journal;
  html_notes_t notes = {.html = html};
  opc_html_put(
      html,
      "<section id=\"run\" aria-labelledby=\"run-title\"><h2 id=\"run-title\">The run</h2>\n<dl class=\"facts\">\n");
  if (!html->status)
    opc_html_keep(html, opc_journal_reader_each(journal, "library", html_put_library, html, html->error));
  put_arguments(html, json_object_get(run, "argv"));
  opc_html_put(html, "<dt>started</dt><dd>");
  opc_html_text(html, opc_record_text(run, "started"), OPC_HTML_WORD);
  opc_html_putf(html, "</dd>\n<dt>seconds</dt><dd>%.1f</dd>\n<dt>seed</dt><dd>%" JSON_INTEGER_FORMAT "</dd>\n",
                summary->seconds, json_integer_value(json_object_get(run, "seed")));
  opc_html_put(html, "<dt>opcheck-c</dt><dd>");
  opc_html_text(html, opc_record_text(run, "version"), OPC_HTML_WORD);
  opc_html_put(html, "</dd>\n");
  if (!html->status) opc_html_keep(html, opc_journal_reader_each(journal, "note", html_put_note, &notes, html->error));
  opc_html_put(html, "</dl>\n</section>\n");
}

static void put_page(opc_html_t *html, const char *conclusion, const json_t *run, const json_t *tool) {
  OPC_SCOPED(opc_text_clear) opc_text_t subject = {0}, word = {0};
  opc_journal_summary_t summary;
  opc_journal_reader_summary(html->source->journal, &summary);
  add_subject(html, &subject);
  opc_text_add_bytes(&word, conclusion, strcspn(conclusion, ":"));
  opc_html_begin(html, opc_text_c(&word), opc_text_c(&subject),
                 "<a href=\"#support\">Support</a><a href=\"#coverage\">Coverage</a><a href=\"#cases\">Cases</a><a "
                 "href=\"#run\">Run</a>");
  put_first_screen(html, conclusion, opc_text_c(&subject), &summary, tool);
  html_put_problems(html);
  opc_html_matrix(html);
  opc_html_coverage(html);
  opc_html_cases(html);
  put_run(html, &summary, run);
  opc_html_end(html);
}

static opc_status_t write_html(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  opc_html_t html = {.source = source, .stream = stream, .error = error};
  json_auto_t *run = NULL, *tool = NULL;
  OPC_SCOPED(opc_scope_free) char *conclusion = NULL;
  OPC_RETURN_IF_ERROR(html_conclude(source, &conclusion, error));
  OPC_RETURN_IF_ERROR(opc_journal_reader_first(source->journal, "run", &run, error));
  OPC_RETURN_IF_ERROR(opc_journal_reader_first(source->journal, "tool", &tool, error));
  put_page(&html, conclusion, run, tool);
  return html.status;
}

const opc_report_t opc_report_html = {"html", "the result as a page for a browser: one file that needs no network",
                                      false, false, write_html};
