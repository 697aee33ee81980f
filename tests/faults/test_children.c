/* Children that end in every way: each costs its own case and nothing else, and the right case is blamed. */
#include "run_fixture.h"

static json_t *run_one(const char *name, int expected_exit) {
  const char *const op[] = {name};
  opc_run_options_t options = run_options(op);
  opc_error_t error = {0};
  int code = -1;
  if (opc_run_execute(&options, &code, &error) != OPC_OK) fail_msg("%s: %s", name, error.message);
  assert_int_equal(code, expected_exit);
  json_t *records = run_read();
  assert_true(json_is_true(json_object_get(run_find(records, "end", ""), "complete")));
  return records;
}

/* One case is wrong, and the nine others pass. */
static void one_case(const char *name, const char *tail, const char *verdict, const char *rule, const char *words) {
  json_t *records = run_one(name, 1), *result = run_find(records, "result", tail);
  assert_non_null(result);
  assert_string_equal(run_text(result, "verdict"), verdict);
  assert_string_equal(run_text(result, "rule"), rule);
  assert_string_equal(run_text(result, "severity"), "error");
  if (strstr(run_text(result, "message"), words) == NULL)
    fail_msg("\"%s\" is not in \"%s\"", words, run_text(result, "message"));
  assert_true(json_is_true(json_object_get(json_object_get(result, "evidence"), "confirmed")));
  assert_non_null(strstr(run_text(result, "repro"), "opcheck-c run --samples "));
  assert_non_null(strstr(run_text(result, "repro"), tail));
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 9);
  assert_int_equal(run_count(records, "result", "verdict", NULL), 10);
  json_decref(records);
}

static void healthy(void **state) {
  (void)state;
  json_t *records = run_one("healthy", 0);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 10);
  assert_int_equal(run_count(records, "suspect", "", NULL), 0);
  json_decref(records);
}

static void failures_are_confirmed(void **state) {
  (void)state;
  json_t *records = run_one("fails", 1);
  assert_int_equal(run_count(records, "result", "verdict", "fail"), 2);
  assert_int_equal(run_count(records, "suspect", "verdict", "fail"), 2);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 8);
  json_decref(records);
}

static const char *confirmed_after(json_t *records, const char *tail) {
  json_t *evidence = json_object_get(run_find(records, "result", tail), "evidence");
  assert_true(json_is_true(json_object_get(evidence, "confirmed")));
  return run_text(evidence, "confirmed_after");
}

/* Of one check's equal findings the first has a child of its own and the others follow it there; v3 does not show
 * behind v1, and does alone. */
static void equal_failures_share_a_child(void **state) {
  (void)state;
  json_t *records = run_one("group", 1);
  assert_int_equal(run_count(records, "result", "verdict", "fail"), 5);
  assert_string_equal(confirmed_after(records, "/v1"), "");
  assert_string_equal(confirmed_after(records, "/v2"), "fake::group/stride/cpu/-/one/v1");
  assert_string_equal(confirmed_after(records, "/v3"), "");
  assert_string_equal(confirmed_after(records, "/v4"), "fake::group/stride/cpu/-/one/v3");
  assert_string_equal(confirmed_after(records, "/v7"), ""); /* another check's */
  json_decref(records);
}

static void signals(void **state) {
  (void)state;
  one_case("segv", "/v2", "error", "signal.SIGSEGV", "segmentation fault");
  one_case("abort", "/v2", "error", "signal.SIGABRT", "abort");
  one_case("grandchild", "/v2", "error", "signal.SIGFPE", "arithmetic");
  one_case("late", "/v5", "error", "signal.SIGSEGV", "after the operator had returned");
}

/* The confirmation's child says what the case is called with; what is no JSON object is left out, and nothing else is
 * lost. */
static void crashes_show_their_input(void **state) {
  (void)state;
  json_t *records = run_one("segv", 1), *evidence = json_object_get(run_find(records, "result", "/v2"), "evidence");
  assert_string_equal(run_text(json_object_get(evidence, "input"), "a"), "2");
  json_decref(records);
  records = run_one("abort", 1);
  evidence = json_object_get(run_find(records, "result", "/v2"), "evidence");
  assert_null(json_object_get(evidence, "input"));
  assert_non_null(json_object_get(evidence, "signal"));
  json_decref(records);
}

static void exit_zero(void **state) {
  (void)state;
  one_case("exit0", "/v2", "error", "exit", "exit code 0");
}

static void channel_abuse(void **state) {
  (void)state;
  one_case("closes", "/v2", "error", "exit", "closed the channel");
  one_case("junk", "/v2", "error", "exit", "wrote into the channel");
  one_case("babble", "/v2", "error", "exit", "wrote into the channel");
}

static void parent_killed(void **state) {
  (void)state;
  one_case("parent", "/v2", "error", "exit", "killed the process that started it");
}

static void hangs_are_given_up(void **state) {
  (void)state;
  json_t *records = run_one("hang", 1);
  assert_int_equal(run_count(records, "result", "rule", "timeout"), 2); /* the third one is skipped */
  assert_string_equal(run_text(run_find(records, "result", "/v4"), "reason"), "after_crash");
  json_t *hung = run_find(records, "result", "/v2");
  assert_true(json_real_value(json_object_get(hung, "seconds")) > 0.1); /* what it cost is known */
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 7);
  json_decref(records);
}

