/* Known problems: lines of a baseline or of an xfail file, and what became of them. */
#include "base/text.h"
#include "problem_lines.h"
#include "reports/baseline.h"
#include "reports/problems/problems.h"

#define KNOWN_LINE "{\"t\":\"known\",\"problem\":\"%s\",\"by\":\"baseline\",\"file\":\"known.txt\",\"line\":7%s}\n"

/* n::a and n::b are wrong, n::c is right, and n::d was not checked. */
static void known_of(const char *id, const char *more, opc_journal_reader_t **out_reader, opc_problems_t *out) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_error_t error = {0};
  opc_text_add(&text, HEAD OPERATOR_LINE("n::d", "/x/l.so")
                          FAIL_LINE("n::a", "stride", "cpu/-/s/x.sliced", "stride.wrong_result")
                              FAIL_LINE("n::b", "stride", "cpu/-/s/x.sliced", "stride.wrong_result")
                                  WARN_LINE("n::b", "registration", "-/-/-/-", "registration.no_meta_kernel")
                                      PASS_LINE("n::c", "stride", "cpu/-/s/x.sliced"));
  if (id) opc_text_addf(&text, KNOWN_LINE, id, more);
  opc_text_add(&text, END_LINE(1));
  *out_reader = journal_of(opc_text_c(&text));
  if (opc_problems_make(*out_reader, out, &error) != OPC_OK) fail_msg("%s", error.message);
}

static void known_free(opc_journal_reader_t *reader, opc_problems_t *problems) {
  opc_problems_clear(problems);
  opc_journal_reader_close(reader);
}

/* A known problem comes last and counts nowhere; an expired line changes nothing but the message. */
static void known_problems(void **state) {
  char id[17];
  opc_journal_reader_t *reader;
  opc_problems_t problems;
  (void)state;
  known_of(NULL, "", &reader, &problems);
  assert_int_equal(problems.count, 3);
  assert_int_equal(problems.fresh, 3);
  assert_int_equal(problems.errors, 2);
  assert_int_equal(opc_known_exit_code(&problems, 1, false, false), 1);
  snprintf(id, sizeof id, "%s", problems.items[0].id);
  known_free(reader, &problems);
  known_of(id, "", &reader, &problems);
  assert_int_equal(problems.fresh, 2);
  assert_int_equal(problems.errors, 1);
  assert_int_equal(problems.operators, 1);
  assert_string_equal(problems.items[2].id, id);
  assert_int_equal(opc_known_exit_code(&problems, 1, false, false), 1);
  known_free(reader, &problems);
  known_of(id, ",\"expired\":\"2026-01-31\"", &reader, &problems);
  assert_int_equal(problems.fresh, 3);
  json_auto_t *json = NULL;
  opc_error_t error;
  assert_int_equal(opc_problem_to_json(&problems, &problems.items[0], &json, NULL, &error), OPC_OK);
  assert_contains(opc_record_text(json, "message"), "line 7 of known.txt expired on 2026-01-31: depends on");
  known_free(reader, &problems);
}

/* Of several lines of a problem the first counts that has not expired. */
static void one_of_several_lines_counts(void **state) {
#define EXPIRED ",\"expired\":\"2026-01-31\"}\n"
  static const struct {
    const char *more; /* %s: the problem */
    size_t fresh;
    const char *reason;
  } lines[] = {{EXPIRED "{\"t\":\"known\",\"problem\":\"%s\",\"by\":\"xfail\",\"reason\":\"second\"", 2, "second"},
               {",\"reason\":\"first\"}\n{\"t\":\"known\",\"problem\":\"%s\",\"by\":\"xfail\",\"reason\":\"second\"", 2,
                "first"},
               {EXPIRED "{\"t\":\"known\",\"problem\":\"%s\",\"by\":\"xfail\",\"expired\":\"2026-02-01\"", 3, NULL}};
  char id[17];
  opc_journal_reader_t *reader;
  opc_problems_t problems;
  (void)state;
  known_of(NULL, "", &reader, &problems);
  snprintf(id, sizeof id, "%s", problems.items[0].id);
  known_free(reader, &problems);
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    OPC_SCOPED(opc_scope_free) char *more = opc_string_format(lines[i].more, id);
    known_of(id, more, &reader, &problems);
    assert_int_equal(problems.fresh, lines[i].fresh);
    if (lines[i].reason) assert_string_equal(opc_record_text(problems.items[2].known, "reason"), lines[i].reason);
    known_free(reader, &problems);
  }
}

