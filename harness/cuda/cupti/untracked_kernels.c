/* Kernels that a library registered with its own runtime: the wrappers did not see that. But the fat binaries are in
 * the library's data, each behind a wrapper of 24 bytes per file compiled by nvcc (kernel_image.c). */
#include <link.h>
#include <string.h>

#include "cuda/cupti/untracked.h"

enum { WRAPPERS = 1024, TRIED = 1024, WRAPPER_SIZE = 24 };
static const uint32_t wrapper_magic = 0x466243b1, container_magic = 0xba55ed50;

typedef struct search {
  uint64_t inside; /* an address in the library */
  const void *wrappers[WRAPPERS];
  size_t count;
} search_t;

static bool is_in(const struct dl_phdr_info *object, uint64_t address, uint64_t bytes) {
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    const uint64_t offset = address - (object->dlpi_addr + segment->p_vaddr);
    if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) != 0 && offset < segment->p_memsz &&
        bytes <= segment->p_memsz - offset)
      return true;
  }
  return false;
}

static bool is_wrapper(const struct dl_phdr_info *object, uint64_t at) {
  uint32_t magic;
  uint64_t container;
  memcpy(&magic, (const void *)(uintptr_t)at, sizeof magic);
  if (magic != wrapper_magic) return false;
  memcpy(&container, (const void *)(uintptr_t)(at + 8), sizeof container);
  if (!is_in(object, container, sizeof magic)) return false;
  memcpy(&magic, (const void *)(uintptr_t)container, sizeof magic);
  return magic == container_magic;
}

static int see_object(struct dl_phdr_info *object, size_t size, void *data) {
  search_t *search = data;
  (void)size;
  if (!is_in(object, search->inside, 1)) return 0;
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    const uint64_t from = (object->dlpi_addr + segment->p_vaddr + 7) / 8 * 8,
                   end = object->dlpi_addr + segment->p_vaddr + segment->p_memsz;
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0) continue;
    for (uint64_t at = from; at + WRAPPER_SIZE <= end && search->count < WRAPPERS; at += 8)
      if (is_wrapper(object, at)) search->wrappers[search->count++] = (const void *)(uintptr_t)at;
  }
  return 1;
}

/* A failed search is not repeated at every launch. */
static bool was_tried(const void *key) {
  static _Atomic(const void *) tried[TRIED];
  _Atomic(const void *) *slot = &tried[((uint64_t)(uintptr_t)key >> 3) * 0x9e3779b97f4a7c15u >> 54];
  if (atomic_load(slot) == key) return true;
  atomic_store(slot, key);
  return false;
}

static bool (*_Atomic own)(const char *library);
void opc_untracked_kernels_of(bool (*is_own)(const char *library)) { atomic_store(&own, is_own); }

void opc_untracked_kernel_learn(const void *key, const char *kernel, uint64_t inside) {
  search_t search = {.inside = inside};
  opc_kernel_image_t image;
  bool (*is_own)(const char *) = atomic_load(&own);
  if (!key || !kernel[0] || opc_kernel_find(key) || was_tried(key) || !is_own || !is_own(opc_log_library(inside)))
    return;
  (void)dl_iterate_phdr(see_object, &search);
  for (size_t i = 0; i < search.count; i++) {
    opc_image_read(search.wrappers[i], kernel, 0, 0, &image);
    if (!image.parameters_known) continue;
    opc_kernel_add(opc_module_add(search.wrappers[i], NULL), key, opc_log_intern(kernel));
    return;
  }
}
