#include "memory/heap_pages.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; glibc 2.37 */
#endif

enum { LARGE_PAGE = 2 << 20 };

void opc_heap_pages_join(void) {
  char line[512];
  uintptr_t from, to;
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return;
  while (fgets(line, sizeof line, maps)) {
    if (!strstr(line, " [heap]") || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2) continue;
    from = (from + LARGE_PAGE - 1) & ~((uintptr_t)LARGE_PAGE - 1);
    to &= ~((uintptr_t)LARGE_PAGE - 1);
    if (from < to) (void)madvise((void *)from, to - from, MADV_COLLAPSE);
  }
  fclose(maps);
}

void opc_heap_pages_keep_small(void) { (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
