/* A problem of the HTML report: plain markup, which can be read without the page's script. */
#include <inttypes.h>
#include <string.h>

#include "base/owned.h"
#include "reports/page/html_page.h"
#include "reports/text/finding_text.h"

enum { FRAMES_SHOWN = 16, ACCESSES_SHOWN = 8, OPERATORS_SHOWN = 200 };

void opc_html_code(opc_html_t *html, const char *text, size_t limit) {
  opc_html_put(html, "<code>");
  opc_html_text(html, text, limit);
  opc_html_put(html, "</code>");
}

static void begin_fact(opc_html_t *html, const char *label) {
  opc_html_putf(html, "<dt>%s</dt><dd data-fact=\"%s\">", label, label);
}

void opc_html_fact(opc_html_t *html, const char *label, const char *text) {
  if (!text || !*text) return;
  begin_fact(html, label);
  opc_html_text(html, text, OPC_HTML_MESSAGE);
  opc_html_put(html, "</dd>\n");
}

/* Strings of a list, each as code. */
void opc_html_codes_fact(opc_html_t *html, const char *label, const json_t *list, size_t skipped) {
  size_t i;
  json_t *item;
  if (json_array_size(list) <= skipped) return;
  begin_fact(html, label);
  json_array_foreach((json_t *)list, i, item) {
    if (i < skipped || i >= OPERATORS_SHOWN || !json_is_string(item)) continue;
    opc_html_put(html, i > skipped ? ", " : "");
    opc_html_code(html, json_string_value(item), OPC_HTML_WORD);
  }
  if (json_array_size(list) > OPERATORS_SHOWN)
    opc_html_putf(html, " and %zu more", json_array_size(list) - OPERATORS_SHOWN);
  opc_html_put(html, "</dd>\n");
}

/* ---- the input, and what came of it ---- */

static void problem_put_input(opc_html_t *html, const json_t *input) {
  const char *name;
  json_t *value;
  if (json_object_size(input) == 0) return;
  opc_html_put(html, "<h4>The input that shows it</h4>\n<dl class=\"input\">\n");
  json_object_foreach((json_t *)input, name, value) {
    opc_html_put(html, "<dt>");
    opc_html_code(html, name, OPC_HTML_WORD);
    opc_html_put(html, "</dt><dd>");
    opc_html_code(html, json_is_string(value) ? json_string_value(value) : "?", OPC_HTML_WORD);
    opc_html_put(html, "</dd>\n");
  }
  opc_html_put(html, "</dl>\n");
}

