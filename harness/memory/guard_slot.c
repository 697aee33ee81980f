/* One mapping with its guard pages: the lock for all mappings, closing pages to writes and opening them. */
#include "memory/guard_slot.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"

typedef opc_guard_slot_t slot_t;

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
slot_t *opc_guard_slots;

void opc_guard_lock(void) { pthread_mutex_lock(&guard_lock); }
void opc_guard_unlock(void) { pthread_mutex_unlock(&guard_lock); }

bool opc_guard_try_lock(void) {
  enum { PATIENCE = 10000 };
  for (int i = 0; i < PATIENCE; i++) {
    if (pthread_mutex_trylock(&guard_lock) == 0) return true;
    sched_yield();
  }
  return false;
}

size_t opc_guard_closed;

bool opc_guard_slot_close_to_writes(slot_t *slot) {
  slot->closed_by_key = slot->keyed && opc_write_key_close();
  if (slot->closed_by_key) opc_guard_closed++;
  return slot->closed_by_key || mprotect(slot->pages, slot->page_bytes, PROT_READ) == 0;
}

bool opc_guard_slot_lift(slot_t *slot) {
  bool by_key = slot->closed_by_key;
  slot->closed_by_key = false;
  if (by_key && --opc_guard_closed == 0) opc_write_key_open();
  return (by_key && slot->keyed) || mprotect(slot->pages, slot->page_bytes, PROT_READ | PROT_WRITE) == 0;
}

bool opc_guard_slot_unkey(slot_t *slot, int protection) {
  bool done = opc_write_key_take(slot->pages, slot->page_bytes, protection);
  if (done) slot->keyed = false;
  return done;
}

opc_guard_block_t opc_guard_slot_block(const slot_t *slot) {
  opc_guard_block_t block = {
      .data = slot->data, .bytes = slot->bytes, .number = slot->number, .freed = slot->freed, .heap = slot->heap};
  memcpy(block.label, slot->label, sizeof block.label);
  return block;
}
