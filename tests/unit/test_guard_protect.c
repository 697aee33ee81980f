/* Read-only arguments, by a protection key if the processor has them and only one thread runs, otherwise by mprotect:
 * what is detected is the same. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory/guard.h"
#include "memory/guard_slot.h"

typedef volatile unsigned char byte_t;
static const opc_guard_policy_t own = {.side = OPC_GUARD_BEHIND, .alignment = 64, .poison = 0x5a};
static const opc_guard_policy_t argument = {
    .side = OPC_GUARD_BEHIND, .alignment = 1, .poison = 0x5a, .to_protect = true};
enum { BYTES = 100 };

static void note_and_go_on(int number, siginfo_t *info, void *context) {
  opc_access_t *access;
  bool write = true;
#if defined(__x86_64__)
  write = (((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
#endif
  if (!opc_guard_fault((uint64_t)(uintptr_t)info->si_addr, write, &access)) signal(number, SIG_DFL);
}

static struct sigaction action_before;

/* Set in the test itself, because cmocka catches SIGSEGV around each test. */
static void begin(void) {
  struct sigaction action = {.sa_sigaction = note_and_go_on, .sa_flags = SA_SIGINFO};
  opc_guard_accesses_reset();
  assert_int_equal(sigaction(SIGSEGV, &action, &action_before), 0);
}

static void end(void) {
  opc_guard_accesses_reset();
  assert_int_equal(sigaction(SIGSEGV, &action_before, NULL), 0);
}

static byte_t *allocate(const opc_guard_policy_t *policy) {
  byte_t *data = opc_guard_allocate(BYTES, policy);
  assert_non_null(data);
  return data;
}

static void release(byte_t *data) { assert_true(opc_guard_release((void *)data)); }
static void protect(byte_t *data, bool read_only) { assert_true(opc_guard_protect((const void *)data, read_only)); }

/* The writes to protected memory so far are the ones to these bytes. */
static void assert_noted(size_t count, byte_t *const *written) {
  const opc_access_t *accesses;
  assert_int_equal(opc_guard_accesses(&accesses), count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(accesses[i].kind, OPC_ACCESS_READ_ONLY);
    assert_true(accesses[i].write);
    assert_int_equal(accesses[i].address, (uint64_t)(uintptr_t)written[i]);
  }
}

/* Whether the system sees the pages as writable. */
static bool is_mapped_writable(byte_t *data) {
  char line[512], mode[5] = "";
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  uintptr_t at = (uintptr_t)data, from, to;
  while (fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 && at >= from && at < to) break;
  fclose(maps);
  return mode[1] == 'w';
}

static void each_is_closed_for_itself(void **state) {
  (void)state;
  begin();
  byte_t *first = allocate(&argument), *second = allocate(&argument), *written = allocate(&argument),
         *plain = allocate(&own);
  protect(first, true);
  protect(second, true);
  protect(plain, true);
  protect(written, false);
  assert_int_equal(is_mapped_writable(first), opc_write_key_present());
  assert_false(is_mapped_writable(plain));
  assert_int_equal(first[3] + second[3] + plain[3], 3 * argument.poison);
  written[0] = 1;
  assert_noted(0, NULL);
  first[3] = 1;
  first[4] = 1; /* it is writable by now */
  second[5] = 1;
  plain[6] = 1;
  assert_noted(3, (byte_t *const[]){first + 3, second + 5, plain + 6});
  protect(first, false);
  protect(second, false);
  protect(plain, false);
  first[7] = second[7] = plain[7] = 1;
  assert_noted(3, (byte_t *const[]){first + 3, second + 5, plain + 6});
  release(first);
  release(second);
  release(plain);
  release(written);
  end();
}

static void closed_again_it_is_seen_again(void **state) {
  (void)state;
  begin();
  byte_t *data = allocate(&argument), *other = allocate(&argument);
  for (int i = 0; i < 5; i++) {
    opc_guard_accesses_reset();
    protect(data, true);
    protect(other, true);
    data[i] = 1;
    assert_noted(1, (byte_t *const[]){data + i});
    protect(data, true); /* although it was writable */
    data[i + 10] = 1;
    assert_noted(2, (byte_t *const[]){data + i, data + i + 10});
    protect(data, false);
    protect(other, false);
  }
  release(data);
  release(other);
  end();
}

static void memory_of_others_stays_open(void **state) {
  (void)state;
  begin();
  byte_t *closed = allocate(&argument),
         *stashed = allocate(&argument); /* for example by an operator that keeps an argument */
  protect(closed, true);
  stashed[0] = 1;
  byte_t *output = allocate(&own), *late = allocate(&argument);
  memset((void *)output, 1, BYTES);
  memset((void *)late, 1, BYTES);
  assert_noted(0, NULL);
  closed[0] = 1;
  assert_noted(1, (byte_t *const[]){closed});
  protect(closed, false);
  release(closed);
  release(stashed);
  release(output);
  release(late);
  end();
}

