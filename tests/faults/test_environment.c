/* What is wrong around the run, not in the operators: disks, folders, libraries, workers, signals, a supervisor that is
 * killed. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "run_fixture.h"

static const char *const healthy[] = {"healthy"};

static opc_status_t run_with(const opc_run_options_t *options, int *code, opc_error_t *error) {
  memset(error, 0, sizeof *error);
  *code = -1;
  return opc_run_execute(options, code, error);
}

static void journal_without_folder(void **state) {
  (void)state;
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  options.journal = "/no/such/folder/journal";
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_IO);
  assert_non_null(strstr(error.message, "/no/such/folder/journal"));
  assert_non_null(strstr(error.message, "create its folder"));
}

static void journal_on_a_full_disk(void **state) {
  (void)state;
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  options.journal = "/dev/full";
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_IO);
  assert_non_null(strstr(error.message, "/dev/full"));
  assert_non_null(strstr(error.message, "free some space"));
}

/* The disk fills up in the middle: what is there stays a sequence of whole lines. */
static void journal_beyond_the_limit(void **state) {
  (void)state;
  opc_error_t error;
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    static const char *const ops[] = {"fake::[!rl]*"};
    opc_run_options_t options = run_options(ops);
    struct rlimit limit = {9000, 9000}; /* above the crash record of a child */
    int code;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    opc_status_t result = run_with(&options, &code, &error);
    _exit(result == OPC_ERR_IO && code == 3 && strstr(error.message, "ulimit -f") != NULL ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  json_t *records = run_read(); /* asserts that each line is whole */
  assert_true(json_array_size(records) > 3);
  assert_null(run_find(records, "end", ""));
  json_decref(records);
}

static void worker_is_missing(void **state) {
  (void)state;
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  options.worker = "/no/such/opcheck-worker";
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_NOT_FOUND);
  assert_non_null(strstr(error.message, "/no/such/opcheck-worker"));
}

static void worker_dies_at_once(void **state) {
  (void)state;
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  options.worker = "/bin/false";
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_SYSTEM);
  assert_non_null(strstr(error.message, "/bin/false"));
}

static void torch_root_is_none(void **state) {
  (void)state;
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  options.torch_root = run_folder;
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_USAGE);
  assert_non_null(strstr(error.message, "no libtorch there"));
}

/* A root of another version: the message names the one that is wanted. */
static void torch_root_of_another_version(void **state) {
  (void)state;
  char path[256];
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  snprintf(path, sizeof path, "%s/lib", run_folder);
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(path, sizeof path, "%s/lib/libtorch_cpu.so", run_folder);
  assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0666)), 0);
  snprintf(path, sizeof path, "%s/version.py", run_folder);
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fprintf(file, "__version__ = '2.14.1+cpu'\n");
  assert_int_equal(fclose(file), 0);
  options.torch_root = run_folder;
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_NOT_FOUND);
  assert_non_null(strstr(error.message, "libtorch 2.14"));
  assert_non_null(strstr(error.message, "opcheck-worker-2.14"));
}

/* Three libraries that fail in three ways, and a good one between them that is checked all the same. */
static void libraries_that_fail(void **state) {
  (void)state;
  static const char *const libraries[] = {OPC_FAKE_FOLDER "/fake_exits.so", OPC_FAKE_FOLDER "/fake_throws.so",
                                          OPC_FAKE_FOLDER "/fake_good.so", OPC_FAKE_FOLDER "/fake_symbol.so",
                                          "/no/such/library.so"};
  static const char *const kinds[] = {"initialiser_exited", "initialiser_threw", "", "undefined_symbol", "not_found"};
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  options.libraries = libraries;
  options.library_count = 5;
  if (run_with(&options, &code, &error) != OPC_OK) fail_msg("%s", error.message);
  assert_int_equal(code, 4);
  json_t *records = run_read(), *record;
  size_t i, seen = 0;
  json_array_foreach(records, i, record) {
    if (strcmp(run_text(record, "t"), "library") != 0) continue;
    assert_string_equal(run_text(record, "path"), libraries[seen]);
    assert_string_equal(run_text(record, "status"), seen == 2 ? "loaded" : "failed");
    assert_string_equal(run_text(json_object_get(record, "error"), "kind"), kinds[seen]);
    seen++;
  }
  assert_int_equal(seen, 5);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), 10);
  json_decref(records);
}

