/* Libraries that interfere while they load, and a batch in its own process. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "worker_client.h"

static void everything_is_listed(void **state) {
  static const char *const arguments[] = {HOSTILE_OPS, NULL};
  client_t worker;
  int operators = 0;
  (void)state;
  client_start(&worker, arguments);
  json_t *hello = client_until(&worker, "hello");
  assert_int_equal(json_integer_value(json_object_get(hello, "protocol")), OPC_PROTOCOL_VERSION);
  assert_true(strlen(json_string_value(json_object_get(hello, "torch"))) >= 5);
  json_decref(hello);
  json_t *loading = client_until(&worker, "loading");
  assert_string_equal(json_string_value(json_object_get(loading, "library")), HOSTILE_OPS);
  json_decref(loading);
  json_decref(client_until(&worker, "loaded"));
  for (bool ready = false; !ready;) {
    json_t *message = client_until(&worker, NULL);
    assert_non_null(message);
    ready = strcmp(json_string_value(json_object_get(message, "t")), "ready") == 0;
    if (strcmp(json_string_value(json_object_get(message, "t")), "operator") == 0)
      operators += strncmp(json_string_value(json_object_get(message, "name")), "hostile::", 9) == 0;
    json_decref(message);
  }
  assert_int_equal(operators, 30);
  assert_int_equal(client_finish(&worker), 0);
}

/* For an operator defined by one library, with a kernel in another one, in either order. */
static void see_kernels_of_two(const char *const *arguments) {
  client_t worker;
  int told = 0;
  client_start(&worker, arguments);
  for (bool ready = false; !ready;) {
    json_t *message = client_until(&worker, NULL), *kernel;
    assert_non_null(message);
    const char *name = json_string_value(json_object_get(message, "name"));
    ready = strcmp(json_string_value(json_object_get(message, "t")), "ready") == 0;
    if (name && strcmp(name, "hostile::good") == 0) {
      size_t i;
      bool cpu = false, meta = false;
      json_array_foreach(json_object_get(message, "kernels"), i, kernel) {
        cpu |= strcmp(json_string_value(json_object_get(kernel, "key")), "CPU") == 0;
        meta |= strcmp(json_string_value(json_object_get(kernel, "key")), "Meta") == 0;
      }
      assert_true(cpu && meta);
      assert_string_equal(json_string_value(json_object_get(message, "library")), HOSTILE_OPS);
      told++;
    }
    json_decref(message);
  }
  assert_int_equal(told, 1);
  assert_int_equal(client_finish(&worker), 0);
}

static void kernels_of_another_library_are_listed(void **state) {
  static const char *const definition_first[] = {HOSTILE_OPS, KERNELS_ELSEWHERE, NULL}, *const kernel_first[] = {
                                                                                            KERNELS_ELSEWHERE,
                                                                                            HOSTILE_OPS, NULL};
  (void)state;
  see_kernels_of_two(definition_first);
  see_kernels_of_two(kernel_first);
}

static void a_namespace_is_listed_besides(void **state) {
  static const char *const arguments[] = {"--namespace", "aten", "--namespace", "hostile", HOSTILE_OPS, NULL};
  client_t worker;
  client_child_t child;
  int aten = 0, hostile = 0;
  char before[256] = "";
  (void)state;
  client_start(&worker, arguments);
  json_decref(client_until(&worker, "loaded"));
  for (bool ready = false; !ready;) {
    json_t *message = client_until(&worker, NULL);
    const char *name = json_string_value(json_object_get(message, "name"));
    ready = strcmp(json_string_value(json_object_get(message, "t")), "ready") == 0;
    hostile += name && strncmp(name, "hostile::", 9) == 0;
    if (name && strncmp(name, "aten::", 6) == 0 && !json_is_string(json_object_get(message, "library"))) {
      assert_int_equal(hostile, 30); /* those of the library came first, and are not reported again */
      assert_true(strncmp(before, name, strcspn(before, ".")) <= 0);
      snprintf(before, sizeof before, "%s", name);
      aten++;
    }
    json_decref(message);
  }
  assert_int_equal(hostile, 30);
  assert_true(aten > 2000);
  child_fork(&worker, &child, 1, 1024);
  child_send(&child, command_try("aten::relu"));
  json_t *tried = child_next(&child);
  assert_string_equal(json_string_value(json_object_get(tried, "outcome")), "returned");
  json_decref(tried);
  assert_int_equal(child_finish(&worker, &child), 0);
  assert_int_equal(client_finish(&worker), 0);
}

