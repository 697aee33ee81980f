#include "model/case/hash_set.h"

#include <stdlib.h>
#include <xxhash.h>

/* The slot that holds a hash, or the free slot for it. */
static size_t hash_set_slot_of(const opc_hash_set_t *set, uint64_t hash) {
  size_t slot = (size_t)hash & (set->capacity - 1);
  while (set->slots[slot] != 0 && set->slots[slot] != hash) slot = (slot + 1) & (set->capacity - 1);
  return slot;
}

static bool hash_set_grow(opc_hash_set_t *set) {
  opc_hash_set_t larger = {.count = set->count, .capacity = set->capacity ? set->capacity * 2 : 256};
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (!larger.slots) return false;
  for (size_t i = 0; i < set->capacity; i++)
    if (set->slots[i] != 0) larger.slots[hash_set_slot_of(&larger, set->slots[i])] = set->slots[i];
  free(set->slots);
  *set = larger;
  return true;
}

opc_status_t opc_hash_set_add(opc_hash_set_t *set, const void *bytes, size_t length, bool *out_added,
                              opc_error_t *error) {
  if (set->count * 4 >= set->capacity * 3 && !hash_set_grow(set)) return opc_out_of_memory(error);
  uint64_t hash = XXH3_64bits(bytes, length);
  if (hash == 0) hash = 1; /* 0 marks a free slot */
  size_t slot = hash_set_slot_of(set, hash);
  *out_added = set->slots[slot] == 0;
  if (*out_added) {
    set->slots[slot] = hash;
    set->count++;
  }
  return OPC_OK;
}

void opc_hash_set_clear(opc_hash_set_t *set) {
  free(set->slots);
  *set = (opc_hash_set_t){0};
}
