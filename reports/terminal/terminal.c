#include "reports/terminal/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reports/problems/problem_merge.h"

enum {
  PROBLEMS_SHOWN = 30,
  DETAILED_ALL = 8,     /* up to this many in detail; */
  DETAILED = 5,         /* if there are more, the first few: three screens are enough to look through */
  SENTENCES_WHOLE = 20, /* up to this many, the others in whole sentences */
  NAMES_SHOWN = 40,
  NOTES_SHOWN = 8
};

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* "3 problems (2 errors, 1 warning) in 2 operators" */
static void terminal_add_problems(const opc_problems_t *problems, opc_text_t *out) {
  uint64_t errors = problems->errors, warnings = problems->count - problems->errors;
  opc_text_addf(out, "%zu problem%s (", problems->count, plural(problems->count));
  if (errors) opc_text_addf(out, "%" PRIu64 " error%s%s", errors, plural(errors), warnings ? ", " : "");
  if (warnings) opc_text_addf(out, "%" PRIu64 " warning%s", warnings, plural(warnings));
  opc_text_addf(out, ") in %zu operator%s", problems->operators, plural(problems->operators));
}

/* Cases that a file of expected failures (--xfail) names. */
static uint64_t expected_failures(const opc_problems_t *problems) {
  uint64_t count = 0;
  for (size_t i = 0; i < opc_journal_reader_operator_count(problems->journal); i++)
    count += opc_journal_reader_operator(problems->journal, i)->skips[OPC_SKIP_XFAIL];
  return count;
}

/* "launches on the simulated device: 12 computed values, 4 calls of libtorch computed by its CPU kernels, 3 only
 * recorded; values were compared in 5 cases" */
static void show_launches(const opc_journal_summary_t *sum, const opc_screen_t *screen) {
  const uint64_t ran = sum->kernels_exact + sum->kernels_bounded;
  if (ran + sum->kernels_replaced + sum->kernels_recorded == 0) return;
  fprintf(screen->stream, "launches on the simulated device: %" PRIu64 " computed values", ran);
  if (sum->kernels_bounded) fprintf(screen->stream, " (%" PRIu64 " with approximations)", sum->kernels_bounded);
  if (sum->kernels_replaced)
    fprintf(screen->stream, ", %" PRIu64 " call%s of libtorch computed by its CPU kernels", sum->kernels_replaced,
            plural(sum->kernels_replaced));
  fprintf(screen->stream, ", %" PRIu64 " only recorded", sum->kernels_recorded);
  if (sum->kernels_sampled)
    fprintf(screen->stream, ", %" PRIu64 " of them with some blocks run to see which memory they access",
            sum->kernels_sampled);
  fprintf(screen->stream, "; values were compared in %" PRIu64 " case%s\n", sum->cases_computed,
          plural(sum->cases_computed));
}

static void show_summary(const opc_problems_t *problems, const opc_screen_t *screen) {
  opc_journal_summary_t sum;
  opc_journal_reader_summary(problems->journal, &sum);
  opc_coverage_t coverage = opc_coverage_of(problems->journal);
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  uint64_t cases = sum.pass + sum.fail + sum.error + sum.warnings + sum.skip;
  opc_coverage_say(&coverage, &line);
  fprintf(screen->stream, "%s\n", opc_text_c(&line));
  fprintf(screen->stream,
          "%" PRIu64 " case%s: %" PRIu64 " pass, %" PRIu64 " fail, %" PRIu64 " error, %" PRIu64 " warning%s, %" PRIu64
          " skipped",
          cases, plural(cases), sum.pass, sum.fail, sum.error, sum.warnings, plural(sum.warnings), sum.skip);
  const uint64_t expected = expected_failures(problems);
  if (expected) fprintf(screen->stream, " (%" PRIu64 " expected failure%s)", expected, plural(expected));
  if (sum.complete) fprintf(screen->stream, ", in %.1f s", sum.seconds);
  fputc('\n', screen->stream);
  show_launches(&sum, screen);
  if (problems->count) {
    opc_text_reset(&line);
    terminal_add_problems(problems, &line);
    fprintf(screen->stream, "%s\n", opc_text_c(&line));
  }
  if (sum.libraries_failed)
    fprintf(screen->stream, "%" PRIu64 " of %" PRIu64 " librar%s could not be loaded\n", sum.libraries_failed,
            sum.libraries, sum.libraries == 1 ? "y" : "ies");
}

