#include "worker/process/zygote.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory/heap_pages.h"
#include "memory/valgrind_requests.h"
#include "model/json/json_write.h"
#include "worker/child/child_folder.h"
#include "worker/process/sandbox.h"

enum { PASSED_FDS = 3, LOOK_AGAIN_MS = 200, JOIN_AT_FORK = 4 };

typedef struct zygote_child {
  json_int_t id;
  pid_t pid;
  char directory[PATH_MAX];
  struct zygote_child *next;
} zygote_child_t;

typedef struct zygote {
  opc_channel_t *control;
  const json_t *operators;
  bool limit_memory;
  int signals; /* signalfd of SIGCHLD */
  zygote_child_t *children;
  int forks;
} zygote_t;

static opc_status_t tell(zygote_t *zygote, json_t *message, int fd, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  if (!message) status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a message");
  if (status == OPC_OK) status = opc_channel_send(zygote->control, message, &fd, fd >= 0 ? 1 : 0, error);
  json_decref(message);
  return status;
}

/* ---- birth ---- */

/* What a library opened while loading stays open: an operator may read from it. Only what is the zygote's own is
 * closed. */
static _Noreturn void become_child(const zygote_t *zygote, const int fds[PASSED_FDS], const char *directory,
                                   long long memory_mib, pid_t parent) {
  opc_heap_pages_keep_small();
  setpgid(0, 0);
  close(zygote->control->fd);
  close(zygote->signals);
  opc_sandbox_t sandbox = {.batch = fds[0],
                           .blackbox = fds[1],
                           .output = fds[2],
                           .directory = directory,
                           .memory_mib = zygote->limit_memory ? memory_mib : 0,
                           .parent = parent,
                           .operators = zygote->operators};
  opc_sandbox_run(&sandbox);
}

static opc_status_t fork_child(zygote_t *zygote, zygote_child_t *child, const int fds[PASSED_FDS], long long memory_mib,
                               opc_error_t *why) {
  for (int i = 0; i < PASSED_FDS; i++)
    if (fds[i] < 0) return opc_error_set(why, OPC_ERR_PROTOCOL, "a fork command comes with three descriptors");
  opc_status_t status = opc_child_folder_make(child->directory, why);
  if (status != OPC_OK) return status;
  pid_t parent = getpid();
  /* Valgrind looks for leaks in this process, and libtorch's thread pool is one to it. */
  if (++zygote->forks == 1 && !opc_valgrind_active()) opc_sandbox_prepare();
  if (zygote->forks == JOIN_AT_FORK) opc_heap_pages_join();
  fflush(NULL); /* what a library printed is not printed twice */
  child->pid = fork();
  if (child->pid == 0) become_child(zygote, fds, child->directory, memory_mib, parent);
  if (child->pid > 0) {
    setpgid(child->pid, child->pid); /* both sides do it: whoever comes second finds it done */
    return OPC_OK;
  }
  status = opc_error_set(why, OPC_ERR_SYSTEM, "cannot fork: %s", strerror(errno));
  opc_child_folder_remove(child->directory);
  return status;
}

static opc_status_t serve_fork(zygote_t *zygote, const json_t *command, opc_error_t *error) {
  int fds[PASSED_FDS];
  opc_error_t why = {0};
  opc_status_t status = OPC_OK, told = OPC_OK;
  json_int_t id = json_integer_value(json_object_get(command, "child"));
  for (int i = 0; i < PASSED_FDS; i++) fds[i] = opc_channel_take_fd(zygote->control);
  zygote_child_t *child = calloc(1, sizeof *child);
  if (!child) status = opc_error_set(&why, OPC_ERR_MEMORY, "out of memory for a child");
  if (status == OPC_OK)
    status = fork_child(zygote, child, fds, json_integer_value(json_object_get(command, "memory_mib")), &why);
  if (status == OPC_OK) {
    child->id = id;
    child->next = zygote->children;
    zygote->children = child;
    int pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0u);
    told = tell(zygote, json_pack("{s:s, s:I, s:i}", "t", "forked", "child", id, "pid", (int)child->pid), pidfd, error);
    if (pidfd >= 0) close(pidfd);
  } else {
    free(child);
    told = tell(zygote,
                json_pack("{s:s, s:I, s:o}", "t", "fork_failed", "child", id, "message", opc_json_string(why.message)),
                -1, error);
  }
  for (int i = 0; i < PASSED_FDS; i++)
    if (fds[i] >= 0) close(fds[i]);
  return told;
}

