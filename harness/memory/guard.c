/* Allocations between guard pages. */
#include "memory/guard.h"

#include <pthread.h>
#include <sched.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "memory/guard_slot.h"
#include "memory/heap_pages.h"

typedef opc_guard_slot_t slot_t;

static void *guard_tree; /* for tsearch: the live allocations by address */
static uint64_t guard_numbers;
static size_t guard_live_blocks, guard_live_bytes;

static int slot_compare(const void *left, const void *right) {
  const slot_t *a = left, *b = right;
  return (a->data > b->data) - (a->data < b->data);
}

static slot_t *slot_at(const void *data) {
  slot_t key = {.data = (unsigned char *)data};
  void *node = tfind(&key, &guard_tree, slot_compare);
  return node ? *(slot_t **)node : NULL;
}

/* ---- mappings ---- */

/* Keeps ended mappings with their guard pages for the next allocation of that size: a new mapping costs more than most
 * calls. */
enum {
  SPARES_MAX = 64,
  SPARE_BYTES_MAX = 64 << 10,
  WHOLE_MAX = 256 << 20, /* larger blocks are filled at their ends only */
  END_BYTES = 64 << 20
};
static slot_t *guard_spares[SPARES_MAX];
static size_t guard_spare_count;

/* The last that ended, so that a call finds its tensors where an equal earlier call had them. If necessary, one of the
 * other kind: conversion is one system call. */
static slot_t *spare_take(size_t page_bytes, bool keyed) {
  size_t found = SPARES_MAX;
  for (size_t i = guard_spare_count; i-- > 0;) {
    if (guard_spares[i]->page_bytes != page_bytes) continue;
    if (found == SPARES_MAX || guard_spares[i]->keyed == keyed) found = i;
    if (guard_spares[i]->keyed == keyed) break;
  }
  if (found == SPARES_MAX) return NULL;
  slot_t *slot = guard_spares[found];
  if (slot->keyed && !keyed && !opc_guard_slot_unkey(slot, PROT_READ | PROT_WRITE)) return NULL;
  if (!slot->keyed && keyed) slot->keyed = opc_write_key_give(slot->pages, page_bytes);
  guard_spares[found] = guard_spares[--guard_spare_count];
  return slot;
}

static bool spare_keep(slot_t *slot) {
  if (slot->page_bytes > SPARE_BYTES_MAX || guard_spare_count == SPARES_MAX) return false;
  guard_spares[guard_spare_count++] = slot;
  return true;
}