static void samples_are_wrong(void **state) {
  (void)state;
  char path[256];
  const char *files[] = {path};
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  snprintf(path, sizeof path, "%s/wrong.json", run_folder);
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fprintf(file,
          "{\"format\": \"opcheck-c/samples/1\",\n \"samples\": [{\"operator\": \"fake::healthy\", \"args\": [\"no "
          "number\"]}]}\n");
  assert_int_equal(fclose(file), 0);
  options.sample_files = files;
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_INPUT);
  assert_int_equal(code, 2);
  assert_non_null(strstr(error.message, "wrong.json:2:"));
  json_t *records = run_read();
  assert_int_equal(run_count(records, "result", "", NULL), 0); /* told before the first case */
  json_decref(records);
}

static void expected_failures(void **state) {
  (void)state;
  static const char *const op[] = {"fails"};
  char path[256];
  opc_run_options_t options = run_options(op);
  opc_error_t error;
  int code;
  snprintf(path, sizeof path, "%s/xfail", run_folder);
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fprintf(file,
          "# a comment\nfake::fails/*/v3 rule=stride.wrong_result known since 1.0\nfake::fails/*/v6  another "
          "one\nother::*  "
          "gone\n");
  assert_int_equal(fclose(file), 0);
  options.xfail_file = path;
  assert_int_equal(run_with(&options, &code, &error), OPC_OK);
  assert_int_equal(code, 0);
  json_t *records = run_read();
  assert_int_equal(run_count(records, "result", "reason", "xfail"), 2);
  assert_int_equal(run_count(records, "note", "", NULL), 1);
  json_decref(records);

  options.op_globs = healthy;
  file = fopen(path, "we");
  assert_non_null(file);
  fprintf(file, "fake::healthy/stride/cpu/-/one/v1 it passes\n");
  assert_int_equal(fclose(file), 0);
  assert_int_equal(run_with(&options, &code, &error), OPC_OK);
  assert_int_equal(code, 1);
  records = run_read();
  assert_string_equal(run_text(run_find(records, "result", "/v1"), "rule"), "xfail.unexpected_pass");
  json_decref(records);
}

static void run_with_xfail(const char *const *op, const char *line, int expected_code, size_t expected,
                           size_t unexpected, size_t passes) {
  char path[256];
  opc_run_options_t options = run_options(op);
  opc_error_t error;
  int code;
  snprintf(path, sizeof path, "%s/xfail", run_folder);
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fprintf(file, "%s\n", line);
  assert_int_equal(fclose(file), 0);
  options.xfail_file = path;
  assert_int_equal(run_with(&options, &code, &error), OPC_OK);
  assert_int_equal(code, expected_code);
  json_t *records = run_read();
  assert_int_equal(run_count(records, "result", "reason", "xfail"), expected);
  assert_int_equal(run_count(records, "result", "rule", "xfail.unexpected_pass"), unexpected);
  assert_int_equal(run_count(records, "result", "verdict", "pass"), passes);
  json_decref(records);
}

/* Of the cases that a glob matches one must fail: the others may pass. Where none fails, one pass is reported as
 * unexpected. */
static void expected_failures_by_glob(void **state) {
  (void)state;
  static const char *const op[] = {"fails"};
  run_with_xfail(op, "fake::fails/* known since 1.0", 0, 2, 0, 8);
  run_with_xfail(healthy, "fake::healthy/* known since 1.0", 1, 0, 1, 9);
}

static void nothing_is_selected(void **state) {
  (void)state;
  static const char *const op[] = {"nobody"};
  opc_run_options_t options = run_options(op);
  opc_error_t error;
  int code;
  assert_int_equal(run_with(&options, &code, &error), OPC_OK);
  assert_int_equal(code, 5);
}

