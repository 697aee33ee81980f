/* Counts what the process holds; detects, reports and restores changes of its state. */
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process_state.h"

static opc_process_use_t use_now(void) {
  opc_process_use_t use;
  opc_error_t error;
  assert_int_equal(opc_process_use_read(&use, &error), OPC_OK);
  return use;
}

static void *wait_for_unlock(void *lock) {
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
  return NULL;
}

static void what_is_held_is_counted(void **state) {
  enum { BYTES = 100000, PAGES = 1 << 20 };
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_t thread;
  (void)state;
  (void)use_now();
  opc_process_use_t before = use_now(), again = use_now();
  assert_memory_equal(&before, &again, sizeof before);

  void *volatile allocated = malloc(BYTES);
  void *mapped = mmap(NULL, PAGES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int file = open("/dev/null", O_RDONLY);
  opc_process_use_t held = use_now();
  assert_true(held.allocated_bytes >= before.allocated_bytes + BYTES &&
              held.allocated_bytes < before.allocated_bytes + 2 * BYTES);
  /* another allocator (AddressSanitizer's) creates mappings of its own for the allocation above */
  assert_in_range(held.mapped_bytes, before.mapped_bytes + PAGES / 2, before.mapped_bytes + 2 * PAGES);
  assert_int_equal(held.descriptors, before.descriptors + 1);
  assert_int_equal(held.threads, before.threads);
  pthread_mutex_lock(&lock);
  assert_int_equal(pthread_create(&thread, NULL, wait_for_unlock, &lock), 0);
  assert_int_equal(use_now().threads, before.threads + 1);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);

  free(allocated);
  munmap(mapped, PAGES);
  close(file);
  opc_process_use_t after = use_now();
  assert_true(after.allocated_bytes < before.allocated_bytes + BYTES);
  assert_int_equal(after.descriptors, before.descriptors);
}

/* Reports what differs from the stored state, restores it, and verifies that nothing differs any more. */
static void expect_found(opc_process_part_t part, const char *words) {
  const opc_process_state_t *kept = opc_process_state_keep();
  opc_text_t texts[OPC_PROCESS_PARTS] = {0};
  opc_text_t *const out[OPC_PROCESS_PARTS] = {&texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &texts[5]};
  opc_process_state_t now;
  opc_process_state_read(&now);
  opc_process_state_compare(kept, &now, out);
  for (int i = 0; i < OPC_PROCESS_PARTS; i++) {
    assert_string_equal(opc_text_c(&texts[i]), (opc_process_part_t)i == part ? words : "");
    opc_text_clear(&texts[i]);
  }
  opc_process_state_restore(&now);
  opc_process_state_read(&now);
  opc_process_state_compare(kept, &now, out);
  for (int i = 0; i < OPC_PROCESS_PARTS; i++) assert_string_equal(opc_text_c(&texts[i]), "");
}

static void what_is_changed_is_found_and_put_back(void **state) {
  char words[64];
  (void)state;
  assert_int_equal(setenv("OPC_TEST_KEPT", "1", 1), 0);
  expect_found(OPC_PROCESS_PARTS, ""); /* the first look stores the state */

  mode_t mask = opc_process_state_keep()->umask;
  umask(mask ^ 0001);
  snprintf(words, sizeof words, "the umask was %03o and is %03o", (unsigned)mask, (unsigned)mask ^ 0001);
  expect_found(OPC_PROCESS_SURROUNDINGS, words);
  assert_int_equal(chdir("/"), 0);
  expect_found(OPC_PROCESS_SURROUNDINGS, "the working directory is /");
  setenv("OPC_TEST_KEPT", "2", 1);
  expect_found(OPC_PROCESS_SURROUNDINGS, "the environment variable OPC_TEST_KEPT has another value");
  unsetenv("OPC_TEST_KEPT");
  expect_found(OPC_PROCESS_SURROUNDINGS, "the environment variable OPC_TEST_KEPT was set and is not set");
  assert_string_equal(getenv("OPC_TEST_KEPT"), "1");
  setenv("OPC_TEST_NEW", "", 1);
  expect_found(OPC_PROCESS_SURROUNDINGS, "the environment variable OPC_TEST_NEW was not set and is set");
  assert_null(getenv("OPC_TEST_NEW"));
  signal(SIGUSR1, SIG_IGN);
  expect_found(OPC_PROCESS_SURROUNDINGS, "SIGUSR1 is ignored");
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &usr2, NULL);
  expect_found(OPC_PROCESS_SURROUNDINGS, "SIGUSR2 is blocked");
  close(STDIN_FILENO);
  expect_found(OPC_PROCESS_STREAMS, "standard input is closed");
  int other = open("/dev/zero", O_RDONLY);
  dup2(other, STDIN_FILENO);
  close(other);
  expect_found(OPC_PROCESS_STREAMS, "standard input is another file");
}

