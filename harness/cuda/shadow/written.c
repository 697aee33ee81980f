#include "cuda/shadow/written.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BITS = 12, PAGE = 1 << PAGE_BITS, WORDS = PAGE / 64, FREED_KEPT = 256 };

typedef struct page {
  uint64_t bits[WORDS]; /* a bit for each byte that is written */
  uint32_t count;
} page_t;

/* Of a page of which everything is written; NULL stands for one of which nothing is. */
static page_t full_page;

typedef struct allocation {
  uint64_t begin, size;
  page_t **pages; /* by (address - begin) / PAGE */
  uint64_t left;  /* pages that are not full */
} allocation_t;

typedef struct freed {
  uint64_t begin, size;
} freed_t;

struct opc_written {
  allocation_t *items; /* by begin; none overlap */
  size_t count, capacity;
  size_t unfinished; /* allocations with pages that are not full */
  freed_t freed[FREED_KEPT];
  size_t freed_next;
};

opc_written_t *opc_written_make(void) { return calloc(1, sizeof(opc_written_t)); }

static uint64_t page_count(uint64_t size) { return (size + PAGE - 1) >> PAGE_BITS; }

static void allocation_clear(allocation_t *allocation) {
  for (uint64_t i = 0; allocation->pages && i < page_count(allocation->size); i++)
    if (allocation->pages[i] != &full_page) free(allocation->pages[i]);
  free(allocation->pages);
}

void opc_written_free(opc_written_t *written) {
  if (!written) return;
  for (size_t i = 0; i < written->count; i++) allocation_clear(&written->items[i]);
  free(written->items);
  free(written);
}

/* The first allocation that ends after the address. */
static size_t place_of_address(const opc_written_t *written, uint64_t address) {
  size_t low = 0, high = written->count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (address - written->items[middle].begin < written->items[middle].size || address < written->items[middle].begin)
      high = middle;
    else low = middle + 1;
  }
  return low;
}

static allocation_t *allocation_at(const opc_written_t *written, uint64_t address) {
  const size_t at = place_of_address(written, address);
  if (at == written->count || address < written->items[at].begin) return NULL;
  return &written->items[at];
}

static void remove_at(opc_written_t *written, size_t at) {
  allocation_t *allocation = &written->items[at];
  if (allocation->left != 0) written->unfinished--;
  allocation_clear(allocation);
  written->count--;
  memmove(allocation, allocation + 1, (written->count - at) * sizeof *allocation);
}

static void forget_freed(opc_written_t *written, uint64_t begin, uint64_t size) {
  for (size_t i = 0; i < FREED_KEPT; i++) {
    freed_t *freed = &written->freed[i];
    if (freed->begin < begin + size && begin < freed->begin + freed->size) freed->size = 0;
  }
}

void opc_written_allocated(opc_written_t *written, uint64_t begin, uint64_t size) {
  if (size == 0 || begin + size < begin) return;
  const size_t at = place_of_address(written, begin);
  while (at < written->count && written->items[at].begin < begin + size) remove_at(written, at);
  forget_freed(written, begin, size);
  if (written->count == written->capacity) {
    const size_t capacity = written->capacity == 0 ? 64 : written->capacity * 2;
    allocation_t *items = realloc(written->items, capacity * sizeof *items);
    if (!items) return;
    written->items = items;
    written->capacity = capacity;
  }
  page_t **pages = calloc(page_count(size), sizeof *pages);
  if (!pages) return;
  allocation_t *place = &written->items[at];
  memmove(place + 1, place, (written->count - at) * sizeof *place);
  *place = (allocation_t){begin, size, pages, page_count(size)};
  written->count++;
  written->unfinished++;
}

void opc_written_freed(opc_written_t *written, uint64_t begin) {
  const size_t at = place_of_address(written, begin);
  if (at == written->count || written->items[at].begin != begin) return;
  written->freed[written->freed_next++ % FREED_KEPT] = (freed_t){begin, written->items[at].size};
  remove_at(written, at);
}

/* ---- bytes of one page ---- */

static uint32_t page_bytes(const allocation_t *allocation, uint64_t page) {
  const uint64_t left = allocation->size - (page << PAGE_BITS);
  return left < PAGE ? (uint32_t)left : PAGE;
}

static void page_fill(opc_written_t *written, allocation_t *allocation, uint64_t page) {
  if (allocation->pages[page] == &full_page) return;
  free(allocation->pages[page]);
  allocation->pages[page] = &full_page;
  if (--allocation->left == 0) written->unfinished--;
}

/* A page whose bits can be changed. NULL: out of memory. */
static page_t *page_open(opc_written_t *written, allocation_t *allocation, uint64_t page) {
  page_t *at = allocation->pages[page];
  if (at && at != &full_page) return at;
  page_t *out = calloc(1, sizeof *out);
  if (!out) return NULL;
  if (at == &full_page) {
    out->count = page_bytes(allocation, page);
    for (uint32_t i = 0; i < out->count; i++) out->bits[i / 64] |= UINT64_C(1) << i % 64;
    if (allocation->left++ == 0) written->unfinished++;
  }
  return allocation->pages[page] = out;
}

static void page_set(opc_written_t *written, allocation_t *allocation, uint64_t page, uint32_t first, uint32_t count) {
  const uint32_t all = page_bytes(allocation, page);
  if (allocation->pages[page] == &full_page) return;
  page_t *open = count == all ? NULL : page_open(written, allocation, page);
  if (!open) { /* all of it, or there is no memory to say otherwise */
    page_fill(written, allocation, page);
    return;
  }
  while (count > 0) {
    const uint32_t bit = first % 64, here = count < 64 - bit ? count : 64 - bit;
    const uint64_t bits = (here == 64 ? UINT64_MAX : (UINT64_C(1) << here) - 1) << bit;
    open->count += (uint32_t)__builtin_popcountll(bits & ~open->bits[first / 64]);
    open->bits[first / 64] |= bits;
    first += here;
    count -= here;
  }
  if (open->count == all) page_fill(written, allocation, page);
}

