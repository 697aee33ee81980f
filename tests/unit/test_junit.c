#include "report_journal.h"

static char *junit_of(const char *journal) {
  opc_journal_reader_t *reader = journal_of(journal);
  char *text = report_text(&opc_report_junit, reader, OPC_OK);
  opc_journal_reader_close(reader);
  return text;
}

static void verdicts_become_what_dashboards_show(void **state) {
  (void)state;
  char *xml = junit_of(RUN_LINE LIBRARY_LINE("a/libops.so.1") OPERATOR_LINE("n::a.out", "a/libops.so.1") PASS_LINE(
      "n::a.out", "c", "cpu/-/1/plain") FAIL_LINE("n::a.out", "c", "cpu/-/2/plain", "mutation.undeclared")
                           WARN_LINE("n::a.out", "c", "cpu/-/3/plain", "leak.memory")
                               ERROR_LINE("n::a.out", "c", "cpu/-/4/plain", "signal.SIGSEGV")
                                   SKIP_LINE("n::a.out", "c", "cpu/-/5/plain", "xfail")
                                       MILD_LINE("n::a.out", "c", "cpu/-/6/plain", "timeout") END_LINE(1));
  assert_contains(xml, "<testsuites name=\"opcheck-c\" tests=\"6\" failures=\"1\" errors=\"1\" time=\"1.500\">");
  assert_contains(xml,
                  "<testsuite name=\"libops\" tests=\"6\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"1.500\" "
                  "timestamp=\"2026-01-02T03:04:05\">");
  assert_contains(xml, "<testcase classname=\"libops.n.a.out\" name=\"n::a.out/c/cpu/-/1/plain\" time=\"0.250\"/>");
  assert_contains(xml, "<failure type=\"mutation.undeclared\" message=\"wrong at cpu/-/2/plain\">");
  assert_contains(xml, "repro: opcheck-c run --case X lib");
  assert_contains(xml, "<system-out>WARNING: odd");
  assert_contains(xml, "<error type=\"signal.SIGSEGV\" message=\"died\">");
  assert_contains(xml, "<system-out>WARNING: slow");
  assert_contains(xml, "<skipped type=\"xfail\" message=\"xfail: because\"/>");
  assert_lacks(xml, "name=\"run\"");
  free(xml);
}

static void what_did_not_load_is_an_error(void **state) {
  (void)state;
  char *xml = junit_of(RUN_LINE
                       "{\"t\":\"library\",\"path\":\"x/"
                       "libgone.so\",\"status\":\"failed\",\"error\":{\"kind\":\"abi\",\"message\":\"needs <2.12>\"},"
                       "\"operators\":0,\"classes\":0}\n" END_LINE(4));
  assert_contains(xml, "<testsuites name=\"opcheck-c\" tests=\"1\" failures=\"0\" errors=\"1\"");
  assert_contains(xml, "<testcase classname=\"libgone\" name=\"load x/libgone.so\" time=\"0.000\">");
  assert_contains(xml, "<error type=\"load.abi\" message=\"needs &lt;2.12&gt;\">");
  free(xml);
}

static void a_run_that_proves_nothing_is_no_success(void **state) {
  (void)state;
  static const struct {
    const char *journal, *type;
  } rows[] = {
      {"", "harness.incomplete"},
      {RUN_LINE, "harness.incomplete"},
      {RUN_LINE "{\"t\n" END_LINE(0), "harness.incomplete"},
      {RUN_LINE "{\"t\":\"end\",\"seconds\":1,\"exit_code\":0,\"complete\":false}\n", "harness.incomplete"},
      {RUN_LINE END_LINE(5), "harness.nothing_ran"},
      {RUN_LINE END_LINE(3), "harness.failed"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char *xml = junit_of(rows[i].journal), wanted[64];
    snprintf(wanted, sizeof wanted, "<error type=\"%s\"", rows[i].type);
    assert_contains(xml, "tests=\"1\" failures=\"0\" errors=\"1\"");
    assert_contains(xml, "<testcase classname=\"opcheck-c\" name=\"run\"");
    assert_contains(xml, wanted);
    free(xml);
  }
}

static void the_incomplete_error_carries_the_notes(void **state) {
  (void)state;
  char *xml = junit_of(RUN_LINE "{\"t\":\"note\",\"message\":\"the worker was lost\"}\n");
  assert_contains(xml, "the worker was lost");
  free(xml);
}

static void two_results_of_one_case_are_refused(void **state) {
  (void)state;
  opc_journal_reader_t *reader = journal_of(RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "l.so") PASS_LINE(
      "n::a", "c", "cpu/-/1/plain") PASS_LINE("n::a", "c", "cpu/-/1/plain") END_LINE(0));
  char *text = report_text(&opc_report_junit, reader, OPC_ERR_PROTOCOL);
  assert_int_equal(strlen(text), 0);
  free(text);
  opc_journal_reader_close(reader);
}