/* The children after a variant that hung know of it, for all samples: v7 says whether they do. */
static void a_hung_variant_is_known(void **state) {
  (void)state;
  json_t *records = run_one("hung", 1);
  assert_int_equal(run_count(records, "result", "rule", "timeout"), 1);
  assert_string_equal(run_text(run_find(records, "result", "/v7"), "verdict"), "fail");
  json_decref(records);
}

/* v2 does not return among the others, and does alone: it was slow, and its result is the one that it came to. */
static void slow_is_not_hung(void **state) {
  (void)state;
  json_t *records = run_one("sleepy", 0), *result = run_find(records, "result", "/v2");
  assert_int_equal(run_count(records, "suspect", "rule", "timeout"), 1);
  assert_string_equal(run_text(result, "verdict"), "pass");
  assert_int_equal(run_count(records, "result", "rule", "timeout"), 0);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 10);
  json_decref(records);
}

static void slow_operators_are_given_up(void **state) {
  (void)state;
  static const char *const op[] = {"slow"};
  opc_run_options_t options = run_options(op);
  opc_error_t error = {0};
  int code = -1;
  options.operator_time = 0.4;
  assert_int_equal(opc_run_execute(&options, &code, &error), OPC_OK);
  assert_int_equal(code, 0);
  json_t *records = run_read();
  int passed = run_count(records, "result", "verdict", "pass"), late = run_count(records, "result", "reason", "budget");
  assert_int_equal(passed + late, 10);
  assert_true(passed >= 1 && late >= 5);
  json_decref(records);
}

/* The first turn of each operator ends early, and the others' come in between. */
static void the_time_of_a_run_is_shared_out(void **state) {
  (void)state;
  static const char *const ops[] = {"fails"}, *const slow[] = {"slow"};
  opc_run_options_t options = run_options(ops);
  opc_error_t error = {0};
  int code = -1;
  options.budget = 1e6;
  assert_int_equal(opc_run_execute(&options, &code, &error), OPC_OK);
  json_t *records = run_read();
  assert_int_equal(code, 1);
  assert_int_equal(run_count(records, "result", "verdict", "fail"), 2);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 8);
  json_decref(records);
  options = run_options(slow);
  options.budget = 0.5;
  assert_int_equal(opc_run_execute(&options, &code, &error), OPC_OK);
  records = run_read();
  const json_t *budget = json_object_get(run_find(records, "end", ""), "budget");
  const int late = run_count(records, "result", "reason", "budget");
  assert_int_equal(run_count(records, "result", "verdict", NULL), 10);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(budget, "left_out"), "cases")), late);
  assert_true(late >= 1);
  json_decref(records);
}

static void crashes_are_given_up(void **state) {
  (void)state;
  json_t *records = run_one("allcrash", 1);
  assert_int_equal(run_count(records, "result", "rule", "signal.SIGSEGV"), 6); /* three for each of the two checks */
  assert_int_equal(run_count(records, "result", "reason", "after_crash"), 4);
  json_decref(records);
}

/* Two cases hang once each, so that the rest of their check is skipped; alone both return. The skipped cases are run
 * after all, and their finding is confirmed. Until then the journal has them as skipped. */
static void cases_after_an_unconfirmed_hang_are_run(void **state) {
  (void)state;
  json_t *records = run_one("twice", 1), *found = run_find(records, "result", "/v3");
  assert_int_equal(run_count(records, "suspect", "rule", "timeout"), 2);
  assert_int_equal(run_count(records, "suspect", "reason", "after_crash"), 3);
  assert_int_equal(run_count(records, "result", "reason", "after_crash"), 0);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 9);
  assert_string_equal(run_text(found, "rule"), "stride.wrong_result");
  assert_true(json_is_true(json_object_get(json_object_get(found, "evidence"), "confirmed")));
  json_decref(records);
}

static void dependence_is_found(void **state) {
  (void)state;
  json_t *records = run_one("depends", 1), *result = run_find(records, "result", "/v7"),
         *evidence = json_object_get(result, "evidence");
  assert_string_equal(run_text(result, "verdict"), "fail");
  assert_string_equal(run_text(evidence, "depends_on"), "fake::depends/stride/cpu/-/one/v3");
  assert_non_null(strstr(run_text(result, "repro"), "--op fake::depends"));
  json_decref(records);
}

/* v2 and v8 crash, v3 does in its Meta kernel; v7 is wrong where its child knows of v2, and of nothing else. Alone
 * it knows of nothing, and in a stretch not of v8 either: so it shows to the end of the halving. */
static void crashed_arguments_are_told(void **state) {
  (void)state;
  json_t *records = run_one("learns", 1), *result = run_find(records, "result", "/v7"),
         *evidence = json_object_get(result, "evidence");
  assert_int_equal(run_count(records, "result", "rule", "signal.SIGSEGV"), 3);
  assert_string_equal(run_text(result, "verdict"), "fail");
  assert_string_equal(run_text(evidence, "depends_on"), "fake::learns/alias/cpu/-/one/v6");
  json_decref(records);
}

