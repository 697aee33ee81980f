#include "memory/device_zones.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"

enum { ROUND = 512 };
/* An operator that keeps its memory has thousands of blocks, whose zones would take most of a run: beyond these, one in
 * BY_TURNS is looked at. */
enum { OLDEST = 32, NEWEST = 32, BY_TURNS = 16 };

typedef struct block {
  unsigned char *data; /* start of the tensor's bytes, and end of the red zone before them */
  size_t bytes,
      after; /* `after`: the size of the red zone after the tensor: the rest of the rounded allocation, plus one zone */
  unsigned char zone; /* the fill byte of its red zones: differs from the neighbours', so that a copy from one zone to
                         another is detected */
} block_t;

static struct {
  const opc_device_calls_t *calls;
  block_t *blocks;
  size_t count, made, verified;
  unsigned char poison;
  opc_device_zone_hit_t hits[OPC_DEVICE_ZONE_HITS];
  size_t hit_count;
  pthread_mutex_t lock;
} tracker = {.poison = 0xa5, .lock = PTHREAD_MUTEX_INITIALIZER};

void opc_device_zones_begin(const opc_device_calls_t *calls) { tracker.calls = calls; }

/* ---- one allocation ---- */

static bool device_zones_keep(block_t block) {
  if (!OPC_ARRAY_GROW(tracker.blocks, tracker.count)) return false;
  tracker.blocks[tracker.count++] = block;
  return true;
}

/* In the upper half; no repeat within 128 allocations. */
static unsigned char next_zone(void) { return (unsigned char)(0x80 | (tracker.made++ * 37 & 0x7f)); }

static void *zones_allocate(size_t bytes) {
  void *base = NULL;
  if (bytes > SIZE_MAX - 2 * (size_t)OPC_DEVICE_ZONE - ROUND) return NULL;
  size_t rounded = (bytes + ROUND - 1) / ROUND * ROUND;
  block_t block = {.bytes = bytes, .after = rounded - bytes + OPC_DEVICE_ZONE, .zone = next_zone()};
  if (tracker.calls->allocate(&base, OPC_DEVICE_ZONE + bytes + block.after) != 0 || !base) return NULL;
  block.data = (unsigned char *)base + OPC_DEVICE_ZONE;
  bool filled = tracker.calls->fill(base, block.zone, OPC_DEVICE_ZONE) == 0 &&
                tracker.calls->fill(block.data, tracker.poison, bytes) == 0 &&
                tracker.calls->fill(block.data + bytes, block.zone, block.after) == 0 &&
                tracker.calls->wait() == 0; /* the fills run on another stream than the code that uses the memory */
  if (filled && device_zones_keep(block)) {
    if (tracker.calls->bound) tracker.calls->bound(base, block.data, bytes);
    return block.data;
  }
  (void)tracker.calls->release(base);
  return NULL;
}

/* One red zone: the first changed byte, and the number of changed bytes. Reads at most ROUND + OPC_DEVICE_ZONE bytes.
 * */
static void device_zones_look(const block_t *block, unsigned char *zone, size_t size, long long offset) {
  static unsigned char bytes[OPC_DEVICE_ZONE + ROUND];
  size_t first = size, count = 0;
  if (tracker.calls->read(bytes, zone, size) != 0) return; /* a fault of the context is reported elsewhere */
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] == block->zone) continue;
    if (first == size) first = i;
    count++;
  }
  if (!count) return;
  (void)tracker.calls->fill(zone, block->zone, size);
  if (tracker.hit_count == OPC_DEVICE_ZONE_HITS) return;
  tracker.hits[tracker.hit_count++] = (opc_device_zone_hit_t){
      .data = block->data, .bytes = block->bytes, .offset = offset + (long long)first, .count = count};
}

static void device_zones_look_at(const block_t *block) {
  device_zones_look(block, block->data - OPC_DEVICE_ZONE, OPC_DEVICE_ZONE, -(long long)OPC_DEVICE_ZONE);
  device_zones_look(block, block->data + block->bytes, block->after, 0);
}

static void zones_release(void *data) {
  for (size_t i = tracker.count; i-- > 0;) {
    block_t block = tracker.blocks[i];
    if (block.data != data) continue;
    if (tracker.calls->wait() == 0) device_zones_look_at(&block);
    tracker.blocks[i] = tracker.blocks[--tracker.count];
    (void)tracker.calls->release(block.data - OPC_DEVICE_ZONE);
    return;
  }
  (void)tracker.calls->release(data);
}

/* ---- all of them ---- */

void *opc_device_zones_allocate(size_t bytes) {
  if (bytes == 0) return NULL;
  pthread_mutex_lock(&tracker.lock);
  void *data = zones_allocate(bytes);
  pthread_mutex_unlock(&tracker.lock);
  return data;
}

void opc_device_zones_release(void *data) {
  if (!data) return;
  pthread_mutex_lock(&tracker.lock);
  zones_release(data);
  pthread_mutex_unlock(&tracker.lock);
}

void opc_device_zones_poison(unsigned char byte) {
  pthread_mutex_lock(&tracker.lock);
  tracker.poison = byte;
  pthread_mutex_unlock(&tracker.lock);
}

void opc_device_zones_verify(void) {
  pthread_mutex_lock(&tracker.lock);
  bool ready = tracker.count > 0 && tracker.calls->wait() == 0;
  tracker.verified++;
  for (size_t i = 0; ready && i < tracker.count; i++)
    if (i < OLDEST || i + NEWEST >= tracker.count || (i + tracker.verified) % BY_TURNS == 0)
      device_zones_look_at(&tracker.blocks[i]);
  pthread_mutex_unlock(&tracker.lock);
}

size_t opc_device_zones_hits(const opc_device_zone_hit_t **out) {
  *out = tracker.hits;
  return tracker.hit_count;
}

void opc_device_zones_reset(void) { tracker.hit_count = 0; }

bool opc_device_zones_hold(uint64_t address) {
  bool found = false;
  if (pthread_mutex_trylock(&tracker.lock) != 0) return false;
  for (size_t i = 0; i < tracker.count && !found; i++) {
    const block_t *block = &tracker.blocks[i];
    const uint64_t data = (uint64_t)(uintptr_t)block->data;
    found = address >= data - OPC_DEVICE_ZONE && address < data + block->bytes + block->after;
  }
  pthread_mutex_unlock(&tracker.lock);
  return found;
}
