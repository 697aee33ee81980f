#include "memory/cpu_memory.h"

#include <sys/uio.h>
#include <unistd.h>

bool opc_memory_safe_read(const void *address, void *out, size_t bytes) {
  struct iovec local = {.iov_base = out, .iov_len = bytes}, remote = {.iov_base = (void *)address, .iov_len = bytes};
  return bytes == 0 || process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}
