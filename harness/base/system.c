#include "base/system.h"

#include <features.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Found when the program starts, where glibc has them: a weak symbol has no version. */
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#else
extern char __libc_single_threaded __attribute__((weak));
#endif
#if !__GLIBC_PREREQ(2, 33)
struct mallinfo2 {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
extern struct mallinfo2 mallinfo2(void) __attribute__((weak));
#endif

static const char *const abbreviations[] = {
    [SIGHUP] = "HUP",      [SIGINT] = "INT",     [SIGQUIT] = "QUIT", [SIGILL] = "ILL",   [SIGTRAP] = "TRAP",
    [SIGABRT] = "ABRT",    [SIGBUS] = "BUS",     [SIGFPE] = "FPE",   [SIGKILL] = "KILL", [SIGUSR1] = "USR1",
    [SIGSEGV] = "SEGV",    [SIGUSR2] = "USR2",   [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM",
    [SIGCHLD] = "CHLD",    [SIGCONT] = "CONT",   [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP", [SIGTTIN] = "TTIN",
    [SIGTTOU] = "TTOU",    [SIGURG] = "URG",     [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM",
    [SIGPROF] = "PROF",    [SIGWINCH] = "WINCH", [SIGIO] = "POLL",   [SIGPWR] = "PWR",   [SIGSYS] = "SYS",
    [SIGSTKFLT] = "STKFLT"};

const char *opc_signal_abbreviation(int number) {
  const size_t count = sizeof abbreviations / sizeof *abbreviations;
  return number > 0 && (size_t)number < count ? abbreviations[number] : NULL;
}

/* Without setlocale, strsignal's text is English and constant for the signals of the table. */
const char *opc_signal_description(int number) { return opc_signal_abbreviation(number) ? strsignal(number) : NULL; }

int opc_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0U); }

int opc_pidfd_signal(int pidfd, int number) { return (int)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0U); }

bool opc_single_threaded(void) {
#if __GLIBC_PREREQ(2, 32)
  return __libc_single_threaded != 0;
#else
  return &__libc_single_threaded && __libc_single_threaded != 0;
#endif
}

opc_heap_use_t opc_heap_use(void) {
#if !__GLIBC_PREREQ(2, 33)
  if (!mallinfo2) {
    const struct mallinfo old = mallinfo();
    const size_t large = (unsigned)old.hblkhd;
    return (opc_heap_use_t){.arenas = (unsigned)old.arena + large, .used = (unsigned)old.uordblks + large};
  }
#endif
  const struct mallinfo2 heap = mallinfo2();
  return (opc_heap_use_t){.arenas = heap.arena + heap.hblkhd, .used = heap.uordblks + heap.hblkhd};
}

double opc_clock_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double opc_clock(void) { return opc_clock_of(CLOCK_MONOTONIC); }