static json_int_t member_integer(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

/* The numbers are what the script draws; the text says the same. */
static void put_access(opc_html_t *html, const json_t *access) {
  const json_int_t offset = member_integer(access, "offset"), bytes = member_integer(access, "bytes");
  const char *argument = opc_record_text(access, "argument");
  opc_html_putf(html,
                "<figure class=\"access\" data-offset=\"%" JSON_INTEGER_FORMAT "\" data-bytes=\"%" JSON_INTEGER_FORMAT
                "\" data-access=\"",
                offset, bytes);
  opc_html_text(html, opc_record_text(access, "access"), OPC_HTML_WORD);
  opc_html_put(html, "\"><figcaption>A <strong>");
  opc_html_text(html, opc_record_text(access, "access"), OPC_HTML_WORD);
  opc_html_putf(html, "</strong> at byte %" JSON_INTEGER_FORMAT " of ", offset);
  if (*argument) opc_html_code(html, argument, OPC_HTML_WORD);
  else opc_html_put(html, "memory that the operator allocated");
  opc_html_putf(html, ", which has %" JSON_INTEGER_FORMAT " bytes</figcaption></figure>\n", bytes);
}

static void put_accesses(opc_html_t *html, const json_t *accesses) {
  size_t i;
  json_t *access;
  bool first = true;
  json_array_foreach((json_t *)accesses, i, access) {
    if (i == ACCESSES_SHOWN) break;
    if (!json_is_integer(json_object_get(access, "offset"))) continue;
    opc_html_put(html, first ? "<h4>The access</h4>\n" : "");
    put_access(html, access);
    first = false;
  }
}

static bool is_wrong(const json_t *wrong, size_t element) {
  size_t i;
  json_t *number;
  json_array_foreach((json_t *)wrong, i, number) if ((size_t)json_integer_value(number) == element) return true;
  return false;
}

/* A small tensor: rows of its last dimension, the wrong elements marked, with what they should be. */
static void put_elements(opc_html_t *html, const json_t *differences, size_t width) {
  const json_t *wrong = json_object_get(differences, "wrong"), *wanted = json_object_get(differences, "wanted");
  size_t i;
  json_t *value;
  opc_html_put(html, "<p class=\"quiet\">");
  opc_html_code(html, opc_record_text(differences, "output"), OPC_HTML_WORD);
  opc_html_putf(html, ": %zu of %zu elements are wrong; what they should be stands below them</p>\n",
                json_array_size(wrong), json_array_size(json_object_get(differences, "got")));
  opc_html_put(html,
               "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Elements\"><table "
               "class=\"tensor\"><tbody>");
  json_array_foreach(json_object_get(differences, "got"), i, value) {
    const char *right = json_string_value(json_array_get(wanted, i));
    const bool marked = is_wrong(wrong, i);
    opc_html_put(html, i % width == 0 ? i ? "</tr>\n<tr>" : "<tr>" : "");
    opc_html_put(html, marked ? "<td class=\"w\"><strong>" : "<td>");
    opc_html_text(html, json_is_string(value) ? json_string_value(value) : "?", OPC_HTML_WORD);
    if (marked) {
      opc_html_put(html, "</strong> <span>");
      opc_html_text(html, right ? right : "?", OPC_HTML_WORD);
      opc_html_put(html, "</span>");
    }
    opc_html_put(html, "</td>");
  }
  opc_html_put(html, "</tr></tbody></table></div>\n");
}

static void put_differences(opc_html_t *html, const json_t *differences) {
  const json_t *shape = json_object_get(differences, "shape");
  const size_t dimensions = json_array_size(shape);
  const json_int_t last = dimensions ? json_integer_value(json_array_get(shape, dimensions - 1)) : 1;
  if (json_array_size(json_object_get(differences, "got")) == 0) return;
  opc_html_put(html, "<h4>What came out</h4>\n");
  put_elements(html, differences, last > 0 ? (size_t)last : 1);
}

/* ---- the rest ---- */

static void put_frames(opc_html_t *html, const opc_code_frames_t *frames) {
  if (frames->count == 0) return;
  opc_html_put(html, "<details><summary>Stack</summary><ol class=\"stack\">\n");
  for (size_t i = 0; i < frames->count && i < FRAMES_SHOWN; i++) {
    const opc_code_frame_t *frame = &frames->items[i];
    opc_html_put(html, "<li>");
    opc_html_code(html, *frame->symbol ? frame->symbol : "?", OPC_HTML_WORD);
    opc_html_put(html, " <span class=\"quiet\">");
    opc_html_text(html, *frame->file ? opc_base_name(frame->file) : opc_base_name(frame->module), OPC_HTML_WORD);
    if (*frame->file) opc_html_putf(html, ":%d", frame->line);
    else if (*frame->offset) opc_html_text(html, "+", 1), opc_html_text(html, frame->offset, OPC_HTML_WORD);
    opc_html_put(html, "</span></li>\n");
  }
  opc_html_put(html, "</ol></details>\n");
}

void opc_html_problem_cases(opc_html_t *html, const json_t *problem) {
  const json_t *cases = json_object_get(problem, "cases");
  const json_int_t count = member_integer(problem, "count");
  size_t i;
  json_t *id;
  opc_html_putf(html, "<details><summary>%" JSON_INTEGER_FORMAT " case%s</summary><ul class=\"stack\">\n", count,
                count == 1 ? "" : "s");
  json_array_foreach((json_t *)cases, i, id) {
    opc_html_put(html, "<li>");
    opc_html_code(html, json_string_value(id), OPC_HTML_WORD);
    opc_html_put(html, "</li>\n");
  }
  if ((json_int_t)json_array_size(cases) < count)
    opc_html_putf(html, "<li>and %" JSON_INTEGER_FORMAT " more</li>\n", count - (json_int_t)json_array_size(cases));
  opc_html_put(html, "</ul></details>\n");
}

void opc_html_rule(opc_html_t *html, const opc_rule_t *rule, bool warning) {
  const char *const parts[][2] = {{"Why it matters", rule->why},
                                  {"How to fix it", rule->fix},
                                  {warning ? "Why it is only a warning" : "What it does not prove", rule->limits}};
  opc_html_put(html, "<div class=\"advice\">\n");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (!parts[i][1] || !*parts[i][1]) continue;
    opc_html_putf(html, "<div><h4>%s</h4><p>", parts[i][0]);
    opc_html_prose(html, parts[i][1], OPC_HTML_MESSAGE);
    opc_html_put(html, "</p></div>\n");
  }
  opc_html_put(html, "</div>\n");
}