/* Both of its findings: neither could be reproduced. */
static void flaky_is_a_warning(void **state) {
  (void)state;
  json_t *records = run_one("flaky", 0), *result = run_find(records, "result", "/v4");
  json_t *evidence = json_object_get(result, "evidence"), *also = json_object_get(evidence, "also");
  assert_string_equal(run_text(result, "severity"), "warning");
  assert_string_equal(run_text(result, "rule"), "stride.wrong_result");
  assert_string_equal(run_text(json_array_get(also, 0), "severity"), "warning");
  assert_true(json_is_false(json_object_get(evidence, "confirmed")));
  json_decref(records);
}

/* The worker says that v1 and v7 broke their processes: two more go on behind them, and nothing else is lost. */
static void spent_processes_are_replaced(void **state) {
  (void)state;
  json_t *records = run_one("spent", 0);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 10);
  json_decref(records);
}

static void black_box_lies(void **state) {
  (void)state;
  /* The name that it leaves behind is no case: whom to blame is not known, and the run says that it could not do all of
   * its work. */
  const char *const op[] = {"lies"};
  opc_run_options_t options = run_options(op);
  opc_error_t error = {0};
  int code = -1;
  assert_int_equal(opc_run_execute(&options, &code, &error), OPC_ERR_PROTOCOL);
  json_t *records = run_read();
  assert_int_equal(run_count(records, "note", "", NULL), 1);
  assert_true(json_is_false(json_object_get(run_find(records, "end", ""), "complete")));
  json_decref(records);
}

static void search_finds(void **state) {
  (void)state;
  json_t *records = run_one("searched", 0);
  assert_string_equal(run_text(run_find(records, "sample_source", ""), "source"), "searched");
  json_decref(records);
}

static void refusal_is_trouble(void **state) {
  (void)state;
  const char *const op[] = {"refused"};
  opc_run_options_t options = run_options(op);
  opc_error_t error = {0};
  int code = -1;
  assert_int_equal(opc_run_execute(&options, &code, &error), OPC_ERR_PROTOCOL);
  assert_int_equal(code, 3);
}

/* All together, two at a time: the operator that kills the worker under another one is found all the same. */
static void together(void **state) {
  (void)state;
  static const char *const op[] = {"fake::[!rl]*"}; /* all but "refused" and "lies" */
  opc_run_options_t options = run_options(op);
  opc_error_t error = {0};
  int code = -1;
  options.jobs = 4;
  if (opc_run_execute(&options, &code, &error) != OPC_OK) fail_msg("%s", error.message);
  assert_int_equal(code, 1);
  json_t *records = run_read(), *result = run_find(records, "result", "fake::parent/stride/cpu/-/one/v2");
  assert_string_equal(run_text(result, "rule"), "exit");
  assert_int_equal(run_count(records, "result", "operator", "fake::healthy"), 10);
  assert_int_equal(run_count(records, "result", "operator", "fake::parent"), 10);
  assert_int_equal(run_count(records, "result", "operator", "fake::segv"), 10);
  assert_int_equal(run_count(records, "result", "operator", "fake::flood"), 10);
  json_decref(records);
}

static void single_case(void **state) {
  (void)state;
  opc_run_options_t options = run_options(NULL);
  opc_error_t error = {0};
  int code = -1;
  options.case_id = "fake::segv/stride/cpu/-/one/v2";
  assert_int_equal(opc_run_execute(&options, &code, &error), OPC_OK);
  assert_int_equal(code, 1);
  json_t *records = run_read();
  assert_int_equal(run_count(records, "result", "", NULL), 1);
  json_decref(records);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(healthy),
                                     cmocka_unit_test(failures_are_confirmed),
                                     cmocka_unit_test(equal_failures_share_a_child),
                                     cmocka_unit_test(signals),
                                     cmocka_unit_test(crashes_show_their_input),
                                     cmocka_unit_test(exit_zero),
                                     cmocka_unit_test(channel_abuse),
                                     cmocka_unit_test(parent_killed),
                                     cmocka_unit_test(hangs_are_given_up),
                                     cmocka_unit_test(slow_is_not_hung),
                                     cmocka_unit_test(a_hung_variant_is_known),
                                     cmocka_unit_test(slow_operators_are_given_up),
                                     cmocka_unit_test(the_time_of_a_run_is_shared_out),
                                     cmocka_unit_test(crashes_are_given_up),
                                     cmocka_unit_test(cases_after_an_unconfirmed_hang_are_run),
                                     cmocka_unit_test(dependence_is_found),
                                     cmocka_unit_test(crashed_arguments_are_told),
                                     cmocka_unit_test(flaky_is_a_warning),
                                     cmocka_unit_test(spent_processes_are_replaced),
                                     cmocka_unit_test(black_box_lies),
                                     cmocka_unit_test(search_finds),
                                     cmocka_unit_test(refusal_is_trouble),
                                     cmocka_unit_test(together),
                                     cmocka_unit_test(single_case)};
  return cmocka_run_group_tests(tests, run_begin, run_end);
}
