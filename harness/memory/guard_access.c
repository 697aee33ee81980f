/* Accesses outside an allocation, to its slack, and after its end. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "memory/guard_slot.h"
#include "memory/heap_pages.h"

typedef opc_guard_slot_t slot_t;

static opc_access_t guard_accesses[OPC_ACCESSES_MAX];
static size_t guard_access_count;

static opc_access_t *guard_access_note(const slot_t *slot, opc_access_kind_t kind, const unsigned char *at,
                                       bool write) {
  if (guard_access_count == OPC_ACCESSES_MAX) return NULL;
  opc_access_t *access = &guard_accesses[guard_access_count++];
  memset(access, 0, sizeof *access);
  access->kind = kind;
  access->write = write;
  access->address = (uint64_t)(uintptr_t)at;
  access->block = opc_guard_slot_block(slot);
  access->offset = at - slot->data;
  return access;
}

void opc_guard_access_add(const opc_access_t *access) {
  opc_guard_lock();
  if (guard_access_count < OPC_ACCESSES_MAX) guard_accesses[guard_access_count++] = *access;
  opc_guard_unlock();
}

/* ---- the slack ---- */

static const unsigned char *first_other(const unsigned char *from, const unsigned char *to, unsigned char byte) {
  if (from < to && *from == byte && memcmp(from, from + 1, (size_t)(to - from) - 1) == 0)
    return NULL; /* each byte equals the one before it */
  for (; from < to; from++)
    if (*from != byte) return from;
  return NULL;
}

void opc_guard_slot_look(slot_t *slot) {
  if (slot->damaged || !slot->live) return;
  const unsigned char *at = first_other(slot->data + slot->bytes, slot->pages + slot->page_bytes, slot->poison);
  if (!at) at = first_other(slot->pages, slot->data, slot->poison);
  slot->damaged = at;
  if (at) (void)guard_access_note(slot, OPC_ACCESS_OUTSIDE, at, true);
}

/* So that the next write to the slack of a block that is kept is seen too. */
static void slack_mend(slot_t *slot) {
  unsigned char *end = slot->data + slot->bytes;
  if (!slot->damaged || !slot->live || slot->read_only) return;
  memset(slot->pages, slot->poison, (size_t)(slot->data - slot->pages));
  memset(end, slot->poison, (size_t)(slot->pages + slot->page_bytes - end));
  slot->damaged = false;
}

size_t opc_guard_accesses(const opc_access_t **out) {
  opc_guard_lock();
  for (slot_t *slot = opc_guard_slots; slot; slot = slot->next) opc_guard_slot_look(slot);
  opc_guard_unlock();
  *out = guard_accesses;
  return guard_access_count;
}

/* ---- faults ---- */

typedef struct region {
  unsigned char *from, *to;
  opc_guard_open_t *open;
  bool fill; /* memory that never existed, or was freed, reads as poison */
} region_t;

static bool region_open(const region_t *region, bool write, unsigned char poison) {
  size_t bytes = (size_t)(region->to - region->from);
  if (mprotect(region->from, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  if (region->fill && *region->open == OPC_CLOSED) {
    opc_pages_give(region->from, bytes);
    memset(region->from, poison, bytes);
  }
  if (!write && mprotect(region->from, bytes, PROT_READ) != 0) return false;
  *region->open = write ? OPC_OPEN_WRITE : OPC_OPEN_READ;
  return true;
}

static region_t region_of(slot_t *slot, unsigned char *at) {
  unsigned char *end = slot->pages + slot->page_bytes;
  if (at < slot->pages) return (region_t){slot->mapping, slot->pages, &slot->before, true};
  if (at >= end) return (region_t){end, slot->mapping + slot->mapping_bytes, &slot->after, true};
  return (region_t){slot->pages, end, &slot->inside, slot->freed};
}

static bool slot_fault(slot_t *slot, unsigned char *at, bool write, opc_access_t **out_access) {
  static int quick_returns;
  enum { QUICK_RETURNS_MAX = 1000 };
  region_t region = region_of(slot, at);
  bool inside = region.open == &slot->inside;
  if (!slot->live && !slot->freed) return false; /* a spare: its earlier contents are unknown */
  bool forbidden = !inside || slot->freed || (slot->read_only && write);
  /* From a thread started while the key was closed, or to an argument of an earlier call: not a forbidden access. */
  if (!forbidden && slot->keyed)
    return opc_guard_slot_unkey(slot, slot->read_only ? PROT_READ : PROT_READ | PROT_WRITE);
  if (!forbidden) return false;
  /* Already open: another thread was faster. If this repeats too often, other code closed the page. */
  if (*region.open >= (write ? OPC_OPEN_WRITE : OPC_OPEN_READ)) return ++quick_returns < QUICK_RETURNS_MAX;
  slot->touched = true;
  if (inside && slot->keyed && !opc_guard_slot_unkey(slot, PROT_READ)) return false;
  if (!region_open(&region, write, slot->poison)) return false;
  bool within = at >= slot->data && at < slot->data + slot->bytes;
  *out_access = guard_access_note(slot,
                                  !within       ? OPC_ACCESS_OUTSIDE
                                  : slot->freed ? OPC_ACCESS_FREED
                                                : OPC_ACCESS_READ_ONLY,
                                  at, write);
  return *out_access;
}

bool opc_guard_fault(uint64_t address, bool write, opc_access_t **out_access) {
  int saved = errno;
  unsigned char *at = (unsigned char *)(uintptr_t)address;
  bool handled = false;
  *out_access = NULL;
  if (guard_access_count == OPC_ACCESSES_MAX || !opc_guard_try_lock()) return false;
  for (slot_t *slot = opc_guard_slots; slot; slot = slot->next) {
    if (at < slot->mapping || at >= slot->mapping + slot->mapping_bytes) continue;
    handled = slot_fault(slot, at, write, out_access);
    break;
  }
  opc_guard_unlock();
  errno = saved;
  return handled;
}

/* ---- closing ---- */

static void region_close(opc_guard_open_t *open, unsigned char *from, size_t bytes) {
  if (*open == OPC_CLOSED) return;
  madvise(from, bytes, MADV_DONTNEED);
  mprotect(from, bytes, PROT_NONE);
  *open = OPC_CLOSED;
}

void opc_guard_slot_close(slot_t *slot) {
  unsigned char *end = slot->pages + slot->page_bytes;
  if (!slot->touched && !slot->read_only) return;
  region_close(&slot->before, slot->mapping, (size_t)(slot->pages - slot->mapping));
  region_close(&slot->after, end, (size_t)(slot->mapping + slot->mapping_bytes - end));
  if (slot->freed) region_close(&slot->inside, slot->pages, slot->page_bytes);
  else (void)opc_guard_slot_lift(slot);
  slot->inside = OPC_CLOSED;
  slot->touched = slot->read_only = false;
}

void opc_guard_accesses_reset(void) {
  opc_guard_lock();
  guard_access_count = 0;
  for (slot_t *slot = opc_guard_slots; slot; slot = slot->next) {
    opc_guard_slot_look(slot);
    if (slot->touched) opc_guard_slot_close(slot);
    slack_mend(slot);
  }
  guard_access_count = 0;
  opc_guard_unlock();
}
