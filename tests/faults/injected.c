/* Loaded into opcheck-c and its workers before everything else (LD_PRELOAD). It disturbs the calls that these programs
 * make themselves, not those of libtorch or of a library that is checked:
 *
 * OPC_INJECT=calls:SEED   One call in four is interrupted (EINTR), and one in four transfers only a part of its bytes.
 * OPC_INJECT=clock:AT     The time of day is wrong by up to an hour. At AT, in nanoseconds of the monotonic clock, that
 *                         clock jumps forward by an hour in all processes, as if the machine had stood still. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600, ONE_IN = 4 };

static struct {
  uintptr_t begin, end; /* of the code whose calls are disturbed */
  bool calls, clock;
  int64_t at;
  uint64_t random;
} injected;

/* The program is the first object; nearly all of a worker is in its library. */
static int find_program(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size;
  (void)unused;
  const bool is_worker = strstr(info->dlpi_name, "/libopcheck-worker") != NULL;
  if (injected.end != 0 && !is_worker) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    injected.begin = info->dlpi_addr + part->p_vaddr;
    injected.end = injected.begin + part->p_memsz;
  }
  return is_worker;
}

__attribute__((constructor)) static void injected_begin(void) {
  const char *what = getenv("OPC_INJECT");
  const char *number = what ? strchr(what, ':') : NULL;
  if (!number || strncmp(program_invocation_short_name, "opcheck-", 8) != 0) return;
  dl_iterate_phdr(find_program, NULL);
  injected.at = strtoll(number + 1, NULL, 10);
  injected.random = (uint64_t)injected.at * 2 + 1;
  injected.calls = strncmp(what, "calls", 5) == 0;
  injected.clock = strncmp(what, "clock", 5) == 0;
}

/* xorshift64*; the processes after a fork go on with the same numbers. */
static uint64_t next_random(void) {
  injected.random ^= injected.random >> 12;
  injected.random ^= injected.random << 25;
  injected.random ^= injected.random >> 27;
  return injected.random * UINT64_C(2685821657736338717) >> 32;
}

static bool from_program(const void *caller) {
  return (uintptr_t)caller >= injected.begin && (uintptr_t)caller < injected.end;
}

static bool interrupted(const void *caller) {
  if (!injected.calls || !from_program(caller) || next_random() % ONE_IN != 0) return false;
  errno = EINTR;
  return true;
}

/* Only calls that may wait are interrupted: not those for files. */
static bool may_wait(int fd) {
  struct stat status;
  const int before = errno;
  const bool waits = fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
  errno = before;
  return waits;
}

static size_t part_of(size_t size, const void *caller) {
  if (!injected.calls || size < 2 || !from_program(caller) || next_random() % ONE_IN != 0) return size;
  return 1 + next_random() % (size - 1);
}

#define CALLER __builtin_return_address(0)

ssize_t read(int fd, void *data, size_t size) {
  static ssize_t (*next)(int, void *, size_t);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "read");
  if (injected.calls && may_wait(fd) && interrupted(CALLER)) return -1;
  return next(fd, data, part_of(size, CALLER));
}

ssize_t write(int fd, const void *data, size_t size) {
  static ssize_t (*next)(int, const void *, size_t);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "write");
  if (injected.calls && may_wait(fd) && interrupted(CALLER)) return -1;
  return next(fd, data, part_of(size, CALLER));
}

/* The first buffer alone, or a part of it. */
static struct msghdr part_of_message(const struct msghdr *message, struct iovec *vector, const void *caller) {
  struct msghdr part = *message;
  if (message->msg_iovlen == 0) return part;
  *vector = message->msg_iov[0];
  vector->iov_len = part_of(vector->iov_len, caller);
  if (vector->iov_len == message->msg_iov[0].iov_len) return part;
  part.msg_iov = vector;
  part.msg_iovlen = 1;
  return part;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  static ssize_t (*next)(int, const struct msghdr *, int);
  struct iovec vector;
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "sendmsg");
  if (interrupted(CALLER)) return -1;
  const struct msghdr part = part_of_message(message, &vector, CALLER);
  return next(fd, &part, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  static ssize_t (*next)(int, struct msghdr *, int);
  struct iovec vector;
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "recvmsg");
  if (interrupted(CALLER)) return -1;
  struct msghdr part = part_of_message(message, &vector, CALLER);
  const ssize_t got = next(fd, &part, flags);
  message->msg_controllen = part.msg_controllen;
  message->msg_namelen = part.msg_namelen;
  message->msg_flags = part.msg_flags;
  return got;
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
  static ssize_t (*next)(int, const void *, size_t, int);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "send");
  return interrupted(CALLER) ? -1 : next(fd, data, size, flags);
}

ssize_t recv(int fd, void *data, size_t size, int flags) {
  static ssize_t (*next)(int, void *, size_t, int);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "recv");
  return interrupted(CALLER) ? -1 : next(fd, data, size, flags);
}

int poll(struct pollfd *fds, nfds_t count, int milliseconds) {
  static int (*next)(struct pollfd *, nfds_t, int);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "poll");
  return interrupted(CALLER) ? -1 : next(fds, count, milliseconds);
}

pid_t waitpid(pid_t pid, int *status, int options) {
  static pid_t (*next)(pid_t, int *, int);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "waitpid");
  return interrupted(CALLER) ? -1 : next(pid, status, options);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  static int (*next)(clockid_t, struct timespec *);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
  const int result = next(clock, out);
  if (result != 0 || !injected.clock || !from_program(CALLER)) return result;
  if (clock == CLOCK_REALTIME) out->tv_sec += (int64_t)(next_random() % 3) * HOUR - HOUR;
  else if (clock == CLOCK_MONOTONIC && out->tv_sec * 1000000000 + out->tv_nsec >= injected.at) out->tv_sec += HOUR;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (injected.clock && from_program(CALLER)) now.tv_sec += (int64_t)(next_random() % 3) * HOUR - HOUR;
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
