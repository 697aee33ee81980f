#include "worker/process/fork_server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_state.h"
#include "base/system.h"
#include "memory/heap_pages.h"
#include "memory/valgrind_requests.h"
#include "model/json/json_write.h"
#include "worker/child/child_folder.h"
#include "worker/loading/loading.h"

enum { PASSED_FDS = 3, LOOK_AGAIN_MS = 200, JOIN_AT_FORK = 4, JOIN_AT_FORK_OF_PYTHON = 16 };

typedef struct fork_server_child {
  json_int_t id;
  pid_t pid;
  char directory[PATH_MAX];
  struct fork_server_child *next;
} fork_server_child_t;

typedef struct fork_server {
  opc_channel_t *control;
  const json_t *operators;
  bool limit_memory;
  int signals; /* signalfd for SIGCHLD */
  fork_server_child_t *children;
  int forks;
} fork_server_t;

static opc_status_t fork_server_send(fork_server_t *fork_server, json_t *message, int fd, opc_error_t *error) {
  json_auto_t *owned = message;
  if (!owned) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a message");
  return opc_channel_send(fork_server->control, owned, &fd, fd >= 0 ? 1 : 0, error);
}

/* ---- start ---- */

/* Descriptors that a library opened while loading stay open: an operator may read from them. Only the fork server's own
 * are closed. */
static _Noreturn void become_child(const fork_server_t *fork_server, const int fds[PASSED_FDS], const char *directory,
                                   long long memory_mib, pid_t parent) {
  opc_heap_pages_keep_small();
  setpgid(0, 0);
  close(fork_server->control->fd);
  close(fork_server->signals);
  opc_sandbox_t sandbox = {.batch = fds[0],
                           .crash_record = fds[1],
                           .output = fds[2],
                           .directory = directory,
                           .memory_mib = fork_server->limit_memory ? memory_mib : 0,
                           .parent = parent,
                           .operators = fork_server->operators};
  opc_sandbox_run(&sandbox);
}

static opc_status_t fork_server_fork_child(fork_server_t *fork_server, fork_server_child_t *child,
                                           const int fds[PASSED_FDS], long long memory_mib, opc_error_t *why) {
  for (int i = 0; i < PASSED_FDS; i++)
    if (fds[i] < 0) return opc_error_set(why, OPC_ERR_PROTOCOL, "a fork command comes with three descriptors");
  opc_status_t status = opc_child_folder_make(child->directory, why);
  if (status != OPC_OK) return status;
  pid_t parent = getpid();
  /* Valgrind looks for leaks in this process, and would report libtorch's thread pool. */
  if (++fork_server->forks == 1 && !opc_valgrind_active()) opc_sandbox_prepare();
  if (fork_server->forks == (opc_interpreter_hosts() ? JOIN_AT_FORK_OF_PYTHON : JOIN_AT_FORK)) opc_heap_pages_join();
  fflush(NULL); /* so that text printed by a library is not printed twice */
  opc_interpreter_before_fork();
  child->pid = fork();
  const int number = errno;
  if (child->pid == 0) opc_interpreter_after_fork_in_child();
  else opc_interpreter_after_fork_in_parent();
  if (child->pid == 0) become_child(fork_server, fds, child->directory, memory_mib, parent);
  if (child->pid > 0) {
    setpgid(child->pid, child->pid); /* both sides do it: the second one finds it done */
    return OPC_OK;
  }
  status = opc_error_set(why, OPC_ERR_SYSTEM, "cannot fork: %s", strerror(number));
  opc_child_folder_remove(child->directory);
  return status;
}

static opc_status_t child_make(fork_server_t *fork_server, json_int_t id, const int *fds, json_int_t memory_mib,
                               opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) fork_server_child_t *child = calloc(1, sizeof *child);
  if (!child) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a child");
  OPC_RETURN_IF_ERROR(fork_server_fork_child(fork_server, child, fds, memory_mib, error));
  child->id = id;
  child->next = fork_server->children;
  OPC_MOVE(&fork_server->children, child);
  return OPC_OK;
}

static opc_status_t fork_and_answer(fork_server_t *fork_server, const json_t *command, const int *fds,
                                    opc_error_t *error) {
  opc_error_t why = {0};
  json_int_t id = json_integer_value(json_object_get(command, "child"));
  if (child_make(fork_server, id, fds, json_integer_value(json_object_get(command, "memory_mib")), &why) != OPC_OK)
    return fork_server_send(
        fork_server,
        json_pack("{s:s, s:I, s:o}", "t", "fork_failed", "child", id, "message", opc_json_string(why.message)), -1,
        error);
  const pid_t pid = fork_server->children->pid;
  OPC_SCOPED(opc_scope_close) int pidfd = opc_pidfd_open(pid);
  return fork_server_send(fork_server, json_pack("{s:s, s:I, s:i}", "t", "forked", "child", id, "pid", (int)pid), pidfd,
                          error);
}

static opc_status_t serve_fork(fork_server_t *fork_server, const json_t *command, opc_error_t *error) {
  int fds[PASSED_FDS];
  for (int i = 0; i < PASSED_FDS; i++) fds[i] = opc_channel_take_fd(fork_server->control);
  const opc_status_t status = fork_and_answer(fork_server, command, fds, error);
  for (int i = 0; i < PASSED_FDS; i++)
    if (fds[i] >= 0) close(fds[i]);
  return status;
}