/* Known ones are last, as in the list of all. */
static void problems_of_each_operator(void **state) {
  char id[17];
  const opc_problem_of_t *own;
  opc_journal_reader_t *reader;
  opc_problems_t problems;
  (void)state;
  known_of(NULL, "", &reader, &problems);
  for (size_t i = 0; i < problems.count; i++)
    if (problems.items[i].operators[0].index == 1 && !problems.items[i].warning)
      snprintf(id, sizeof id, "%s", problems.items[i].id);
  known_free(reader, &problems);
  known_of(id, "", &reader, &problems);
  assert_int_equal(opc_problems_of(&problems, 0, &own), 1);
  assert_int_equal(own[0].op->index, 0);
  assert_int_equal(opc_problems_of(&problems, 1, &own), 2);
  assert_true(own[0].problem->warning && !own[0].problem->known);
  assert_string_equal(own[1].problem->id, id);
  assert_non_null(own[1].problem->known);
  assert_ptr_equal(own[1].op, &own[1].problem->operators[0]);
  assert_int_equal(opc_problems_of(&problems, 2, &own), 0);
  assert_int_equal(opc_problems_of(&problems, 3, &own), 0);
  known_free(reader, &problems);
}

/* What became of a line without a problem. */
static void stale_lines(void **state) {
  static const struct {
    const char *more;
    opc_known_state_t expected;
  } lines[] = {
      {",\"whole\":true,\"operator\":\"n::c\",\"rule\":\"stride.wrong_result\"", OPC_KNOWN_FIXED},
      {",\"whole\":true,\"operator\":\"n::c\",\"rule\":\"signal.SIGSEGV\"", OPC_KNOWN_FIXED},
      {",\"whole\":true,\"operator\":\"n::c\",\"rule\":\"launch.asynchronous_error\"", OPC_KNOWN_UNCHECKED},
      {",\"whole\":true,\"operator\":\"n::d\",\"rule\":\"stride.wrong_result\"", OPC_KNOWN_UNCHECKED},
      {",\"whole\":true,\"operator\":\"n::e\",\"rule\":\"stride.wrong_result\"", OPC_KNOWN_REMOVED},
      {",\"whole\":true", OPC_KNOWN_FIXED},
      {",\"operator\":\"n::c\",\"rule\":\"stride.wrong_result\"", OPC_KNOWN_UNCHECKED},
  };
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    opc_journal_reader_t *reader;
    opc_problems_t problems;
    known_of("0123456789abcdef", lines[i].more, &reader, &problems);
    const opc_known_state_t found = opc_known_state(&problems, json_object_get(problems.known, "0123456789abcdef"));
    const bool stale = lines[i].expected != OPC_KNOWN_UNCHECKED;
    if (found != lines[i].expected) fail_msg("%s: %s", lines[i].more, opc_known_state_name(found));
    assert_int_equal(opc_known_stale(&problems), stale);
    known_free(reader, &problems);
  }
}

/* A line that names no operator, as those of an xfail file: its problem may be of one that was not checked. */
static void stale_lines_of_unknown_operators(void **state) {
  static const struct {
    const char *result;
    opc_known_state_t expected;
  } runs[] = {{PASS_LINE("n::d", "stride", "cpu/-/s/plain"), OPC_KNOWN_FIXED},
              {SKIP_LINE("n::c", "stride", "cpu/-/s/x.sliced", "not_applicable"), OPC_KNOWN_FIXED},
              {SKIP_LINE("n::d", "stride", "cpu/-/-/-", "no_sample"), OPC_KNOWN_UNCHECKED},
              {SKIP_LINE("n::c", "stride", "cpu/-/s/x.sliced", "budget"), OPC_KNOWN_UNCHECKED},
              {SKIP_LINE("n::c", "stride", "cpu/-/s/x.sliced", "after_crash"), OPC_KNOWN_UNCHECKED}};
  (void)state;
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
    opc_problems_t problems;
    opc_error_t error;
    opc_text_add(&text, HEAD OPERATOR_LINE("n::d", "/x/l.so") PASS_LINE("n::c", "stride", "cpu/-/s/plain"));
    opc_text_add(&text, runs[i].result);
    opc_text_addf(&text, KNOWN_LINE END_LINE(0), "0123456789abcdef", ",\"whole\":true");
    opc_journal_reader_t *reader = journal_of(opc_text_c(&text));
    assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
    const opc_known_state_t found = opc_known_state(&problems, json_object_get(problems.known, "0123456789abcdef"));
    if (found != runs[i].expected) fail_msg("%s: %s", runs[i].result, opc_known_state_name(found));
    known_free(reader, &problems);
  }
}