/* ---- death ---- */

/* True when the child has ended. Its group is killed while the zombie still holds the number. */
static bool child_reap(const zygote_child_t *child, int options, int *out_status, struct rusage *out_usage) {
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT | options) != 0 || info.si_pid == 0) return false;
  kill(-child->pid, SIGKILL);
  if (wait4(child->pid, out_status, 0, out_usage) != child->pid) return false;
  opc_child_folder_remove(child->directory);
  return true;
}

static opc_status_t reap_ended(zygote_t *zygote, opc_error_t *error) {
  opc_status_t told = OPC_OK;
  for (zygote_child_t **link = &zygote->children; *link;) {
    zygote_child_t *child = *link;
    int status = 0;
    struct rusage usage = {0};
    if (!child_reap(child, WNOHANG, &status, &usage)) {
      link = &child->next;
      continue;
    }
    *link = child->next;
    if (told == OPC_OK)
      told = tell(zygote,
                  json_pack("{s:s, s:I, s:i, s:I}", "t", "reaped", "child", child->id, "status", status, "max_rss_kib",
                            (json_int_t)usage.ru_maxrss),
                  -1, error);
    free(child);
  }
  return told;
}

static void kill_all(zygote_t *zygote) {
  for (const zygote_child_t *child = zygote->children; child; child = child->next) kill(-child->pid, SIGKILL);
  while (zygote->children) {
    zygote_child_t *child = zygote->children;
    int status;
    struct rusage usage;
    zygote->children = child->next;
    (void)child_reap(child, 0, &status, &usage);
    free(child);
  }
}

/* ---- the loop ---- */

static opc_status_t signals_open(zygote_t *zygote, opc_error_t *error) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  /* An initialiser may have set a handler, or SIG_IGN, which would reap behind our back. */
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &children, NULL);
  zygote->signals = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
  if (zygote->signals < 0) return opc_error_set(error, OPC_ERR_SYSTEM, "no signalfd: %s", strerror(errno));
  return OPC_OK;
}

static opc_status_t serve_commands(zygote_t *zygote, bool *out_ended, opc_error_t *error) {
  for (;;) {
    json_t *command = NULL;
    opc_status_t status = OPC_OK;
    switch (opc_channel_next(zygote->control, &command)) {
      case OPC_CHANNEL_NOTHING:
        return OPC_OK;
      case OPC_CHANNEL_END:
        *out_ended = true;
        return OPC_OK;
      case OPC_CHANNEL_GARBAGE:
        return opc_error_set(error, OPC_ERR_PROTOCOL, "the supervisor sent something that is no JSON object");
      case OPC_CHANNEL_LINE: {
        const char *kind = json_string_value(json_object_get(command, "t"));
        if (kind && strcmp(kind, "fork") == 0) status = serve_fork(zygote, command, error);
        else status = opc_error_set(error, OPC_ERR_PROTOCOL, "no such command: %s", kind ? kind : "(none)");
        json_decref(command);
        if (status != OPC_OK) return status;
        break;
      }
    }
  }
}

opc_status_t opc_zygote_run(opc_channel_t *control, const json_t *operators, bool limit_memory, opc_error_t *error) {
  zygote_t zygote = {.control = control, .operators = operators, .limit_memory = limit_memory, .signals = -1};
  bool ended = false;
  opc_status_t status = signals_open(&zygote, error);
  while (status == OPC_OK && !ended) {
    struct pollfd sources[] = {{.fd = control->fd, .events = POLLIN}, {.fd = zygote.signals, .events = POLLIN}};
    /* The time limit is for a library that started threads: one of them may swallow a SIGCHLD. */
    int ready = poll(sources, 2, zygote.children ? LOOK_AGAIN_MS : -1);
    if (ready < 0 && errno != EINTR) {
      status = opc_error_set(error, OPC_ERR_SYSTEM, "cannot wait: %s", strerror(errno));
      break;
    }
    struct signalfd_siginfo drained;
    while (read(zygote.signals, &drained, sizeof drained) == (ssize_t)sizeof drained) {
    }
    status = reap_ended(&zygote, error);
    if (status == OPC_OK) status = serve_commands(&zygote, &ended, error);
  }
  kill_all(&zygote);
  if (zygote.signals >= 0) close(zygote.signals);
  return status;
}
