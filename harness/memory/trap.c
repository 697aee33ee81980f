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
static atomic_bool trap_armed, trap_reported;
static atomic_int trap_late;

bool opc_trap_arm(void *pages, size_t bytes, void (*touched)(void)) {
  trap_pages = pages;
  trap_bytes = bytes;
  trap_touched = touched;
  atomic_store(&trap_reported, false);
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

/* BUSY: the pages are being closed or opened, by one thread; others that fault wait for it. */
enum { WRITES_IDLE = 0, WRITES_BUSY, WRITES_ARMED };

static opc_trap_pages_t writes[OPC_TRAP_PAGES_MAX];
static atomic_size_t write_count;
static void (*writes_written)(void);
static atomic_int writes_state, writes_late;

static void protect_writes(int protection) {
  for (size_t i = 0; i < write_count; i++) (void)mprotect(writes[i].start, writes[i].bytes, protection);
}

/* False: they are not armed, or another thread opens them. */
static bool open_writes(void) {
  int armed = WRITES_ARMED;
  if (!atomic_compare_exchange_strong(&writes_state, &armed, WRITES_BUSY)) return false;
  protect_writes(PROT_READ | PROT_WRITE);
  atomic_store(&writes_late, LATE_MAX);
  atomic_store(&writes_state, WRITES_IDLE);
  return true;
}

void opc_trap_arm_writes(const opc_trap_pages_t *pages, size_t count, void (*written)(void)) {
  int idle = WRITES_IDLE;
  if (!atomic_compare_exchange_strong(&writes_state, &idle, WRITES_BUSY)) return;
  open_pages(); /* some may be in both, and must be closed for writes afterwards */
  write_count = 0;
  for (size_t i = 0; i < count && i < OPC_TRAP_PAGES_MAX; i++) writes[i] = pages[i];
  write_count = count < OPC_TRAP_PAGES_MAX ? count : OPC_TRAP_PAGES_MAX;
  writes_written = written;
  protect_writes(PROT_READ);
  atomic_store(&writes_state, WRITES_ARMED);
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
  if (open_writes()) {
    writes_written();
    return true;
  }
  const bool busy = atomic_load(&writes_state) != WRITES_IDLE;
  (void)nanosleep(&retry, NULL);
  return busy || atomic_fetch_sub(&writes_late, 1) > 0;
}

/* ---- both ---- */

void opc_trap_disarm(void) {
  open_pages();
  (void)open_writes();
}

static bool is_in_first(uint64_t address) {
  const uint64_t start = (uint64_t)(uintptr_t)trap_pages;
  return trap_pages && address >= start && address - start < trap_bytes;
}

bool opc_trap_fault(uint64_t address) {
  const struct timespec retry = {.tv_nsec = RETRY_NS};
  const int before = errno;
  bool known = true;
  if (!is_in_first(address) || !atomic_load(&trap_armed)) { /* a page may be in both */
    known = write_fault(address) || (is_in_first(address) && atomic_fetch_sub(&trap_late, 1) > 0);
  } else if (!atomic_exchange(&trap_reported, true)) {
    trap_touched();
    open_pages();
  } else {
    (void)nanosleep(&retry, NULL);
  }
  errno = before;
  return known;
}