/* ---- problems ---- */

static int worst_seen(const opc_problem_t *problem) {
  int seen = OPC_SEEN_WRITE;
  while (seen < OPC_SEEN_COUNT - 1 && problem->seen[seen] == 0) seen++;
  return seen;
}

static const char *first_argument(const opc_problem_t *problem) {
  return problem->argument_count ? problem->arguments[0] : "";
}

/* A crash, or an access outside the operator's memory, at a known line of code: such problems are never shown together,
 * because each line needs its own fix. */
static bool is_of_one_line(const opc_problem_t *problem) {
  static const char *const names[] = {"memory", "memcheck", "sanitize",         "signal",
                                      "exit",   "timeout",  "foreign_exception"};
  for (size_t i = 0; problem->symptoms[0].place != 0 && i < sizeof names / sizeof names[0]; i++)
    if (opc_rule_is_of(opc_problem_rule(problem), names[i])) return true;
  return false;
}

/* Problems that say the same of several operators form one entry: without a line of code always; if there are many
 * problems, all of one rule, because a rule broken in ten operators is usually one habit. */
static bool terminal_goes_with(const opc_problem_t *problem, const opc_problem_t *first, bool many) {
  if (problem->warning != first->warning || opc_problem_rule(problem) != opc_problem_rule(first)) return false;
  if (problem->unchecked || first->unchecked)
    return many && problem->unchecked == first->unchecked && worst_seen(problem) == worst_seen(first) &&
           strcmp(first_argument(problem), first_argument(first)) == 0;
  if (many) return !is_of_one_line(problem) && !is_of_one_line(first);
  return problem->warning && problem->change == OPC_CHANGE_NONE && first->change == OPC_CHANGE_NONE &&
         problem->symptoms[0].place == 0 && first->symptoms[0].place == 0;
}

static void add_name(opc_terminal_entry_t *entry, const char *name) {
  for (size_t i = 0; i < entry->operators && i < OPC_TERMINAL_NAMES; i++)
    if (strcmp(entry->names[i], name) == 0) return;
  if (entry->operators < OPC_TERMINAL_NAMES) entry->names[entry->operators] = name;
  entry->operators++;
}

static void terminal_add_names(const opc_problems_t *problems, const opc_problem_t *problem,
                               opc_terminal_entry_t *entry) {
  for (size_t k = 0; k < problem->operator_count; k++)
    add_name(entry, opc_journal_reader_operator(problems->journal, problem->operators[k].index)->name);
}

/* Shown is a problem of an unmodified sample, if the entry has one: nothing convinces more. */
static void mark_entry(const opc_problems_t *problems, size_t first, bool *done, opc_terminal_entry_t *out) {
  const opc_problem_t *lead = &problems->items[first], *shown = lead;
  const bool many = problems->count > DETAILED_ALL;
  for (size_t i = first; i < problems->count && shown->change != OPC_CHANGE_NONE; i++)
    if (!done[i] && problems->items[i].change == OPC_CHANGE_NONE && terminal_goes_with(&problems->items[i], lead, many))
      shown = &problems->items[i];
  *out = (opc_terminal_entry_t){.problem = shown};
  terminal_add_names(problems, shown, out);
  for (size_t i = first; i < problems->count; i++) {
    const opc_problem_t *problem = &problems->items[i];
    if (done[i] || (i != first && !terminal_goes_with(problem, lead, many))) continue;
    done[i] = true;
    out->problems++;
    out->cases += problem->count;
    if (problem != shown) terminal_add_names(problems, problem, out);
  }
}

static size_t terminal_count_entries(const opc_problems_t *problems, bool *done) {
  size_t count = 0;
  opc_terminal_entry_t entry;
  for (size_t i = 0; i < problems->count; i++) {
    if (done[i]) continue;
    mark_entry(problems, i, done, &entry);
    count++;
  }
  memset(done, 0, problems->count * sizeof *done);
  return count;
}

