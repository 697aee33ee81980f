#include "report_journal.h"
#include "reports/ci/ci.h"
#include "reports/page/html_page.h"

#define LIBRARY "lib/libx.so"

static char *page_of(const char *journal_text) {
  opc_journal_reader_t *journal = journal_of(journal_text);
  char *text = report_text(&opc_report_html, journal, OPC_OK);
  opc_journal_reader_close(journal);
  return text;
}

static void the_first_screen_has_the_verdict(void **state) {
  (void)state;
  char *failed = page_of(RUN_LINE TOOL_LINE LIBRARY_LINE(LIBRARY) OPERATOR_LINE("n::op", LIBRARY)
                             PASS_LINE("n::op", "meta", "cpu/-/s/plain")
                                 FAIL_LINE("n::op", "alias", "cpu/-/s/plain", "alias.undeclared_input") END_LINE(1));
  assert_contains(failed, "<span class=\"verdict\">FAILED</span>");
  assert_contains(failed, "1 problem (1 error) in 1 operator");
  assert_contains(failed, "<title>FAILED: libx.so</title>");
  assert_contains(failed, "data-rule=\"alias.undeclared_input\"");
  assert_contains(failed, "opcheck-c run --case X lib");
  assert_lacks(failed, "This report is incomplete");
  free(failed);
  char *passed = page_of(RUN_LINE TOOL_LINE LIBRARY_LINE(LIBRARY) OPERATOR_LINE("n::op", LIBRARY)
                             PASS_LINE("n::op", "meta", "cpu/-/s/plain") END_LINE(0));
  assert_contains(passed, "<span class=\"verdict\">PASSED</span>");
  assert_contains(passed, "<p>None was found.</p>");
  free(passed);
}

#define KNOWN_JOURNAL                                                                                                  \
  RUN_LINE TOOL_LINE LIBRARY_LINE(LIBRARY) OPERATOR_LINE("n::op", LIBRARY) PASS_LINE("n::op", "meta", "cpu/-/s/plain") \
      FAIL_LINE("n::op", "alias", "cpu/-/s/plain", "alias.undeclared_input")                                           \
          END_LINE(1) "{\"t\":\"known\",\"problem\":\"%s\",\"by\":\"baseline\",\"file\":\"known.txt\",\"line\":1}\n"
#define STALE_LINE                                                                                           \
  "{\"t\":\"known\",\"problem\":\"0123456789abcdef\",\"by\":\"baseline\",\"file\":\"known.txt\",\"line\":2," \
  "\"whole\":true,\"operator\":\"n::op\",\"rule\":\"meta.shape\"}\n"

static char *text_of(const opc_report_t *report, const opc_report_source_t *source) {
  char *text = NULL;
  size_t length = 0;
  opc_error_t error = {0};
  FILE *stream = open_memstream(&text, &length);
  assert_non_null(stream);
  if (report->write(source, stream, &error) != OPC_OK) fail_msg("%s", error.message);
  fclose(stream);
  return text;
}

/* The page, the formats of CI and the exit code say the same, although the journal ends with 1. */
static void expect_verdict(const char *id, bool stale, bool strict, int code, const char *verdict) {
  static const char *const marks[][3] = {{"sarif", "\"executionSuccessful\": true", "\"harness.outdated_line\""},
                                         {"junit", "errors=\"0\"", "<error type=\"harness.outdated_line\""},
                                         {"tap", "1..2", "not ok 3"},
                                         {"gitlab", "\"info\"", "\"harness.outdated_line\""}};
  OPC_SCOPED(opc_text_clear) opc_text_t journal = {0};
  opc_problems_t problems;
  opc_error_t error = {0};
  opc_text_addf(&journal, KNOWN_JOURNAL, id);
  opc_text_add(&journal, stale ? STALE_LINE : "");
  opc_journal_reader_t *reader = journal_of(opc_text_c(&journal));
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  const opc_report_source_t source = {.journal = reader, .problems = &problems, .strict = strict};
  assert_int_equal(opc_ci_exit_code(&source, 1), code);
  char *page = text_of(&opc_report_html, &source);
  assert_contains(page, verdict);
  assert_contains(page, "; 1 known problem</p>");
  free(page);
  for (size_t i = 0; i < opc_report_count; i++) {
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
      if (strcmp(opc_reports[i]->name, marks[k][0]) != 0) continue;
      char *text = text_of(opc_reports[i], &source);
      assert_contains(text, marks[k][code == 0 || k == 3 ? 1 : 2]);
      if (code == 0) assert_lacks(text, marks[k][2]);
      else assert_contains(text, marks[k][2]);
      free(text);
    }
  }
  opc_problems_clear(&problems);
  opc_journal_reader_close(reader);
}

