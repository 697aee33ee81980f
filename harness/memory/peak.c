#include "memory/growth.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_OF_LIMIT = 4 };
static size_t limit = (size_t)4 << 30;
static size_t before; /* when the measurement began */

void opc_peak_limit(size_t bytes) { limit = bytes; }

size_t opc_peak_allowed(void) { return limit / PARTS_OF_LIMIT; }

/* VmHWM, in KiB (man 5 proc). 0: unknown. */
static size_t read_peak(void) {
  static const char name[] = "VmHWM:";
  char text[4096];
  int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char *line = strstr(text, name);
  return line ? (size_t)strtoull(line + strlen(name), NULL, 10) << 10 : 0;
}

bool opc_peak_begin(void) {
  static const char reset[] = "5"; /* VmHWM becomes the present size (man 5 proc, clear_refs) */
  before = 0;
  int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  if (write(fd, reset, sizeof reset - 1) == (ssize_t)(sizeof reset - 1)) before = read_peak();
  close(fd);
  return before > 0;
}

size_t opc_peak_bytes(void) {
  const size_t now = before ? read_peak() : 0;
  return now > before ? now - before : 0;
}
