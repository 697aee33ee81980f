/* Guarded memory: the byte behind and the byte before fault, what is left over is watched, and other allocators' pointers are told apart. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory/cpu_memory.h"
#include "memory/guard.h"

static const opc_guard_policy_t behind = {.side = OPC_GUARD_BEHIND, .alignment = 1, .poison = 0x5a};
static const opc_guard_policy_t before = {.side = OPC_GUARD_BEFORE, .alignment = 64, .poison = 0x33};
static const size_t sizes[] = {1, 12, 63, 64, 65, 4095, 4096, 4097, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* The signal that ends a process which touches the byte; 0: none does. */
static int signal_of_touch(volatile unsigned char *byte, bool write) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGSEGV, SIG_DFL); /* cmocka catches it */
    unsigned char seen = *byte;
    if (write) *byte = (unsigned char)(seen + 1);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void the_byte_behind_faults(void **state) {
  (void)state;
  for (size_t i = 0; i < SIZES; i++) {
    unsigned char *data = opc_guard_allocate(sizes[i], &behind);
    assert_non_null(data);
    assert_int_equal(signal_of_touch(data, true), 0);
    assert_int_equal(signal_of_touch(data + sizes[i] - 1, true), 0);
    assert_int_equal(signal_of_touch(data + sizes[i], false), SIGSEGV);
    assert_int_equal(signal_of_touch(data + sizes[i] + OPC_GUARD_SPAN - 1, false), SIGSEGV);
    assert_true(opc_guard_release(data));
  }
}

static void the_byte_before_faults(void **state) {
  (void)state;
  for (size_t i = 0; i < SIZES; i++) {
    unsigned char *data = opc_guard_allocate(sizes[i], &before);
    assert_non_null(data);
    assert_int_equal(signal_of_touch(data + sizes[i] - 1, true), 0);
    assert_int_equal(signal_of_touch(data - 1, false), SIGSEGV);
    assert_int_equal(signal_of_touch(data - OPC_GUARD_SPAN, false), SIGSEGV);
    assert_true(opc_guard_release(data));
  }
}

static void data_and_slack_hold_the_poison(void **state) {
  opc_guard_policy_t policy = behind;
  (void)state;
  for (policy.alignment = 1; policy.alignment <= 64; policy.alignment *= 64) {
    unsigned char *data = opc_guard_allocate(13, &policy);
    assert_non_null(data);
    assert_int_equal((uintptr_t)data % policy.alignment, 0);
    size_t accessible = policy.alignment == 1 ? 13 : 64;
    for (size_t i = 0; i < accessible; i++) assert_int_equal(data[i], policy.poison);
    assert_int_equal(signal_of_touch(data + accessible, false), SIGSEGV);
    assert_true(opc_guard_release(data));
  }
}

static void a_write_to_the_slack_is_counted_once(void **state) {
  (void)state;
  opc_guard_damage_reset();
  unsigned char *first = opc_guard_allocate(100, &before), *second = opc_guard_allocate(100, &behind), *third = opc_guard_allocate(8, &before);
  memset(first, 1, 100);
  memset(second, 1, 100);
  assert_int_equal(opc_guard_damage(), 0);
  first[100] = 1; /* while it lives, and when it ends */
  assert_int_equal(opc_guard_damage(), 1);
  assert_int_equal(opc_guard_damage(), 1);
  second[-1] = 1;
  assert_true(opc_guard_release(second));
  assert_int_equal(opc_guard_damage(), 2);
  opc_guard_damage_reset();
  assert_true(opc_guard_release(first));
  assert_true(opc_guard_release(third));
  assert_int_equal(opc_guard_damage(), 0);
}

static void others_pointers_are_told_apart(void **state) {
  (void)state;
  unsigned char *foreign = malloc(16), *data = opc_guard_allocate(16, &behind);
  assert_false(opc_guard_release(foreign));
  assert_false(opc_guard_release(data + 1));
  assert_false(opc_guard_release(NULL));
  assert_true(opc_guard_release(data));
  assert_false(opc_guard_release(data));
  free(foreign);
}