void opc_html_repro(opc_html_t *html, const char *repro) {
  if (!*repro) return;
  opc_html_put(html, "<h4>See it again</h4>\n<div class=\"copy\"><pre tabindex=\"0\"><code>");
  opc_html_text(html, repro, OPC_HTML_MESSAGE);
  opc_html_put(html, "</code></pre></div>\n");
}

static const char *severity_word(const opc_problem_t *problem, const opc_case_result_t *result) {
  if (problem->warning) return "warning";
  return result->verdict == OPC_VERDICT_ERROR ? "crash" : "error";
}

void opc_html_problem_begin(opc_html_t *html, const json_t *json, const opc_html_head_t *head) {
  const json_t *operators = json_object_get(json, "operators");
  const char *name = json_string_value(json_array_get(operators, 0));
  const char *title = opc_rule_of(opc_rule_id(opc_record_text(json, "rule")))->title;
  opc_html_putf(html, "<details class=\"problem %s\" id=\"problem-", head->tone);
  opc_html_text(html, opc_record_text(json, "id"), OPC_HTML_WORD);
  if (head->kind) opc_html_putf(html, "\" data-kind=\"%s", head->kind);
  opc_html_put(html, "\" data-severity=\"");
  opc_html_text(html, opc_record_text(json, "severity"), OPC_HTML_WORD);
  opc_html_put(html, "\" data-rule=\"");
  opc_html_text(html, opc_record_text(json, "rule"), OPC_HTML_WORD);
  opc_html_putf(html, "\" data-count=\"%" JSON_INTEGER_FORMAT "\" data-source=\"", member_integer(json, "count"));
  opc_html_text(html, opc_record_text(json, "standing"), OPC_HTML_WORD);
  opc_html_putf(html, "\"%s>\n<summary><span class=\"badge %s\">%s</span><h3><code class=\"op\">",
                head->open ? " open" : "", head->badge, head->badge);
  opc_html_text(html, name ? name : "?", OPC_HTML_WORD);
  opc_html_put(html, "</code>");
  if (json_array_size(operators) > 1)
    opc_html_putf(html, " <small>and %zu more</small>", json_array_size(operators) - 1);
  opc_html_put(html, " <span class=\"title\">");
  opc_html_text(html, title ? title : "", OPC_HTML_WORD);
  if (head->known) opc_html_put(html, " <small>(known)</small>");
  opc_html_put(html, "</span></h3><code class=\"rule\">");
  opc_html_text(html, opc_record_text(json, "rule"), OPC_HTML_WORD);
  opc_html_put(html, "</code><span class=\"brief\">");
  opc_html_prose(html, head->brief ? head->brief : opc_record_text(json, "message"), OPC_HTML_BRIEF);
  opc_html_put(html, "</span></summary>\n<div class=\"body\">\n<p class=\"message\">");
  opc_html_prose(html, opc_record_text(json, "message"), OPC_HTML_MESSAGE);
  opc_html_put(html, "</p>\n<dl class=\"facts\">\n");
}

