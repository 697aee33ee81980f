#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/process_state.h"
#include "base/system.h"
#include "worker/child/child_folder.h"
#include "worker/process/confine.h"

enum { PROCESSES_MIN = 64, PROCESSES_A_CPU = 8, DEPTH_MAX = 64, FORKS_REFUSED_MAX = 400 };
enum { MADE_MAX = 4096, LOOK_AGAIN_MS = 200 };
/* Seconds between a call that makes a file, or renames a new one, and its birth. */
#define MAKING 10.0

typedef struct watch {
  int reports;
  pid_t pid;   /* of the child */
  int pidfd;   /* the same; -1: not known */
  size_t room; /* processes that it may start before they are counted again */
  size_t forks_refused;
  opc_refusals_t *refusals;
} watch_t;

typedef struct warden {
  int socket; /* -1: the worker and its children are gone */
  watch_t *watches;
  size_t count;
  struct made { /* in folders for temporary files */
    char *path;
    double when; /* by CLOCK_REALTIME: the last call that made it */
  } * made;
  size_t made_count;
  double since; /* when the run began, by the same clock */
  size_t processes_max;
  struct seccomp_notif *report;
  struct seccomp_notif_resp *answer;
} warden_t;

/* ---- the arguments of a call ---- */

/* False: the memory cannot be read, or the text is too long. Reads up to the end of a page at a time. */
static bool argument_read(pid_t pid, uint64_t address, char out[PATH_MAX]) {
  enum { PAGE = 4096 };
  for (size_t length = 0; length < PATH_MAX;) {
    size_t bytes = PAGE - (address + length) % PAGE;
    if (bytes > PATH_MAX - length) bytes = PATH_MAX - length;
    const struct iovec here = {out + length, bytes}, there = {(void *)(uintptr_t)(address + length), bytes};
    const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    if (memchr(out + length, '\0', (size_t)got)) return true;
    length += (size_t)got;
  }
  return false;
}

/* The folder that a relative path begins in. */
static bool folder_read(pid_t pid, int folder, char out[PATH_MAX]) {
  char link[64];
  if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
  else snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, folder);
  const ssize_t length = readlink(link, out, PATH_MAX - 1);
  if (length <= 0) return false;
  out[length] = '\0';
  return out[0] == '/';
}

/* Absolute, without symbolic links but the last one if `follow` is false. False: it cannot be said, or its folder does
 * not exist; then the kernel decides. */
static bool path_resolve(const char *given, bool follow, char out[PATH_MAX]) {
  char folder[PATH_MAX];
  if (follow && realpath(given, out)) return true;
  snprintf(folder, sizeof folder, "%s", given);
  for (size_t length = strlen(folder); length > 1 && folder[length - 1] == '/';) folder[--length] = '\0';
  char *slash = strrchr(folder, '/');
  const char *name = slash + 1;
  if (strcmp(name, "..") == 0 || strcmp(name, ".") == 0) return realpath(given, out);
  *slash = '\0';
  if (!realpath(folder[0] == '\0' ? "/" : folder, out)) return false;
  const size_t length = strlen(out);
  return snprintf(out + length, PATH_MAX - length, "%s%s", length > 1 ? "/" : "", name) < (int)(PATH_MAX - length);
}

static bool path_read(const struct seccomp_notif *report, const struct opc_confined_path *which, bool follow,
                      char out[PATH_MAX]) {
  char given[PATH_MAX], whole[2 * PATH_MAX] = "";
  if (!argument_read((pid_t)report->pid, report->data.args[(int)which->path], given) || given[0] == '\0') return false;
  if (given[0] != '/' && !folder_read((pid_t)report->pid,
                                      which->folder < 0 ? AT_FDCWD : (int)report->data.args[(int)which->folder], whole))
    return false;
  const size_t length = strlen(whole);
  if (snprintf(whole + length, PATH_MAX, "%s%s", length > 0 ? "/" : "", given) >= PATH_MAX) return false;
  /* What they lead to is the process's own. */
  if (opc_string_begins(whole, "/proc/") || opc_string_begins(whole, "/dev/fd/") ||
      opc_string_begins(whole, "/dev/std"))
    return false;
  return path_resolve(whole, follow, out);
}

/* ---- what is refused ---- */

static bool folder_is_writable(const char *path) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  slash[slash == folder] = '\0';
  return access(folder, W_OK) == 0;
}

