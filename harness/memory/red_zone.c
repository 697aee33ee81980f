#include "memory/cpu_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "memory/valgrind_requests.h"

enum { ALIGNMENT = 64 };

static atomic_size_t live_blocks, live_bytes;
static size_t limit = SIZE_MAX / 4; /* a sum of two limits cannot overflow */

void *opc_red_zone_allocate(size_t bytes, unsigned char poison) {
  void *block = NULL;
  if (!bytes || bytes > limit || live_bytes + bytes > limit) return NULL;
  size_t whole = bytes + 2 * (size_t)OPC_RED_ZONE;
  if (posix_memalign(&block, ALIGNMENT, whole) != 0) return NULL;
  unsigned char *data = (unsigned char *)block + OPC_RED_ZONE;
  memset(block, poison, whole);
  memcpy(block, &bytes, sizeof bytes); /* for release */
  opc_valgrind_forbid(block, whole);
  opc_valgrind_forget(data, bytes);
  live_blocks++;
  live_bytes += bytes;
  return data;
}

void opc_red_zone_release(void *data) {
  size_t bytes = 0;
  if (!data) return;
  void *block = (unsigned char *)data - OPC_RED_ZONE;
  opc_valgrind_allow(block, sizeof bytes);
  memcpy(&bytes, block, sizeof bytes);
  free(block);
  live_blocks--;
  live_bytes -= bytes;
}

void opc_red_zone_live(size_t *blocks, size_t *bytes) {
  *blocks = live_blocks;
  *bytes = live_bytes;
}

void opc_red_zone_limit(size_t bytes) {
  if (bytes < limit) limit = bytes;
}
