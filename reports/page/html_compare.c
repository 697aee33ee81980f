/* The page of a comparison of two runs, in the look of the page of a run. */
#include <inttypes.h>
#include <string.h>

#include "base/owned.h"
#include "reports/compare/comparison.h"
#include "reports/page/html_page.h"

enum { COMPARE_WORST_SHOWN = 3, COMPARE_ITEMS_MOST = 3000 /* of each list, so that the page opens at once */ };

static const struct {
  const char *part, *tone; /* classes of page.css; tone NULL: the problem's severity */
} looks[OPC_COMPARE_KINDS] = {[OPC_COMPARE_NEW] = {"w", NULL},
                              [OPC_COMPARE_WORSE] = {"c", NULL},
                              [OPC_COMPARE_FIXED] = {"a", "fixed"},
                              [OPC_COMPARE_CHANGED] = {"d", "warning"},
                              [OPC_COMPARE_GONE] = {"n", "gone"}};

static const json_t *shown_problem(const opc_compare_problem_t *one) { return one->now ? one->now : one->before; }

static void put_compare_left(opc_html_t *html, size_t count) {
  if (count > COMPARE_ITEMS_MOST)
    opc_html_putf(html, "<p>%zu more: --json FILE has them all.</p>\n", count - COMPARE_ITEMS_MOST);
}

/* ---- the first screen ---- */

static void page_add_compared(const opc_comparison_t *comparison, opc_text_t *out) {
  const opc_compare_run_t *run = comparison->now->libraries ? comparison->now : comparison->before;
  const json_t *op = json_object_iter_value(json_object_iter(run->operators));
  const char *path = comparison->unloaded ? comparison->unloaded : opc_record_text(op, "library");
  opc_html_clean(*path ? opc_html_library_name(path) : "operators", OPC_HTML_WORD, out);
  if (run->libraries > 1) opc_text_addf(out, " and %zu more", run->libraries - 1);
}

static void put_compared_run(opc_html_t *html, const char *label, const opc_compare_run_t *run) {
  opc_html_putf(html, "<dt>%s</dt><dd data-fact=\"%s\"><code>", label, label);
  opc_html_text(html, run->name, OPC_HTML_WORD);
  opc_html_put(html, "</code>: ");
  if (run->torch) {
    opc_html_put(html, "libtorch ");
    opc_html_text(html, run->torch, OPC_HTML_WORD);
    opc_html_put(html, ", ");
  }
  opc_html_putf(html, "%" PRIu64 " of %" PRIu64 " operators checked", run->coverage.checked, run->coverage.total);
  if (!run->complete) opc_html_put(html, "; <strong class=\"alarm\">the run stopped early</strong>");
  opc_html_put(html, "</dd>\n");
}

static void put_compared_bars(opc_html_t *html, const opc_comparison_t *comparison) {
  opc_html_part_t problems[OPC_COMPARE_KINDS];
  opc_html_part_t operators[] = {{"a", "added", 0}, {"w", "removed", 0}, {"d", "changed", 0}};
  const opc_html_part_t lost[] = {{"n", "no longer checked", comparison->lost_count}};
  for (size_t kind = 0; kind < OPC_COMPARE_KINDS; kind++)
    problems[kind] =
        (opc_html_part_t){looks[kind].part, opc_compare_kind_name((opc_compare_kind_t)kind), comparison->counts[kind]};
  for (size_t i = 0; i < comparison->operator_count; i++) {
    const opc_compare_operator_t *op = &comparison->operators[i];
    operators[op->fields ? 2 : op->now ? 0 : 1].count++;
  }
  opc_html_put(html, "<div class=\"bars\">\n");
  opc_html_bar(html, "Problems", problems, sizeof problems / sizeof *problems);
  opc_html_bar(html, "Operators", operators, sizeof operators / sizeof *operators);
  opc_html_bar(html, "Checks of operators", lost, sizeof lost / sizeof *lost);
  opc_html_put(html, "</div>\n");
}

static void put_compared_worst(opc_html_t *html, const opc_comparison_t *comparison) {
  const size_t worse = comparison->counts[OPC_COMPARE_NEW] + comparison->counts[OPC_COMPARE_WORSE];
  if (worse == 0) return;
  opc_html_put(html, "<div class=\"worst\"><h2>New or worse</h2><ol>\n");
  for (size_t i = 0; i < worse && i < COMPARE_WORST_SHOWN; i++) {
    const json_t *problem = shown_problem(&comparison->problems[i]);
    const char *name = json_string_value(json_array_get(json_object_get(problem, "operators"), 0));
    const bool warning = strcmp(opc_record_text(problem, "severity"), "warning") == 0;
    opc_html_putf(html, "<li class=\"%s\"><a href=\"#problem-", warning ? "warning" : "error");
    opc_html_text(html, opc_record_text(problem, "id"), OPC_HTML_WORD);
    opc_html_put(html, "\">");
    opc_html_code(html, name ? name : "?", OPC_HTML_WORD);
    opc_html_put(html, "</a> <span class=\"brief\">");
    opc_html_prose(html, opc_record_text(problem, "message"), OPC_HTML_BRIEF);
    opc_html_put(html, "</span></li>\n");
  }
  opc_html_put(html, "</ol></div>\n");
}