/* Only known problems: 1 becomes 0, and 1 again with --strict if a line is out of date. */
static void exit_codes(void **state) {
  static const char journal[] = HEAD FAIL_LINE("n::a", "stride", "cpu/-/s/x.sliced", "stride.wrong_result");
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_journal_reader_t *reader = journal_of(journal);
  opc_problems_t problems;
  opc_error_t error;
  (void)state;
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  opc_text_addf(&text, "%s" KNOWN_LINE END_LINE(1), journal, problems.items[0].id, "");
  known_free(reader, &problems);
  reader = journal_of(opc_text_c(&text));
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  assert_int_equal(opc_known_exit_code(&problems, 1, false, false), 0);
  assert_int_equal(opc_known_exit_code(&problems, 1, true, false), 0);
  assert_int_equal(opc_known_exit_code(&problems, 3, true, false), 3);
  known_free(reader, &problems);
  opc_text_addf(&text, KNOWN_LINE, "0123456789abcdef", ",\"whole\":true");
  reader = journal_of(opc_text_c(&text));
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  assert_int_equal(opc_known_exit_code(&problems, 1, false, false), 0);
  assert_int_equal(opc_known_exit_code(&problems, 1, true, false), 1);
  known_free(reader, &problems);
}

/* ---- problems of several operators in a baseline ---- */

#define NO_META(op) WARN_LINE(op, "registration", "-/-/-/-", "registration.no_meta_kernel")
#define PAST(op) FOUND(op, "memory", "cpu/-/s/plain", "memory.out_of_bounds_read", FRAMES("row", "h.cpp", "8"))
#define OPERATORS HEAD OPERATOR_LINE("n::c", "d/libops.so")

static void shared_of(const char *results, const char *const *ids, const char *by, opc_journal_reader_t **out_reader,
                      opc_problems_t *out) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_error_t error = {0};
  opc_text_addf(&text, OPERATORS "%s", results);
  for (size_t i = 0; ids[i]; i++)
    opc_text_addf(&text, "{\"t\":\"known\",\"problem\":\"%s\",\"by\":\"%s\",\"file\":\"f\",\"line\":%zu}\n", ids[i], by,
                  i + 1);
  opc_text_add(&text, END_LINE(1));
  *out_reader = journal_of(opc_text_c(&text));
  if (opc_problems_make(*out_reader, out, &error) != OPC_OK) fail_msg("%s", error.message);
}

/* Operators of the fresh problems, joined by blanks, and how many problems are known. */
static void expect_fresh(const char *results, const char *const *ids, const char *by, const char *fresh, size_t known) {
  opc_journal_reader_t *reader;
  opc_problems_t problems;
  OPC_SCOPED(opc_text_clear) opc_text_t names = {0};
  shared_of(results, ids, by, &reader, &problems);
  for (size_t i = 0; i < problems.fresh; i++)
    for (size_t k = 0; k < problems.items[i].operator_count; k++)
      opc_text_addf(&names, "%s%s", names.length ? " " : "",
                    opc_journal_reader_operator(reader, problems.items[i].operators[k].index)->name);
  assert_string_equal(opc_text_c(&names), fresh);
  assert_int_equal(problems.count - problems.fresh, known);
  known_free(reader, &problems);
}