static void known_problems_pass(void **state) {
  (void)state;
  char id[17];
  opc_problems_t problems;
  opc_error_t error = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t journal = {0};
  opc_text_addf(&journal, KNOWN_JOURNAL, "");
  opc_journal_reader_t *reader = journal_of(opc_text_c(&journal));
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  snprintf(id, sizeof id, "%s", problems.items[0].id);
  opc_problems_clear(&problems);
  opc_journal_reader_close(reader);
  expect_verdict(id, false, false, 0, "<span class=\"verdict\">PASSED</span>");
  expect_verdict(id, false, true, 0, "<span class=\"verdict\">PASSED</span>");
  expect_verdict(id, true, false, 0, "<span class=\"verdict\">PASSED</span>");
  expect_verdict(id, true, true, 1, "<p class=\"lead\">a line of known problems is out of date (--strict); ");
}

/* --strict and --require-checked make a run fail whose journal ends with 0. */
static void options_that_make_a_run_fail(void **state) {
  (void)state;
  opc_problems_t problems;
  opc_error_t error = {0};
  opc_journal_reader_t *reader = journal_of(
      RUN_LINE TOOL_LINE LIBRARY_LINE(LIBRARY) OPERATOR_LINE("n::op", LIBRARY) OPERATOR_LINE("n::none", LIBRARY)
          PASS_LINE("n::op", "meta", "cpu/-/s/plain") SKIP_LINE("n::none", "meta", "cpu/-/-/-", "no_sample")
              WARN_LINE("n::op", "defaults", "cpu/-/s/plain", "defaults.refused") END_LINE(0));
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  opc_report_source_t source = {.journal = reader, .problems = &problems, .strict = true};
  char *page = text_of(&opc_report_html, &source);
  assert_contains(page, "<p class=\"lead\">warnings count (--strict); ");
  free(page);
  source = (opc_report_source_t){.journal = reader, .problems = &problems, .required = 90};
  page = text_of(&opc_report_html, &source);
  assert_contains(page, "<span class=\"verdict\">FAILED</span>");
  assert_contains(page, "--require-checked 90 asks for 2");
  free(page);
  opc_problems_clear(&problems);
  opc_journal_reader_close(reader);
}

static void an_early_page_says_so(void **state) {
  (void)state;
  char *text = page_of(RUN_LINE);
  assert_contains(text, "<span class=\"verdict\">INCOMPLETE</span>");
  assert_contains(text, "This report is incomplete");
  assert_contains(text, "</html>");
  free(text);
}

/* Cases that differ only in their variant are one row. */
static void passes_are_rows(void **state) {
  (void)state;
  char *text = page_of(RUN_LINE OPERATOR_LINE("n::op", LIBRARY) PASS_LINE("n::op", "meta", "cpu/-/s/plain")
                           PASS_LINE("n::op", "meta", "cpu/-/s/x.sliced") PASS_LINE("n::op", "meta", "cpu/-/t/plain")
                               SKIP_LINE("n::op", "meta", "cpu/-/t/x.sliced", "rejected") END_LINE(0));
  assert_contains(text,
                  "{\"rows\":[[0,1,2,3,4,5,6,7],\n[0,1,2,8,4,5,6],\n[0,1,2,8,9,10,7]],\n"
                  "\"words\":[\"meta\",\"cpu\",\"\",\"s\",\"pass\",\"fine\",\"plain\",\"x.sliced\",\"t\","
                  "\"skip rejected\",\"because\"]}");
  free(text);
}

/* A warning leaves its kind of input accepted; an error does not. */
static void the_matrix_marks_what_is_wrong(void **state) {
  (void)state;
  char *text = page_of(RUN_LINE OPERATOR_LINE("n::op", LIBRARY) PASS_LINE(
      "n::op", "meta",
      "cpu/-/s/plain") "{\"t\":\"result\",\"operator\":\"n::op\",\"check\":\"stride\",\"case\":\"n::op/stride/cpu/-/s/"
                       "x.sliced\","
                       "\"verdict\":\"fail\",\"severity\":\"error\",\"rule\":\"stride.wrong_result\",\"reason\":null,"
                       "\"message\":\"m\","
                       "\"evidence\":{\"input\":{\"x\":\"float32[2, 3] strides [12, "
                       "2]\"}},\"repro\":\"r\",\"seconds\":0.1}\n"
                       "{\"t\":\"coverage\",\"operator\":\"n::op\",\"inputs\":{\"accepted\":2},\"devices\":{\"cpu\":"
                       "\"accepted\"},"
                       "\"arguments\":{\"x\":{\"dtypes\":{\"float32\":\"accepted\",\"int64\":\"refused\",\"bool\":"
                       "\"crashed\"},"
                       "\"layouts\":{\"contiguous\":\"accepted\",\"strided\":\"accepted\"}}}}\n" END_LINE(1));
  assert_contains(text,
                  "<tr><th scope=\"row\">n::op</th><td class=\"w g\">wrong</td><td class=\"w g\">wrong</td><td "
                  "class=\"r\">refused</td><td class=\"c\">crashed</td><td class=\"a g\">accepted</td><td "
                  "class=\"w\">wrong</td></tr>");
  free(text);
}

