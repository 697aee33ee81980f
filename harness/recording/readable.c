#include "recording/recorder.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PROBES = 256 };

/* If the kernel or a sandbox has no process_vm_readv: mapped memory counts as readable. */
static bool mapped(uintptr_t from, size_t bytes, size_t page) {
  uintptr_t first = from / page * page;
  return msync((void *)first, from + bytes - first, MS_ASYNC) == 0 || errno != ENOMEM;
}

bool opc_memory_readable(const void *memory, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const uintptr_t end = (uintptr_t)memory + bytes;
  char into[PROBES];
  if (bytes == 0) return true;
  if (end < (uintptr_t)memory) return false;
  for (uintptr_t at = (uintptr_t)memory; at < end;) {
    struct iovec here = {.iov_base = into, .iov_len = sizeof into}, there[PROBES];
    unsigned long count = 0;
    for (; at < end && count < PROBES; at = (at / page + 1) * page) {
      there[count++] = (struct iovec){.iov_base = (void *)at, .iov_len = 1};
      if (at > UINTPTR_MAX - page) return false;
    }
    here.iov_len = count;
    ssize_t got = process_vm_readv(getpid(), &here, 1, there, count, 0);
    if (got < 0 && errno != EFAULT) return mapped((uintptr_t)memory, bytes, page);
    if (got != (ssize_t)count) return false;
  }
  return true;
}

bool opc_number_is_address(uint64_t number) {
  return number >> 32 != 0 && number >> 47 == 0 && opc_memory_readable((const void *)(uintptr_t)number, 1);
}
