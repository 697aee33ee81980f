/* The text of the progress line, and the estimate of the time left that it shows. */
#include "cli/execution.h"
#include "supervise/jobs/time_left.h"
#include "unit.h"

static void assert_line(const opc_run_progress_t *state, const char *expected) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  opc_progress_text(state, &line);
  assert_string_equal(opc_text_c(&line), expected);
}

static void test_loading(void **state) {
  (void)state;
  assert_line(&(opc_run_progress_t){.current = "loading libmy_ops.so"}, "loading libmy_ops.so");
}

static void test_operators(void **state) {
  (void)state;
  opc_run_progress_t progress = {.operators_total = 12};
  assert_line(&progress, "0 of 12 operators");
  progress.current = "my_ops::scale";
  assert_line(&progress, "0 of 12 operators; my_ops::scale");
  progress.searching = true;
  assert_line(&progress, "0 of 12 operators; searching inputs for my_ops::scale");
  progress.current_seconds = 12.9;
  progress.operators_done = 3;
  progress.findings = 1;
  assert_line(&progress, "3 of 12 operators, 1 finding; 12 s searching inputs for my_ops::scale");
  progress.searching = false;
  progress.findings = 2;
  progress.seconds_left = 36;
  assert_line(&progress, "3 of 12 operators, 2 findings, about 40 s left; 12 s on my_ops::scale");
}

static void test_units(void **state) {
  (void)state;
  opc_run_progress_t progress = {.operators_total = 1};
  progress.seconds_left = 0.1;
  assert_line(&progress, "0 of 1 operators, about 5 s left");
  progress.seconds_left = 60;
  assert_line(&progress, "0 of 1 operators, about 60 s left");
  progress.seconds_left = 61;
  assert_line(&progress, "0 of 1 operators, about 2 min left");
  progress.seconds_left = 7300;
  assert_line(&progress, "0 of 1 operators, about 3 h left");
}

static void test_nothing_learned(void **state) {
  (void)state;
  opc_time_left_t left = {0};
  assert_true(opc_time_left(&left, 100, 0, 50) <= 0);
  assert_true(opc_time_left(&left, 101, 10, 50) <= 0); /* too early */
  assert_true(opc_time_left(&left, 160, 2, 50) <= 0);  /* too few */
  assert_true(opc_time_left(&left, 200, 50, 50) <= 0); /* nothing is left */
}

/* One operator a second. */
static void test_steady(void **state) {
  (void)state;
  opc_time_left_t left = {0};
  (void)opc_time_left(&left, 100, 0, 50);
  for (int done = 5; done < 50; done++)
    assert_float_equal(opc_time_left(&left, 100 + done, (uint64_t)done, 50), (float)(50 - done), 1e-3);
}

/* One operator takes a minute: the number goes down meanwhile, ends, and does not jump afterwards. */
static void test_no_jump(void **state) {
  (void)state;
  opc_time_left_t left = {0};
  (void)opc_time_left(&left, 100, 0, 50);
  assert_float_equal(opc_time_left(&left, 110, 10, 50), 40, 1e-3);
  assert_float_equal(opc_time_left(&left, 120, 10, 50), 30, 1e-3);
  assert_true(opc_time_left(&left, 170, 10, 50) <= 0);
  const double alone = 60. / 11 * 39; /* that is what the operators so far suggest */
  const double shown = opc_time_left(&left, 140, 11, 50);
  assert_true(shown < alone / 2);
  for (int i = 0; i < 10; i++) (void)opc_time_left(&left, 141 + i, 12 + (uint64_t)i, 50);
  assert_true(opc_time_left(&left, 151, 22, 50) > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_loading), cmocka_unit_test(test_operators),
                                     cmocka_unit_test(test_units),   cmocka_unit_test(test_nothing_learned),
                                     cmocka_unit_test(test_steady),  cmocka_unit_test(test_no_jump)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
