#include "worker/process/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"

enum { TRY_MS = 10000 };

typedef enum entered {
  ENTERED = 0,
  ENTERED_NOT,        /* privileges cannot be given up, or Landlock does not work */
  ENTERED_NO_REPORTS, /* all but the filter */
  ENTERED_UNANSWERED  /* calls that are reported fail */
} entered_t;

static struct {
  int ruleset, warden;
  struct sock_fprog filter;
  opc_text_t missing;
} confine = {.ruleset = -1, .warden = -1};

static int high(int fd) {
  const int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, OPC_OWN_FD_AT_LEAST) : -1;
  if (fd >= 0) close(fd);
  return moved;
}

static void miss(const char *what) {
  opc_text_addf(&confine.missing, "%s%s", confine.missing.length > 0 ? "; " : "", what);
}

static bool warden_is_there(void) {
  struct pollfd gone = {.fd = confine.warden};
  return confine.warden >= 0 && TEMP_FAILURE_RETRY(poll(&gone, 1, 0)) == 0;
}

static entered_t enter(int crash_record) {
  prctl(PR_SET_CHILD_SUBREAPER, 1); /* it adopts the daemons that an operator starts */
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* the warden reads the arguments of calls */
#endif
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ENTERED_NOT;
  if (confine.ruleset >= 0 && !opc_landlock_enter(confine.ruleset)) return ENTERED_NOT;
  if (!warden_is_there()) return ENTERED_NO_REPORTS;
  OPC_SCOPED(opc_scope_close) int reports = opc_filter_enter(&confine.filter);
  if (reports < 0) return ENTERED_NO_REPORTS;
  return opc_warden_send(confine.warden, reports, crash_record) ? ENTERED : ENTERED_UNANSWERED;
}

/* In a process of its own, because there is no way back. */
static entered_t confine_try(void) {
  OPC_SCOPED(opc_scope_close) int record = memfd_create("opcheck-try", MFD_CLOEXEC);
  if (record < 0 || ftruncate(record, OPC_CRASH_RECORD_SIZE) != 0) return ENTERED_UNANSWERED;
  const pid_t pid = fork();
  if (pid == 0) {
    const entered_t entered = enter(record);
    const bool answered = entered != ENTERED || TEMP_FAILURE_RETRY(open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0;
    _exit(answered ? (int)entered : ENTERED_UNANSWERED);
  }
  int status = 0;
  OPC_SCOPED(opc_scope_close) int pidfd = pid > 0 ? opc_pidfd_open(pid) : -1;
  struct pollfd ended = {.fd = pidfd, .events = POLLIN};
  const bool in_time = pidfd >= 0 && TEMP_FAILURE_RETRY(poll(&ended, 1, TRY_MS)) > 0;
  if (pid > 0 && !in_time) kill(pid, SIGKILL);
  if (pid < 0 || TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) != pid || !in_time || !WIFEXITED(status))
    return ENTERED_UNANSWERED;
  return (entered_t)WEXITSTATUS(status);
}

static void give_up(int *fd, const char *why) {
  if (*fd < 0) return;
  close(*fd);
  *fd = -1;
  miss(why);
}

void opc_confine_open(const opc_loading_t *loading, double since) {
  const char *why = NULL;
  opc_places_find(loading);
  confine.ruleset = high(opc_landlock_open());
  if (confine.ruleset < 0) miss("this kernel cannot refuse access to files (Landlock, Linux 5.13)");
  const bool filtered = opc_filter_make(&confine.filter, &why);
  if (filtered) confine.warden = high(opc_warden_start(since));
  if (confine.warden < 0) miss(filtered ? strerror(errno) : why);
  /* A container may forbid what the kernel has. */
  while (confine.ruleset >= 0 || confine.warden >= 0) {
    const entered_t entered = confine_try();
    if (entered == ENTERED || (entered == ENTERED_NO_REPORTS && confine.warden < 0)) break;
    if (entered == ENTERED_NOT && confine.ruleset >= 0)
      give_up(&confine.ruleset, "access to files cannot be refused here (Landlock)");
    else
      give_up(confine.warden >= 0 ? &confine.warden : &confine.ruleset,
              "system calls cannot be reported here (seccomp)");
  }
  /* What children leave behind becomes this process's child: opc_strays_kill. */
  if (confine.warden >= 0) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

const char *opc_confine_missing(void) { return opc_text_c(&confine.missing); }

opc_status_t opc_confine_enter(int crash_record, opc_error_t *error) {
  if (confine.ruleset < 0 && confine.warden < 0) return OPC_OK;
  const entered_t entered = enter(crash_record);
  if (entered == ENTERED_NOT)
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot enter the sandbox: %s", strerror(errno));
  if (entered == ENTERED_UNANSWERED) return opc_error_set(error, OPC_ERR_SYSTEM, "the sandbox's warden is gone");
  if (confine.ruleset >= 0) close(confine.ruleset);
  if (confine.warden >= 0) close(confine.warden);
  return OPC_OK;
}