static opc_status_t terminal_show_problems(const opc_problems_t *problems, const opc_screen_t *screen,
                                           const opc_terminal_view_t *view, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) bool *done = calloc(problems->count + 1, sizeof *done);
  if (!done) return opc_out_of_memory(error);
  size_t entries = terminal_count_entries(problems, done), shown = 0, left = problems->count;
  for (size_t i = 0; i < problems->count && shown < PROBLEMS_SHOWN; i++) {
    opc_terminal_entry_t entry;
    if (done[i]) continue;
    mark_entry(problems, i, done, &entry);
    bool detailed = entries <= DETAILED_ALL || shown < DETAILED;
    const opc_terminal_detail_t detail = detailed                     ? OPC_DETAIL_WHOLE
                                         : entries <= SENTENCES_WHOLE ? OPC_DETAIL_SENTENCE
                                                                      : OPC_DETAIL_LINE;
    fputs(shown == 0 || detailed || shown == DETAILED ? "\n" : "", screen->stream);
    OPC_RETURN_IF_ERROR(opc_terminal_problem(problems, &entry, screen, detail, error));
    left -= entry.problems;
    shown++;
  }
  if (left && view->whole) {
    fprintf(screen->stream, "\nand %zu more in ", left);
    opc_screen_text(screen, OPC_TONE_PLAIN, view->whole);
    fputc('\n', screen->stream);
  } else if (left) {
    fprintf(screen->stream, "\nand %zu more: --verbose shows all of them, --json FILE keeps them\n", left);
  }
  return OPC_OK;
}

/* Each one alone, whatever others say. */
static opc_status_t show_every_problem(const opc_problems_t *problems, const opc_screen_t *screen, opc_error_t *error) {
  for (size_t i = 0; i < problems->count; i++) {
    const opc_problem_t *problem = &problems->items[i];
    opc_terminal_entry_t entry = {.problem = problem, .problems = 1, .cases = problem->count};
    terminal_add_names(problems, problem, &entry);
    if (i <= PROBLEMS_SHOWN) fputc('\n', screen->stream);
    OPC_RETURN_IF_ERROR(opc_terminal_problem(problems, &entry, screen,
                                             i < PROBLEMS_SHOWN ? OPC_DETAIL_CASES : OPC_DETAIL_SENTENCE, error));
  }
  return OPC_OK;
}

static void show_unchecked(const opc_problems_t *problems, const opc_screen_t *screen) {
  OPC_SCOPED(opc_text_clear) opc_text_t names = {0};
  opc_coverage_t coverage = opc_coverage_of(problems->journal);
  uint64_t shown = 0, all = coverage.total - coverage.checked;
  for (size_t i = 0; i < opc_journal_reader_operator_count(problems->journal) && shown < NAMES_SHOWN; i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(problems->journal, i);
    if (opc_operator_is_checked(op) || !opc_operator_is_counted(op)) continue;
    const opc_skip_reason_t most = opc_operator_main_skip(op);
    const char *reason = most == OPC_SKIP_NO_SAMPLE ? "" : opc_skip_reason_name(most); /* the line above says so */
    opc_text_addf(&names, *reason ? "%s%s (%s)" : "%s%s", shown ? ", " : "", op->name, reason);
    shown++;
  }
  if (all > shown) opc_text_add(&names, ", …");
  if (all) {
    fprintf(screen->stream, "\n%" PRIu64 " not checked%s\n", all,
            coverage.without_inputs ? ": --samples FILE and --recipes FILE give inputs" : "");
    opc_screen_brief(screen, "operators", opc_text_c(&names), 3);
  }
}

/* ---- known problems ---- */

/* Those that are new are shown as if there were no others. The journal and the names stay those of all. */
static opc_problems_t fresh_of(const opc_problems_t *problems) {
  opc_problems_t fresh = *problems;
  fresh.count = problems->fresh;
  return fresh;
}