static void no_result_is_left_out(void **state) {
  (void)state;
  /* One operator without a record, one from a library without a record. */
  char *xml = junit_of(RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "other.so")
                           PASS_LINE("n::a", "c", "cpu/-/1/plain") PASS_LINE("n::b", "c", "cpu/-/1/plain") END_LINE(0));
  assert_contains(xml, "<testsuites name=\"opcheck-c\" tests=\"2\"");
  assert_contains(xml, "<testsuite name=\"opcheck-c\" tests=\"2\"");
  assert_contains(xml, "name=\"n::a/c/cpu/-/1/plain\"");
  assert_contains(xml, "name=\"n::b/c/cpu/-/1/plain\"");
  free(xml);
}

static void text_from_outside_is_harmless(void **state) {
  (void)state;
  char *xml = junit_of(RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "l.so")
                           RECORD_LINE("result", "n::a", "c", "cpu/-/1/plain", "fail", "error", "\"leak.tensor\"",
                                       "null", "\\u001b[31m\\u0001\\u0007<b>\\\"]]>\\uffff") END_LINE(1));
  assert_contains(xml, "message=\"\\x01\\x07&lt;b&gt;&quot;]]&gt;\\uFFFF\"");
  free(xml);
}

/* ---- one testcase per operator and check ---- */

static char *by_operator(const char *journal) {
  opc_journal_reader_t *reader = journal_of(journal);
  char *text = report_text_of(&opc_report_junit, reader, OPC_JUNIT_BY_OPERATOR, OPC_OK);
  opc_journal_reader_close(reader);
  return text;
}

static void a_check_of_an_operator_is_its_worst_case(void **state) {
  (void)state;
  char *xml = by_operator(
      RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "l.so") PASS_LINE("n::a", "stride", "cpu/-/s/plain")
          FAIL_LINE("n::a", "stride", "cpu/-/s/x.sliced", "stride.wrong_result") ERROR_LINE(
              "n::a", "stride", "cpu/-/s/x.neg", "timeout") FAIL_LINE("n::a", "meta", "cpu/-/s/plain", "meta.dtype")
              PASS_LINE("n::a", "meta", "cpu/-/t/plain") PASS_LINE("n::a", "leak", "cpu/-/s/plain") WARN_LINE(
                  "n::a", "state", "cpu/-/s/plain", "state.printed") PASS_LINE("n::a", "dtype", "cpu/-/s/plain")
                  SKIP_LINE("n::a", "dtype", "cpu/int8/s/plain", "rejected")
                      SKIP_LINE("n::a", "empty", "cpu/-/1/plain", "rejected")
                          SKIP_LINE("n::a", "empty", "cpu/-/2/plain", "budget")
                              SKIP_LINE("n::a", "empty", "cpu/-/3/plain", "budget") END_LINE(1));
  assert_contains(xml, "<testsuites name=\"opcheck-c\" tests=\"6\" failures=\"1\" errors=\"1\" time=\"1.500\">");
  assert_contains(xml, "<testsuite name=\"l\" tests=\"6\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"3.000\"");
  assert_contains(xml, "name=\"n::a/stride\" time=\"0.750\">\n   <error type=\"timeout\" message=\"died\">");
  assert_contains(xml, "name=\"n::a/meta\" time=\"0.500\">\n   <failure type=\"meta.dtype\"");
  assert_contains(xml, "name=\"n::a/leak\" time=\"0.250\"/>");
  assert_contains(xml, "name=\"n::a/dtype\" time=\"0.500\"/>");
  assert_contains(xml, "name=\"n::a/state\" time=\"0.250\">\n   <system-out>WARNING: problem ");
  assert_contains(xml, "<skipped type=\"budget\" message=\"budget: 2 of 3 cases; because\"/>");
  free(xml);
}

