/* A trap reports the first access, read or write, at its instruction, then opens; a thread that accesses the closed
 * page meanwhile waits. The other trap reports the first write, and lets reads through. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "memory/trap.h"

enum { PAGE = 4096 };
static unsigned char *pages; /* two of them */
static atomic_int touches, lost;
static atomic_uchar seen, seen_while_held; /* of the page, by another thread */

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  if (opc_trap_fault((uint64_t)(uintptr_t)info->si_addr)) return;
  lost++;
  (void)mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE);
  signal(number, SIG_DFL);
}

static int set_up(void **state) {
  (void)state;
  void *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  pages = memory;
  return 0;
}

/* Inside a test, because cmocka sets a handler of its own before each. */
static void reset(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  opc_trap_disarm();
  touches = lost = 0;
  memset(pages, 7, 2 * PAGE);
  assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
}

static void count(void) { touches++; }

static void touch_read(void) { assert_int_equal(*(volatile unsigned char *)(pages + 10), 7); }
static void touch_write(void) { *(volatile unsigned char *)(pages + PAGE - 1) = 8; }

static void the_first_touch_is_told_and_goes_on(void **state) {
  (void)state;
  reset();
  assert_true(opc_trap_arm(pages, PAGE, count));
  touch_read();
  assert_int_equal(touches, 1);
  touch_read();
  touch_write();
  assert_int_equal(touches, 1);
  assert_true(opc_trap_arm(pages, PAGE, count));
  touch_write();
  assert_int_equal(touches, 2);
  assert_int_equal(pages[PAGE - 1], 8);
  assert_int_equal(lost, 0);
}

static void what_is_not_touched_is_opened(void **state) {
  (void)state;
  reset();
  assert_true(opc_trap_arm(pages, PAGE, count));
  *(volatile unsigned char *)(pages + PAGE) = 1; /* the adjacent page */
  opc_trap_disarm();
  touch_read();
  assert_int_equal(touches, 0);
  assert_int_equal(lost, 0);
}

static void other_addresses_are_no_business_of_it(void **state) {
  (void)state;
  reset();
  assert_true(opc_trap_arm(pages, PAGE, count));
  assert_false(opc_trap_fault((uint64_t)(uintptr_t)pages + PAGE));
  assert_false(opc_trap_fault((uint64_t)(uintptr_t)pages - 1));
  opc_trap_disarm();
  /* Later faults there are somebody else's bug, after those that may be delayed have arrived. */
  int late = 0;
  while (late < 1000 && opc_trap_fault((uint64_t)(uintptr_t)pages)) late++;
  assert_in_range(late, 1, 100);
  assert_int_equal(touches, 0);
}

static atomic_bool second_may_go;

static void *read_page(void *unused) {
  (void)unused;
  while (!second_may_go) sched_yield();
  seen = *(volatile unsigned char *)pages;
  return NULL;
}

static void hold(void) {
  const struct timespec little = {.tv_nsec = 2 * 1000 * 1000};
  touches++;
  second_may_go = true;
  (void)nanosleep(&little, NULL);
  seen_while_held = seen;
}

static void another_thread_waits_until_it_is_open(void **state) {
  (void)state;
  reset();
  pthread_t second;
  seen = 0;
  assert_int_equal(pthread_create(&second, NULL, read_page, NULL), 0);
  assert_true(opc_trap_arm(pages, PAGE, hold));
  touch_write();
  assert_int_equal(pthread_join(second, NULL), 0);
  assert_int_equal(seen_while_held, 0);
  assert_int_equal(seen, 7);
  assert_int_equal(touches, 1);
  assert_int_equal(lost, 0);
}

static void write_second(void) { *(volatile unsigned char *)(pages + PAGE + 5) = 9; }
static int read_second(void) { return *(volatile unsigned char *)(pages + PAGE + 5); }

static void the_first_write_is_told_and_reads_are_not(void **state) {
  (void)state;
  reset();
  const opc_trap_pages_t second = {.start = pages + PAGE, .bytes = PAGE};
  opc_trap_arm_writes(&second, 1, count);
  assert_int_equal(read_second(), 7);
  assert_int_equal(touches, 0);
  write_second();
  write_second();
  assert_int_equal(touches, 1);
  assert_int_equal(read_second(), 9);
  opc_trap_arm_writes(&second, 1, count);
  opc_trap_disarm();
  write_second();
  assert_int_equal(touches, 1);
  assert_int_equal(lost, 0);
}

/* As a thread does that adds to memory which all threads share. */
static atomic_int added;

static void *add_five(void *unused) {
  (void)unused;
  *(volatile unsigned char *)(pages + PAGE + 5) += 5;
  added++;
  return NULL;
}

static void others_write_while_one_is_held(void) {
  pthread_t other;
  touches++;
  assert_int_equal(pthread_create(&other, NULL, add_five, NULL), 0);
  assert_int_equal(pthread_join(other, NULL), 0);
}

static void await_write(void) {
  const opc_trap_pages_t second = {.start = pages + PAGE, .bytes = PAGE};
  opc_trap_arm_writes(&second, 1, others_write_while_one_is_held);
}

static void an_update_is_lost_while_its_writer_is_held(void **state) {
  (void)state;
  reset();
  added = 0;
  assert_true(opc_trap_arm(pages, PAGE, await_write));
  touch_read();
  const int before = read_second();
  *(volatile unsigned char *)(pages + PAGE + 5) = (unsigned char)(before + 1);
  opc_trap_disarm();
  assert_int_equal(touches, 1);
  assert_int_equal(added, 1);
  assert_int_equal(read_second(), 8); /* 7 + 1: the 5 are lost */
  assert_int_equal(lost, 0);
}

static void await_write_there(void) {
  const opc_trap_pages_t both[] = {{.start = pages, .bytes = PAGE}, {.start = pages + PAGE, .bytes = PAGE}};
  opc_trap_arm_writes(both, 2, count);
}

/* As in an operator that changes its argument: it reads the page first, or writes it at once. */
static void a_page_may_be_in_both(void **state) {
  (void)state;
  for (int reads_first = 0; reads_first < 2; reads_first++) {
    reset();
    assert_true(opc_trap_arm(pages, PAGE, await_write_there));
    if (reads_first) touch_read();
    assert_int_equal(touches, 0);
    touch_write();
    assert_int_equal(touches, 1);
    write_second();
    touch_write();
    opc_trap_disarm();
    assert_int_equal(touches, 1);
    assert_int_equal(pages[PAGE - 1], 8);
    assert_int_equal(lost, 0);
  }
}

static void memory_that_is_gone_is_refused(void **state) {
  (void)state;
  reset();
  void *gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(gone, MAP_FAILED);
  munmap(gone, PAGE);
  assert_false(opc_trap_arm(gone, PAGE, count));
  opc_trap_disarm();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_touch_is_told_and_goes_on),
      cmocka_unit_test(what_is_not_touched_is_opened),
      cmocka_unit_test(other_addresses_are_no_business_of_it),
      cmocka_unit_test(another_thread_waits_until_it_is_open),
      cmocka_unit_test(the_first_write_is_told_and_reads_are_not),
      cmocka_unit_test(an_update_is_lost_while_its_writer_is_held),
      cmocka_unit_test(a_page_may_be_in_both),
      cmocka_unit_test(memory_that_is_gone_is_refused),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
