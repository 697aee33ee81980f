#include "memory/guard.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* One allocation: guard, accessible pages (slack, data, slack), guard. */
typedef struct slot {
  unsigned char *data; /* first member: the key of the tree */
  size_t bytes;
  unsigned char *mapping, *pages;
  size_t mapping_bytes, page_bytes;
  unsigned char poison;
  bool damaged; /* counted already */
} slot_t;

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
static void *guard_slots; /* of tsearch, by address */
static size_t guard_damage;

static int slot_compare(const void *left, const void *right) {
  const slot_t *a = left, *b = right;
  return (a->data > b->data) - (a->data < b->data);
}

static bool is_filled(const unsigned char *from, const unsigned char *to, unsigned char byte) {
  for (; from < to; from++)
    if (*from != byte) return false;
  return true;
}

static void slot_look(slot_t *slot) {
  if (slot->damaged) return;
  slot->damaged = !is_filled(slot->pages, slot->data, slot->poison) ||
                  !is_filled(slot->data + slot->bytes, slot->pages + slot->page_bytes, slot->poison);
  guard_damage += slot->damaged;
}

/* ---- mappings ---- */

/* What ended waits here with its guards in place for the next of its size: to map anew costs more than most calls. */
enum { SPARES_MAX = 64, SPARE_BYTES_MAX = 64 << 10 };
static slot_t *guard_spares[SPARES_MAX];
static size_t guard_spare_count;

static slot_t *spare_take(size_t page_bytes) {
  for (size_t i = guard_spare_count; i-- > 0;) {
    slot_t *slot = guard_spares[i];
    if (slot->page_bytes != page_bytes) continue;
    guard_spares[i] = guard_spares[--guard_spare_count];
    return slot;
  }
  return NULL;
}

static bool spare_keep(slot_t *slot) {
  if (slot->page_bytes > SPARE_BYTES_MAX || guard_spare_count == SPARES_MAX) return false;
  guard_spares[guard_spare_count++] = slot;
  return true;
}

static slot_t *slot_map(size_t page_bytes, size_t page) {
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
  if (mprotect(slot->pages, page_bytes, PROT_READ | PROT_WRITE) == 0) return slot;
  munmap(mapping, mapping_bytes);
  free(slot);
  return NULL;
}

static void slot_unmap(slot_t *slot) {
  munmap(slot->mapping, slot->mapping_bytes);
  free(slot);
}

/* ---- allocations ---- */

static bool rounded_up(size_t bytes, size_t to, size_t *out) {
  if (__builtin_add_overflow(bytes, to - 1, out)) return false;
  *out &= ~(to - 1);
  return true;
}

void *opc_guard_allocate(size_t bytes, const opc_guard_policy_t *policy) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), padded, page_bytes;
  if (!bytes || !rounded_up(bytes, policy->alignment, &padded) || !rounded_up(padded, page, &page_bytes)) return NULL;
  pthread_mutex_lock(&guard_lock);
  slot_t *slot = spare_take(page_bytes);
  if (!slot) slot = slot_map(page_bytes, page);
  bool kept = false;
  if (slot) {
    slot->bytes = bytes;
    slot->damaged = false;
    slot->poison = policy->poison;
    slot->data = policy->side == OPC_GUARD_BEHIND ? slot->pages + page_bytes - padded : slot->pages;
    memset(slot->pages, policy->poison, page_bytes);
    kept = tsearch(slot, &guard_slots, slot_compare) != NULL;
    if (!kept) slot_unmap(slot);
  }
  pthread_mutex_unlock(&guard_lock);
  return kept ? slot->data : NULL;
}

bool opc_guard_release(void *data) {
  slot_t key = {.data = data};
  pthread_mutex_lock(&guard_lock);
  void *node = tfind(&key, &guard_slots, slot_compare);
  if (node) {
    slot_t *slot = *(slot_t **)node;
    slot_look(slot);
    tdelete(slot, &guard_slots, slot_compare);
    if (!spare_keep(slot)) slot_unmap(slot);
  }
  pthread_mutex_unlock(&guard_lock);
  return node != NULL;
}

static void visit_slot(const void *node, VISIT visit, void *unused) {
  (void)unused;
  if (visit == preorder || visit == leaf) slot_look(*(slot_t *const *)node);
}

size_t opc_guard_damage(void) {
  pthread_mutex_lock(&guard_lock);
  twalk_r(guard_slots, visit_slot, NULL);
  size_t damage = guard_damage;
  pthread_mutex_unlock(&guard_lock);
  return damage;
}

void opc_guard_damage_reset(void) {
  pthread_mutex_lock(&guard_lock);
  guard_damage = 0;
  pthread_mutex_unlock(&guard_lock);
}