static slot_t *slot_map(size_t page_bytes, size_t page, bool keyed) {
  size_t span = (OPC_GUARD_SPAN + page - 1) / page * page, mapping_bytes;
  if (__builtin_add_overflow(page_bytes, 2 * span, &mapping_bytes)) return NULL;
  slot_t *slot = malloc(sizeof *slot);
  if (!slot) return NULL;
  void *mapping = mmap(NULL, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *slot = (slot_t){.mapping = mapping, .mapping_bytes = mapping_bytes, .page_bytes = page_bytes};
  if (mapping == MAP_FAILED) {
    free(slot);
    return NULL;
  }
  slot->pages = slot->mapping + span;
  slot->keyed = keyed && opc_write_key_give(slot->pages, page_bytes);
  if (!slot->keyed && mprotect(slot->pages, page_bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, mapping_bytes);
    free(slot);
    return NULL;
  }
  if (page_bytes <= WHOLE_MAX) opc_pages_give(slot->pages, page_bytes);
  slot->next = opc_guard_slots;
  if (slot->next) slot->next->previous = slot;
  opc_guard_slots = slot;
  return slot;
}

static void slot_unmap(slot_t *slot) {
  if (slot->previous) slot->previous->next = slot->next;
  else opc_guard_slots = slot->next;
  if (slot->next) slot->next->previous = slot->previous;
  munmap(slot->mapping, slot->mapping_bytes);
  free(slot);
}

/* ---- allocations ---- */

static bool rounded_up(size_t bytes, size_t to, size_t *out) {
  if (__builtin_add_overflow(bytes, to - 1, out)) return false;
  *out &= ~(to - 1);
  return true;
}

static size_t page_size(void) {
  static size_t size;
  if (!size) size = (size_t)sysconf(_SC_PAGESIZE);
  return size;
}

/* Of gigabytes only both ends: a kernel that takes a wrong number for a size asks for them, and touches none. What is
 * between is zero. */
static void poison_ends(unsigned char *data, size_t bytes, unsigned char poison) {
  const size_t ends = bytes > WHOLE_MAX ? END_BYTES : bytes;
  memset(data, poison, ends);
  if (ends < bytes) memset(data + bytes - END_BYTES, poison, END_BYTES);
}

static bool slot_begin(slot_t *slot, size_t bytes, size_t padded, const opc_guard_policy_t *policy) {
  slot->bytes = bytes;
  slot->damaged = slot->freed = false;
  slot->live = true;
  slot->heap = policy->heap;
  slot->label[0] = '\0';
  slot->poison = policy->fixed_slack ? OPC_GUARD_SLACK : policy->poison;
  slot->number = ++guard_numbers;
  slot->data = policy->side == OPC_GUARD_BEHIND ? slot->pages + slot->page_bytes - padded : slot->pages;
  poison_ends(slot->pages, slot->page_bytes, slot->poison);
  if (slot->poison != policy->poison) poison_ends(slot->data, bytes, policy->poison);
  if (!slot->heap) {
    guard_live_blocks++;
    guard_live_bytes += bytes;
  }
  return tsearch(slot, &guard_tree, slot_compare);
}

static void slot_end(slot_t *slot) {
  tdelete(slot, &guard_tree, slot_compare);
  slot->live = false;
  if (slot->heap) return;
  guard_live_blocks--;
  guard_live_bytes -= slot->bytes;
}

void *opc_guard_allocate(size_t bytes, const opc_guard_policy_t *policy) {
  size_t padded, page_bytes;
  if (!bytes || !rounded_up(bytes, policy->alignment, &padded) || !rounded_up(padded, page_size(), &page_bytes))
    return NULL;
  opc_guard_lock();
  bool keyed = policy->to_protect && !opc_guard_closed && opc_write_key_present();
  slot_t *slot = spare_take(page_bytes, keyed);
  if (!slot) slot = slot_map(page_bytes, page_size(), keyed);
  if (slot && !slot_begin(slot, bytes, padded, policy)) {
    slot_end(slot);
    slot_unmap(slot);
    slot = NULL;
  }
  opc_guard_unlock();
  return slot ? slot->data : NULL;
}

/* ---- quarantine ---- */

enum { QUARANTINE_SLOTS = 1024, QUARANTINE_BYTES = 256 << 20 };
static bool guard_quarantine;
static size_t guard_quarantined, guard_quarantined_bytes;

static void slot_retire(slot_t *slot) {
  slot->touched = true; /* closed or reopened by slot_close */
  slot->freed = false;
  opc_guard_slot_close(slot);
  if (!spare_keep(slot)) slot_unmap(slot);
}

static bool quarantine_keep(slot_t *slot) {
  bool room = guard_quarantine && guard_quarantined < QUARANTINE_SLOTS &&
              guard_quarantined_bytes + slot->page_bytes <= QUARANTINE_BYTES;
  if (!room ||
      !(slot->keyed ? opc_guard_slot_unkey(slot, PROT_NONE) : mprotect(slot->pages, slot->page_bytes, PROT_NONE) == 0))
    return false;
  madvise(slot->pages, slot->page_bytes, MADV_DONTNEED);
  slot->freed = true;
  guard_quarantined++;
  guard_quarantined_bytes += slot->page_bytes;
  return true;
}

void opc_guard_quarantine(bool on) {
  opc_guard_lock();
  guard_quarantine = on;
  for (slot_t *slot = opc_guard_slots, *next; slot && !on; slot = next) {
    next = slot->next;
    if (slot->freed) slot_retire(slot);
  }
  if (!on) guard_quarantined = guard_quarantined_bytes = 0;
  opc_guard_unlock();
}

bool opc_guard_release(void *data) {
  opc_guard_lock();
  slot_t *slot = slot_at(data);
  if (slot) {
    opc_guard_slot_look(slot);
    opc_guard_slot_close(slot);
    slot_end(slot);
    if (!quarantine_keep(slot) && !spare_keep(slot)) slot_unmap(slot);
  }
  opc_guard_unlock();
  return slot;
}

/* ---- questions ---- */

void opc_guard_label(const void *data, const char *label) {
  opc_guard_lock();
  slot_t *slot = slot_at(data);
  if (slot) opc_string_put(slot->label, sizeof slot->label, label);
  opc_guard_unlock();
}

bool opc_guard_find(const void *address, opc_guard_block_t *out) {
  const unsigned char *at = address;
  bool found = false;
  opc_guard_lock();
  for (const slot_t *slot = opc_guard_slots; slot && !found; slot = slot->next) {
    found = (slot->live || slot->freed) && at >= slot->data && at < slot->data + slot->bytes;
    if (found) *out = opc_guard_slot_block(slot);
  }
  opc_guard_unlock();
  return found;
}

void opc_guard_live(size_t *out_blocks, size_t *out_bytes) {
  opc_guard_lock();
  *out_blocks = guard_live_blocks;
  *out_bytes = guard_live_bytes;
  opc_guard_unlock();
}

bool opc_guard_protect(const void *data, bool read_only) {
  bool done = false;
  opc_guard_lock();
  slot_t *slot = slot_at(data);
  if (slot && read_only) done = (!slot->read_only || opc_guard_slot_lift(slot)) && opc_guard_slot_close_to_writes(slot);
  else if (slot && slot->read_only) done = opc_guard_slot_lift(slot);
  else if (slot) done = !slot->keyed || opc_guard_slot_unkey(slot, PROT_READ | PROT_WRITE);
  if (done) {
    slot->read_only = read_only;
    slot->inside = OPC_CLOSED;
  }
  opc_guard_unlock();
  return done;
}