/* An operator counts by its worst problem that is not known; a library's file is no operator. */
static void the_bar_counts_operators(void **state) {
  char id[17];
  (void)state;
  OPC_SCOPED(opc_text_clear) opc_text_t journal = {0};
  opc_problems_t problems;
  opc_error_t error = {0};
  for (int i = 0; i < 2; i++) {
    opc_text_reset(&journal);
    opc_text_add(
        &journal, RUN_LINE
        "{\"t\":\"library\",\"path\":\"" LIBRARY
        "\",\"status\":\"loaded\",\"checked_as\":\"library::libx.so\"}\n" OPERATOR_LINE("n::a", LIBRARY)
            OPERATOR_LINE("n::b", LIBRARY) FAIL_LINE("n::a", "alias", "cpu/-/s/plain", "alias.undeclared_input")
                PASS_LINE("n::b", "meta", "cpu/-/s/plain")
                    FAIL_LINE("library::libx.so", "registration", "-/-/-/-", "registration.no_meta_kernel"));
    if (i) opc_text_addf(&journal, "{\"t\":\"known\",\"problem\":\"%s\",\"by\":\"baseline\",\"file\":\"k\"}\n", id);
    opc_text_add(&journal, END_LINE(1));
    opc_journal_reader_t *reader = journal_of(opc_text_c(&journal));
    assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
    assert_int_equal(problems.count, 2);
    for (size_t k = 0; k < 2; k++)
      if (!opc_journal_reader_operator(reader, problems.items[k].operators[0].index)->is_file)
        snprintf(id, sizeof id, "%s", problems.items[k].id);
    const opc_report_source_t source = {.journal = reader, .problems = &problems};
    char *page = text_of(&opc_report_html, &source);
    assert_contains(page, i ? "<ul><li><i class=\"k\"></i><b>1</b> known problems only</li>"
                              "<li><i class=\"a\"></i><b>1</b> clean</li></ul>"
                            : "<ul><li><i class=\"w\"></i><b>1</b> with errors</li>"
                              "<li><i class=\"a\"></i><b>1</b> clean</li></ul>");
    free(page);
    opc_problems_clear(&problems);
    opc_journal_reader_close(reader);
  }
}

static void every_reason_has_a_text(void **state) {
  (void)state;
  for (int i = OPC_SKIP_NONE + 1; i < OPC_SKIP_COUNT; i++)
    assert_string_not_equal(opc_html_reason((opc_skip_reason_t)i), opc_html_reason(OPC_SKIP_NONE));
  char *text =
      page_of(RUN_LINE OPERATOR_LINE("n::op", LIBRARY) SKIP_LINE("n::op", "meta", "cpu/-/t/plain", "off") END_LINE(0));
  assert_contains(text, "the project's settings switch its rule off");
  assert_lacks(text, "(null)");
  free(text);
}

static void texts_are_cut_between_characters(void **state) {
  static const char *const expected[] = {"…", "a…", "a…", "aé…", "aéz", "aéz"};
  (void)state;
  for (size_t limit = 0; limit < sizeof expected / sizeof *expected; limit++) {
    OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
    opc_ci_text(&text, "aéz", limit);
    assert_string_equal(opc_text_c(&text), expected[limit]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_screen_has_the_verdict),
      cmocka_unit_test(known_problems_pass),
      cmocka_unit_test(options_that_make_a_run_fail),
      cmocka_unit_test(an_early_page_says_so),
      cmocka_unit_test(passes_are_rows),
      cmocka_unit_test(the_matrix_marks_what_is_wrong),
      cmocka_unit_test(the_bar_counts_operators),
      cmocka_unit_test(every_reason_has_a_text),
      cmocka_unit_test(texts_are_cut_between_characters),
  };
  return cmocka_run_group_tests_name("html report", tests, NULL, NULL);
}