static void the_system_refuses_to_write_there(void **state) {
  (void)state;
  begin();
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], "x", 1), 1);
  byte_t *data = allocate(&argument);
  protect(data, true);
  assert_int_equal(read(ends[0], (void *)data, 1), -1);
  assert_int_equal(errno, EFAULT);
  protect(data, false);
  assert_int_equal(read(ends[0], (void *)data, 1), 1);
  assert_int_equal(data[0], 'x');
  assert_noted(0, NULL);
  release(data);
  close(ends[0]);
  close(ends[1]);
  end();
}

static void what_ends_while_closed_is_open_for_the_next(void **state) {
  (void)state;
  begin();
  for (int quarantine = 0; quarantine < 2; quarantine++) {
    byte_t *data = allocate(&argument);
    protect(data, true);
    opc_guard_quarantine(quarantine);
    release(data);
    if (quarantine) {
      assert_int_equal(data[1], argument.poison);
      const opc_access_t *accesses;
      assert_int_equal(opc_guard_accesses(&accesses), 1);
      assert_int_equal(accesses[0].kind, OPC_ACCESS_FREED);
    }
    opc_guard_quarantine(false);
    opc_guard_accesses_reset();
    byte_t *next = allocate(&argument);
    memset((void *)next, 1, BYTES);
    assert_noted(0, NULL);
    release(next);
  }
  end();
}

static void a_forked_process_finds_it_closed(void **state) {
  (void)state;
  begin();
  byte_t *data = allocate(&argument);
  protect(data, true);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const opc_access_t *accesses;
    data[0] = 1;
    size_t seen = opc_guard_accesses(&accesses);
    opc_guard_protect((const void *)data, false);
    data[1] = 1;
    _exit(seen == 1 && opc_guard_accesses(&accesses) == 1 ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  protect(data, false);
  release(data);
  end();
}

/* ---- threads: these tests come last, because the process has several threads from then on ---- */

typedef struct writer {
  pthread_t thread;
  sem_t go, done;
  byte_t *at; /* NULL: ends */
} writer_t;

static void *writer_run(void *argument_given) {
  writer_t *writer = argument_given;
  for (;;) {
    sem_wait(&writer->go);
    if (!writer->at) return NULL;
    *writer->at = 1;
    sem_post(&writer->done);
  }
}

static void writer_start(writer_t *writer) {
  sem_init(&writer->go, 0, 0);
  sem_init(&writer->done, 0, 0);
  assert_int_equal(pthread_create(&writer->thread, NULL, writer_run, writer), 0);
}

static void writer_write(writer_t *writer, byte_t *at) {
  writer->at = at;
  sem_post(&writer->go);
  if (at) sem_wait(&writer->done);
  else pthread_join(writer->thread, NULL);
}

static void a_thread_started_meanwhile_is_seen_and_harms_nobody_later(void **state) {
  (void)state;
  begin();
  writer_t writer = {0};
  byte_t *closed = allocate(&argument), *later = allocate(&argument);
  protect(closed, true);
  writer_start(&writer);
  writer_write(&writer, closed + 2);
  assert_noted(1, (byte_t *const[]){closed + 2});
  protect(closed, false);
  writer_write(&writer, later + 3); /* the key is disabled in that thread, and nothing forbids this */
  assert_int_equal(later[3], 1);
  assert_noted(1, (byte_t *const[]){closed + 2});
  writer_write(&writer, NULL);
  release(closed);
  release(later);
  end();
}

static void an_older_thread_is_seen(void **state) {
  (void)state;
  begin();
  writer_t writer = {0};
  writer_start(&writer);
  byte_t *closed = allocate(&argument), *other = allocate(&argument);
  protect(closed, true);
  protect(other, true);
  writer_write(&writer, closed + 2);
  other[4] = 1;
  assert_noted(2, (byte_t *const[]){closed + 2, other + 4});
  protect(closed, false);
  protect(other, false);
  writer_write(&writer, closed + 3);
  assert_noted(2, (byte_t *const[]){closed + 2, other + 4});
  writer_write(&writer, NULL);
  release(closed);
  release(other);
  end();
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_is_closed_for_itself),
      cmocka_unit_test(closed_again_it_is_seen_again),
      cmocka_unit_test(memory_of_others_stays_open),
      cmocka_unit_test(the_system_refuses_to_write_there),
      cmocka_unit_test(what_ends_while_closed_is_open_for_the_next),
      cmocka_unit_test(a_forked_process_finds_it_closed),
      cmocka_unit_test(a_thread_started_meanwhile_is_seen_and_harms_nobody_later),
      cmocka_unit_test(an_older_thread_is_seen),
  };
  /* Once with mprotect only, in a process that has no key left. */
  int status = 0;
  pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    while (pkey_alloc(0, 0) >= 0) continue;
    return cmocka_run_group_tests_name("by mprotect", tests, NULL, NULL);
  }
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  return cmocka_run_group_tests_name(
      opc_write_key_present() ? "by a protection key" : "by mprotect, for there is no key", tests, NULL, NULL);
}