static void device_is_absent(void **state) {
  (void)state;
  static const char *const devices[] = {"cuda-sim"};
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  options.devices = devices;
  assert_int_equal(run_with(&options, &code, &error), OPC_OK);
  json_t *records = run_read();
  assert_true(run_count(records, "result", "reason", "no_device") > 0);
  json_decref(records);
}

static void devices_that_exclude_each_other(void **state) {
  (void)state;
  static const char *const devices[] = {"cuda-sim", "cuda"}, *const cpu[] = {"cpu"};
  opc_run_options_t options = run_options(healthy);
  opc_error_t error;
  int code;
  options.devices = devices;
  options.device_count = 2;
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_USAGE);
  assert_non_null(strstr(error.message, "make two runs of it"));
  options.devices = cpu;
  options.device_count = 1;
  options.cuda_architecture = "sm_80";
  assert_int_equal(run_with(&options, &code, &error), OPC_ERR_USAGE);
}

/* A run in a process of its own that hangs in an operator until the signal comes. */
static int run_until(int number) {
  int status = 0;
  unlink(run_journal);
  pid_t child = fork();
  if (child == 0) {
    static const char *const op[] = {"hang"};
    opc_run_options_t options = run_options(op);
    opc_error_t error;
    int code;
    options.timeout = 60;
    opc_status_t result = run_with(&options, &code, &error);
    _exit(result == OPC_ERR_SYSTEM && strcmp(error.message, "interrupted") == 0 ? 0 : 1);
  }
  for (int tries = 0; tries < 500; tries++) { /* until the first results are in the journal */
    json_t *records = run_read();
    int results = run_count(records, "result", "", NULL);
    json_decref(records);
    if (results > 0) break;
    usleep(10000);
  }
  kill(child, number);
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void interrupted_in_good_order(void **state) {
  (void)state;
  assert_int_equal(run_until(SIGTERM), 0);
  json_t *records = run_read(), *end = run_find(records, "end", "");
  assert_non_null(end);
  assert_true(json_is_false(json_object_get(end, "complete")));
  json_decref(records);
}

static void killed_with_a_readable_journal(void **state) {
  (void)state;
  int status = run_until(SIGKILL);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  json_t *records = run_read(); /* asserts that each line is whole */
  assert_true(run_count(records, "result", "verdict", "pass") > 0);
  assert_null(run_find(records, "end", ""));
  json_decref(records);
}

static void only_listed(void **state) {
  (void)state;
  opc_run_options_t options = run_options(NULL);
  opc_error_t error;
  int code;
  options.list_only = true;
  assert_int_equal(run_with(&options, &code, &error), OPC_OK);
  assert_int_equal(code, 0);
  json_t *records = run_read();
  assert_true(run_count(records, "operator", "", NULL) > 10);
  assert_int_equal(run_count(records, "result", "", NULL), 0);
  json_decref(records);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(journal_without_folder),
                                     cmocka_unit_test(journal_on_a_full_disk),
                                     cmocka_unit_test(journal_beyond_the_limit),
                                     cmocka_unit_test(worker_is_missing),
                                     cmocka_unit_test(worker_dies_at_once),
                                     cmocka_unit_test(torch_root_is_none),
                                     cmocka_unit_test(torch_root_of_another_version),
                                     cmocka_unit_test(libraries_that_fail),
                                     cmocka_unit_test(samples_are_wrong),
                                     cmocka_unit_test(expected_failures),
                                     cmocka_unit_test(expected_failures_by_glob),
                                     cmocka_unit_test(nothing_is_selected),
                                     cmocka_unit_test(device_is_absent),
                                     cmocka_unit_test(devices_that_exclude_each_other),
                                     cmocka_unit_test(interrupted_in_good_order),
                                     cmocka_unit_test(killed_with_a_readable_journal),
                                     cmocka_unit_test(only_listed)};
  return cmocka_run_group_tests(tests, run_begin, run_end);
}
