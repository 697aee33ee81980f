#include "memory/trap.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

/* Threads that touched the closed pages fault once more after the pages were opened. A thread that faults more often
 * than this makes no progress. */
enum { LATE_MAX = 64, RETRY_NS = 50 * 1000 };

static void *trap_pages;
static size_t trap_bytes;
static void (*trap_touched)(void);
static atomic_bool trap_armed, trap_told;
static atomic_int trap_late;

bool opc_trap_arm(void *pages, size_t bytes, void (*touched)(void)) {
  trap_pages = pages;
  trap_bytes = bytes;
  trap_touched = touched;
  atomic_store(&trap_told, false);
  atomic_store(&trap_late, LATE_MAX);
  atomic_store(&trap_armed, true);
  if (mprotect(pages, bytes, PROT_NONE) == 0) return true;
  atomic_store(&trap_armed, false);
  return false;
}

void opc_trap_disarm(void) {
  if (!atomic_load(&trap_armed)) return;
  (void)mprotect(trap_pages, trap_bytes, PROT_READ | PROT_WRITE); /* the pages may be unmapped by now */
  atomic_store(&trap_armed, false);
}

bool opc_trap_fault(uint64_t address) {
  const struct timespec retry = {.tv_nsec = RETRY_NS};
  int before = errno;
  uint64_t start = (uint64_t)(uintptr_t)trap_pages;
  if (!trap_pages || address < start || address - start >= trap_bytes) return false;
  if (!atomic_load(&trap_armed)) return atomic_fetch_sub(&trap_late, 1) > 0;
  if (!atomic_exchange(&trap_told, true)) {
    trap_touched();
    opc_trap_disarm();
  } else {
    (void)nanosleep(&retry, NULL);
  }
  errno = before;
  return true;
}