static void put_unloaded(opc_html_t *html, const opc_comparison_t *comparison) {
  const char *why = json_string_value(json_object_get(comparison->now->failed, comparison->unloaded));
  opc_html_put(html, "<p class=\"alarm\" role=\"note\">");
  opc_html_code(html, comparison->unloaded, OPC_HTML_WORD);
  opc_html_put(html, " can no longer be loaded: ");
  opc_html_text(html, why ? why : "", OPC_HTML_MESSAGE);
  opc_html_put(html, "</p>\n");
}

static void put_compared_summary(opc_html_t *html, const opc_comparison_t *comparison, const char *subject) {
  OPC_SCOPED(opc_text_clear) opc_text_t counts = {0};
  const bool worse = opc_comparison_is_worse(comparison);
  opc_comparison_say(comparison, &counts);
  opc_html_putf(html,
                "<section id=\"summary\" class=\"%s\">\n<p class=\"quiet\">opcheck-c compared two runs of "
                "<strong>",
                worse ? "failed" : "passed");
  opc_html_escaped(html, subject);
  opc_html_putf(html, "</strong></p>\n<h1><span class=\"verdict\">%s</span></h1>\n<p class=\"lead\">",
                opc_comparison_word(comparison));
  opc_html_escaped(html, opc_text_c(&counts));
  opc_html_put(html, "</p>\n");
  if (comparison->unloaded) put_unloaded(html, comparison);
  opc_html_put(html, "<dl class=\"facts\">\n");
  put_compared_run(html, "old", comparison->before);
  put_compared_run(html, "new", comparison->now);
  opc_html_put(html, "</dl>\n<div class=\"columns\">\n");
  put_compared_bars(html, comparison);
  put_compared_worst(html, comparison);
  opc_html_put(html, "</div>\n</section>\n");
}

/* ---- problems ---- */

static void put_compared_problem(opc_html_t *html, const opc_compare_problem_t *one, bool open) {
  const json_t *problem = shown_problem(one);
  const char *kind = opc_compare_kind_name(one->kind);
  const bool warning = strcmp(opc_record_text(problem, "severity"), "warning") == 0;
  const opc_html_head_t head = {.tone = looks[one->kind].tone ? looks[one->kind].tone
                                        : warning             ? "warning"
                                                              : "error",
                                .badge = kind,
                                .kind = kind,
                                .brief = one->kind > OPC_COMPARE_WORSE ? one->why : NULL,
                                .known = json_is_object(json_object_get(problem, "known")),
                                .open = open};
  opc_html_problem_begin(html, problem, &head);
  opc_html_fact(html, "why", one->why);
  opc_html_fact(html, "severity", opc_record_text(problem, "severity"));
  opc_html_fact(html, "where", opc_record_text(problem, "location"));
  opc_html_file_fact(html, problem);
  if (json_array_size(json_object_get(problem, "operators")) > 1)
    opc_html_codes_fact(html, "operators", json_object_get(problem, "operators"), 0);
  opc_html_put(html, "</dl>\n");
  if (one->kind <= OPC_COMPARE_WORSE)
    opc_html_rule(html, opc_rule_of(opc_rule_id(opc_record_text(problem, "rule"))), warning);
  opc_html_repro(html, opc_record_text(problem, "repro"));
  opc_html_problem_cases(html, problem);
  opc_html_problem_end(html, problem);
}

static void put_compared_problems(opc_html_t *html, const opc_comparison_t *comparison) {
  opc_html_put(html,
               "<section id=\"problems\" aria-labelledby=\"problems-title\">\n<h2 id=\"problems-title\">Problems</h2>\n"
               "<div id=\"filters\"></div>\n<div id=\"problem-list\">\n");
  if (comparison->problem_count == 0) opc_html_put(html, "<p>Both runs have the same problems.</p>\n");
  for (size_t i = 0; i < comparison->problem_count && i < COMPARE_ITEMS_MOST && !html->status; i++)
    put_compared_problem(html, &comparison->problems[i], i == 0);
  opc_html_put(html, "</div>\n");
  put_compare_left(html, comparison->problem_count);
  opc_html_put(html, "</section>\n");
}

/* ---- operators ---- */

