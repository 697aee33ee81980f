#include "recording/program_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "recording/record_folder.h"

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
enum { FORWARDED = sizeof forwarded / sizeof forwarded[0] };

static volatile pid_t program;

/* The terminal's keys send signals to its whole process group, which includes the program. */
static void forward(int number, siginfo_t *info, void *context) {
  (void)context;
  if (info->si_code <= 0 && program > 0) (void)kill(program, number);
}

/* before: of the forwarded signals, and of SIGCHLD. An ignored SIGCHLD would lose the program's status. */
static void forward_signals(struct sigaction before[FORWARDED + 1]) {
  struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART},
                   plain = {.sa_handler = SIG_DFL};
  sigemptyset(&action.sa_mask);
  sigemptyset(&plain.sa_mask);
  sigaction(SIGCHLD, &plain, &before[FORWARDED]);
  for (size_t i = 0; i < FORWARDED; i++)
    if (sigaction(forwarded[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
      sigaction(forwarded[i], &action, NULL);
}

static void restore_signals(const struct sigaction before[FORWARDED + 1]) {
  for (size_t i = 0; i < FORWARDED; i++) sigaction(forwarded[i], &before[i], NULL);
  sigaction(SIGCHLD, &before[FORWARDED], NULL);
}

static _Noreturn void become_program(const opc_program_launch_t *launch, const struct sigaction before[FORWARDED + 1],
                                     const sigset_t *mask, int report) {
  const char *given = getenv("LD_PRELOAD");
  char *preload = given && *given ? opc_string_format("%s:%s", launch->shim, given) : opc_string_copy(launch->shim);
  int failure = ENOMEM;
  restore_signals(before);
  if (!launch->pipe_ignored) signal(SIGPIPE, SIG_DFL);
  if (!launch->limit_ignored) signal(SIGXFSZ, SIG_DFL);
  sigprocmask(SIG_SETMASK, mask, NULL);
  if (preload && setenv("LD_PRELOAD", preload, 1) == 0 && setenv(OPC_RECORD_VARIABLE, launch->folder, 1) == 0) {
    execvp(launch->words[0], launch->words);
    failure = errno;
  }
  ssize_t written = write(report, &failure, sizeof failure);
  _exit(written == sizeof failure ? 127 : 126);
}

opc_status_t opc_program_run(const opc_program_launch_t *launch, int *out_status, opc_error_t *error) {
  struct sigaction before[FORWARDED + 1];
  sigset_t blocked, mask;
  int report[2], failure = 0;
  if (pipe2(report, O_CLOEXEC) != 0)
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot make a pipe: %s", strerror(errno));
  sigemptyset(&blocked);
  for (size_t i = 0; i < FORWARDED; i++) sigaddset(&blocked, forwarded[i]);
  sigprocmask(SIG_BLOCK, &blocked, &mask);
  forward_signals(before);
  pid_t child = fork();
  if (child == 0) become_program(launch, before, &mask, report[1]);
  program = child;
  opc_status_t status =
      child < 0 ? opc_error_set(error, OPC_ERR_SYSTEM, "cannot start a process: %s", strerror(errno)) : OPC_OK;
  sigprocmask(SIG_SETMASK, &mask, NULL);
  close(report[1]);
  if (child > 0) {
    ssize_t got;
    do got = read(report[0], &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    while (waitpid(child, out_status, 0) < 0 && errno == EINTR) continue;
    if (got == sizeof failure)
      status = opc_error_set(error, OPC_ERR_USAGE, "cannot execute %s: %s", launch->words[0], strerror(failure));
  }
  program = 0;
  close(report[0]);
  restore_signals(before);
  return status;
}