/* A mapping that is used again is as fresh as a new one. */
static void memory_is_fresh_each_time(void **state) {
  (void)state;
  opc_guard_damage_reset();
  for (int round = 0; round < 200; round++) {
    const opc_guard_policy_t *policy = round % 2 ? &behind : &before;
    unsigned char *data[3];
    for (int i = 0; i < 3; i++) {
      data[i] = opc_guard_allocate(100, policy);
      assert_non_null(data[i]);
      for (int b = 0; b < 100; b++) assert_int_equal(data[i][b], policy->poison);
      memset(data[i], round, 100);
    }
    for (int i = 0; i < 3; i++) assert_true(opc_guard_release(data[i]));
  }
  assert_int_equal(opc_guard_damage(), 0);
}

static void nothing_is_nothing(void **state) {
  (void)state;
  assert_null(opc_guard_allocate(0, &behind));
  assert_null(opc_guard_allocate((size_t)1 << 62, &behind));
  assert_null(opc_guard_allocate(SIZE_MAX, &before));
}

static void memory_of_both_modes_is_released_in_either(void **state) {
  (void)state;
  unsigned char *poisoned = opc_cpu_memory_allocate(40, NULL);
  opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  size_t usual = opc_cpu_memory_align(1);
  unsigned char *guarded = opc_cpu_memory_allocate(40, NULL);
  assert_int_equal(signal_of_touch(guarded + 40, false), SIGSEGV);
  assert_int_equal(opc_cpu_memory_align(usual), 1);
  unsigned char *aligned = opc_cpu_memory_allocate(40, NULL);
  assert_int_equal((uintptr_t)aligned % 64, 0);
  assert_int_equal(signal_of_touch(aligned + 64, false), SIGSEGV);
  opc_cpu_memory_release(aligned, NULL);
  opc_cpu_memory_release(poisoned, NULL);
  opc_cpu_memory_plain();
  opc_cpu_memory_release(guarded, NULL);
  opc_cpu_memory_release(NULL, NULL);
  assert_false(opc_guard_release(guarded));
}

/* Small blocks come from a cache that M_PERTURB never sees, large ones from the system as zeros or from the heap. */
static void fresh_blocks_of_malloc_follow_the_fill(void **state) {
  static const unsigned char fills[] = {0x5a, 0x00, 0xc3};
  static const size_t blocks[] = {24, 200, 1000, 5000};
  (void)state;
  for (size_t f = 0; f < sizeof fills; f++) {
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
      opc_scratch_memory_fill(fills[f]);
      unsigned char *volatile block = malloc(blocks[b]);
      opc_scratch_memory_plain();
      assert_non_null(block);
      for (size_t i = 16; i < blocks[b]; i++) assert_int_equal(block[i], fills[f]); /* malloc's own links stand in the first 16 */
      free(block);
    }
  }
}

static void a_shifted_heap_gives_other_addresses(void **state) {
  (void)state;
  for (size_t size = 8; size < 1000; size += 100) {
    void *first = malloc(size);
    uintptr_t usual = (uintptr_t)first;
    free(first);
    opc_scratch_memory_shift(true);
    void *second = malloc(size);
    assert_true((uintptr_t)second != usual);
    free(second);
    opc_scratch_memory_shift(false);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_byte_behind_faults),
      cmocka_unit_test(the_byte_before_faults),
      cmocka_unit_test(data_and_slack_hold_the_poison),
      cmocka_unit_test(a_write_to_the_slack_is_counted_once),
      cmocka_unit_test(others_pointers_are_told_apart),
      cmocka_unit_test(memory_is_fresh_each_time),
      cmocka_unit_test(nothing_is_nothing),
      cmocka_unit_test(memory_of_both_modes_is_released_in_either),
      cmocka_unit_test(fresh_blocks_of_malloc_follow_the_fill),
      cmocka_unit_test(a_shifted_heap_gives_other_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
