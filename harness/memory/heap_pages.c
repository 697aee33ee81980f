#include "memory/heap_pages.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; glibc 2.37 */
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; glibc 2.35 */
#endif

enum { LARGE_PAGE = 2 << 20, PAGE = 4096, WORTH_A_CALL = 64 << 10, LARGE_MAPPING = 16 << 20 };

/* The heap, and large memory that libraries map for themselves. */
static bool is_worth_joining(const char *line, uintptr_t from, uintptr_t to) {
  const bool has_name = strchr(line, '/') || strchr(line, '[');
  return strstr(line, " [heap]") || (!has_name && strstr(line, " rw-p ") && to - from >= LARGE_MAPPING);
}

void opc_heap_pages_join(void) {
  char line[512];
  uintptr_t from, to;
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return;
  while (fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2 || !is_worth_joining(line, from, to)) continue;
    from = (from + LARGE_PAGE - 1) & ~((uintptr_t)LARGE_PAGE - 1);
    to &= ~((uintptr_t)LARGE_PAGE - 1);
    if (from < to) (void)madvise((void *)from, to - from, MADV_COLLAPSE);
  }
  fclose(maps);
}

void opc_pages_give(void *data, size_t bytes) {
  uintptr_t from = ((uintptr_t)data + PAGE - 1) & ~(uintptr_t)(PAGE - 1),
            to = ((uintptr_t)data + bytes) & ~(uintptr_t)(PAGE - 1);
  if (bytes > WORTH_A_CALL) (void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

void opc_heap_pages_keep_small(void) { (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
