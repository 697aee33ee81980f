/* Guarded memory: the byte after and the byte before fault, the remainder is checked, and pointers of other allocators
 * are recognised. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory/cpu_memory.h"
#include "memory/guard.h"

static const opc_guard_policy_t behind = {.side = OPC_GUARD_BEHIND, .alignment = 1, .poison = 0x5a};
static const opc_guard_policy_t before = {.side = OPC_GUARD_BEFORE, .alignment = 64, .poison = 0x33};
static const size_t sizes[] = {1, 12, 63, 64, 65, 4095, 4096, 4097, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* The signal that ends a process which touches the byte; 0: none. */
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

static size_t access_count(void) {
  const opc_access_t *accesses;
  return opc_guard_accesses(&accesses);
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

static void slack_may_be_the_same_whatever_the_poison(void **state) {
  (void)state;
  opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_cpu_memory_fix_slack(true);
  opc_poison_pattern(0x5a);
  unsigned char *data = opc_cpu_memory_allocate(13, NULL);
  assert_non_null(data);
  for (size_t i = 0; i < 64; i++) assert_int_equal(data[i], i < 13 ? 0x5a : OPC_GUARD_SLACK);
  assert_int_equal(data[-1], OPC_GUARD_SLACK);
  opc_guard_accesses_reset();
  data[14] = 0x5a;
  const opc_access_t *accesses = NULL;
  assert_int_equal(opc_guard_accesses(&accesses), 1);
  assert_true(accesses[0].write);
  opc_cpu_memory_release(data, NULL);
  opc_poison_pattern(0xa5);
  opc_cpu_memory_fix_slack(false);
  opc_cpu_memory_plain();
  opc_guard_accesses_reset();
}

static opc_guard_block_t block_of(const void *address) {
  opc_guard_block_t block = {0};
  assert_true(opc_guard_find(address, &block));
  return block;
}

static void a_write_to_the_slack_is_noted_once(void **state) {
  (void)state;
  opc_guard_accesses_reset();
  unsigned char *first = opc_guard_allocate(100, &before), *second = opc_guard_allocate(100, &behind),
                *third = opc_guard_allocate(8, &before);
  memset(first, 1, 100);
  memset(second, 1, 100);
  assert_int_equal(access_count(), 0);
  first[100] = 1; /* while it lives, and when it ends */
  assert_int_equal(access_count(), 1);
  assert_int_equal(access_count(), 1);
  second[-1] = 1;
  uint64_t number = block_of(second).number;
  assert_true(opc_guard_release(second));
  const opc_access_t *accesses;
  assert_int_equal(opc_guard_accesses(&accesses), 2);
  assert_int_equal(accesses[0].kind, OPC_ACCESS_OUTSIDE);
  assert_int_equal(accesses[0].offset, 100);
  assert_true(accesses[0].block.data == first);
  assert_int_equal(accesses[1].offset, -1);
  assert_int_equal(accesses[1].block.number, number);
  assert_int_equal(accesses[1].frame_count, 0);
  assert_int_equal(access_count(), 2);
  opc_guard_accesses_reset();
  assert_true(opc_guard_release(first));
  assert_true(opc_guard_release(third));
  assert_int_equal(access_count(), 0);
}

/* ---- in a process whose handler records the fault and continues ---- */

static void note_and_go_on(int number, siginfo_t *info, void *context) {
  const ucontext_t *state = context;
  opc_access_t *access;
  bool write = true;
#if defined(__x86_64__)
  write = (state->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)state;
#endif
  if (opc_guard_fault((uint64_t)(uintptr_t)info->si_addr, write, &access)) return;
  signal(number, SIG_DFL);
}

typedef struct handler {
  struct sigaction before;
} handler_t;

static void handler_set(handler_t *handler) {
  struct sigaction action = {.sa_sigaction = note_and_go_on, .sa_flags = SA_SIGINFO};
  assert_int_equal(sigaction(SIGSEGV, &action, &handler->before), 0);
  opc_guard_accesses_reset();
}

static void handler_unset(const handler_t *handler) {
  assert_int_equal(sigaction(SIGSEGV, &handler->before, NULL), 0);
  opc_guard_accesses_reset();
}

static void assert_access(size_t i, opc_access_kind_t kind, bool write, const void *data, int64_t offset) {
  const opc_access_t *accesses;
  assert_true(i < opc_guard_accesses(&accesses));
  assert_int_equal(accesses[i].kind, kind);
  assert_int_equal(accesses[i].write, write);
  assert_true(accesses[i].block.data == data);
  assert_int_equal(accesses[i].offset, offset);
}

static void reads_and_writes_beside_are_noted_and_go_on(void **state) {
  (void)state;
  handler_t handler;
  handler_set(&handler);
  volatile unsigned char *data = opc_guard_allocate(16, &behind);
  assert_int_equal(data[16], behind.poison);
  assert_int_equal(data[17], behind.poison); /* the guard is accessible by now */
  data[20] = 1;
  data[-5000] = 1;
  assert_int_equal(access_count(), 3);
  assert_access(0, OPC_ACCESS_OUTSIDE, false, (const void *)data, 16);
  assert_access(1, OPC_ACCESS_OUTSIDE, true, (const void *)data, 20);
  assert_access(2, OPC_ACCESS_OUTSIDE, true, (const void *)data, -5000);
  opc_guard_accesses_reset();
  assert_int_equal(access_count(), 0);
  assert_int_equal(data[16], behind.poison); /* inaccessible again, and unchanged */
  assert_int_equal(access_count(), 1);
  assert_true(opc_guard_release((void *)data));
  handler_unset(&handler);
}

static void a_write_to_protected_memory_is_noted(void **state) {
  (void)state;
  handler_t handler;
  handler_set(&handler);
  volatile unsigned char *data = opc_guard_allocate(64, &behind);
  data[0] = 7;
  assert_true(opc_guard_protect((const void *)data, true));
  assert_int_equal(data[0], 7);
  assert_int_equal(access_count(), 0);
  data[8] = 7;
  assert_access(0, OPC_ACCESS_READ_ONLY, true, (const void *)data, 8);
  assert_int_equal(data[0], 7);
  assert_true(opc_guard_protect((const void *)data, false));
  data[9] = 7;
  assert_int_equal(access_count(), 1);
  assert_false(opc_guard_protect((const void *)(data + 1), true));
  assert_true(opc_guard_release((void *)data));
  handler_unset(&handler);
}

static void quarantined_memory_is_noted(void **state) {
  (void)state;
  handler_t handler;
  handler_set(&handler);
  opc_guard_quarantine(true);
  volatile unsigned char *data = opc_guard_allocate(64, &behind);
  assert_true(opc_guard_release((void *)data));
  assert_true(block_of((const void *)(data + 3)).freed);
  unsigned char *other = opc_guard_allocate(64, &behind);
  assert_true(other != data);
  assert_int_equal(data[5], behind.poison);
  assert_access(0, OPC_ACCESS_FREED, false, (const void *)data, 5);
  data[6] = 1;
  assert_access(1, OPC_ACCESS_FREED, true, (const void *)data, 6);
  assert_true(opc_guard_release(other));
  opc_guard_quarantine(false);
  opc_guard_block_t block;
  assert_false(opc_guard_find((const void *)data, &block));
  handler_unset(&handler);
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

/* A reused mapping is as fresh as a new one. */
static void memory_is_fresh_each_time(void **state) {
  (void)state;
  opc_guard_accesses_reset();
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
  assert_int_equal(access_count(), 0);
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

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_byte_behind_faults),
      cmocka_unit_test(the_byte_before_faults),
      cmocka_unit_test(data_and_slack_hold_the_poison),
      cmocka_unit_test(slack_may_be_the_same_whatever_the_poison),
      cmocka_unit_test(a_write_to_the_slack_is_noted_once),
      cmocka_unit_test(reads_and_writes_beside_are_noted_and_go_on),
      cmocka_unit_test(a_write_to_protected_memory_is_noted),
      cmocka_unit_test(quarantined_memory_is_noted),
      cmocka_unit_test(others_pointers_are_told_apart),
      cmocka_unit_test(memory_is_fresh_each_time),
      cmocka_unit_test(nothing_is_nothing),
      cmocka_unit_test(memory_of_both_modes_is_released_in_either),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
