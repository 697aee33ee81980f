/* A set of byte strings by their 64-bit hash (XXH3): for millions of names, without storing them. Two different names
 * share a hash once in 2^64 pairs.
 *
 * Ownership: opc_hash_set_clear. A zeroed set is empty and valid. Threads: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct opc_hash_set {
  uint64_t *slots; /* 0: free */
  size_t count, capacity;
} opc_hash_set_t;

/* *out_added is false when it was there already. */
opc_status_t opc_hash_set_add(opc_hash_set_t *set, const void *bytes, size_t length, bool *out_added,
                              opc_error_t *error) OPC_CHECKED;
void opc_hash_set_clear(opc_hash_set_t *set);