/* A line for each operator; runs of some operators are known, and another operator is not. */
static void a_registration_has_a_line_for_each_operator(void **state) {
  static const char all[] = NO_META("n::a") NO_META("n::b") NO_META("n::c");
  static const char *const none[] = {NULL};
  char ids[3][17], merged[17];
  opc_journal_reader_t *reader;
  opc_problems_t problems;
  (void)state;
  shared_of(all, none, "baseline", &reader, &problems);
  assert_int_equal(problems.count, 1);
  assert_int_equal(opc_baseline_id_count(&problems.items[0]), 3);
  for (size_t i = 0; i < 3; i++) memcpy(ids[i], opc_baseline_id(&problems.items[0], i), sizeof *ids);
  memcpy(merged, problems.items[0].id, sizeof merged);
  known_free(reader, &problems);
  const char *const every[] = {ids[0], ids[1], ids[2], NULL}, *const two[] = {ids[0], ids[1], NULL},
                    *const last[] = {ids[2], NULL}, *const id[] = {merged, NULL};
  expect_fresh(all, every, "baseline", "", 1);
  expect_fresh(all, two, "baseline", "n::c", 1);
  expect_fresh(all, last, "baseline", "n::a n::b", 1);
  expect_fresh(NO_META("n::b"), two, "baseline", "", 1);
  expect_fresh(NO_META("n::c"), last, "baseline", "", 1);
  expect_fresh(all, id, "baseline", "n::a n::b n::c", 0);
  expect_fresh(all, id, "xfail", "", 1);
  expect_fresh(NO_META("n::b"), id, "xfail", "", 1);
  /* The known part keeps the id, so that a comparison with an earlier run names the other alone. */
  shared_of(all, two, "baseline", &reader, &problems);
  assert_string_equal(problems.items[1].id, merged);
  assert_string_equal(problems.items[0].id, ids[2]);
  known_free(reader, &problems);
}

/* One line for a function, whichever of its operators run. */
static void a_function_has_one_line(void **state) {
  static const char both[] = PAST("n::a") PAST("n::b");
  static const char *const none[] = {NULL};
  char shared[17], own[17];
  opc_journal_reader_t *reader;
  opc_problems_t problems;
  (void)state;
  shared_of(both, none, "baseline", &reader, &problems);
  assert_int_equal(problems.count, 1);
  assert_int_equal(opc_baseline_id_count(&problems.items[0]), 1);
  memcpy(shared, opc_baseline_id(&problems.items[0], 0), sizeof shared);
  memcpy(own, problems.items[0].operators[0].id, sizeof own);
  assert_string_equal(shared, problems.items[0].id);
  known_free(reader, &problems);
  const char *const line[] = {shared, NULL}, *const of_one[] = {own, NULL};
  expect_fresh(both, line, "baseline", "", 1);
  expect_fresh(PAST("n::b"), line, "baseline", "", 1);
  expect_fresh(PAST("n::b"), line, "xfail", "", 1);
  expect_fresh(PAST("n::a") PAST("n::b") PAST("n::c"), line, "baseline", "", 1);
  expect_fresh(both, of_one, "baseline", "n::b", 1);
  shared_of(PAST("n::b"), line, "baseline", &reader, &problems);
  assert_int_equal(opc_known_state(&problems, json_object_get(problems.known, shared)), OPC_KNOWN_FOUND);
  known_free(reader, &problems);
  shared_of(both, of_one, "baseline", &reader, &problems);
  assert_int_equal(opc_known_state(&problems, json_object_get(problems.known, own)), OPC_KNOWN_FOUND);
  known_free(reader, &problems);
}

/* Each finding leads to its problem, after all merging. */
static bool visit_find(const opc_case_result_t *result, void *context) {
  const opc_problems_t *problems = context;
  for (size_t i = 0; i < opc_journal_reader_operator_count(problems->journal); i++) {
    if (strcmp(opc_journal_reader_operator(problems->journal, i)->name, result->id.operator_name) != 0) continue;
    const opc_problem_t *problem = opc_problems_find(problems, i, result);
    assert_int_equal(!problem, !opc_case_result_is_finding(result));
    if (problem) assert_true(opc_problem_has_rule(problem, result->rule));
  }
  return true;
}

static void findings_lead_to_problems(void **state) {
  opc_journal_reader_t *reader;
  opc_problems_t problems;
  opc_error_t error;
  (void)state;
  known_of(NULL, "", &reader, &problems);
  assert_int_equal(opc_journal_reader_all_results(reader, visit_find, &problems, &error), OPC_OK);
  known_free(reader, &problems);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_problems),
      cmocka_unit_test(one_of_several_lines_counts),
      cmocka_unit_test(problems_of_each_operator),
      cmocka_unit_test(stale_lines),
      cmocka_unit_test(stale_lines_of_unknown_operators),
      cmocka_unit_test(exit_codes),
      cmocka_unit_test(a_registration_has_a_line_for_each_operator),
      cmocka_unit_test(a_function_has_one_line),
      cmocka_unit_test(findings_lead_to_problems),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
