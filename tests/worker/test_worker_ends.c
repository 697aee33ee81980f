/* Every way to end a child, and what is known afterwards. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/case/case.h"
#include "worker_client.h"

static client_t worker;

static int start(void **state) {
  static const char *const arguments[] = {HOSTILE_OPS, NULL};
  (void)state;
  client_start(&worker, arguments);
  json_t *ready = client_until(&worker, "ready");
  if (!ready) return -1;
  assert_int_equal(json_integer_value(json_object_get(ready, "threads")), 1);
  assert_true(json_is_false(json_object_get(ready, "cuda_initialised")));
  json_decref(ready);
  return 0;
}

static int stop(void **state) {
  (void)state;
  assert_int_equal(client_finish(&worker), 0);
  return 0;
}

static json_t *only(const char *operator_name, const char *check) {
  char id[256];
  snprintf(id, sizeof id, "%s/%s/cpu/-/s/plain", operator_name, check);
  return json_pack("{s:s}", "only", id);
}

/* Runs the operator's unmodified case of the device check; true if a result arrived. */
static bool run_plain(client_child_t *child, int id, int memory_mib, const char *operator_name) {
  child_fork(&worker, child, id, memory_mib);
  child_send(child, command_cases(operator_name, "file", only(operator_name, "device")));
  json_t *message = child_next(child);
  if (message) assert_string_equal(json_string_value(json_object_get(message, "t")), "result");
  json_decref(message);
  return message != NULL;
}

static void ends_are_told(void **state) {
  static const struct {
    const char *operator_name;
    int signal; /* 0: exit code 0 */
    const char *terminate;
  } ends[] = {{"hostile::segv", SIGSEGV, ""},
              {"hostile::null_function", SIGSEGV, ""},
              {"hostile::aborts", SIGABRT, ""},
              {"hostile::exits", 0, ""},
              {"hostile::divides", SIGFPE, ""},
              {"hostile::recurses", SIGSEGV, ""},
              {"hostile::terminates", SIGABRT, "out of a noexcept function"}};
  (void)state;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    client_child_t child;
    assert_false(run_plain(&child, (int)i, 1024, ends[i].operator_name));
    int status = child_reaped(&worker, &child);
    if (ends[i].signal) {
      assert_true(WIFSIGNALED(status));
      assert_int_equal(WTERMSIG(status), ends[i].signal);
    } else {
      assert_int_equal(status, 0);
    }
    assert_int_equal(child.box->running, 1);
    assert_int_equal(child.box->crashed, 1);
    assert_int_equal(child.box->signal, ends[i].signal);
    assert_true(child.box->frame_count > 3);
    assert_non_null(strstr(child.box->case_id, ends[i].operator_name));
    assert_int_equal(child.box->call_kind, OPC_CALL_KIND_OPERATOR);
    assert_non_null(strstr(child.box->terminate_text, ends[i].terminate));
    if (strcmp(ends[i].operator_name, "hostile::segv") == 0) {
      assert_int_equal(child.box->address, 0x10);
      assert_int_equal(child.box->frames[0], child.box->program_counter);
    }
    child_release(&child);
  }
}

static void foreign_exception_is_an_error(void **state) {
  client_child_t child;
  (void)state;
  child_fork(&worker, &child, 1, 1024);
  child_send(&child, command_cases("hostile::throws_int", "file", only("hostile::throws_int", "device")));
  json_t *result = child_next(&child);
  assert_non_null(result);
  assert_string_equal(json_string_value(json_object_get(result, "verdict")), "error");
  assert_string_equal(json_string_value(json_object_get(result, "rule")), "foreign_exception");
  json_decref(result);
  assert_int_equal(child_finish(&worker, &child), 0);
}

static void memory_is_limited(void **state) {
  client_child_t child;
  (void)state;
  child_fork(&worker, &child, 2, 512);
  child_send(&child, command_try("hostile::hogs"));
  json_t *tried = child_next(&child);
  assert_non_null(tried);
  assert_string_equal(json_string_value(json_object_get(tried, "outcome")), "out_of_memory");
  json_decref(tried);
  assert_int_equal(child_finish(&worker, &child), 0);
}

/* Although the values read do not matter. */
static void a_try_that_leaves_its_arguments_is_unclean(void **state) {
  static const char *const names[] = {"hostile::reads_behind", "hostile::reads_before"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    client_child_t child;
    child_fork(&worker, &child, 4 + i, 1024);
    child_send(&child, command_try(names[i]));
    json_t *tried = child_next(&child);
    assert_non_null(tried);
    assert_string_equal(json_string_value(json_object_get(tried, "outcome")), "unclean");
    assert_string_equal(json_string_value(json_object_get(tried, "message")),
                        "with these arguments it reads outside its tensors' memory");
    json_decref(tried);
    assert_int_equal(child_finish(&worker, &child), 0);
  }
}