static void what_is_forgotten_is_read_again(void **state) {
  (void)state;
  const mode_t mask = opc_process_state_keep()->umask;
  umask(mask ^ 0002);
  setenv("OPC_TEST_LOADED", "1", 1);
  opc_process_state_forget();
  expect_found(OPC_PROCESS_PARTS, ""); /* stores the state that was changed */
  unsetenv("OPC_TEST_LOADED");
  setenv("OPC_TEST_KEPT", "2", 1);
  expect_found(OPC_PROCESS_SURROUNDINGS,
               "the environment variable OPC_TEST_KEPT has another value, the environment variable OPC_TEST_LOADED was "
               "set and is not set");
  assert_int_equal(opc_process_state_keep()->umask, mask ^ 0002);
}

/* torch writes down where compiled code is, whoever imports it first. */
static void notes_of_runtimes_are_no_change(void **state) {
  (void)state;
  (void)opc_process_state_keep();
  setenv("TORCHINDUCTOR_CACHE_DIR", "/tmp/of_this_test", 1);
  expect_found(OPC_PROCESS_PARTS, "");
  setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1", 1);
  expect_found(OPC_PROCESS_SURROUNDINGS, "the environment variable TORCHINDUCTOR_MAX_AUTOTUNE was not set and is set");
}

/* If the signal has no handler, other flags of the same action are no change: signal() sets SA_RESTART. */
static void what_means_the_same_is_no_change(void **state) {
  (void)state;
  signal(SIGUSR1, SIG_IGN);
  signal(SIGUSR1, SIG_DFL);
  feraiseexcept(FE_DIVBYZERO | FE_INEXACT);
  char *value = strdup(getenv("OPC_TEST_KEPT"));
  unsetenv("OPC_TEST_KEPT"); /* it moves to the end of the list */
  setenv("OPC_TEST_KEPT", value, 1);
  free(value);
  expect_found(OPC_PROCESS_PARTS, "");
}

static void floating_point_is_found_and_put_back(void **state) {
  (void)state;
#if defined(__x86_64__) || defined(__aarch64__)
  fesetround(FE_UPWARD);
  expect_found(OPC_PROCESS_FLOATING_POINT, "rounding was to nearest and is up");
  assert_int_equal(fegetround(), FE_TONEAREST);
  fesetround(FE_DOWNWARD);
  expect_found(OPC_PROCESS_FLOATING_POINT, "rounding was to nearest and is down");
  fesetround(FE_TOWARDZERO);
  expect_found(OPC_PROCESS_FLOATING_POINT, "rounding was to nearest and is toward zero");

  volatile double tiny = 1e-308;
  opc_fp_control_t before = opc_fp_control_read();
  opc_fp_control_write(opc_fp_control_flushing(before));
  assert_true(tiny / 16 == 0.0);
  opc_fp_control_write(before);
  assert_true(tiny / 16 != 0.0);
#endif
#if defined(__x86_64__)
  opc_fp_control_write(opc_fp_control_flushing(before));
  expect_found(
      OPC_PROCESS_FLOATING_POINT,
      "flushing of denormal results to zero was off and is on, taking denormal inputs for zero was off and is on");
  feenableexcept(FE_INVALID);
  expect_found(OPC_PROCESS_FLOATING_POINT, "other floating-point exceptions trap than before");
#endif
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_held_is_counted),          cmocka_unit_test(what_is_changed_is_found_and_put_back),
      cmocka_unit_test(what_means_the_same_is_no_change), cmocka_unit_test(floating_point_is_found_and_put_back),
      cmocka_unit_test(notes_of_runtimes_are_no_change),  cmocka_unit_test(what_is_forgotten_is_read_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
