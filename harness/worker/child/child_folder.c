#include "worker/child/child_folder.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9; older headers do not name it */
#endif

enum { OLD_KERNEL_FDS = 4096, LOOK_AGAIN_MS = 200 };

static char scratch_root[PATH_MAX];

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status;
  (void)type;
  (void)walk;
  (void)remove(path); /* entries that cannot be removed stay, the rest is removed */
  return 0;
}

void opc_child_folder_remove(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

void opc_child_folder_close_others(int kept) {
  const bool closed = kept < 0 ? syscall(SYS_close_range, 0u, ~0u, 0u) == 0
                               : (kept == 0 || syscall(SYS_close_range, 0u, (unsigned)kept - 1, 0u) == 0) &&
                                     syscall(SYS_close_range, (unsigned)kept + 1, ~0u, 0u) == 0;
  for (int fd = 0; !closed && fd < OLD_KERNEL_FDS; fd++)
    if (fd != kept) close(fd);
}

const char *opc_child_folder_root(void) { return scratch_root; }

/* The janitor outlives the worker. So it must hold no descriptor whose closing others wait for, and must not be in the
 * process group that is killed. */
static _Noreturn void janitor_run(pid_t worker) {
  setsid();
  signal(SIGHUP, SIG_IGN);
  prctl(PR_SET_NAME, "opcheck-janitor");
  if (chdir("/") != 0) _exit(1);
  opc_child_folder_close_others(-1);
  struct pollfd ended = {.fd = opc_pidfd_open(worker), .events = POLLIN};
  /* Also checks its parent: before the pidfd was open, the number may have been reused for another process, and
   * Valgrind has no pidfds. */
  while (getppid() == worker) (void)poll(&ended, ended.fd >= 0, ended.fd >= 0 ? -1 : LOOK_AGAIN_MS);
  opc_child_folder_remove(scratch_root);
  /* The children die with the worker, but not at the same instant: this removes files that one of them wrote
   * meanwhile. */
  usleep(200000);
  opc_child_folder_remove(scratch_root);
  _exit(0);
}

opc_status_t opc_child_folder_open(opc_error_t *error) {
  const char *folder = getenv("TMPDIR");
  if (!folder || !folder[0]) folder = "/tmp";
  char made[PATH_MAX];
  int length = snprintf(made, sizeof made, "%s/opcheck-c-XXXXXX", folder);
  /* Absolute: a library may change the working directory. */
  if (length < 0 || (size_t)length >= sizeof made || !mkdtemp(made) || !realpath(made, scratch_root))
    return opc_error_set(error, OPC_ERR_SYSTEM,
                         "cannot make a working directory in %s: %s; set TMPDIR to another folder", folder,
                         strerror(errno));
  pid_t worker = getpid();
  pid_t janitor = fork();
  if (janitor == 0) janitor_run(worker);
  if (janitor < 0) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot fork: %s", strerror(errno));
  return OPC_OK;
}

opc_status_t opc_child_folder_make(char out[PATH_MAX], opc_error_t *error) {
  int length = snprintf(out, PATH_MAX, "%s/child-XXXXXX", scratch_root);
  if (length < 0 || length >= PATH_MAX || !mkdtemp(out))
    return opc_error_set(error, OPC_ERR_SYSTEM,
                         "cannot make a working directory in %s: %s; set TMPDIR to another folder", scratch_root,
                         strerror(errno));
  return OPC_OK;
}

void opc_child_folder_close(void) { opc_child_folder_remove(scratch_root); }
