#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "worker/process/confine.h"

#ifndef SECCOMP_FILTER_FLAG_TSYNC_ESRCH
#define SECCOMP_FILTER_FLAG_TSYNC_ESRCH (1UL << 4)
#endif

static const opc_confined_call_t calls[] = {
#define OPC_CONFINED(name, verb, words, folder, path, other_folder, other_path) \
  {SCMP_SYS(name), OPC_CALL_##verb, words, {{folder, path}, {other_folder, other_path}}},
#include "worker/process/confined_calls.def"
#undef OPC_CONFINED
};

/* Sockets of these families reach other machines. */
static const int families[] = {AF_INET, AF_INET6, AF_PACKET, AF_VSOCK, AF_BLUETOOTH};

const opc_confined_call_t *opc_confined_call(int number) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (calls[i].number == number) return &calls[i];
  return NULL;
}

/* Reports an open that can change the file. */
static int filter_add_open(scmp_filter_ctx filter, const opc_confined_call_t *call) {
  static const struct {
    unsigned mask, value;
  } writes[] = {{O_ACCMODE, O_WRONLY}, {O_ACCMODE, O_RDWR}, {O_CREAT, O_CREAT}, {O_TRUNC, O_TRUNC}};
  const unsigned flags = (unsigned)call->paths[0].path + 1;
  int status = 0;
  for (size_t i = 0; i < sizeof writes / sizeof *writes && status == 0; i++)
    status = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 1,
                              SCMP_CMP(flags, SCMP_CMP_MASKED_EQ, writes[i].mask, writes[i].value));
  return status;
}

static int filter_add_call(scmp_filter_ctx filter, const opc_confined_call_t *call) {
  int status = 0;
  if (call->verb == OPC_CALL_OPENS) return filter_add_open(filter, call);
  if (call->verb == OPC_CALL_CONNECTS) {
    for (size_t i = 0; i < sizeof families / sizeof *families && status == 0; i++)
      status =
          seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i]));
    return status;
  }
  if (call->number == SCMP_SYS(clone)) /* a thread may be started */
    return seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  return seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 0);
}

/* Their arguments lie in memory, where a filter cannot look. Everybody falls back to the older call. */
static int filter_add_newer(scmp_filter_ctx filter) {
  static const int newer[] = {SCMP_SYS(clone3), SCMP_SYS(openat2), SCMP_SYS(io_uring_setup)};
  int status = 0;
  for (size_t i = 0; i < sizeof newer / sizeof *newer && status == 0; i++)
    status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), newer[i], 0);
  return status;
}

/* The warden lets a call continue, which Linux 5.5 can. */
static bool kernel_continues(void) {
  struct utsname name;
  int major = 0, minor = 0;
  if (uname(&name) != 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
  return seccomp_api_get() >= 5 && (major > 5 || (major == 5 && minor >= 5));
}

static bool filter_export(scmp_filter_ctx filter, struct sock_fprog *out) {
  OPC_SCOPED(opc_scope_close) int file = memfd_create("opcheck-filter", MFD_CLOEXEC);
  if (file < 0 || seccomp_export_bpf(filter, file) != 0) return false;
  const off_t bytes = lseek(file, 0, SEEK_END);
  OPC_SCOPED(opc_scope_free) struct sock_filter *code = bytes > 0 ? malloc((size_t)bytes) : NULL;
  if (!code || pread(file, code, (size_t)bytes, 0) != bytes) return false;
  out->len = (unsigned short)((size_t)bytes / sizeof *code);
  OPC_MOVE(&out->filter, code);
  return true;
}

bool opc_filter_make(struct sock_fprog *out, const char **why) {
  *why = "this kernel cannot report system calls (seccomp with user notification, Linux 5.5)";
  if (!kernel_continues()) return false;
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  int status = filter ? filter_add_newer(filter) : -ENOMEM;
  for (size_t i = 0; i < sizeof calls / sizeof *calls && status == 0; i++) status = filter_add_call(filter, &calls[i]);
  const bool made = status == 0 && filter_export(filter, out);
  if (filter) seccomp_release(filter);
  if (!made) *why = "the filter of system calls could not be made";
  return made;
}

int opc_filter_enter(const struct sock_fprog *filter) {
  const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  /* With all threads, if it has some; a kernel before 5.7 cannot do both. */
  long reports = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                         flags | SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH, filter);
  if (reports < 0) reports = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, filter);
  return (int)reports;
}
