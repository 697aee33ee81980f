/* What the run did not check, and why; and for each operator the inputs that it was called with. */
#include <inttypes.h>
#include <string.h>

#include "base/owned.h"
#include "reports/page/html_page.h"
#include "reports/text/gaps.h"

enum { REFUSALS_SHOWN = 5 };

static const char *const reason_texts[OPC_SKIP_COUNT] = {
    [OPC_SKIP_REJECTED] = "the operator refused the input, with a message",
    [OPC_SKIP_NO_DEVICE] = "this machine lacks the device",
    [OPC_SKIP_NO_SAMPLE] = "no input that the operator accepts is known: give a sample or a recipe",
    [OPC_SKIP_NO_KERNEL] = "the operator has no kernel for it",
    [OPC_SKIP_NOT_APPLICABLE] = "the check has nothing to say about this input",
    [OPC_SKIP_FAKE_IN_PYTHON] = "a Python module has the Meta kernel: --python checks it",
    [OPC_SKIP_XFAIL] = "a known failure, listed in the file for --xfail",
    [OPC_SKIP_BUDGET] = "the time or memory limit was reached",
    [OPC_SKIP_AFTER_CRASH] = "the same arguments, or this check, had crashed before",
    [OPC_SKIP_SIMULATED] = "the simulated device did not compute the values",
    [OPC_SKIP_OFF] = "the project's settings switch its rule off",
};

const char *opc_html_reason(opc_skip_reason_t reason) {
  return reason_texts[reason] ? reason_texts[reason] : "no case of it ran";
}

static void put_unchecked_operators(opc_html_t *html) {
  opc_journal_reader_t *journal = html->source->journal;
  bool first = true;
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal) && !html->status; i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(journal, i);
    json_auto_t *source = NULL;
    if (!opc_operator_is_counted(op) || opc_operator_is_checked(op)) continue;
    html->status = opc_journal_reader_sample_source(journal, op->name, &source, html->error);
    opc_html_put(html, first ? "<h3>Operators that were not checked</h3>\n<dl class=\"facts\">\n" : "");
    opc_html_put(html, "<dt><code>");
    opc_html_text(html, op->name, OPC_HTML_WORD);
    opc_html_putf(html, "</code></dt><dd>%s", opc_html_reason(opc_operator_main_skip(op)));
    if (*opc_record_text(source, "detail")) {
      opc_html_put(html, " <span class=\"quiet\">(");
      opc_html_text(html, opc_record_text(source, "detail"), OPC_HTML_WORD);
      opc_html_put(html, ")</span>");
    }
    opc_html_put(html, "</dd>\n");
    first = false;
  }
  opc_html_put(html, first ? "<p>Every operator was checked with at least one input.</p>\n" : "</dl>\n");
}

static void put_skips(opc_html_t *html) {
  opc_journal_reader_t *journal = html->source->journal;
  uint64_t counts[OPC_SKIP_COUNT] = {0};
  bool first = true;
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal); i++)
    for (size_t k = 1; k < OPC_SKIP_COUNT; k++) counts[k] += opc_journal_reader_operator(journal, i)->skips[k];
  for (size_t k = 1; k < OPC_SKIP_COUNT; k++) {
    if (!counts[k]) continue;
    if (first)
      opc_html_put(html,
                   "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Skipped cases\"><table>"
                   "<caption>Skipped cases</caption><thead><tr><th scope=\"col\">reason</th><th "
                   "scope=\"col\">cases</th><th scope=\"col\">meaning</th></tr></thead><tbody>\n");
    opc_html_putf(html,
                  "<tr><th scope=\"row\"><code>%s</code></th><td>%" PRIu64 "</td><td class=\"text\">%s</td></tr>\n",
                  opc_skip_reason_name((opc_skip_reason_t)k), counts[k], opc_html_reason((opc_skip_reason_t)k));
    first = false;
  }
  if (!first) opc_html_put(html, "</tbody></table></div>\n");
}

/* ---- each operator ---- */

/* "float32, float64; refused: int8; crashed: bool" */
static void add_outcomes(const json_t *values, opc_text_t *out) {
  static const char *const outcomes[] = {"accepted", "crashed", "refused"};
  for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
    const char *value;
    json_t *outcome;
    size_t count = 0;
    json_object_foreach((json_t *)values, value, outcome) {
      if (!json_is_string(outcome) || strcmp(json_string_value(outcome), outcomes[i]) != 0) continue;
      if (count++ > 0) opc_text_add(out, ", ");
      else if (i > 0) opc_text_addf(out, "%s%s: ", out->length ? "; " : "", outcomes[i]);
      opc_text_add(out, value);
    }
  }
}

static void put_fact(opc_html_t *html, const char *argument, const char *property, const json_t *values) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  add_outcomes(values, &text);
  if (!text.length) return;
  opc_html_put(html, "<dt>");
  if (argument) {
    opc_html_put(html, "<code>");
    opc_html_text(html, argument, OPC_HTML_WORD);
    opc_html_put(html, "</code> ");
  }
  opc_html_text(html, property, OPC_HTML_WORD);
  opc_html_put(html, "</dt><dd>");
  opc_html_text(html, opc_text_c(&text), OPC_HTML_WORD);
  opc_html_put(html, "</dd>\n");
}

