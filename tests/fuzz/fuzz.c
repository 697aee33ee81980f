#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

const char *fuzz_file(const uint8_t *bytes, size_t size) {
  static char path[64];
  static int fd = -1;
  if (fd < 0) {
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size) fuzz_fail("no file for the input");
  return path;
}

_Noreturn void fuzz_fail(const char *message) {
  (void)fprintf(stderr, "%s\n", message);
  abort();
}
