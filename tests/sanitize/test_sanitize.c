/* A run under a stub for compute-sanitizer: whose records they are, what becomes of results, and all that can go
 * wrong with its report. */
#include "run_fixture.h"

#include <sys/stat.h>

static json_t *run_one(const char *name, const char *trouble, int expected_exit, opc_status_t expected) {
  static const char *const cuda[] = {"cuda"}, *const checks[] = {"stride", "alias"};
  const char *const op[] = {name};
  opc_run_options_t options = run_options(op);
  opc_error_t error = {0};
  int code = -1;
  options.devices = cuda;
  options.checks = checks;
  options.check_count = 2;
  options.torch_root = OPC_SANITIZE_FOLDER "/torch";
  options.sanitize = "memcheck";
  options.timeout = 5;
  assert_int_equal(setenv("SANITIZE_STAND_IN", trouble, 1), 0);
  opc_status_t status = opc_run_execute(&options, &code, &error);
  if (status != expected) fail_msg("%s: status %d: %s", name, status, error.message);
  assert_int_equal(code, expected_exit);
  return run_read();
}

static const json_t *evidence_of(json_t *records, const char *tail) {
  return json_object_get(run_find(records, "result", tail), "evidence");
}

static bool has_note(json_t *records, const char *words) {
  size_t i;
  json_t *record;
  json_array_foreach(records, i, record) {
    if (strcmp(run_text(record, "t"), "note") == 0 && strstr(run_text(record, "message"), words) != NULL) return true;
  }
  return false;
}

static void a_clean_operator_costs_one_process(void **state) {
  (void)state;
  json_t *records = run_one("healthy", "", 0, OPC_OK);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 10);
  assert_true(has_note(records, "watched 1 process,"));
  json_decref(records);
}

/* v3 and v6 write, v8 reads: the first of each is found by halves, and what is behind it is not called clean. */
static void records_go_to_their_case(void **state) {
  (void)state;
  json_t *records = run_one("wild", "", 1, OPC_OK), *write = run_find(records, "result", "/v3"),
         *read = run_find(records, "result", "/v8");
  assert_string_equal(run_text(write, "verdict"), "fail");
  assert_string_equal(run_text(write, "rule"), "sanitize.invalid_write");
  assert_non_null(strstr(run_text(write, "message"), "in wild_kernel"));
  assert_non_null(strstr(run_text(write, "repro"), "run --sanitize memcheck "));
  assert_non_null(strstr(run_text(write, "repro"), "--device cuda"));
  assert_true(json_is_true(json_object_get(evidence_of(records, "/v3"), "confirmed")));
  assert_string_equal(run_text(read, "rule"), "sanitize.invalid_read");
  assert_string_equal(run_text(run_find(records, "result", "/v2"), "verdict"), "pass");
  assert_string_equal(run_text(run_find(records, "result", "/v6"), "reason"), "after_crash");
  assert_int_equal(run_count(records, "result", "verdict", "fail"), 2);
  assert_int_equal(run_count(records, "result", NULL, NULL), 10);
  json_decref(records);
}

/* A fatal error ends its process: the last case made it, and the others go on in another. */
static void a_broken_process_is_replaced(void **state) {
  (void)state;
  json_t *records = run_one("spent", "", 1, OPC_OK);
  assert_string_equal(run_text(run_find(records, "result", "/v1"), "rule"), "sanitize.invalid_read");
  assert_string_equal(run_text(run_find(records, "result", "/v7"), "rule"), "sanitize.invalid_read");
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 8);
  assert_true(has_note(records, "watched 3 processes,"));
  json_decref(records);
}

static void what_depends_on_another_case_says_so(void **state) {
  (void)state;
  json_t *records = run_one("after", "", 1, OPC_OK);
  size_t i, found = 0;
  json_t *record;
  json_array_foreach(records, i, record) {
    if (strcmp(run_text(record, "rule"), "sanitize.invalid_read") != 0) continue;
    found++;
    assert_non_null(strstr(run_text(record, "message"), "not in this case alone"));
    assert_true(json_is_false(json_object_get(json_object_get(record, "evidence"), "confirmed")));
  }
  assert_int_equal(found, 1);
  json_decref(records);
}

/* The exit code hides the signal; the crash record has it. What the report holds goes with the crash. */
static void a_crash_is_seen_through_the_exit_code(void **state) {
  (void)state;
  json_t *records = run_one("hidden", "", 1, OPC_OK), *crash = run_find(records, "result", "/v2");
  assert_string_equal(run_text(crash, "verdict"), "error");
  assert_string_equal(run_text(crash, "rule"), "signal.SIGSEGV");
  assert_non_null(json_object_get(evidence_of(records, "/v2"), "also"));
  json_decref(records);
  records = run_one("exit0", "", 1, OPC_OK);
  assert_string_equal(run_text(run_find(records, "result", "/v2"), "rule"), "exit");
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 9);
  json_decref(records);
}

