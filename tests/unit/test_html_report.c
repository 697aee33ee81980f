#include "report_journal.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_screen_has_the_verdict),
      cmocka_unit_test(an_early_page_says_so),
      cmocka_unit_test(passes_are_rows),
      cmocka_unit_test(the_matrix_marks_what_is_wrong),
  };
  return cmocka_run_group_tests_name("html report", tests, NULL, NULL);
}