static void put_schema(opc_html_t *html, const char *label, const char *schema) {
  opc_html_putf(html, "<dt>%s</dt><dd data-fact=\"%s\">", label, label);
  opc_html_code(html, *schema ? schema : "none", OPC_HTML_MESSAGE);
  opc_html_put(html, "</dd>\n");
}

static void put_compared_operator(opc_html_t *html, const opc_comparison_t *comparison,
                                  const opc_compare_operator_t *op) {
  const json_t *before = json_object_get(comparison->before->operators, op->name),
               *now = json_object_get(comparison->now->operators, op->name);
  opc_html_put(html, "<details class=\"operator\" open><summary>");
  opc_html_code(html, op->name, OPC_HTML_WORD);
  opc_html_putf(html, " <span class=\"quiet\">%s</span></summary>\n<dl class=\"facts\">\n",
                op->fields ? "changed"
                : op->now  ? "added"
                           : "removed");
  if (!op->fields) put_schema(html, "schema", opc_record_text(op->now ? now : before, "schema"));
  if (json_object_get(op->fields, "schema")) {
    put_schema(html, "old schema", opc_record_text(before, "schema"));
    put_schema(html, "new schema", opc_record_text(now, "schema"));
  }
  const char *name;
  json_t *pair;
  json_object_foreach(op->fields, name, pair) {
    OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
    if (strcmp(name, "schema") == 0) continue;
    opc_compare_say_lists(pair, &line);
    opc_html_fact(html, opc_compare_field_label(name), opc_text_c(&line));
  }
  opc_html_put(html, "</dl></details>\n");
}

static void put_compared_operators(opc_html_t *html, const opc_comparison_t *comparison) {
  opc_html_put(html,
               "<section id=\"operators\" aria-labelledby=\"operators-title\">\n<h2 "
               "id=\"operators-title\">Operators</h2>\n");
  if (comparison->operator_count == 0) opc_html_put(html, "<p>Both runs have the same operators.</p>\n");
  for (size_t i = 0; i < comparison->operator_count && i < COMPARE_ITEMS_MOST && !html->status; i++)
    put_compared_operator(html, comparison, &comparison->operators[i]);
  put_compare_left(html, comparison->operator_count);
  opc_html_put(html, "</section>\n");
}

/* ---- what is no longer checked ---- */

static void put_lost(opc_html_t *html, const opc_compare_lost_t *lost) {
  opc_html_put(html, "<tr><th scope=\"row\">");
  opc_html_code(html, lost->operator_name, OPC_HTML_WORD);
  opc_html_put(html, "</th><td class=\"text\">");
  opc_html_text(html, lost->name ? lost->name : "all checks", OPC_HTML_WORD);
  opc_html_putf(html, "</td><td>%" PRIu64 "</td><td class=\"text\">%s</td></tr>\n", lost->cases,
                opc_html_reason(lost->reason));
}

static void put_compared_lost(opc_html_t *html, const opc_comparison_t *comparison) {
  opc_html_put(html,
               "<section id=\"coverage\" aria-labelledby=\"coverage-title\">\n<h2 id=\"coverage-title\">No longer "
               "checked</h2>\n");
  if (comparison->lost_count == 0) opc_html_put(html, "<p>All that was checked before is checked.</p>\n");
  else
    opc_html_put(html,
                 "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"No longer checked\"><table>"
                 "<thead><tr><th scope=\"col\">operator</th><th scope=\"col\">what</th><th scope=\"col\">cases "
                 "before</th><th scope=\"col\">why</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < comparison->lost_count && i < COMPARE_ITEMS_MOST && !html->status; i++)
    put_lost(html, &comparison->lost[i]);
  if (comparison->lost_count) opc_html_put(html, "</tbody></table></div>\n");
  put_compare_left(html, comparison->lost_count);
  opc_html_put(html, "</section>\n");
}

static opc_status_t write_compared_page(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  const opc_comparison_t *comparison = source->comparison;
  opc_html_t html = {.source = source, .stream = stream, .error = error};
  OPC_SCOPED(opc_text_clear) opc_text_t subject = {0};
  page_add_compared(comparison, &subject);
  opc_html_begin(&html, opc_comparison_word(comparison), opc_text_c(&subject),
                 "<a href=\"#operators\">Operators</a><a href=\"#coverage\">No longer checked</a>");
  put_compared_summary(&html, comparison, opc_text_c(&subject));
  put_compared_problems(&html, comparison);
  put_compared_operators(&html, comparison);
  put_compared_lost(&html, comparison);
  opc_html_end(&html);
  return html.status;
}

const opc_report_t opc_report_compare_html = {
    .name = "html", .summary = "the comparison as a page for a browser", .write = write_compared_page};
