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

static void open_pages(void) {
  if (!atomic_load(&trap_armed)) return;
  (void)mprotect(trap_pages, trap_bytes, PROT_READ | PROT_WRITE); /* the pages may be unmapped by now */
  atomic_store(&trap_armed, false);
}

/* ---- writes ---- */

static opc_trap_pages_t writes[OPC_TRAP_PAGES_MAX];
static size_t write_count;
static void (*writes_written)(void);
static atomic_bool writes_armed;
static atomic_int writes_late;

static void protect_writes(int protection) {
  for (size_t i = 0; i < write_count; i++) (void)mprotect(writes[i].start, writes[i].bytes, protection);
}

void opc_trap_arm_writes(const opc_trap_pages_t *pages, size_t count, void (*written)(void)) {
  write_count = count < OPC_TRAP_PAGES_MAX ? count : OPC_TRAP_PAGES_MAX;
  for (size_t i = 0; i < write_count; i++) writes[i] = pages[i];
  writes_written = written;
  atomic_store(&writes_late, LATE_MAX);
  atomic_store(&writes_armed, true);
  protect_writes(PROT_READ);
}

static bool is_written(uint64_t address) {
  for (size_t i = 0; i < write_count; i++) {
    const uint64_t start = (uint64_t)(uintptr_t)writes[i].start;
    if (address >= start && address - start < writes[i].bytes) return true;
  }
  return false;
}

static bool write_fault(uint64_t address) {
  const struct timespec retry = {.tv_nsec = RETRY_NS};
  if (!is_written(address)) return false;
  if (!atomic_exchange(&writes_armed, false)) {
    (void)nanosleep(&retry, NULL);
    return atomic_fetch_sub(&writes_late, 1) > 0;
  }
  protect_writes(PROT_READ | PROT_WRITE);
  writes_written();
  return true;
}

/* ---- both ---- */

void opc_trap_disarm(void) {
  open_pages();
  if (atomic_exchange(&writes_armed, false)) protect_writes(PROT_READ | PROT_WRITE);
}

bool opc_trap_fault(uint64_t address) {
  const struct timespec retry = {.tv_nsec = RETRY_NS};
  int before = errno;
  uint64_t start = (uint64_t)(uintptr_t)trap_pages;
  if (!trap_pages || address < start || address - start >= trap_bytes) {
    const bool written = write_fault(address);
    errno = before;
    return written;
  }
  if (!atomic_load(&trap_armed)) return atomic_fetch_sub(&trap_late, 1) > 0;
  if (!atomic_exchange(&trap_told, true)) {
    trap_touched();
    open_pages();
  } else {
    (void)nanosleep(&retry, NULL);
  }
  errno = before;
  return true;
}
