#include "memory/device_zones.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND = 512 };

typedef struct block {
  unsigned char *data;  /* the zone in front ends here */
  size_t bytes, behind; /* of the zone behind: up to the end of the rounded allocation, and a zone more */
  unsigned char zone; /* what its zones hold: another byte than its neighbours', so that a copy that runs on from one to
                         the other shows */
} block_t;

static struct {
  const opc_device_calls_t *calls;
  block_t *blocks;
  size_t count, capacity, made;
  unsigned char poison;
  opc_device_zone_hit_t hits[OPC_DEVICE_ZONE_HITS];
  size_t hit_count;
  pthread_mutex_t lock;
} ledger = {.poison = 0xa5, .lock = PTHREAD_MUTEX_INITIALIZER};

void opc_device_zones_begin(const opc_device_calls_t *calls) { ledger.calls = calls; }

/* ---- one allocation ---- */

static bool keep(block_t block) {
  if (ledger.count == ledger.capacity) {
    size_t capacity = ledger.capacity * 2 + 64;
    block_t *grown = realloc(ledger.blocks, capacity * sizeof *grown);
    if (!grown) return false;
    ledger.blocks = grown;
    ledger.capacity = capacity;
  }
  ledger.blocks[ledger.count++] = block;
  return true;
}

/* Of the upper half, none twice in 128 allocations. */
static unsigned char next_zone(void) { return (unsigned char)(0x80 | (ledger.made++ * 37 & 0x7f)); }

static void *allocate(size_t bytes) {
  void *base = NULL;
  if (bytes > SIZE_MAX - 2 * (size_t)OPC_DEVICE_ZONE - ROUND) return NULL;
  size_t rounded = (bytes + ROUND - 1) / ROUND * ROUND;
  block_t block = {.bytes = bytes, .behind = rounded - bytes + OPC_DEVICE_ZONE, .zone = next_zone()};
  if (ledger.calls->allocate(&base, OPC_DEVICE_ZONE + bytes + block.behind) != 0 || !base) return NULL;
  block.data = (unsigned char *)base + OPC_DEVICE_ZONE;
  bool filled = ledger.calls->fill(base, block.zone, OPC_DEVICE_ZONE) == 0 &&
                ledger.calls->fill(block.data, ledger.poison, bytes) == 0 &&
                ledger.calls->fill(block.data + bytes, block.zone, block.behind) == 0 &&
                ledger.calls->wait() == 0; /* the fills are on another stream than whoever uses the memory */
  if (filled && keep(block)) return block.data;
  (void)ledger.calls->release(base);
  return NULL;
}

/* One zone: the first byte that changed, and how many did. At most ROUND + OPC_DEVICE_ZONE bytes are looked at. */
static void look(const block_t *block, unsigned char *zone, size_t size, long long offset) {
  static unsigned char bytes[OPC_DEVICE_ZONE + ROUND];
  size_t first = size, count = 0;
  if (ledger.calls->read(bytes, zone, size) != 0) return; /* a fault of the context is told elsewhere */
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] == block->zone) continue;
    if (first == size) first = i;
    count++;
  }
  if (!count) return;
  (void)ledger.calls->fill(zone, block->zone, size);
  if (ledger.hit_count == OPC_DEVICE_ZONE_HITS) return;
  ledger.hits[ledger.hit_count++] = (opc_device_zone_hit_t){
      .data = block->data, .bytes = block->bytes, .offset = offset + (long long)first, .count = count};
}

static void look_at(const block_t *block) {
  look(block, block->data - OPC_DEVICE_ZONE, OPC_DEVICE_ZONE, -(long long)OPC_DEVICE_ZONE);
  look(block, block->data + block->bytes, block->behind, 0);
}

static void release(void *data) {
  for (size_t i = ledger.count; i-- > 0;) {
    block_t block = ledger.blocks[i];
    if (block.data != data) continue;
    if (ledger.calls->wait() == 0) look_at(&block);
    ledger.blocks[i] = ledger.blocks[--ledger.count];
    (void)ledger.calls->release(block.data - OPC_DEVICE_ZONE);
    return;
  }
  (void)ledger.calls->release(data);
}

/* ---- all of them ---- */

void *opc_device_zones_allocate(size_t bytes) {
  if (bytes == 0) return NULL;
  pthread_mutex_lock(&ledger.lock);
  void *data = allocate(bytes);
  pthread_mutex_unlock(&ledger.lock);
  return data;
}

void opc_device_zones_release(void *data) {
  if (!data) return;
  pthread_mutex_lock(&ledger.lock);
  release(data);
  pthread_mutex_unlock(&ledger.lock);
}

void opc_device_zones_poison(unsigned char byte) {
  pthread_mutex_lock(&ledger.lock);
  ledger.poison = byte;
  pthread_mutex_unlock(&ledger.lock);
}

void opc_device_zones_verify(void) {
  pthread_mutex_lock(&ledger.lock);
  bool ready = ledger.count > 0 && ledger.calls->wait() == 0;
  for (size_t i = 0; ready && i < ledger.count; i++) look_at(&ledger.blocks[i]);
  pthread_mutex_unlock(&ledger.lock);
}

size_t opc_device_zones_hits(const opc_device_zone_hit_t **out) {
  *out = ledger.hits;
  return ledger.hit_count;
}

void opc_device_zones_reset(void) { ledger.hit_count = 0; }

size_t opc_device_zones_live(void) { return ledger.count; }