static opc_status_t list_known(const opc_problems_t *problems, const opc_screen_t *screen, opc_error_t *error) {
  for (size_t i = problems->fresh; i < problems->count; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
    json_auto_t *json = NULL;
    OPC_RETURN_IF_ERROR(opc_problem_to_json(problems, &problems->items[i], &json, NULL, error));
    opc_text_addf(&line, "%s, %s, %s: ", json_string_value(json_array_get(json_object_get(json, "operators"), 0)),
                  opc_record_text(json, "rule"), opc_record_text(json, "severity"));
    opc_known_say(problems->items[i].known, &line);
    opc_screen_field(screen, problems->items[i].id, opc_text_c(&line));
  }
  return OPC_OK;
}

/* Lines of a baseline or an xfail file that no problem matches. */
static void show_stale(const opc_problems_t *problems, const opc_screen_t *screen) {
  const char *id;
  json_t *known;
  if (opc_known_stale(problems)) fputs("\nKnown problems that are out of date\n", screen->stream);
  json_object_foreach(problems->known, id, known) {
    const opc_known_state_t state = opc_known_state(problems, known);
    const char *name = opc_record_text(known, "operator");
    OPC_SCOPED(opc_text_clear) opc_text_t place = {0}, line = {0};
    if (state != OPC_KNOWN_FIXED && state != OPC_KNOWN_REMOVED) continue;
    opc_text_addf(&place, "%s:%" JSON_INTEGER_FORMAT, opc_base_name(opc_record_text(known, "file")),
                  json_integer_value(json_object_get(known, "line")));
    opc_text_addf(&line, "%s %s%s%s", id, name, *name ? ", " : "", opc_record_text(known, "rule"));
    opc_text_addf(&line, ": %s", state == OPC_KNOWN_FIXED ? "not found any more" : "the operator is gone");
    opc_screen_field(screen, opc_text_c(&place), opc_text_c(&line));
  }
}

static opc_status_t terminal_show_known(const opc_problems_t *problems, const opc_screen_t *screen, bool verbose,
                                        opc_error_t *error) {
  const size_t known = problems->count - problems->fresh;
  if (known)
    fprintf(screen->stream, "\n%zu known problem%s%s\n", known, plural(known), verbose ? "" : ": --verbose shows them");
  if (verbose) OPC_RETURN_IF_ERROR(list_known(problems, screen, error));
  show_stale(problems, screen);
  return OPC_OK;
}

opc_status_t opc_terminal_report(const opc_problems_t *every, const opc_screen_t *screen,
                                 const opc_terminal_view_t *view, opc_error_t *error) {
  const opc_problems_t fresh = fresh_of(every), *const problems = &fresh;
  OPC_RETURN_IF_ERROR(opc_terminal_troubles(problems->journal, screen, view->verbose ? SIZE_MAX : NOTES_SHOWN, error));
  show_summary(problems, screen);
  if (view->verbose) OPC_RETURN_IF_ERROR(show_every_problem(problems, screen, error));
  else OPC_RETURN_IF_ERROR(terminal_show_problems(problems, screen, view, error));
  if (problems->count)
    fputs("\nopcheck-c explain RULE says why a rule matters and how to fix the operator\n", screen->stream);
  OPC_RETURN_IF_ERROR(terminal_show_known(every, screen, view->verbose, error));
  if (view->verbose) OPC_RETURN_IF_ERROR(opc_terminal_operators(problems->journal, screen, error));
  else show_unchecked(problems, screen);
  /* What no call reached matters if what was reached is right. */
  if (view->coverage || problems->count == 0)
    OPC_RETURN_IF_ERROR(opc_terminal_coverage(problems->journal, screen, view->coverage, error));
  fputc('\n', screen->stream);
  return OPC_OK;
}

/* ---- the last line ---- */