static void findings_of_checks_stay(void **state) {
  (void)state;
  json_t *records = run_one("fails", "", 1, OPC_OK);
  assert_int_equal(run_count(records, "result", "rule", "stride.wrong_result"), 2);
  assert_true(json_is_true(json_object_get(evidence_of(records, "/v3"), "confirmed")));
  json_decref(records);
}

/* Nothing is called clean on the word of a report that is not there, or not whole. */
static void a_lost_report_is_the_harness_s_failure(void **state) {
  static const char *const troubles[] = {"nothing", "cut", "foreign", "entities", "silent"};
  (void)state;
  for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
    json_t *records = run_one("healthy", troubles[i], 3, OPC_ERR_PROTOCOL);
    assert_int_equal(run_count(records, "result", "verdict", "pass"), 0);
    assert_int_equal(run_count(records, "result", "rule", "harness"), 10);
    json_decref(records);
  }
}

static void a_sanitizer_that_does_not_start_is_told(void **state) {
  (void)state;
  json_t *records = run_one("healthy", "fails", 3, OPC_ERR_PROTOCOL);
  assert_int_equal(run_count(records, "result", NULL, NULL), 0);
  assert_true(has_note(records, "cannot be started"));
  json_decref(records);
}

static void kernels_are_named(void **state) {
  static const char *const library[] = {OPC_SANITIZE_FOLDER "/kernels.so"}, *const op[] = {"healthy"},
                           *const cuda[] = {"cuda"}, *const checks[] = {"stride"};
  char filters[192], line[256] = "";
  opc_run_options_t options = run_options(op);
  opc_error_t error = {0};
  int code = -1;
  (void)state;
  snprintf(filters, sizeof filters, "%s/filters", run_folder);
  assert_int_equal(setenv("SANITIZE_STAND_IN_FILTERS", filters, 1), 0);
  assert_int_equal(setenv("SANITIZE_STAND_IN", "", 1), 0);
  options.libraries = library;
  options.devices = cuda;
  options.checks = checks;
  options.check_count = 1;
  options.torch_root = OPC_SANITIZE_FOLDER "/torch";
  options.sanitize = "racecheck";
  if (opc_run_execute(&options, &code, &error) != OPC_OK) fail_msg("%s", error.message);
  FILE *file = fopen(filters, "re");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  fclose(file);
  assert_non_null(strstr(line, "kns=copy_kernel"));
  assert_non_null(strstr(line, "kns=my_kernel"));
  assert_non_null(strstr(line, "kns=plain_kernel"));
  assert_int_equal(unsetenv("SANITIZE_STAND_IN_FILTERS"), 0);
}

static void mistakes_are_told(void **state) {
  static const char *const cpu[] = {"cpu"}, *const both[] = {"cuda", "cpu"}, *const cuda[] = {"cuda"};
  (void)state;
  const struct {
    const char *const *devices;
    size_t count;
    bool memcheck;
  } cases[] = {{cpu, 1, false}, {NULL, 0, false}, {both, 2, false}, {cuda, 1, true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *const op[] = {"healthy"};
    opc_run_options_t options = run_options(op);
    opc_error_t error = {0};
    int code = -1;
    options.sanitize = "memcheck";
    options.devices = cases[i].devices;
    options.device_count = cases[i].count;
    options.memcheck = cases[i].memcheck;
    assert_int_equal(opc_run_execute(&options, &code, &error), OPC_ERR_USAGE);
  }
}

static void a_missing_sanitizer_is_told(void **state) {
  const char *const op[] = {"healthy"}, *const cuda[] = {"cuda"};
  opc_run_options_t options = run_options(op);
  opc_error_t error = {0};
  int code = -1;
  (void)state;
  char *path = opc_string_copy(getenv("PATH"));
  if (access("/usr/local/cuda/bin/compute-sanitizer", X_OK) == 0 ||
      access("/usr/local/cuda/compute-sanitizer/compute-sanitizer", X_OK) == 0) {
    free(path);
    skip(); /* there is one where none can be hidden */
  }
  options.torch_root = OPC_SANITIZE_FOLDER "/torch";
  options.sanitize = "memcheck";
  options.devices = cuda;
  assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
  assert_int_equal(opc_run_execute(&options, &code, &error), OPC_ERR_NOT_FOUND);
  assert_int_equal(code, 3);
  assert_non_null(strstr(error.message, "CUDA toolkit"));
  assert_int_equal(setenv("PATH", path, 1), 0);
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_clean_operator_costs_one_process),
      cmocka_unit_test(records_go_to_their_case),
      cmocka_unit_test(a_broken_process_is_replaced),
      cmocka_unit_test(what_depends_on_another_case_says_so),
      cmocka_unit_test(a_crash_is_seen_through_the_exit_code),
      cmocka_unit_test(findings_of_checks_stay),
      cmocka_unit_test(a_lost_report_is_the_harness_s_failure),
      cmocka_unit_test(a_sanitizer_that_does_not_start_is_told),
      cmocka_unit_test(kernels_are_named),
      cmocka_unit_test(mistakes_are_told),
      cmocka_unit_test(a_missing_sanitizer_is_told),
  };
  return cmocka_run_group_tests(tests, run_begin, run_end);
}