void opc_html_problem_end(opc_html_t *html, const json_t *json) {
  opc_html_put(html, "<p class=\"quiet\">problem <a href=\"#problem-");
  opc_html_text(html, opc_record_text(json, "id"), OPC_HTML_WORD);
  opc_html_put(html, "\">");
  opc_html_text(html, opc_record_text(json, "id"), OPC_HTML_WORD);
  opc_html_put(html, "</a></p>\n</div>\n</details>\n");
}

void opc_html_file_fact(opc_html_t *html, const json_t *json) {
  if (!*opc_record_text(json, "file")) return;
  begin_fact(html, "file");
  opc_html_text(html, opc_record_text(json, "file"), OPC_HTML_WORD);
  opc_html_putf(html, ":%" JSON_INTEGER_FORMAT "</dd>\n", member_integer(json, "line"));
}

static void put_facts(opc_html_t *html, const json_t *json, const opc_case_result_t *result, const json_t *op,
                      const json_t *known) {
  OPC_SCOPED(opc_text_clear) opc_text_t where = {0}, tried = {0}, excuse = {0};
  opc_finding_place(result, op, &where);
  opc_finding_tried(result, &tried);
  opc_html_fact(html, "where", opc_text_c(&where));
  opc_html_file_fact(html, json);
  opc_html_fact(html, "tried", opc_text_c(&tried));
  if (json_array_size(json_object_get(json, "operators")) > 1)
    opc_html_codes_fact(html, "operators", json_object_get(json, "operators"), 0);
  opc_html_codes_fact(html, "also", json_object_get(json, "symptoms"), 1);
  if (result->suspect) opc_html_fact(html, "note", "not confirmed: the run stopped early");
  if (known) opc_known_say(known, &excuse);
  opc_html_fact(html, "status", opc_text_c(&excuse));
  opc_html_put(html, "</dl>\n");
}

static void problem_put_body(opc_html_t *html, const opc_problem_t *problem, const json_t *json,
                             const opc_case_result_t *result, const json_t *op) {
  put_facts(html, json, result, op, problem->known);
  problem_put_input(html, json_object_get(result->evidence, "input"));
  put_accesses(html, json_object_get(result->evidence, "accesses"));
  put_differences(html, json_object_get(result->evidence, "differences"));
  opc_html_rule(html, opc_rule_of(opc_problem_rule(problem)), problem->warning);
  opc_html_repro(html, opc_record_text(json, "repro"));
  put_frames(html, result->frames.count || result->access_count == 0 ? &result->frames : &result->accesses[0].frames);
  opc_html_problem_cases(html, json);
}

void opc_html_problem(opc_html_t *html, const opc_problem_t *problem, bool open) {
  const opc_problems_t *problems = html->source->problems;
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  json_auto_t *json = NULL, *op = NULL;
  if (!html->status) html->status = opc_problem_to_json(problems, problem, &json, &result, html->error);
  if (!html->status)
    html->status = opc_journal_reader_operator_record(problems->journal, problem->operators[0].index, &op, html->error);
  if (html->status) return;
  const opc_html_head_t head = {.tone = problem->warning ? "warning" : "error",
                                .badge = severity_word(problem, result),
                                .known = problem->known,
                                .open = open};
  opc_html_problem_begin(html, json, &head);
  problem_put_body(html, problem, json, result, op);
  opc_html_problem_end(html, json);
}