static void its_text_is_its_problems(void **state) {
  (void)state;
  char *xml = by_operator(RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "l.so")
                              FAIL_LINE("n::a", "stride", "cpu/-/s/x.sliced", "stride.wrong_result")
                                  FAIL_LINE("n::a", "initialisation", "cpu/-/s/x.sliced", "initialisation.output")
                                      FAIL_LINE("n::a", "leak", "cpu/-/s/plain", "leak.tensor") END_LINE(1));
  const char *stride = strstr(xml, "n::a/stride\""), *leak = strstr(xml, "n::a/leak\"");
  assert_true(stride && leak);
  assert_contains(stride,
                  ", error: depends on the layout of `x`: wrong at cpu/-/s/x.sliced\n"
                  "  rules: stride.wrong_result, initialisation.output\n  cases: 2\n"
                  "  repro: opcheck-c run --case X lib\n");
  assert_lacks(leak, "depends on the layout");
  assert_contains(leak, "  rules: leak.tensor\n");
  free(xml);
}

static void the_message_names_the_place_and_stands_there_once(void **state) {
  (void)state;
  char *xml = by_operator(RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE(
      "n::a",
      "l.so") "{\"t\":\"result\",\"operator\":\"n::a\",\"check\":\"meta\",\"case\":\"n::a/meta/cpu/-/s/"
              "plain\",\"verdict\":\"fail\","
              "\"severity\":\"error\",\"rule\":\"meta.shape\",\"message\":\"two "
              "rows\",\"evidence\":{\"kernel\":{\"key\":\"Meta\","
              "\"symbol\":\"my::rows(at::Tensor)\",\"file\":\"/src/ops.cpp\",\"line\":7}},\"seconds\":0}\n" END_LINE(
                  1));
  assert_contains(xml, "<failure type=\"meta.shape\" message=\"two rows, at my::rows (ops.cpp:7)\">problem ");
  assert_contains(xml, "  where: my::rows (ops.cpp:7)\n");
  const char *body = strstr(xml, "error: two rows");
  assert_non_null(body);
  assert_null(strstr(body + strlen("error: two rows"), "two rows"));
  assert_lacks(xml, "kernel:");
  free(xml);
}

#define KNOWN_LINE(id, more) \
  "{\"t\":\"known\",\"problem\":\"" id "\",\"by\":\"baseline\",\"file\":\"a/known.txt\",\"line\":7" more "}\n"
#define TWO_WRONG                                                                           \
  RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "l.so") OPERATOR_LINE("n::b", "l.so") \
      FAIL_LINE("n::a", "stride", "cpu/-/1/x.sliced", "stride.wrong_result")                \
          PASS_LINE("n::a", "stride", "cpu/-/1/plain")                                      \
              FAIL_LINE("n::b", "stride", "cpu/-/1/x.sliced", "stride.wrong_result")

/* The id of the only problem of n::a. */
static void id_of_first(char out[17]) {
  opc_journal_reader_t *reader = journal_of(TWO_WRONG END_LINE(1));
  opc_problems_t problems;
  opc_error_t error;
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  snprintf(out, 17, "%s", problems.items[0].id);
  opc_problems_clear(&problems);
  opc_journal_reader_close(reader);
}

static char *junit_with_known(opc_junit_cases_t cases) {
  char id[17];
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  id_of_first(id);
  opc_text_addf(&text, TWO_WRONG KNOWN_LINE("%s", "") END_LINE(1), id);
  opc_journal_reader_t *reader = journal_of(opc_text_c(&text));
  char *xml = report_text_of(&opc_report_junit, reader, cases, OPC_OK);
  opc_journal_reader_close(reader);
  return xml;
}

/* It is shown, and does not fail; the new one does. */
static void a_known_problem_is_skipped(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    char *xml = junit_with_known(i ? OPC_JUNIT_BY_CASE : OPC_JUNIT_BY_OPERATOR);
    assert_contains(xml, i ? "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""
                           : "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\"");
    assert_contains(xml, "<skipped type=\"known\" message=\"known: in the baseline known.txt (problem ");
    assert_contains(xml, "<failure type=\"stride.wrong_result\"");
    free(xml);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_known_problem_is_skipped),
      cmocka_unit_test(the_message_names_the_place_and_stands_there_once),
      cmocka_unit_test(verdicts_become_what_dashboards_show),
      cmocka_unit_test(what_did_not_load_is_an_error),
      cmocka_unit_test(a_run_that_proves_nothing_is_no_success),
      cmocka_unit_test(the_incomplete_error_carries_the_notes),
      cmocka_unit_test(two_results_of_one_case_are_refused),
      cmocka_unit_test(no_result_is_left_out),
      cmocka_unit_test(text_from_outside_is_harmless),
      cmocka_unit_test(a_check_of_an_operator_is_its_worst_case),
      cmocka_unit_test(its_text_is_its_problems),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
