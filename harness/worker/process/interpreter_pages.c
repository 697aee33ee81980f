/* Large pages for Python's small objects: each child copies their page tables, and frees them again (heap_pages.h).
 * pymalloc asks for arenas, all of one size, while it holds the interpreter's lock. The interpreter's stacks are
 * smaller, and come and go. A Python that has no pymalloc does not ask. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "worker/loading/loading.h"

enum { LARGE_PAGE = 2 << 20, AT_ONCE = 64 << 20, ARENA = 1 << 20 /* of Python 3.10 and later */ };

/* Python's PyObjectArenaAllocator. */
typedef struct arena_allocator {
  void *context;
  void *(*allocate)(void *context, size_t bytes);
  void (*release)(void *context, void *arena, size_t bytes);
} arena_allocator_t;

static char *next_arena, *last_arena; /* equal: none is left */
static void *released;                /* arenas, each of which begins with the address of the next */

static void *map(size_t bytes) {
  void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? NULL : mapped;
}

static bool map_arenas(void) {
  char *mapped = map(AT_ONCE + LARGE_PAGE);
  if (!mapped) return false;
  next_arena = (char *)(((uintptr_t)mapped + LARGE_PAGE - 1) & ~((uintptr_t)LARGE_PAGE - 1));
  last_arena = next_arena + AT_ONCE;
  (void)madvise(next_arena, AT_ONCE, MADV_HUGEPAGE);
  return true;
}

static void *arena_allocate(void *context, size_t bytes) {
  (void)context;
  if (bytes != ARENA) return map(bytes);
  void *given = released;
  if (given) {
    memcpy(&released, given, sizeof released);
    return given;
  }
  if (next_arena == last_arena && !map_arenas()) return map(ARENA);
  given = next_arena;
  next_arena += ARENA;
  return given;
}

static void arena_release(void *context, void *arena, size_t bytes) {
  (void)context;
  if (bytes != ARENA) {
    munmap(arena, bytes);
    return;
  }
  memcpy(arena, &released, sizeof released);
  released = arena;
}

void opc_interpreter_use_large_pages(void) {
  arena_allocator_t allocator = {.allocate = arena_allocate, .release = arena_release};
  void (*set)(arena_allocator_t *) = NULL;
  void *found = dlsym(RTLD_DEFAULT, "PyObject_SetArenaAllocator");
  memcpy(&set, &found, sizeof found);
  if (set) set(&allocator);
}
