/* Allocations of either mode: sorted by address. Freed ones are kept until their addresses are reused.
 *
 * Changed under a lock; read without one, also by a signal handler, which checks whether a change happened meanwhile (a
 * sequence lock). */
#include <string.h>
#include <sys/mman.h>

#include "cuda/state/cudart_table.h"

enum { RANGES_MAX = 1 << 18, RETRIES = 1 << 16 };
static opc_range_t *ranges;
static atomic_size_t range_count;
static atomic_uint changes; /* odd: a change is in progress */

void opc_range_reserve(void) { ranges = opc_reserve(RANGES_MAX * sizeof *ranges, PROT_READ | PROT_WRITE); }

/* The first range that begins after the address. */
static size_t above(uint64_t address, size_t count) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges[middle].base <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void change_begin(void) {
  pthread_mutex_lock(&opc_lock_addresses);
  atomic_fetch_add(&changes, 1);
}
static void change_end(void) {
  atomic_fetch_add(&changes, 1);
  pthread_mutex_unlock(&opc_lock_addresses);
}

static size_t freed_dropped(size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (ranges[i].live) ranges[kept++] = ranges[i];
  return kept;
}

void opc_range_add(const void *at, uint64_t bytes, opc_cuda_place_t place, int device, uint64_t caller,
                   unsigned flags) {
  const uint64_t base = (uint64_t)(uintptr_t)at;
  if (base == 0 || bytes == 0) return;
  change_begin();
  size_t count = atomic_load_explicit(&range_count, memory_order_relaxed);
  if (ranges && count == RANGES_MAX) count = freed_dropped(count);
  if (ranges && count < RANGES_MAX) {
    size_t first = above(base, count), after = first;
    if (first > 0 && ranges[first - 1].base + ranges[first - 1].bytes > base)
      first--; /* the range that was there no longer exists */
    while (after < count && ranges[after].base < base + bytes) after++;
    memmove(&ranges[first + 1], &ranges[after], (count - after) * sizeof *ranges);
    ranges[first] = (opc_range_t){
        .base = base, .bytes = bytes, .caller = caller, .place = place, .device = device, .live = true, .flags = flags};
    count = count - (after - first) + 1;
  }
  atomic_store_explicit(&range_count, count, memory_order_relaxed);
  change_end();
}

void opc_range_end(const void *at) {
  const uint64_t base = (uint64_t)(uintptr_t)at;
  change_begin();
  const size_t i = above(base, atomic_load_explicit(&range_count, memory_order_relaxed));
  if (i > 0 && ranges[i - 1].base == base) ranges[i - 1].live = false;
  change_end();
}

void opc_range_bound(const void *at, const void *data, size_t bytes) {
  const uint64_t base = (uint64_t)(uintptr_t)at;
  change_begin();
  const size_t i = above(base, atomic_load_explicit(&range_count, memory_order_relaxed));
  if (i > 0 && ranges[i - 1].base == base) {
    ranges[i - 1].part = (uint64_t)(uintptr_t)data;
    ranges[i - 1].part_bytes = bytes;
  }
  change_end();
}

bool opc_range_find(uint64_t address, opc_range_t *out) {
  for (int i = 0; i < RETRIES; i++) {
    const unsigned before = atomic_load(&changes);
    if ((before & 1) != 0) continue;
    const size_t count = atomic_load(&range_count), next = count > 0 ? above(address, count) : 0;
    opc_range_t found = {0};
    if (next > 0) found = ranges[next - 1];
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load(&changes) != before) continue;
    *out = found;
    return found.bytes != 0 && address - found.base < found.bytes;
  }
  return false;
}

bool opc_range_starts(const void *base, opc_range_t *out) {
  const uint64_t address = (uint64_t)(uintptr_t)base;
  return opc_range_find(address, out) && out->live && out->base == address;
}

size_t opc_range_list(opc_cuda_allocation_t *out, size_t room) {
  size_t found = 0;
  pthread_mutex_lock(&opc_lock_addresses);
  const size_t count = atomic_load(&range_count);
  for (size_t i = 0; i < count; i++) {
    if (!ranges[i].live) continue;
    if (found < room) {
      out[found] =
          (opc_cuda_allocation_t){.at = opc_address_of_range(ranges[i].base, &ranges[i]), .bytes = ranges[i].bytes};
      out[found].at.value =
          ranges[i].caller; /* until the loader can be queried; it may wait for a thread that waits for this lock */
    }
    found++;
  }
  pthread_mutex_unlock(&opc_lock_addresses);
  for (size_t i = 0; i < found && i < room; i++) {
    out[i].library = opc_log_library(out[i].at.value);
    out[i].at.value = out[i].at.allocation;
  }
  return found;
}

uint64_t opc_range_live_bytes(int device) {
  uint64_t bytes = 0;
  pthread_mutex_lock(&opc_lock_addresses);
  const size_t count = atomic_load(&range_count);
  for (size_t i = 0; i < count; i++)
    if (ranges[i].live && ranges[i].device == device && ranges[i].place != OPC_CUDA_PINNED)
      bytes += (ranges[i].bytes + OPC_PAGE - 1) / OPC_PAGE * OPC_PAGE;
  pthread_mutex_unlock(&opc_lock_addresses);
  return bytes;
}

uint64_t opc_range_gap(uint64_t from, uint64_t to, uint64_t bytes) {
  uint64_t at = from;
  pthread_mutex_lock(&opc_lock_addresses);
  const size_t count = atomic_load(&range_count);
  for (size_t i = 0; i < count && ranges[i].base < at + bytes; i++) {
    if (!ranges[i].live || ranges[i].base + ranges[i].bytes <= at) continue;
    at = (ranges[i].base + ranges[i].bytes + OPC_PAGE - 1) / OPC_PAGE * OPC_PAGE +
         OPC_PAGE; /* plus an inaccessible page between the two */
  }
  pthread_mutex_unlock(&opc_lock_addresses);
  return at + bytes <= to ? at : 0;
}

/* ---- classification ---- */

opc_cuda_address_t opc_address_of_range(uint64_t address, const opc_range_t *range) {
  const bool pinned = range->place == OPC_CUDA_PINNED;
  return (opc_cuda_address_t){
      .value = address,
      /* Freed or unregistered host memory is ordinary memory of the process, if it is mapped at all. */
      .place = range->live ? range->place
               : pinned    ? OPC_CUDA_PAGEABLE
                           : OPC_CUDA_FREED,
      .device = pinned ? -1 : range->device,
      .allocation = range->base,
  };
}
