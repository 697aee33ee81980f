/* What differs between runs of one library with several libtorches. */
#include "report_journal.h"

#define RUN(lines) RUN_LINE TOOL_LINE LIBRARY_LINE("/x/lib.so") lines END_LINE(0)
#define OP(name) OPERATOR_LINE(name, "/x/lib.so")
#define WRONG(name) FAIL_LINE(name, "stride", "cpu/float32/s/plain", "stride.wrong_result")

static void compare(const char *const *texts, size_t count, opc_run_differences_t *out) {
  opc_problems_t runs[3] = {{0}};
  opc_journal_reader_t *readers[3];
  opc_error_t error = {0};
  for (size_t i = 0; i < count; i++) {
    readers[i] = journal_of(texts[i]);
    assert_int_equal(opc_problems_make(readers[i], &runs[i], &error), OPC_OK);
  }
  if (opc_run_differences_make(runs, count, out, &error) != OPC_OK) fail_msg("%s", error.message);
  for (size_t i = 0; i < count; i++) {
    opc_problems_clear(&runs[i]);
    opc_journal_reader_close(readers[i]);
  }
}

static void test_same_runs(void **state) {
  static const char *const runs[] = {RUN(OP("ns::a") OP("ns::b") WRONG("ns::a")),
                                     RUN(OP("ns::b") OP("ns::a") WRONG("ns::a"))};
  opc_run_differences_t differences;
  (void)state;
  compare(runs, 2, &differences);
  assert_int_equal(differences.count, 0);
  compare(runs, 0, &differences);
  assert_int_equal(differences.count, 0);
}

static void test_an_operator_that_is_missing(void **state) {
  static const char *const runs[] = {RUN(OP("ns::a")), RUN(OP("ns::a") OP("ns::b")), RUN(OP("ns::a") OP("ns::b"))};
  opc_run_differences_t differences;
  (void)state;
  compare(runs, 3, &differences);
  assert_int_equal(differences.count, 1);
  assert_int_equal(differences.items[0].kind, OPC_RUN_DIFFERENCE_OPERATOR);
  assert_string_equal(differences.items[0].key, "ns::b");
  assert_int_equal(differences.items[0].runs, 6);
  opc_run_differences_clear(&differences);
}

static void test_a_problem_of_one_run(void **state) {
  static const char *const runs[] = {RUN(OP("ns::a") OP("ns::b") WRONG("ns::a")),
                                     RUN(OP("ns::a") OP("ns::b") WRONG("ns::a") WRONG("ns::b"))};
  opc_run_differences_t differences;
  (void)state;
  compare(runs, 2, &differences);
  assert_int_equal(differences.count, 1);
  assert_int_equal(differences.items[0].kind, OPC_RUN_DIFFERENCE_PROBLEM);
  assert_int_equal(differences.items[0].runs, 2);
  assert_non_null(strstr(differences.items[0].text, "ns::b: stride.wrong_result: "));
  opc_run_differences_clear(&differences);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_runs),
      cmocka_unit_test(test_an_operator_that_is_missing),
      cmocka_unit_test(test_a_problem_of_one_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
