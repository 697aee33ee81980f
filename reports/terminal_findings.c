#include "reports/terminal_findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/rules.h"
#include "reports/journal/digest.h"
#include "reports/rule_table.h"
#include "reports/terminal.h"

typedef struct terminal {
  opc_journal_reader_t *journal;
  const opc_screen_t *screen;
  opc_rule_table_t rules;
  bool brief;    /* one line per operator */
  bool crowded;  /* one line per finding, except for the first few of a rule; good operators are only counted */
  uint64_t good; /* operators without findings of which a call proved something; counted if crowded */
} terminal_t;

enum {
  DETAILED_OPERATORS = 20, /* beyond this, one line each: readers look for the findings */
  FINDING_OPERATORS = 30,  /* beyond this, a rule's first findings are shown in full, the others on one line each */
  DETAILED_OF_RULE = 2,
  RULES_SUMMED = 8 /* if more operators than this have findings, a table sums up the rules at the end */
};

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* ---- findings ---- */

static void show_input(const opc_screen_t *screen, const json_t *input) {
  const char *name;
  json_t *value;
  if (json_is_string(input)) {
    opc_screen_field(screen, "input", json_string_value(input));
    return;
  }
  json_object_foreach((json_t *)input, name, value) {
    opc_text_t line = {0};
    opc_text_addf(&line, "%s = %s", name, json_is_string(value) ? json_string_value(value) : "?");
    opc_screen_field(screen, "input", opc_text_c(&line));
    opc_text_clear(&line);
  }
}

static void show_also(const opc_screen_t *screen, const json_t *also) {
  size_t index;
  json_t *item;
  json_array_foreach(also, index, item) {
    opc_text_t line = {0};
    opc_text_addf(&line, "%s: %s", opc_record_text(item, "rule"), opc_record_text(item, "message"));
    opc_screen_field(screen, "also", opc_text_c(&line));
    opc_text_clear(&line);
  }
}

/* repeated: an earlier finding explained the same rule. */
static void show_finding(const opc_screen_t *screen, const opc_digest_finding_t *finding, const json_t *op,
                         bool repeated) {
  const json_t *record = finding->record, *evidence = json_object_get(record, "evidence");
  const char *rule_name = opc_record_text(record, "rule");
  const opc_rule_t *rule = opc_rule_find(rule_name);
  bool crashed = strcmp(opc_record_text(record, "verdict"), opc_verdict_name(OPC_VERDICT_ERROR)) == 0;
  opc_text_t where = {0};

  if (finding->warning) opc_screen_text(screen, OPC_TONE_YELLOW, "WARN");
  else opc_screen_text(screen, OPC_TONE_RED, crashed ? "ERROR" : "FAIL");
  fputs("  ", screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, opc_record_text(record, "operator"));
  fputs("  ", screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, rule_name);
  fprintf(screen->stream, "%s%s\n", rule ? ": " : "", rule ? rule->title : "");

  opc_screen_field(screen, "what", opc_record_text(record, "message"));
  if (strcmp(opc_record_text(record, "t"), "suspect") == 0)
    opc_screen_field(screen, "", "not confirmed: the run stopped early");
  show_also(screen, json_object_get(evidence, "also"));
  show_input(screen, json_object_get(evidence, "input"));
  if (!repeated) opc_screen_line(screen, "schema", opc_record_text(op, "schema"));
  const char *registered = opc_record_text(op, "registered_at");
  if (op)
    opc_text_addf(&where, "%s%s%s", registered, *registered ? " in " : "",
                  opc_terminal_basename(opc_record_text(op, "library")));
  opc_screen_line(screen, "registered", opc_text_c(&where));
  if (rule && !repeated) opc_screen_field(screen, "why", rule->why);
  opc_screen_line(screen, "case", opc_record_text(record, "case"));
  opc_text_reset(&where);
  opc_text_addf(&where, "because %s", opc_record_text(evidence, "why"));
  if (*opc_record_text(evidence, "why")) opc_screen_field(screen, "tried", opc_text_c(&where));
  if (finding->cases > 1) {
    opc_text_reset(&where);
    opc_text_addf(&where, "%" PRIu64 " more case%s of this operator and rule", finding->cases - 1,
                  plural(finding->cases - 1));
    opc_screen_field(screen, "and", opc_text_c(&where));
  }
  opc_screen_line(screen, "repro", opc_record_text(record, "repro"));
  opc_text_reset(&where);
  opc_text_addf(&where, "opcheck-c explain %s", rule ? rule->name : "");
  if (rule && !repeated) opc_screen_line(screen, "explain", opc_text_c(&where));
  fputc('\n', screen->stream);
  opc_text_clear(&where);
}