/* ---- end ---- */

/* True if the child has ended. Its group is killed while the zombie still reserves the number. */
static bool child_reap(const fork_server_child_t *child, int options, int *out_status, struct rusage *out_usage) {
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT | options) != 0 || info.si_pid == 0) return false;
  kill(-child->pid, SIGKILL);
  if (wait4(child->pid, out_status, 0, out_usage) != child->pid) return false;
  opc_child_folder_remove(child->directory);
  return true;
}

/* A child was the one that adopted its daemons; now this process is. */
static void strays_end(const fork_server_t *fork_server) {
  size_t count = 0;
  for (const fork_server_child_t *child = fork_server->children; child; child = child->next) count++;
  OPC_SCOPED(opc_scope_free) pid_t *known = calloc(count + 1, sizeof *known);
  if (!known) return;
  count = 0;
  for (const fork_server_child_t *child = fork_server->children; child; child = child->next)
    known[count++] = child->pid;
  opc_strays_kill(known, count);
}

static opc_status_t reap_ended(fork_server_t *fork_server, opc_error_t *error) {
  opc_status_t first = OPC_OK;
  for (fork_server_child_t **link = &fork_server->children; *link;) {
    fork_server_child_t *child = *link;
    int status = 0;
    struct rusage usage = {0};
    if (!child_reap(child, WNOHANG, &status, &usage)) {
      link = &child->next;
      continue;
    }
    *link = child->next;
    strays_end(fork_server);
    if (!first)
      first = fork_server_send(fork_server,
                               json_pack("{s:s, s:I, s:i, s:I}", "t", "reaped", "child", child->id, "status", status,
                                         "max_rss_kib", (json_int_t)usage.ru_maxrss),
                               -1, error);
    free(child);
  }
  return first;
}

static void kill_all(fork_server_t *fork_server) {
  for (const fork_server_child_t *child = fork_server->children; child; child = child->next) kill(-child->pid, SIGKILL);
  while (fork_server->children) {
    fork_server_child_t *child = fork_server->children;
    int status;
    struct rusage usage;
    fork_server->children = child->next;
    (void)child_reap(child, 0, &status, &usage);
    free(child);
  }
  strays_end(fork_server);
}

/* ---- the loop ---- */

static opc_status_t signals_open(fork_server_t *fork_server, opc_error_t *error) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  /* An initialiser may have set a handler, or SIG_IGN, which would reap children unnoticed. */
  signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &children, NULL);
  fork_server->signals = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fork_server->signals < 0) return opc_error_set(error, OPC_ERR_SYSTEM, "no signalfd: %s", strerror(errno));
  return OPC_OK;
}

static opc_status_t serve_commands(fork_server_t *fork_server, bool *out_ended, opc_error_t *error) {
  for (;;) {
    json_t *command = NULL;
    opc_status_t status = OPC_OK;
    switch (opc_channel_next(fork_server->control, &command)) {
      case OPC_CHANNEL_NOTHING:
        return OPC_OK;
      case OPC_CHANNEL_END:
        *out_ended = true;
        return OPC_OK;
      case OPC_CHANNEL_GARBAGE:
        return opc_error_set(error, OPC_ERR_PROTOCOL, "the supervisor sent something that is not a JSON object");
      case OPC_CHANNEL_LINE: {
        const char *kind = json_string_value(json_object_get(command, "t"));
        if (kind && strcmp(kind, "fork") == 0) status = serve_fork(fork_server, command, error);
        else status = opc_error_set(error, OPC_ERR_PROTOCOL, "no such command: %s", kind ? kind : "(none)");
        json_decref(command);
        if (status != OPC_OK) return status;
        break;
      }
    }
  }
}

static opc_status_t fork_server_serve(fork_server_t *fork_server, opc_error_t *error) {
  bool ended = false;
  OPC_RETURN_IF_ERROR(signals_open(fork_server, error));
  while (!ended) {
    struct pollfd sources[] = {{.fd = fork_server->control->fd, .events = POLLIN},
                               {.fd = fork_server->signals, .events = POLLIN}};
    /* The time limit is for libraries that started threads: one of them may receive a SIGCHLD instead. */
    int ready = poll(sources, 2, fork_server->children ? LOOK_AGAIN_MS : -1);
    if (ready < 0 && errno != EINTR) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot wait: %s", strerror(errno));
    struct signalfd_siginfo drained;
    while (read(fork_server->signals, &drained, sizeof drained) == (ssize_t)sizeof drained) {
    }
    OPC_RETURN_IF_ERROR(reap_ended(fork_server, error));
    OPC_RETURN_IF_ERROR(serve_commands(fork_server, &ended, error));
  }
  return OPC_OK;
}

opc_status_t opc_fork_server_run(opc_channel_t *control, const json_t *operators, bool limit_memory,
                                 opc_error_t *error) {
  fork_server_t fork_server = {.control = control, .operators = operators, .limit_memory = limit_memory, .signals = -1};
  const opc_status_t status = fork_server_serve(&fork_server, error);
  kill_all(&fork_server);
  if (fork_server.signals >= 0) close(fork_server.signals);
  return status;
}
