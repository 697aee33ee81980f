/* Memory of the simulated devices: an inaccessible address range for each, so that host code that dereferences a device
 * address faults.
 *
 * Pages are private and anonymous: a forked child has its own, and unwritten pages cost nothing. A copy makes its pages
 * accessible while it runs, under a lock; another thread's stray access in just that moment goes undetected, which is
 * accepted. Addresses are handed out upwards and reused only when the range is used up, so that addresses of freed
 * memory are recognised. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/state/cudart_table.h"

enum { REGION_MANAGED = OPC_SIMULATED_DEVICES, REGION_PINNED, REGIONS, OPENED_MAX = 4096, PAGEMAP_ENTRIES = 16384 };
static const uint64_t region_bytes = 1ull << 40, region_bytes_least = 1ull << 30;

static struct region { uint64_t base, bytes, used; /* handed out up to base + used */ } regions[REGIONS];
static uint64_t all_from, all_to;

static uint64_t opened[OPENED_MAX]; /* pages that a fault made accessible */
static atomic_size_t opened_count;

static uint64_t pages_of(uint64_t bytes) { return (bytes + OPC_PAGE - 1) / OPC_PAGE * OPC_PAGE; }
static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

void opc_device_reserve(void) {
  uint64_t bytes = region_bytes;
  void *at = NULL;
  while (!at && bytes >= region_bytes_least) {
    at = opc_reserve(REGIONS * bytes, PROT_NONE);
    if (!at) bytes /= 2;
  }
  if (!at) return; /* every allocation then fails for lack of memory */
  all_from = (uint64_t)(uintptr_t)at;
  all_to = all_from + REGIONS * bytes;
  for (int i = 0; i < REGIONS; i++)
    regions[i] = (struct region){.base = all_from + (uint64_t)i * bytes, .bytes = bytes};
  madvise(at, REGIONS * bytes, MADV_DONTDUMP);
}

bool opc_device_contains(uint64_t address) { return address - all_from < all_to - all_from; }

static bool of_a_device(uint64_t address) {
  return all_from != 0 && address - all_from < regions[REGION_MANAGED].base - all_from;
}

uint64_t opc_device_place(opc_cuda_place_t kind, int device, uint64_t bytes) {
  struct region *region = &regions[kind == OPC_CUDA_PINNED    ? REGION_PINNED
                                   : kind == OPC_CUDA_MANAGED ? REGION_MANAGED
                                                              : device];
  if (bytes > region->bytes) return 0;
  const uint64_t need = pages_of(bytes) + OPC_PAGE;
  pthread_mutex_lock(&opc_lock_copies);
  uint64_t at = region->used + need <= region->bytes ? region->base + region->used
                                                     : opc_range_gap(region->base, region->base + region->bytes, need);
  if (at == region->base + region->used) region->used += need;
  if (at != 0 && kind != OPC_CUDA_DEVICE && mprotect(pointer(at), pages_of(bytes), PROT_READ | PROT_WRITE) != 0) at = 0;
  opc_range_add(pointer(at), bytes, kind, device, 0, 0); /* so that nobody else gets it; the wrapper adds the caller */
  pthread_mutex_unlock(&opc_lock_copies);
  return at;
}

void opc_device_shut(uint64_t base, uint64_t bytes, opc_cuda_place_t place) {
  pthread_mutex_lock(&opc_lock_copies);
  madvise(pointer(base), pages_of(bytes), MADV_DONTNEED);
  if (place != OPC_CUDA_DEVICE) mprotect(pointer(base), pages_of(bytes), PROT_NONE);
  pthread_mutex_unlock(&opc_lock_copies);
}

/* ---- copies ---- */

_Atomic(opc_device_changed_t *) opc_device_changed;

static void changed(uint64_t to, uint64_t from, uint64_t bytes) {
  opc_device_changed_t *function = atomic_load(&opc_device_changed);
  if (function) function(to, from, bytes);
}

/* One piece at a time is made accessible, copied and protected again: a system that reserves memory for writable pages
 * then reserves little. */
static const uint64_t piece_bytes = 64 << 20;
/* Above this, a nonzero fill would take memory that the machine may not have; the contents stay unchanged, as after a
 * kernel. */