/* It would succeed without a sandbox, as far as that can be said; if not, the kernel's own error is better. */
static bool would_succeed(const struct seccomp_notif *report, const opc_confined_call_t *call, int index,
                          const char *path) {
  struct stat status;
  const bool exists = lstat(path, &status) == 0;
  switch (call->verb) {
    case OPC_CALL_OPENS: {
      const int flags = call->paths[0].path < 5 ? (int)report->data.args[call->paths[0].path + 1] : 0;
      if (exists) return access(path, W_OK) == 0 && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
      return (flags & O_CREAT) != 0 && folder_is_writable(path);
    }
    case OPC_CALL_CHANGES:
      return exists && access(path, W_OK) == 0;
    case OPC_CALL_MAKES:
      return !exists && folder_is_writable(path);
    case OPC_CALL_REMOVES:
      return exists && folder_is_writable(path);
    case OPC_CALL_RENAMES:
      return (exists || index > 0) && folder_is_writable(path);
    default:
      return true;
  }
}

/* Seconds since 1970; an older kernel, or another file system, knows only the last change. */
static double birth_of(const struct statx *status) {
  const struct statx_timestamp *birth = status->stx_mask & STATX_BTIME ? &status->stx_btime : &status->stx_ctime;
  return (double)birth->tv_sec + birth->tv_nsec / 1e9;
}

static bool path_stat(const char *path, struct statx *out) {
  return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, out) == 0;
}

/* What is in a folder that is new goes away with the folder. */
static void made_keep(warden_t *warden, const char *path) {
  char folder[PATH_MAX];
  struct statx status;
  snprintf(folder, sizeof folder, "%s", path);
  *strrchr(folder, '/') = '\0';
  if (path_stat(folder, &status) && birth_of(&status) >= warden->since) return;
  size_t i = 0;
  while (i < warden->made_count && strcmp(warden->made[i].path, path) != 0) i++;
  if (i == warden->made_count) {
    if (i == MADE_MAX || !OPC_ARRAY_GROW(warden->made, i) || !(warden->made[i].path = opc_string_copy(path))) return;
    warden->made_count++;
  }
  warden->made[i].when = opc_clock_of(CLOCK_REALTIME);
}

/* Not what somebody else has put there since: a child may have removed its own. */
static void made_remove(const struct made *made) {
  struct statx status;
  if (!path_stat(made->path, &status) || !(status.stx_mask & STATX_BTIME)) return;
  if (fabs(birth_of(&status) - made->when) < MAKING) opc_child_folder_remove(made->path);
}

static bool may_make(const opc_confined_call_t *call) {
  return call->verb == OPC_CALL_OPENS || call->verb == OPC_CALL_MAKES || call->verb == OPC_CALL_RENAMES;
}

/* What is older than the run is somebody's. A file that is empty, such as a lock, has nothing to lose. */
static bool place_allows(warden_t *warden, const opc_confined_call_t *call, opc_place_t place, const char *path) {
  struct statx status;
  if (place == OPC_PLACE_OUTSIDE) return false;
  if (place == OPC_PLACE_FREE) return true;
  if (!path_stat(path, &status)) {
    if (place == OPC_PLACE_TEMPORARY && may_make(call)) made_keep(warden, path);
    return true;
  }
  if (birth_of(&status) >= warden->since) return true;
  if (call->verb != OPC_CALL_OPENS) return false;
  return S_ISDIR(status.stx_mode) || (S_ISREG(status.stx_mode) && status.stx_size == 0); /* a folder: O_TMPFILE */
}

static void warden_refuse(watch_t *watch, const char *words, const char *what) {
  opc_refusals_t *refusals = watch->refusals;
  if (refusals->count == 0 || strncmp(refusals->last, words, strlen(words)) != 0 || !strstr(refusals->last, what))
    snprintf(refusals->last, sizeof refusals->last, "%s %s", words, what);
  __atomic_fetch_add(&refusals->count, 1, __ATOMIC_RELEASE);
}

