/* Where allocations are, of either mode: sorted by address, freed ones kept until their place is used again.
 *
 * Changed under a lock; read without one, also by a signal handler, by looking whether a change came between (a
 * sequence lock). */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/cudart_table.h"

enum { RANGES_MAX = 1 << 18, RETRIES = 1 << 16 };
static opc_range_t *ranges;
static atomic_size_t range_count;
static atomic_uint changes; /* odd: one goes on */

void opc_range_reserve(void) { ranges = opc_reserve(RANGES_MAX * sizeof *ranges, PROT_READ | PROT_WRITE); }

/* The first that begins after it. */
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
      first--; /* whatever lay there is no more */
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
          ranges[i].caller; /* until the loader can be asked, which may wait for whoever waits for the lock */
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
         OPC_PAGE; /* and a closed page between the two */
  }
  pthread_mutex_unlock(&opc_lock_addresses);
  return at + bytes <= to ? at : 0;
}

/* ---- classified ---- */

opc_cuda_address_t opc_address_of_range(uint64_t address, const opc_range_t *range) {
  const bool pinned = range->place == OPC_CUDA_PINNED;
  return (opc_cuda_address_t){
      .value = address,
      /* Freed or unregistered host memory is memory of the process like any other, if it is there at all. */
      .place = range->live ? range->place
               : pinned    ? OPC_CUDA_PAGEABLE
                           : OPC_CUDA_FREED,
      .device = pinned ? -1 : range->device,
      .allocation = range->base,
  };
}

/* Where AddressSanitizer is in the process, these addresses are its tables of all memory; they can be read, and 2^31
 * elements look like one. */
extern void __asan_init(void) __attribute__((weak));
static const uint64_t asan_low = 0x7fff8000, asan_end = 0x10007fff8000;

/* Whether the process has memory there that can be read: what is only reserved (guard pages, AddressSanitizer's gaps,
 * which are terabytes at low addresses) is nothing that anybody passes to a kernel, and a count of bytes may well look
 * like an address in it. The system copies the set of signals before it looks at `how`, which is none that there is.
 * Asking it costs hundreds of nanoseconds, so that a page which was there once in a log counts as there in it. */
static bool readable(uint64_t address) {
  enum { KNOWN = 256, NO_HOW = -1, SET_BYTES = 8 };
  static _Atomic uint64_t known[KNOWN];
  /* Nothing of a 64-bit process lies in its first 64 KiB, nor in the kernel's half; the system would say so too, and
   * slower. */
  if (address < 1 << 16 || address >> 47 != 0) return false;
  if (__asan_init && address >= asan_low && address < asan_end) return false;
  const uint64_t page = address / OPC_PAGE, mark = (uint64_t)opc_log_number() << 36 | page;
  _Atomic uint64_t *slot = &known[page % KNOWN];
  if (atomic_load_explicit(&opc_log_open, memory_order_relaxed) &&
      atomic_load_explicit(slot, memory_order_relaxed) == mark)
    return true;
  const int kept = errno;
  const bool there = syscall(SYS_rt_sigprocmask, NO_HOW, page * OPC_PAGE, NULL, SET_BYTES) == 0 || errno != EFAULT;
  errno = kept;
  if (!there) return false;
  atomic_store_explicit(slot, mark, memory_order_relaxed);
  return true;
}

/* Memory that was allocated past us, by the driver's functions or a static runtime: the real one knows it. */
static bool asked_real(uint64_t address, opc_cuda_address_t *out) {
  struct cudaPointerAttributes attributes;
  if (opc_runtime.simulated || address < 1 << 16 || address >> 48 != 0) return false;
  if (opc_real.cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)address) != cudaSuccess ||
      attributes.type == cudaMemoryTypeUnregistered)
    return false;
  out->place = attributes.type == cudaMemoryTypeDevice    ? OPC_CUDA_DEVICE
               : attributes.type == cudaMemoryTypeManaged ? OPC_CUDA_MANAGED
                                                          : OPC_CUDA_PINNED;
  out->device = out->place == OPC_CUDA_PINNED ? -1 : attributes.device;
  return true;
}

opc_cuda_address_t opc_address(uint64_t address) {
  opc_range_t range;
  const opc_cuda_address_t nowhere = {.value = address, .device = -1};
  if (address == 0) return nowhere;
  if (opc_range_find(address, &range)) {
    const opc_cuda_address_t known = opc_address_of_range(address, &range);
    if (known.place != OPC_CUDA_PAGEABLE) return known;
  } else if (opc_device_contains(address)) {
    return nowhere;
  }
  opc_cuda_address_t found = nowhere;
  if (asked_real(address, &found)) return found;
  if (!readable(address)) return nowhere;
  return (opc_cuda_address_t){.value = address, .place = OPC_CUDA_PAGEABLE, .device = -1};
}