static const uint64_t fill_most = 1 << 30;

static void span_protect(uint64_t address, uint64_t bytes, int protection) {
  if (bytes == 0 || !of_a_device(address)) return;
  const uint64_t from = address & ~(uint64_t)(OPC_PAGE - 1);
  mprotect(pointer(from), pages_of(address + bytes - from), protection);
}

/* Which of a device's pages were ever written; true if unknown. The file is closed right after reading: it shows the
 * memory of the process that opened it, and no process should find a descriptor that it did not open. */
static void pages_look(uint64_t from, size_t count, bool *out_there) {
  static uint64_t entries[PAGEMAP_ENTRIES];
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const ssize_t got =
      file < 0 ? -1 : pread(file, entries, count * sizeof *entries, (off_t)(from / OPC_PAGE * sizeof *entries));
  if (file >= 0) close(file);
  for (size_t i = 0; i < count; i++)
    out_there[i] = got != (ssize_t)(count * sizeof *entries) || (entries[i] >> 62) != 0; /* present or swapped out */
}

/* The same for host memory: whether a page contains anything but zeros. */
static void zeros_look(uint64_t from, size_t count, bool *out_there) {
  static const unsigned char zeros[OPC_PAGE];
  for (size_t i = 0; i < count; i++) out_there[i] = memcmp(pointer(from + i * OPC_PAGE), zeros, OPC_PAGE) != 0;
}

/* Pages of zeros are returned to the system instead of being written: a tensor of many gigabytes has few other
 * pages. */
static void copy_pages(uint64_t to, uint64_t from, uint64_t pages) {
  static bool there[PAGEMAP_ENTRIES];
  for (uint64_t done = 0; done < pages;) {
    const size_t count = pages - done < PAGEMAP_ENTRIES ? (size_t)(pages - done) : PAGEMAP_ENTRIES;
    if (of_a_device(from)) pages_look(from + done * OPC_PAGE, count, there);
    else zeros_look(from + done * OPC_PAGE, count, there);
    for (size_t i = 0, next; i < count; i = next) {
      next = i + 1;
      while (next < count && there[next] == there[i]) next++;
      const uint64_t at = (done + i) * OPC_PAGE, bytes = (next - i) * OPC_PAGE;
      if (there[i]) memcpy(pointer(to + at), pointer(from + at), bytes);
      else madvise(pointer(to + at), bytes, MADV_DONTNEED);
    }
    done += count;
  }
}

/* True if nothing was ever written there: it reads as zeros. */
static bool is_untouched(uint64_t from, uint64_t bytes) {
  static bool there[PAGEMAP_ENTRIES];
  const uint64_t first = from & ~(uint64_t)(OPC_PAGE - 1), pages = pages_of(from + bytes - first) / OPC_PAGE;
  for (uint64_t done = 0; done < pages;) {
    const size_t count = pages - done < PAGEMAP_ENTRIES ? (size_t)(pages - done) : PAGEMAP_ENTRIES;
    pages_look(first + done * OPC_PAGE, count, there);
    if (memchr(there, true, count * sizeof *there)) return false;
    done += count;
  }
  return true;
}

static void zero_open(uint64_t to, uint64_t bytes) {
  const uint64_t head = (OPC_PAGE - to % OPC_PAGE) % OPC_PAGE, pages = (bytes - head) / OPC_PAGE * OPC_PAGE;
  memset(pointer(to), 0, head);
  madvise(pointer(to + head), pages, MADV_DONTNEED);
  memset(pointer(to + head + pages), 0, bytes - head - pages);
}

static void copy_open(uint64_t to, uint64_t from, uint64_t bytes) {
  const uint64_t sparse_from = 1 << 20; /* below that, checking the pages costs more than copying */
  const bool disjoint = to + bytes <= from || from + bytes <= to;
  if (bytes >= sparse_from && disjoint && of_a_device(to) && of_a_device(from) && is_untouched(from, bytes)) {
    zero_open(to, bytes);
    return;
  }
  if (bytes < sparse_from || !disjoint || !of_a_device(to) || (of_a_device(from) && (to - from) % OPC_PAGE != 0)) {
    memmove(pointer(to), pointer(from), bytes);
    return;
  }
  const uint64_t head = (OPC_PAGE - to % OPC_PAGE) % OPC_PAGE, pages = (bytes - head) / OPC_PAGE,
                 tail = bytes - head - pages * OPC_PAGE;
  memcpy(pointer(to), pointer(from), head);
  copy_pages(to + head, from + head, pages);
  memcpy(pointer(to + bytes - tail), pointer(from + bytes - tail), tail);
}

