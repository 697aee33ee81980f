/* `--coverage`: for each operator the inputs that were tried, which of them were accepted, and what no call reached. */
#include <inttypes.h>
#include <string.h>

#include "base/owned.h"
#include "reports/terminal/terminal.h"
#include "reports/text/gaps.h"

typedef struct operator_coverage {
  json_t *op, *coverage; /* either may be NULL */
} operator_coverage_t;

static void operator_coverage_clear(operator_coverage_t *read) {
  json_decref(read->op);
  json_decref(read->coverage);
}

static opc_status_t operator_coverage_read(opc_journal_reader_t *journal, size_t index, operator_coverage_t *out,
                                           opc_error_t *error) {
  const char *name = opc_journal_reader_operator(journal, index)->name;
  OPC_RETURN_IF_ERROR(opc_journal_reader_operator_record(journal, index, &out->op, error));
  return opc_journal_reader_coverage(journal, name, &out->coverage, error);
}

/* "float32, float64 (refused: int8; crashed: bool)" */
static void add_values(const json_t *values, opc_text_t *out) {
  static const char *const outcomes[] = {"accepted", "crashed", "refused"};
  size_t groups = 0;
  for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
    const char *value;
    json_t *outcome;
    size_t count = 0;
    json_object_foreach((json_t *)values, value, outcome) {
      if (strcmp(json_string_value(outcome), outcomes[i]) != 0) continue;
      if (count == 0 && i > 0) opc_text_addf(out, "%s%s: ", groups++ == 0 ? " (" : "; ", outcomes[i]);
      opc_text_addf(out, "%s%s", count++ > 0 ? ", " : "", value);
    }
    if (i == 0 && count == 0) opc_text_add(out, "none accepted");
  }
  if (groups > 0) opc_text_add(out, ")");
}

static void show_arguments(const opc_screen_t *screen, const json_t *coverage) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const char *argument, *property;
  json_t *properties, *values;
  json_object_foreach(json_object_get(coverage, "arguments"), argument, properties) {
    json_object_foreach(properties, property, values) {
      opc_text_addf(&text, "%s`%s` %s: ", text.length > 0 ? "\n" : "", argument, property);
      add_values(values, &text);
    }
  }
  opc_screen_field(screen, "tried", opc_text_c(&text));
}

static void show_refusals(const opc_screen_t *screen, const json_t *coverage) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const char *message;
  json_t *count;
  json_object_foreach(json_object_get(coverage, "refusals"), message, count) opc_text_addf(
      &text, "%s%" JSON_INTEGER_FORMAT ": %s", text.length > 0 ? "\n" : "", json_integer_value(count), message);
  opc_screen_field(screen, "refused", opc_text_c(&text));
}

static void show_methods(const opc_screen_t *screen, const json_t *coverage, const char *label, const char *key) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const json_t *values = json_object_get(coverage, key);
  if (json_object_size(values) > 0) add_values(values, &text);
  opc_screen_field(screen, label, opc_text_c(&text));
}

/* Why an operator has no coverage. */
static const char *why_unknown(const opc_journal_operator_t *op, bool stopped) {
  if (stopped) return "not known: the run stopped before its last case";
  return opc_operator_is_checked(op) ? "not known: the run had a single case" : "no call";
}

static void show_coverage(const opc_screen_t *screen, const opc_journal_operator_t *op, const operator_coverage_t *read,
                          const char *gaps, bool stopped) {
  const json_t *inputs = json_object_get(read->coverage, "inputs");
  opc_screen_text(screen, OPC_TONE_BOLD, op->name);
  if (!read->coverage) {
    fprintf(screen->stream, "  %s\n", why_unknown(op, stopped));
    return;
  }
  fprintf(screen->stream,
          "  %" JSON_INTEGER_FORMAT " inputs accepted, %" JSON_INTEGER_FORMAT " refused, %" JSON_INTEGER_FORMAT
          " crashed\n",
          json_integer_value(json_object_get(inputs, "accepted")),
          json_integer_value(json_object_get(inputs, "refused")),
          json_integer_value(json_object_get(inputs, "crashed")));
  opc_screen_field(screen, "gaps", gaps);
  show_methods(screen, read->coverage, "devices", "devices");
  show_methods(screen, read->coverage, "methods", "methods");
  show_arguments(screen, read->coverage);
  show_refusals(screen, read->coverage);
}

/* Of how many operators each check has a verdict: "22 memory, device; 20 alias". */
static void show_checks(const opc_screen_t *screen, const opc_coverage_t *coverage) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  uint64_t listed = 0;
  for (uint64_t most = coverage->total; listed != coverage->asked_checks; most--) {
    size_t names = 0;
    for (size_t i = 0; i < opc_check_info_count && i < 64; i++) {
      if (!(coverage->asked_checks >> i & 1U) || coverage->proved[i] != most) continue;
      if (names++ == 0) opc_text_addf(&line, "%s%" PRIu64 " ", line.length ? "; " : "", most);
      else opc_text_add(&line, ", ");
      opc_text_add(&line, opc_check_infos[i].name);
      listed |= UINT64_C(1) << i;
    }
    if (most == 0) break;
  }
  if (line.length)
    fprintf(screen->stream, "operators that each check has a verdict about, of %" PRIu64 "\n", coverage->total);
  opc_screen_field(screen, "checks", opc_text_c(&line));
}

opc_status_t opc_terminal_coverage(opc_journal_reader_t *journal, const opc_screen_t *screen, bool whole,
                                   opc_error_t *error) {
  const opc_coverage_t summary = opc_coverage_of(journal);
  uint64_t with_gaps = 0;
  if (whole) {
    fputs("\nCOVERAGE\n", screen->stream);
    show_checks(screen, &summary);
  }
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(journal, i);
    OPC_SCOPED(operator_coverage_clear) operator_coverage_t read = {0};
    OPC_SCOPED(opc_text_clear) opc_text_t gaps = {0};
    if (!opc_operator_is_counted(op)) continue;
    OPC_RETURN_IF_ERROR(operator_coverage_read(journal, i, &read, error));
    if (read.coverage) opc_gaps_of(read.op, read.coverage, &gaps);
    with_gaps += gaps.length > 0;
    if (whole) show_coverage(screen, op, &read, opc_text_c(&gaps), summary.stopped);
  }
  if (!whole && with_gaps > 0)
    fprintf(screen->stream, "\n%" PRIu64 " operator%s not called with all kinds of inputs: --coverage shows the gaps\n",
            with_gaps, with_gaps == 1 ? " was" : "s were");
  return OPC_OK;
}
