/* malloc, free and new of opcheck-worker, in place of glibc's and libstdc++'s: a program's own functions come first for
 * every library that it loads. They pass on to those, but for blocks that are guarded (memory/guard.h).
 *
 * In an interpreter, where this library is loaded later, others do not call them. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/guard.h"

#ifndef __SANITIZE_ADDRESS__ /* which has its own */

/* glibc's own names for its functions. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *data, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *data);

#define CALLER __builtin_return_address(0)

static bool is_first(const char *name, const void *own) { return dlsym(RTLD_DEFAULT, name) == own; }

static __attribute__((constructor)) void heap_calls_present(void) {
  if (is_first("malloc", (const void *)(uintptr_t)malloc) && is_first("free", (const void *)(uintptr_t)free))
    opc_heap_guard_present();
}

void *malloc(size_t bytes) {
  void *data = opc_heap_guard_give(bytes, OPC_HEAP_ALIGNMENT, CALLER);
  return data ? data : __libc_malloc(bytes);
}

void free(void *data) {
  if (data && !opc_heap_guard_take(data)) __libc_free(data);
}

void *calloc(size_t count, size_t bytes) {
  size_t all;
  void *data = NULL;
  if (!__builtin_mul_overflow(count, bytes, &all)) data = opc_heap_guard_give(all, OPC_HEAP_ALIGNMENT, CALLER);
  return data ? memset(data, 0, all) : __libc_calloc(count, bytes);
}

void *realloc(void *data, size_t bytes) {
  size_t before;
  if (!data || !opc_heap_guard_size(data, &before)) return __libc_realloc(data, bytes);
  void *grown = NULL;
  if (bytes) {
    grown = opc_heap_guard_give(bytes, OPC_HEAP_ALIGNMENT, CALLER);
    if (!grown) grown = __libc_malloc(bytes);
    if (!grown) return NULL;
    memcpy(grown, data, before < bytes ? before : bytes);
  }
  free(data);
  return grown;
}

static void *aligned(size_t alignment, size_t bytes, const void *caller) {
  void *data = opc_heap_guard_give(bytes, alignment, caller);
  return data ? data : __libc_memalign(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes) { return aligned(alignment, bytes, CALLER); }
void *aligned_alloc(size_t alignment, size_t bytes) { return aligned(alignment, bytes, CALLER); }

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1))) return EINVAL;
  int before = errno; /* stays as it is, by the standard */
  void *data = aligned(alignment, bytes, CALLER);
  errno = before;
  if (!data) return ENOMEM;
  *out = data;
  return 0;
}

static void heap_calls_find_next(void *function, const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  memcpy(function, &found, sizeof found);
}

size_t malloc_usable_size(void *data) {
  static size_t (*original)(void *);
  size_t bytes;
  if (data && opc_heap_guard_size(data, &bytes)) return bytes;
  if (!original) heap_calls_find_next(&original, "malloc_usable_size");
  return original(data);
}

/* ---- operator new: libstdc++'s throws if there is no memory ---- */

void *new_object(size_t bytes) __asm__("_Znwm");
void *new_array(size_t bytes) __asm__("_Znam");

void *new_object(size_t bytes) {
  static void *(*original)(size_t);
  void *data = opc_heap_guard_give(bytes, OPC_HEAP_ALIGNMENT, CALLER);
  if (data) return data;
  if (!original) heap_calls_find_next(&original, "_Znwm");
  return original(bytes);
}

void *new_array(size_t bytes) {
  static void *(*original)(size_t);
  void *data = opc_heap_guard_give(bytes, OPC_HEAP_ALIGNMENT, CALLER);
  if (data) return data;
  if (!original) heap_calls_find_next(&original, "_Znam");
  return original(bytes);
}

#endif