/* One line for each further finding of a rule: enough to look one up. */
static void show_finding_line(const opc_screen_t *screen, const opc_digest_finding_t *finding) {
  bool crashed = strcmp(opc_record_text(finding->record, "verdict"), opc_verdict_name(OPC_VERDICT_ERROR)) == 0;
  opc_screen_text(screen, finding->warning ? OPC_TONE_YELLOW : OPC_TONE_RED,
                  finding->warning ? "WARN"
                  : crashed        ? "ERROR"
                                   : "FAIL");
  fputs("  ", screen->stream);
  opc_screen_text(screen, OPC_TONE_BOLD, opc_record_text(finding->record, "operator"));
  fputs("  ", screen->stream);
  opc_screen_text(screen, OPC_TONE_PLAIN, opc_record_text(finding->record, "rule"));
  fprintf(screen->stream, "  %" PRIu64 " case%s  ", finding->cases, plural(finding->cases));
  opc_screen_text(screen, OPC_TONE_PLAIN, opc_record_text(finding->record, "case"));
  fputc('\n', screen->stream);
}

/* All findings of one severity, operator by operator. */
static opc_status_t show_findings(terminal_t *terminal, bool warnings, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  bool line_before = false;
  for (size_t i = 0; status == OPC_OK && i < opc_journal_reader_operator_count(terminal->journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(terminal->journal, i);
    if ((warnings ? op->counts.warnings : op->counts.fail + op->counts.error) == 0) continue;
    opc_digest_t digest;
    json_t *record = NULL;
    status = opc_digest_make(terminal->journal, i, &digest, error);
    if (status == OPC_OK) status = opc_journal_reader_operator_record(terminal->journal, i, &record, error);
    for (size_t f = 0; status == OPC_OK && f < digest.finding_count; f++) {
      if (digest.findings[f].warning != warnings) continue;
      uint64_t before = 0;
      status = opc_rule_table_add(&terminal->rules, opc_record_text(digest.findings[f].record, "rule"), warnings,
                                  op->name, &before, error);
      bool line = terminal->crowded && before >= (warnings ? 1 : DETAILED_OF_RULE);
      if (line_before && !line) fputc('\n', terminal->screen->stream);
      if (line) show_finding_line(terminal->screen, &digest.findings[f]);
      else show_finding(terminal->screen, &digest.findings[f], record, warnings && before > 0);
      line_before = line;
    }
    json_decref(record);
    opc_digest_clear(&digest);
  }
  if (line_before) fputc('\n', terminal->screen->stream);
  return status;
}

/* ---- the table ---- */

static void add_count(opc_text_t *line, bool *first, uint64_t count, const char *what) {
  if (count == 0) return;
  opc_text_addf(line, "%s%" PRIu64 " %s", *first ? " " : ", ", count, what);
  *first = false;
}

static void show_checks(const opc_screen_t *screen, const opc_digest_t *digest) {
  opc_text_t line = {0};
  for (size_t i = 0; i < digest->check_count; i++) {
    const opc_digest_check_t *check = &digest->checks[i];
    bool first = true;
    opc_text_addf(&line, "%s%s", i ? "; " : "", check->name);
    add_count(&line, &first, check->counts.fail, "FAIL");
    add_count(&line, &first, check->counts.error, "ERROR");
    add_count(&line, &first, check->counts.warnings, "warn");
    add_count(&line, &first, check->counts.pass, "pass");
    add_count(&line, &first, check->counts.skip, "skip");
  }
  opc_screen_field(screen, "checks", opc_text_c(&line));
  opc_text_clear(&line);
}

/* Not-applicable skips need no words if the check proved something otherwise. */
static const char *skip_detail(const opc_digest_t *digest, size_t check, size_t reason) {
  const opc_digest_check_t *row = &digest->checks[check];
  bool proven = row->counts.pass || row->counts.fail || row->counts.error || row->counts.warnings;
  return row->skip_details[reason] && !(reason == OPC_SKIP_NOT_APPLICABLE && proven) ? row->skip_details[reason] : "";
}

/* One line for the checks from `check` on that were skipped for one reason with the same words. */
static void show_skip(const opc_screen_t *screen, const opc_digest_t *digest, size_t check, size_t reason) {
  const char *name = opc_skip_reason_name((opc_skip_reason_t)reason), *detail = skip_detail(digest, check, reason);
  opc_text_t line = {0}, names = {0};
  uint64_t total = 0;
  for (size_t i = check; i < digest->check_count; i++) {
    uint64_t skips = digest->checks[i].skips[reason];
    if (skips == 0 || strcmp(skip_detail(digest, i, reason), detail) != 0) continue;
    opc_text_addf(&names, "%s%s", names.length ? ", " : "", digest->checks[i].name);
    total += skips;
  }
  size_t length = strcspn(detail, "\n");
  const size_t limit = 160;
  bool cut = length > limit;
  if (cut) {
    length = limit;
    while (((unsigned char)detail[length] & 0xc0) == 0x80) length--;
  }
  opc_text_addf(&line, "%" PRIu64 " %s (%s)%s%.*s%s", total, *name ? name : "without a reason", opc_text_c(&names),
                length ? ": " : "", (int)length, detail, cut ? "…" : "");
  opc_screen_field(screen, "skipped", opc_text_c(&line));
  opc_text_clear(&line);
  opc_text_clear(&names);
}

static void show_skips(const opc_screen_t *screen, const opc_digest_t *digest) {
  for (size_t reason = 0; reason < OPC_SKIP_COUNT; reason++) {
    for (size_t i = 0; i < digest->check_count; i++) {
      bool shown = digest->checks[i].skips[reason] == 0;
      for (size_t j = 0; j < i && !shown; j++)
        shown = digest->checks[j].skips[reason] > 0 &&
                strcmp(skip_detail(digest, j, reason), skip_detail(digest, i, reason)) == 0;
      if (!shown) show_skip(screen, digest, i, reason);
    }
  }
}

typedef enum support { SUPPORT_ACCEPTED, SUPPORT_REJECTED, SUPPORT_CRASHED } support_t;

static bool supports(const opc_digest_dtype_t *row, support_t kind) {
  switch (kind) {
    case SUPPORT_CRASHED:
      return row->crashed;
    case SUPPORT_ACCEPTED:
      return row->accepted && !row->crashed;
    default:
      return row->rejected && !row->accepted && !row->crashed;
  }
}

static void show_dtypes(const opc_screen_t *screen, const opc_digest_t *digest) {
  static const char *const words[] = {" accepts", " rejects", " crashes on"};
  for (size_t i = 0; i < digest->dtype_count; i++) {
    const char *device = digest->dtypes[i].device;
    bool seen = false;
    for (size_t j = 0; j < i; j++) seen |= strcmp(digest->dtypes[j].device, device) == 0;
    if (seen) continue;
    opc_text_t line = {0};
    opc_text_add(&line, device);
    for (int kind = SUPPORT_ACCEPTED; kind <= SUPPORT_CRASHED; kind++) {
      bool any = false;
      for (size_t j = i; j < digest->dtype_count; j++) {
        const opc_digest_dtype_t *row = &digest->dtypes[j];
        if (strcmp(row->device, device) != 0 || !supports(row, (support_t)kind)) continue;
        opc_text_addf(&line, "%s%s %s", !any && kind > 0 && line.length > strlen(device) ? ";" : "",
                      any ? "" : words[kind], row->dtype);
        any = true;
      }
    }
    opc_screen_field(screen, "dtypes", opc_text_c(&line));
    opc_text_clear(&line);
  }
}

/* False if every check that would have called the operator was skipped. A passed registration does not prove a
 * kernel. */
static bool was_proven(const opc_digest_t *digest) {
  bool calling = false;
  for (size_t i = 0; i < digest->check_count; i++) {
    const opc_digest_check_t *check = &digest->checks[i];
    int info = opc_check_info_find(check->name);
    bool calls = info < 0 || opc_check_infos[info].calls;
    if (calls && check->counts.pass) return true;
    calling |= calls;
  }
  return !calling;
}

/* "  12 pass; 3 rejected, 1 not_applicable" */
static void show_brief(const opc_screen_t *screen, const opc_digest_t *digest, const opc_journal_counts_t *counts) {
  opc_text_t line = {0};
  bool first = true;
  add_count(&line, &first, counts->fail, "fail");
  add_count(&line, &first, counts->error, "error");
  add_count(&line, &first, counts->warnings, counts->warnings == 1 ? "warning" : "warnings");
  add_count(&line, &first, counts->pass, "pass");
  for (size_t reason = 0; reason < OPC_SKIP_COUNT; reason++) {
    uint64_t total = 0;
    for (size_t i = 0; i < digest->check_count; i++) total += digest->checks[i].skips[reason];
    const char *name = opc_skip_reason_name((opc_skip_reason_t)reason);
    add_count(&line, &first, total, *name ? name : "skipped without a reason");
  }
  fprintf(screen->stream, " %s\n", opc_text_c(&line));
  opc_text_clear(&line);
}

static opc_status_t show_operator(terminal_t *terminal, size_t index, opc_error_t *error) {
  const opc_screen_t *screen = terminal->screen;
  const opc_journal_operator_t *op = opc_journal_reader_operator(terminal->journal, index);
  const opc_journal_counts_t *counts = &op->counts;
  opc_digest_t digest;
  json_t *source = NULL;
  opc_status_t status = opc_digest_make(terminal->journal, index, &digest, error);
  if (status == OPC_OK) status = opc_journal_reader_sample_source(terminal->journal, op->name, &source, error);
  if (status == OPC_OK && digest.check_count > 0) {
    bool proven = was_proven(&digest);
    const char *how = opc_record_text(source, "source"), *detail = opc_record_text(source, "detail");
    bool good = proven && counts->fail + counts->error + counts->warnings == 0;
    if (terminal->crowded && good) {
      terminal->good++;
      json_decref(source);
      opc_digest_clear(&digest);
      return OPC_OK;
    }
    if (counts->fail || counts->error) opc_screen_text(screen, OPC_TONE_RED, "FAIL");
    else if (counts->warnings) opc_screen_text(screen, OPC_TONE_YELLOW, "warn");
    else if (proven) opc_screen_text(screen, OPC_TONE_GREEN, "ok  ");
    else opc_screen_text(screen, OPC_TONE_YELLOW, "----");
    fputs("  ", screen->stream);
    opc_screen_text(screen, OPC_TONE_BOLD, op->name);
    if (op->library && !terminal->brief) fprintf(screen->stream, "  (%s)", opc_terminal_basename(op->library));
    if (!proven && !counts->fail && !counts->error && !counts->warnings)
      fputs("  no call of it proved anything", screen->stream);
    if (terminal->brief) show_brief(screen, &digest, counts);
    else fputc('\n', screen->stream);
    if (source && (terminal->brief ? !proven && *detail : *detail || strcmp(how, "none") != 0)) {
      opc_text_t inputs = {0};
      const char *recipe = opc_record_text(source, "recipe");
      opc_text_addf(&inputs, "%s%s%s%s%s", how, *recipe ? " by the recipe " : "", opc_terminal_basename(recipe),
                    *detail ? ": " : "", detail);
      opc_screen_field(screen, "inputs", opc_text_c(&inputs));
      opc_text_clear(&inputs);
    }
    if (!terminal->brief) {
      show_checks(screen, &digest);
      show_dtypes(screen, &digest);
      show_skips(screen, &digest);
    }
  }
  json_decref(source);
  opc_digest_clear(&digest);
  return status;
}

opc_status_t opc_terminal_findings(opc_journal_reader_t *journal, const opc_screen_t *screen, opc_error_t *error) {
  terminal_t terminal = {.journal = journal, .screen = screen};
  size_t tested = 0, found = 0;
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal); i++) {
    const opc_journal_counts_t *counts = &opc_journal_reader_operator(journal, i)->counts;
    tested += counts->pass + counts->fail + counts->error + counts->warnings + counts->skip > 0;
    found += counts->fail + counts->error + counts->warnings > 0;
  }
  terminal.brief = tested > DETAILED_OPERATORS;
  terminal.crowded = found > FINDING_OPERATORS;
  opc_status_t status = show_findings(&terminal, false, error);
  if (status == OPC_OK) status = show_findings(&terminal, true, error);
  for (size_t i = 0; status == OPC_OK && i < opc_journal_reader_operator_count(journal); i++)
    status = show_operator(&terminal, i, error);
  if (status == OPC_OK && terminal.good) {
    opc_screen_text(screen, OPC_TONE_GREEN, "ok  ");
    fprintf(screen->stream, "  %" PRIu64 " more operator%s\n", terminal.good, plural(terminal.good));
  }
  if (status == OPC_OK && found > RULES_SUMMED) {
    fputc('\n', screen->stream);
    opc_rule_table_show(&terminal.rules, screen);
  }
  if (status == OPC_OK && tested) fputc('\n', screen->stream);
  opc_rule_table_clear(&terminal.rules);
  return status;
}