static void an_initialiser_does_not_break_the_worker(void **state) {
  /* Relative to tests/ in the build tree; the first of them changes the working directory. */
  static const char *const arguments[] = {HOSTILE_INIT, "./" HOSTILE_OPS_NAME, NULL};
  client_t worker;
  client_child_t child;
  (void)state;
  unsetenv("OPCHECK_HOSTILE");
  assert_int_equal(chdir(HOSTILE_FOLDER), 0);
  client_start(&worker, arguments);
  json_t *ready = client_until(&worker, "ready");
  assert_non_null(ready);
  json_decref(ready);
  child_fork(&worker, &child, 1, 1024);
  child_send(&child, command_try("hostile_init::good"));
  json_t *tried = child_next(&child);
  assert_string_equal(json_string_value(json_object_get(tried, "outcome")), "returned");
  json_decref(tried);
  child_send(&child, command_try("hostile::segv"));
  assert_null(child_next(&child));
  int status = child_reaped(&worker, &child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  assert_int_equal(child.box->crashed, 1);
  assert_null(strstr(child_output(&child), "printed by an initialiser"));
  child_release(&child);
  assert_int_equal(client_finish(&worker), 0);
}

static void a_throwing_initialiser_is_told(void **state) {
  static const char *const arguments[] = {HOSTILE_INIT, NULL};
  client_t worker;
  (void)state;
  setenv("OPCHECK_HOSTILE", "throw", 1);
  client_start(&worker, arguments);
  unsetenv("OPCHECK_HOSTILE");
  json_t *terminate = client_until(&worker, "terminate");
  assert_non_null(terminate);
  assert_non_null(strstr(json_string_value(json_object_get(terminate, "message")), "thrown by an initialiser"));
  json_decref(terminate);
  int status = client_wait(&worker);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void an_exiting_initialiser_ends_the_channel(void **state) {
  static const char *const arguments[] = {HOSTILE_INIT, NULL};
  client_t worker;
  (void)state;
  setenv("OPCHECK_HOSTILE", "exit", 1);
  client_start(&worker, arguments);
  unsetenv("OPCHECK_HOSTILE");
  json_decref(client_until(&worker, "loading"));
  assert_null(client_until(&worker, "ready"));
  assert_int_equal(client_wait(&worker), 0);
}

static void a_missing_library_is_told_and_the_next_is_loaded(void **state) {
  static const char *const arguments[] = {"/nowhere/libnothing.so", HOSTILE_OPS, NULL};
  client_t worker;
  (void)state;
  client_start(&worker, arguments);
  json_t *failed = client_until(&worker, "load_failed");
  assert_non_null(failed);
  assert_string_equal(json_string_value(json_object_get(failed, "library")), "/nowhere/libnothing.so");
  assert_true(strlen(json_string_value(json_object_get(failed, "message"))) > 0);
  json_decref(failed);
  json_t *ready = client_until(&worker, "ready");
  assert_non_null(ready);
  json_decref(ready);
  assert_int_equal(client_finish(&worker), 0);
}

static void a_batch_in_a_process_of_its_own(void **state) {
  static const char *const arguments[] = {"--mode", "cpu", "--exec-batch", "1024", HOSTILE_OPS, NULL};
  client_child_t child;
  int status = 0;
  (void)state;
  child_exec(&child, arguments);
  json_t *ready = NULL;
  while (!ready) {
    json_t *message = control_next(&child);
    assert_non_null(message);
    if (strcmp(json_string_value(json_object_get(message, "t")), "ready") == 0) ready = json_incref(message);
    json_decref(message);
  }
  json_decref(ready);
  assert_null(control_next(&child));
  child_send(&child, command_try("hostile::good"));
  json_t *tried = child_next(&child);
  assert_non_null(tried);
  assert_string_equal(json_string_value(json_object_get(tried, "outcome")), "returned");
  json_decref(tried);
  child_send(&child, command_try("hostile::segv"));
  assert_null(child_next(&child));
  assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  assert_int_equal(child.box->crashed, 1);
  child_release(&child);

  child_exec(&child, arguments);
  opc_channel_finish(&child.channel);
  assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
  assert_int_equal(status, 0);
  child_release(&child);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_listed),
      cmocka_unit_test(kernels_of_another_library_are_listed),
      cmocka_unit_test(a_namespace_is_listed_besides),
      cmocka_unit_test(an_initialiser_does_not_break_the_worker),
      cmocka_unit_test(a_throwing_initialiser_is_told),
      cmocka_unit_test(an_exiting_initialiser_ends_the_channel),
      cmocka_unit_test(a_missing_library_is_told_and_the_next_is_loaded),
      cmocka_unit_test(a_batch_in_a_process_of_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