void opc_device_copy(uint64_t to, uint64_t from, uint64_t bytes) {
  pthread_mutex_lock(&opc_lock_copies);
  for (uint64_t at = 0, piece; at < bytes; at += piece) {
    piece = bytes - at < piece_bytes ? bytes - at : piece_bytes;
    span_protect(to + at, piece, PROT_READ | PROT_WRITE);
    span_protect(from + at, piece, PROT_READ | PROT_WRITE);
    copy_open(to + at, from + at, piece);
    span_protect(to + at, piece, PROT_NONE);
    span_protect(from + at, piece, PROT_NONE);
  }
  changed(to, from, bytes);
  pthread_mutex_unlock(&opc_lock_copies);
}

static void fill_open(uint64_t to, unsigned char byte, uint64_t bytes) {
  span_protect(to, bytes, PROT_READ | PROT_WRITE);
  memset(pointer(to), byte, bytes);
  span_protect(to, bytes, PROT_NONE);
}

void opc_device_fill(uint64_t to, unsigned char byte, uint64_t bytes) {
  pthread_mutex_lock(&opc_lock_copies);
  if (bytes < 2 * OPC_PAGE || !of_a_device(to) || (byte != 0 && bytes <= fill_most)) {
    if (bytes != 0) fill_open(to, byte, bytes);
  } else if (byte == 0) { /* a page returned to the system reads as zero, and costs nothing */
    const uint64_t head = (OPC_PAGE - to % OPC_PAGE) % OPC_PAGE, pages = (bytes - head) / OPC_PAGE * OPC_PAGE;
    madvise(pointer(to + head), pages, MADV_DONTNEED);
    if (head != 0) fill_open(to, 0, head);
    if (bytes != head + pages) fill_open(to + head + pages, 0, bytes - head - pages);
  }
  changed(to, 0, bytes);
  pthread_mutex_unlock(&opc_lock_copies);
}

/* ---- kernels ---- */

static bool all_protect(int protection) {
  bool done = true;
  for (int i = 0; i < OPC_SIMULATED_DEVICES; i++)
    if (regions[i].used != 0) done = mprotect(pointer(regions[i].base), regions[i].used, protection) == 0 && done;
  return done;
}

bool opc_device_open_all(void) {
  pthread_mutex_lock(&opc_lock_copies);
  if (all_protect(PROT_READ | PROT_WRITE)) return true;
  opc_device_close_all();
  return false;
}

void opc_device_close_all(void) {
  (void)all_protect(PROT_NONE);
  pthread_mutex_unlock(&opc_lock_copies);
}

/* ---- host code that dereferences a device address ---- */

bool opc_device_touched(uint64_t address, uint64_t program_counter, bool write) {
  opc_range_t range;
  if (!of_a_device(address) || !opc_range_find(address, &range)) return false;
  if (!write) opc_run_note_read();
  opc_cuda_call_t call;
  if (opc_call_begin(&call, OPC_CUDA_HOST_ACCESS, "", pointer(program_counter))) {
    call.to = opc_address_of_range(address, &range);
    call.value = write;
    opc_call_end(&call, cudaSuccess);
  }
  const uint64_t page = address & ~(uint64_t)(OPC_PAGE - 1);
  if (mprotect(pointer(page), OPC_PAGE, PROT_READ | PROT_WRITE) != 0) return false;
  const size_t i = atomic_fetch_add(&opened_count, 1);
  if (i < OPENED_MAX) opened[i] = page;
  return true;
}

void opc_device_close_opened(void) {
  size_t count = atomic_exchange(&opened_count, 0);
  for (size_t i = 0; i < count && i < OPENED_MAX; i++) mprotect(pointer(opened[i]), OPC_PAGE, PROT_NONE);
}