static void a_hanging_child_can_be_killed(void **state) {
  client_child_t child;
  (void)state;
  child_fork(&worker, &child, 3, 1024);
  child_send(&child, command_try("hostile::hangs"));
  for (int i = 0; i < 1000 && !child.box->running; i++) usleep(10000);
  assert_int_equal(child.box->running, 1);
  assert_true(child.box->started_ns > 0);
  kill(child.pid, SIGKILL);
  assert_int_equal(WTERMSIG(child_reaped(&worker, &child)), SIGKILL);
  child_release(&child);
}

static void output_is_kept(void **state) {
  client_child_t child;
  (void)state;
  assert_false(run_plain(&child, 4, 1024, "hostile::prints"));
  assert_int_equal(WTERMSIG(child_reaped(&worker, &child)), SIGABRT);
  assert_non_null(strstr(child_output(&child), "told on stderr"));
  child_release(&child);
}

/* A crash of a process forked by the operator is not the operator's crash, and must not appear in its record. */
static void forked_processes_are_not_the_child(void **state) {
  client_child_t child;
  (void)state;
  assert_true(run_plain(&child, 5, 1024, "hostile::forks_crash"));
  assert_int_equal(child.box->crashed, 0);
  assert_int_equal(child_finish(&worker, &child), 0);
}

static void nothing_outlives_the_child(void **state) {
  client_child_t child;
  (void)state;
  assert_true(run_plain(&child, 6, 1024, "hostile::forks_sleeper"));
  pid_t group = child.pid;
  assert_int_equal(child_finish(&worker, &child), 0);
  for (int i = 0; i < 500 && kill(-group, 0) == 0; i++)
    usleep(10000); /* a killed process exists until init has reaped it */
  assert_int_not_equal(kill(-group, 0), 0);
}

static void files_do_not_stay(void **state) {
  char link[64], directory[4096];
  client_child_t child;
  struct stat status;
  (void)state;
  assert_true(run_plain(&child, 7, 1024, "hostile::writes_file"));
  snprintf(link, sizeof link, "/proc/%d/cwd", (int)child.pid);
  ssize_t length = readlink(link, directory, sizeof directory - 1);
  assert_true(length > 0);
  directory[length] = '\0';
  assert_int_equal(stat(directory, &status), 0);
  assert_int_equal(child_finish(&worker, &child), 0);
  assert_int_not_equal(stat(directory, &status), 0);
}

static void a_closed_channel_ends_the_child(void **state) {
  client_child_t child;
  (void)state;
  child_fork(&worker, &child, 8, 1024);
  child_send(&child,
             command_cases("hostile::closes_all", "file", json_pack("{s:[s, s]}", "checks", "alias", "mutation")));
  assert_null(child_next(&child));
  assert_int_equal(WEXITSTATUS(child_reaped(&worker, &child)), 125);
  /* The first case caused it, and no other has run since. */
  assert_int_equal(child.box->running, 1);
  assert_non_null(strstr(child.box->case_id, "/alias/cpu/-/s/plain"));
  assert_non_null(strstr(child.box->terminate_text, "cannot send"));
  child_release(&child);
}

static void a_child_without_a_black_box_says_so(void **state) {
  client_child_t child;
  opc_error_t error;
  (void)state;
  json_t *command = json_pack("{s:s, s:i, s:i}", "t", "fork", "child", 9, "memory_mib", 64);
  assert_int_equal(opc_channel_send(&worker.control, command, NULL, 0, &error), OPC_OK);
  json_decref(command);
  json_t *failed = client_until(&worker, "fork_failed");
  assert_int_equal(json_integer_value(json_object_get(failed, "child")), 9);
  json_decref(failed);
  /* And the worker continues. */
  assert_true(run_plain(&child, 10, 1024, "hostile::good"));
  assert_int_equal(child_finish(&worker, &child), 0);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_are_told),
      cmocka_unit_test(foreign_exception_is_an_error),
      cmocka_unit_test(memory_is_limited),
      cmocka_unit_test(a_try_that_leaves_its_arguments_is_unclean),
      cmocka_unit_test(a_hanging_child_can_be_killed),
      cmocka_unit_test(output_is_kept),
      cmocka_unit_test(forked_processes_are_not_the_child),
      cmocka_unit_test(nothing_outlives_the_child),
      cmocka_unit_test(files_do_not_stay),
      cmocka_unit_test(a_closed_channel_ends_the_child),
      cmocka_unit_test(a_child_without_a_black_box_says_so),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