static void put_refusals(opc_html_t *html, const json_t *refusals) {
  const char *message;
  json_t *count;
  size_t shown = 0;
  json_object_foreach((json_t *)refusals, message, count) {
    if (shown++ == REFUSALS_SHOWN) break;
    opc_html_putf(html, "<dt>refused %" JSON_INTEGER_FORMAT " times</dt><dd>", json_integer_value(count));
    opc_html_text(html, message, OPC_HTML_WORD);
    opc_html_put(html, "</dd>\n");
  }
  if (json_object_size(refusals) > REFUSALS_SHOWN)
    opc_html_putf(html, "<dt></dt><dd>and %zu more messages</dd>\n", json_object_size(refusals) - REFUSALS_SHOWN);
}

static void put_inputs(opc_html_t *html, const json_t *coverage) {
  const char *argument, *property;
  json_t *properties, *values;
  opc_html_put(html, "<dl class=\"facts\">\n");
  put_fact(html, NULL, "devices", json_object_get(coverage, "devices"));
  put_fact(html, NULL, "methods", json_object_get(coverage, "methods"));
  json_object_foreach(json_object_get(coverage, "arguments"), argument, properties)
      json_object_foreach(properties, property, values) put_fact(html, argument, property, values);
  put_refusals(html, json_object_get(coverage, "refusals"));
  opc_html_put(html, "</dl>\n");
}

/* "87 inputs accepted, 92 refused" */
static void add_input_counts(const json_t *inputs, opc_text_t *out) {
  static const char *const words[] = {"accepted", "refused", "crashed"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const json_int_t count = json_integer_value(json_object_get(inputs, words[i]));
    if (count)
      opc_text_addf(out, "%s%" JSON_INTEGER_FORMAT " %s%s", out->length ? ", " : "", count,
                    out->length  ? ""
                    : count == 1 ? "input "
                                 : "inputs ",
                    words[i]);
  }
}

static void coverage_put_operator(opc_html_t *html, const char *name, const json_t *op, const json_t *coverage) {
  OPC_SCOPED(opc_text_clear) opc_text_t gaps = {0}, inputs = {0};
  opc_gaps_of(op, coverage, &gaps);
  add_input_counts(json_object_get(coverage, "inputs"), &inputs);
  opc_html_put(html, "<details class=\"operator\"><summary><code>");
  opc_html_text(html, name, OPC_HTML_WORD);
  opc_html_put(html, "</code> <span class=\"quiet\">");
  opc_html_text(html, opc_text_c(&inputs), OPC_HTML_WORD);
  opc_html_put(html, "</span>");
  if (gaps.length) {
    opc_html_put(html, "<span class=\"gaps\">");
    opc_html_prose(html, opc_text_c(&gaps), OPC_HTML_MESSAGE);
    opc_html_put(html, "</span>");
  }
  opc_html_put(html, "</summary>\n<p><code>");
  opc_html_text(html, opc_record_text(op, "schema"), OPC_HTML_MESSAGE);
  opc_html_put(html, "</code></p>\n");
  put_inputs(html, coverage);
  opc_html_put(html, "</details>\n");
}

static opc_status_t coverage_read_operator(opc_html_t *html, size_t index, bool *first) {
  opc_journal_reader_t *journal = html->source->journal;
  const opc_journal_operator_t *op = opc_journal_reader_operator(journal, index);
  json_auto_t *record = NULL, *coverage = NULL;
  if (!opc_operator_is_counted(op)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_journal_reader_operator_record(journal, index, &record, html->error));
  OPC_RETURN_IF_ERROR(opc_journal_reader_coverage(journal, op->name, &coverage, html->error));
  if (!coverage) return OPC_OK;
  if (*first)
    opc_html_put(html, "<h3>Inputs that each operator was called with, and its gaps</h3>\n<div id=\"inputs\">\n");
  *first = false;
  coverage_put_operator(html, op->name, record, coverage);
  return html->status;
}

void opc_html_coverage(opc_html_t *html) {
  bool first = true;
  const opc_coverage_t coverage = opc_coverage_of(html->source->journal);
  OPC_SCOPED(opc_text_clear) opc_text_t said = {0};
  opc_coverage_say(&coverage, &said);
  opc_html_put(html,
               "<section id=\"coverage\" aria-labelledby=\"coverage-title\"><h2 id=\"coverage-title\">What was "
               "not checked</h2>\n<p>");
  opc_html_escaped(html, opc_text_c(&said));
  opc_html_put(html, ".</p>\n");
  put_unchecked_operators(html);
  put_skips(html);
  for (size_t i = 0; i < opc_journal_reader_operator_count(html->source->journal) && !html->status; i++)
    html->status = coverage_read_operator(html, i, &first);
  opc_html_put(html, first ? "</section>\n" : "</div>\n</section>\n");
}