static int judge_path(warden_t *warden, watch_t *watch, const opc_confined_call_t *call, int index) {
  char path[PATH_MAX];
  struct stat status;
  const bool follow = call->verb == OPC_CALL_OPENS || call->verb == OPC_CALL_CHANGES;
  if (!path_read(warden->report, &call->paths[index], follow, path)) return 0;
  if (place_allows(warden, call, opc_place_of(path), path)) return 0;
  if (!would_succeed(warden->report, call, index, path)) return 0;
  const bool device = stat(path, &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
  warden_refuse(watch, device ? "use the device" : call->words, path);
  return EACCES;
}

/* ---- processes ---- */

static size_t tree_count(pid_t pid, size_t at_most, int depth) {
  OPC_SCOPED(opc_scope_free) pid_t *children = calloc(at_most + 1, sizeof *children);
  size_t count = children && depth < DEPTH_MAX ? opc_process_children(pid, children, at_most) : 0;
  const size_t direct = count;
  for (size_t i = 0; i < direct && count < at_most; i++) count += tree_count(children[i], at_most - count, depth + 1);
  return count;
}

static int judge_fork(const warden_t *warden, watch_t *watch) {
  char many[32];
  if (watch->room == 0) {
    const size_t most = warden->processes_max, count = tree_count(watch->pid, most, 0);
    watch->room = most - count < most / 4 ? most - count : most / 4;
    if (count >= most / 2) watch->refusals->crowded = 1;
  }
  if (watch->room > 0) {
    watch->room--;
    return 0;
  }
  if (++watch->forks_refused == FORKS_REFUSED_MAX) kill(watch->pid, SIGKILL); /* it would not end */
  snprintf(many, sizeof many, "%zu processes", warden->processes_max + 1);
  warden_refuse(watch, "start", many);
  return EAGAIN;
}

static int judge_socket(const struct seccomp_notif *report, watch_t *watch) {
  const int family = (int)report->data.args[0];
  warden_refuse(watch, "open a network socket",
                family == AF_INET    ? "(AF_INET)"
                : family == AF_INET6 ? "(AF_INET6)"
                                     : "(of another family)");
  return EACCES;
}

/* The error of the call; 0: it may continue. */
static int warden_judge(warden_t *warden, watch_t *watch) {
  const opc_confined_call_t *call = opc_confined_call(warden->report->data.nr);
  if (!call) return 0;
  if (call->verb == OPC_CALL_FORKS) return judge_fork(warden, watch);
  if (call->verb == OPC_CALL_CONNECTS) return judge_socket(warden->report, watch);
  int number = 0;
  for (int i = 0; i < 2 && number == 0 && call->paths[i].path >= 0; i++) number = judge_path(warden, watch, call, i);
  return number;
}

/* ---- the loop ---- */

/* What outlives the child is no longer counted among its processes. It is about to be killed (opc_strays_kill), and
 * must not start others meanwhile. */
static bool watch_is_over(const watch_t *watch) {
  struct pollfd ended = {.fd = watch->pidfd, .events = POLLIN};
  return watch->pidfd >= 0 ? poll(&ended, 1, 0) > 0 : kill(watch->pid, 0) != 0;
}

static void warden_answer(warden_t *warden, watch_t *watch) {
  memset(warden->report, 0, sizeof *warden->report);
  /* It is known that a report came. Should the kernel have dropped it because its process was killed, this ends by the
   * alarm. */
  alarm(1);
  const bool received = seccomp_notify_receive(watch->reports, warden->report) == 0;
  alarm(0);
  if (!received) return;
  const bool over = watch_is_over(watch);
  if (over) kill((pid_t)warden->report->pid, SIGKILL);
  const int number = over ? EACCES : warden_judge(warden, watch);
  memset(warden->answer, 0, sizeof *warden->answer);
  warden->answer->id = warden->report->id;
  warden->answer->error = -number;
  if (number == 0) warden->answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  while (seccomp_notify_respond(watch->reports, warden->answer) != 0 && errno == EINTR) {
  }
}

static void watch_drop(warden_t *warden, size_t i) {
  opc_refusals_t *refusals = warden->watches[i].refusals;
  munmap((char *)refusals - offsetof(opc_crash_record_t, refusals), OPC_CRASH_RECORD_SIZE);
  close(warden->watches[i].reports);
  if (warden->watches[i].pidfd >= 0) close(warden->watches[i].pidfd);
  warden->watches[i] = warden->watches[--warden->count];
}

/* Before Linux 5.9, nothing says that nobody can report any more. What such a child has left can start no process. */
static void watches_drop_over(warden_t *warden) {
  for (size_t i = warden->count; i-- > 0;)
    if (watch_is_over(&warden->watches[i])) watch_drop(warden, i);
}

/* False: there is nobody any more who could send one. */
static bool watch_take(warden_t *warden) {
  watch_t watch = {0};
  int fds[2];
  char byte, control[CMSG_SPACE(sizeof fds)];
  struct iovec data = {&byte, sizeof byte};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  const ssize_t got = TEMP_FAILURE_RETRY(recvmsg(warden->socket, &message, MSG_CMSG_CLOEXEC));
  const struct cmsghdr *passed = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (!passed || passed->cmsg_len != CMSG_LEN(sizeof fds)) return got > 0;
  memcpy(fds, CMSG_DATA(passed), sizeof fds);
  watches_drop_over(warden);
  watch.reports = fds[0];
  opc_crash_record_t *record = mmap(NULL, OPC_CRASH_RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
  close(fds[1]);
  if (record == MAP_FAILED || !OPC_ARRAY_GROW(warden->watches, warden->count)) {
    if (record != MAP_FAILED) munmap(record, OPC_CRASH_RECORD_SIZE);
    close(fds[0]); /* its calls fail, and the child's case with them */
    return true;
  }
  watch.refusals = &record->refusals;
  watch.pid = record->refusals.pid;
  watch.pidfd = opc_pidfd_open(watch.pid);
  warden->watches[warden->count++] = watch;
  return true;
}

static void warden_serve(warden_t *warden) {
  while (warden->socket >= 0 || warden->count > 0) {
    const size_t count = warden->count;
    OPC_SCOPED(opc_scope_free) struct pollfd *sources = calloc(count + 1, sizeof *sources);
    if (!sources) return;
    for (size_t i = 0; i < count; i++) sources[i] = (struct pollfd){.fd = warden->watches[i].reports, .events = POLLIN};
    sources[count] = (struct pollfd){.fd = warden->socket, .events = POLLIN};
    const int ready = poll(sources, count + 1, warden->socket >= 0 ? -1 : LOOK_AGAIN_MS);
    if (ready == 0) watches_drop_over(warden);
    if (ready <= 0) continue;
    for (size_t i = count; i-- > 0;) { /* from the end: one that is dropped is replaced by the last */
      if (sources[i].revents & POLLIN) warden_answer(warden, &warden->watches[i]);
      else if (sources[i].revents) watch_drop(warden, i);
    }
    if (sources[count].revents && !watch_take(warden)) {
      close(warden->socket);
      warden->socket = -1;
    }
  }
}

static void on_alarm(int number) { (void)number; }

static _Noreturn void warden_run(int channel, double since) {
  const struct sigaction alarm_ends = {.sa_handler = on_alarm}; /* no SA_RESTART */
  warden_t warden = {.socket = channel, .since = since};
  sigset_t none;
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  setsid(); /* it cleans up after a worker whose group is killed */
  signal(SIGHUP, SIG_IGN);
  sigaction(SIGALRM, &alarm_ends, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_NAME, "opcheck-warden");
  warden.processes_max = PROCESSES_MIN + PROCESSES_A_CPU * (size_t)(processors > 0 ? processors : 1);
  if (chdir("/") == 0 && seccomp_notify_alloc(&warden.report, &warden.answer) == 0) warden_serve(&warden);
  for (size_t i = 0; i < warden.made_count; i++) made_remove(&warden.made[i]);
  _exit(0);
}

int opc_warden_start(double since) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const pid_t warden = fork();
  if (warden == 0) {
    opc_child_folder_close_others(ends[1]);
    warden_run(ends[1], since);
  }
  close(ends[1]);
  if (warden > 0) return ends[0];
  close(ends[0]);
  return -1;
}

bool opc_warden_send(int warden, int reports, int crash_record) {
  const int fds[2] = {reports, crash_record};
  const pid_t pid = getpid();
  char byte = 0, control[CMSG_SPACE(sizeof fds)] = {0};
  struct iovec data = {&byte, sizeof byte};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *passed = CMSG_FIRSTHDR(&message);
  passed->cmsg_level = SOL_SOCKET;
  passed->cmsg_type = SCM_RIGHTS;
  passed->cmsg_len = CMSG_LEN(sizeof fds);
  memcpy(CMSG_DATA(passed), fds, sizeof fds);
  return pwrite(crash_record, &pid, sizeof pid, offsetof(opc_crash_record_t, refusals.pid)) == (ssize_t)sizeof pid &&
         TEMP_FAILURE_RETRY(sendmsg(warden, &message, MSG_NOSIGNAL)) == 1;
}