static const char *why_nothing(const opc_problems_t *problems) {
  size_t all = 0, inapplicable = 0;
  for (size_t i = 0; i < opc_journal_reader_operator_count(problems->journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(problems->journal, i);
    if (!opc_operator_is_counted(op)) continue;
    all++;
    inapplicable += opc_operator_main_skip(op) == OPC_SKIP_NOT_APPLICABLE;
  }
  if (all == 0) return "there are no operators, or none is selected; ";
  if (inapplicable == all) return "nothing that was selected applies to these operators (--verbose says why); ";
  return "no operator could be called; ";
}

/* The word, its tone, and the reason, unless problems or coverage already show it. */
static const char *verdict(const opc_problems_t *problems, const opc_terminal_view_t *view, bool too_few,
                           opc_tone_t *tone, const char **why) {
  opc_journal_summary_t sum;
  opc_journal_reader_summary(problems->journal, &sum);
  *tone = OPC_TONE_RED;
  *why = "";
  if (!sum.complete && problems->errors == 0) return "INCOMPLETE";
  if (!sum.complete) *why = "the run stopped early; ";
  else if (view->exit_code == 3) *why = "not all files could be written; ";
  else if (sum.libraries_failed) *why = "not every library could be loaded; ";
  if (view->exit_code == 5 && problems->errors == 0) {
    *why = why_nothing(problems);
    return "NOTHING CHECKED";
  }
  if (view->exit_code == 1 && problems->errors == 0 && !too_few)
    *why = problems->count                 ? "warnings count (--strict); "
           : opc_known_stale(problems) > 0 ? "a line of known problems is out of date (--strict); "
                                           : "a line of --xfail matches no case (--strict); ";
  if (view->exit_code != 0 || problems->errors) return "FAILED";
  *tone = OPC_TONE_GREEN;
  return "PASSED";
}

static void add_without_sample(const opc_problems_t *problems, opc_text_t *out) {
  size_t count = 0;
  for (size_t i = problems->errors; i < problems->count; i++) count += opc_problem_lacks_sample(&problems->items[i]);
  if (count == 1) opc_text_add(out, "; 1 finding would be an error with a sample");
  else if (count) opc_text_addf(out, "; %zu findings would be errors with a sample", count);
}

static void add_left_out(const opc_problems_t *problems, opc_text_t *out) {
  opc_journal_summary_t sum;
  opc_journal_reader_summary(problems->journal, &sum);
  if (!sum.left_out_cases) return;
  opc_text_addf(out, "; %" PRIu64 " case%s of %" PRIu64 " operator%s left out (--budget %g)", sum.left_out_cases,
                plural(sum.left_out_cases), sum.left_out_operators, plural(sum.left_out_operators), sum.budget);
}

static void add_taken_over(const opc_problems_t *problems, opc_text_t *out) {
  opc_journal_summary_t sum;
  opc_journal_reader_summary(problems->journal, &sum);
  if (sum.taken_over)
    opc_text_addf(out, "; %" PRIu64 " operator%s taken over (--since)", sum.taken_over, plural(sum.taken_over));
}

void opc_terminal_end(const opc_problems_t *every, const opc_screen_t *screen, const opc_terminal_view_t *view) {
  const opc_problems_t fresh = fresh_of(every), *const problems = &fresh;
  const size_t known = every->count - every->fresh;
  opc_coverage_t coverage = opc_coverage_of(problems->journal);
  uint64_t required = opc_coverage_required(&coverage, view->required);
  bool too_few = coverage.checked < required;
  opc_tone_t tone;
  const char *why, *word = verdict(problems, view, too_few, &tone, &why);
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  bool passed = tone == OPC_TONE_GREEN;
  opc_text_addf(&line, ": %s", why);
  if (problems->count && !passed) {
    terminal_add_problems(problems, &line);
    opc_text_add(&line, "; ");
  }
  opc_coverage_say(&coverage, &line);
  if (too_few) opc_text_addf(&line, "; --require-checked %d asks for %" PRIu64, view->required, required);
  if (problems->count && passed) opc_text_addf(&line, "; %zu warning%s", problems->count, plural(problems->count));
  add_without_sample(problems, &line);
  if (known) opc_text_addf(&line, "; %zu known problem%s", known, plural(known));
  add_taken_over(problems, &line);
  add_left_out(problems, &line);
  opc_screen_text(screen, tone, word);
  fprintf(screen->stream, "%s\n", opc_text_c(&line));
}