static void byte_unset(opc_written_t *written, allocation_t *allocation, uint64_t offset) {
  page_t *open = page_open(written, allocation, offset >> PAGE_BITS);
  const uint64_t bit = UINT64_C(1) << offset % 64;
  if (!open) return;
  uint64_t *bits = &open->bits[offset % PAGE / 64];
  if ((*bits & bit) != 0) open->count--;
  *bits &= ~bit;
}

static bool byte_is_set(const allocation_t *allocation, uint64_t offset) {
  const page_t *page = allocation->pages[offset >> PAGE_BITS];
  return page == &full_page || (page && (page->bits[offset % PAGE / 64] >> offset % 64 & 1) != 0);
}

/* ---- ranges ---- */

void opc_written_by_host(opc_written_t *written, uint64_t begin, uint64_t size) {
  const uint64_t end = begin + size;
  for (size_t i = place_of_address(written, begin); i < written->count && written->items[i].begin < end; i++) {
    allocation_t *allocation = &written->items[i];
    const uint64_t last = allocation->begin + allocation->size < end ? allocation->size : end - allocation->begin;
    uint64_t at = begin > allocation->begin ? begin - allocation->begin : 0;
    while (allocation->left != 0 && at < last) {
      const uint64_t room = PAGE - at % PAGE, count = room < last - at ? room : last - at;
      page_set(written, allocation, at >> PAGE_BITS, (uint32_t)(at % PAGE), (uint32_t)count);
      at += count;
    }
  }
}

uint32_t opc_written_missing(const opc_written_t *written, uint64_t address, uint32_t bytes) {
  const allocation_t *allocation = written->unfinished == 0 ? NULL : allocation_at(written, address);
  uint32_t missing = 0;
  if (!allocation || allocation->left == 0) return 0;
  const uint64_t offset = address - allocation->begin;
  if (allocation->pages[offset >> PAGE_BITS] == &full_page && offset % PAGE + bytes <= PAGE) return 0;
  for (uint32_t i = 0; i < bytes && offset + i < allocation->size; i++)
    if (!byte_is_set(allocation, offset + i)) missing |= UINT32_C(1) << i;
  return missing;
}

void opc_written_store(opc_written_t *written, uint64_t address, uint32_t bytes, uint32_t missing) {
  if (missing == 0 && written->unfinished == 0) return;
  allocation_t *allocation = allocation_at(written, address);
  if (!allocation || (missing == 0 && allocation->left == 0)) return;
  const uint64_t offset = address - allocation->begin;
  if (missing == 0) {
    opc_written_by_host(written, address, bytes);
    return;
  }
  for (uint32_t i = 0; i < bytes && offset + i < allocation->size; i++) {
    if ((missing >> i & 1) != 0) byte_unset(written, allocation, offset + i);
    else page_set(written, allocation, (offset + i) >> PAGE_BITS, (uint32_t)((offset + i) % PAGE), 1);
  }
}

void opc_written_copied(opc_written_t *written, uint64_t to, uint64_t from, uint64_t size) {
  if (opc_written_count_missing(written, from, size) == 0) {
    opc_written_by_host(written, to, size);
    return;
  }
  const bool backward = to > from; /* they may overlap */
  for (uint64_t i = 0; i < size; i++) {
    const uint64_t at = backward ? size - 1 - i : i;
    opc_written_store(written, to + at, 1, opc_written_missing(written, from + at, 1));
  }
}

static uint32_t page_written(const page_t *page, uint32_t first, uint32_t count) {
  uint32_t written = 0;
  while (count > 0) {
    const uint32_t bit = first % 64, here = count < 64 - bit ? count : 64 - bit;
    const uint64_t bits = (here == 64 ? UINT64_MAX : (UINT64_C(1) << here) - 1) << bit;
    written += (uint32_t)__builtin_popcountll(page->bits[first / 64] & bits);
    first += here;
    count -= here;
  }
  return written;
}

uint64_t opc_written_count_missing(const opc_written_t *written, uint64_t begin, uint64_t size) {
  const uint64_t end = begin + size;
  uint64_t missing = 0;
  for (size_t i = place_of_address(written, begin); i < written->count && written->items[i].begin < end; i++) {
    const allocation_t *allocation = &written->items[i];
    const uint64_t last = allocation->begin + allocation->size < end ? allocation->size : end - allocation->begin;
    uint64_t at = begin > allocation->begin ? begin - allocation->begin : 0;
    while (allocation->left != 0 && at < last) {
      const uint64_t room = PAGE - at % PAGE, count = room < last - at ? room : last - at;
      const page_t *page = allocation->pages[at >> PAGE_BITS];
      if (!page) missing += count;
      if (page && page != &full_page) missing += count - page_written(page, (uint32_t)(at % PAGE), (uint32_t)count);
      at += count;
    }
  }
  return missing;
}

bool opc_written_everything(const opc_written_t *written) { return written->unfinished == 0; }

bool opc_written_was_freed(const opc_written_t *written, uint64_t address, uint64_t *out_begin, uint64_t *out_size) {
  for (size_t i = 0; i < FREED_KEPT; i++) {
    const freed_t *freed = &written->freed[i];
    if (address - freed->begin >= freed->size) continue;
    *out_begin = freed->begin;
    *out_size = freed->size;
    return true;
  }
  return false;
}
