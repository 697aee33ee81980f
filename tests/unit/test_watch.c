/* Which batch children are killed at a case's time limit: those that used the processor, or waited; not those that a
 * busy machine kept from running, nor those that wait for a compiler. */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "supervise/process/batch_child.h"
#include "unit.h"

static const double case_seconds = 0.2;
static pid_t hog;

static void spin(void) {
  for (volatile unsigned turns = 0;; turns++) {
  }
}

/* On the hog's processor: a process of idle priority that spins there hardly runs. */
static void share_processor(void) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &allowed)) CPU_SET(i, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static pid_t fork_until_parent_ends(void) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return pid;
}

static void spin_starved(void) {
  share_processor();
  sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
  spin();
}

static void wait_for(void (*forked)(void)) {
  pid_t pid = fork_until_parent_ends();
  if (pid == 0) forked();
  waitpid(pid, NULL, 0);
}

static void sleep_long(void) { sleep(60); }
static void wait_for_starved(void) { wait_for(spin_starved); }
static void wait_for_sleeping(void) { wait_for(sleep_long); }

/* The shell forks too, as `make` does for a compiler. */
static void execute(const char *script) {
  execl("/bin/sh", "sh", "-c", script, (char *)NULL);
  _exit(127);
}

static void compile(void) { execute("timeout 2 sh -c 'while :; do :; done'; true"); }
static void run_idle_program(void) {
  execl("/bin/sleep", "sleep", "60", (char *)NULL);
  _exit(127);
}
static void wait_for_compiler(void) { wait_for(compile); }
static void wait_for_idle_program(void) { wait_for(run_idle_program); }

/* Whether a child that does this is killed within so many times the case's time limit. */
static bool is_killed_within(double times, void (*work)(void)) {
  opc_child_t *child = NULL;
  opc_error_t error = {0};
  assert_ok(opc_child_open(1, NULL, &child, &error), error);
  pid_t pid = fork_until_parent_ends();
  if (pid == 0) {
    setpgid(0, 0);
    work();
    _exit(0);
  }
  opc_child_started(child, pid, opc_pidfd_open(pid), true);
  child->crash_record->running = 1;
  child->crash_record->started_ns = (int64_t)(opc_clock() * 1e9);
  child->crash_record->sequence = 1;
  double begun = opc_clock();
  while (!child->killed && opc_clock() < begun + times * case_seconds) {
    double rest = opc_child_watch(child, case_seconds);
    usleep(rest < case_seconds / 4 ? (useconds_t)(rest * 1e6) + 1000 : 50000);
  }
  bool killed = child->killed && child->cause == OPC_END_TIMEOUT;
  opc_child_close(child);
  return killed;
}

static bool is_killed(void (*work)(void)) { return is_killed_within(3, work); }

static void who_waits_is_killed(void **state) {
  (void)state;
  assert_true(is_killed(sleep_long));
  assert_true(is_killed(wait_for_sleeping));
  assert_true(is_killed_within(25, wait_for_idle_program)); /* it works while it starts */
}

static void who_cannot_run_is_spared(void **state) {
  (void)state;
  assert_false(is_killed(spin_starved));
  assert_false(is_killed(wait_for_starved));
}

static void who_waits_for_a_compiler_is_spared(void **state) {
  (void)state;
  assert_false(is_killed(wait_for_compiler));
}

static int start_hog(void **state) {
  (void)state;
  hog = fork_until_parent_ends();
  if (hog == 0) {
    share_processor();
    spin();
  }
  return 0;
}

static int end_hog(void **state) {
  (void)state;
  kill(hog, SIGKILL);
  return waitpid(hog, NULL, 0) == hog ? 0 : -1;
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(who_waits_is_killed),
                                            cmocka_unit_test(who_cannot_run_is_spared),
                                            cmocka_unit_test(who_waits_for_a_compiler_is_spared)};
  return cmocka_run_group_tests(tests, start_hog, end_hog);
}
