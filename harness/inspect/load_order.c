#include "inspect/load_order.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/elf_file.h"

typedef struct names {
  const char **items;
  size_t count, capacity;
  bool failed; /* out of memory */
} names_t;

typedef struct library {
  opc_elf_file_t *file; /* NULL: unreadable */
  names_t undefined;
  bool placed;
} library_t;

static bool add_undefined(const opc_elf_symbol_t *symbol, void *context) {
  names_t *names = context;
  if (symbol->defined || symbol->binding == STB_WEAK) return true;
  if (names->count == names->capacity) {
    const size_t capacity = names->capacity > 0 ? names->capacity * 2 : 256;
    const char **grown = realloc(names->items, capacity * sizeof *grown);
    names->failed = grown == NULL;
    if (grown == NULL) return false;
    names->items = grown;
    names->capacity = capacity;
  }
  names->items[names->count++] = symbol->name;
  return true;
}

static int compare(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

typedef struct lookup {
  const names_t *names;
  bool found;
} lookup_t;

/* Weak definitions are templates and inline functions: each library has its own. */
static bool look_up(const opc_elf_symbol_t *symbol, void *context) {
  lookup_t *lookup = context;
  if (!symbol->defined || symbol->binding != STB_GLOBAL) return true;
  lookup->found = bsearch(&symbol->name, lookup->names->items, lookup->names->count, sizeof *lookup->names->items, compare) != NULL;
  return !lookup->found;
}

static bool depends(const library_t *library, const library_t *on) {
  if (library->file == NULL || on->file == NULL) return false;
  const char *slash = strrchr(on->file->path, '/');
  if (opc_elf_needs(library->file, slash != NULL ? slash + 1 : on->file->path)) return true;
  if (on->file->soname != NULL && opc_elf_needs(library->file, on->file->soname)) return true;
  lookup_t lookup = {.names = &library->undefined};
  if (library->undefined.count > 0) opc_elf_each_symbol(on->file, look_up, &lookup);
  return lookup.found;
}

/* The first that is not placed and depends on none that is not placed; in a circle the first that is left. */
static size_t next(const library_t *libraries, const bool *needs, size_t count) {
  size_t left = count;
  for (size_t i = 0; i < count; i++) {
    bool ready = !libraries[i].placed;
    if (ready && left == count) left = i;
    for (size_t j = 0; ready && j < count; j++) ready = libraries[j].placed || !needs[i * count + j];
    if (ready) return i;
  }
  return left;
}

opc_status_t opc_load_order(const char *const *paths, size_t count, size_t *out_order, opc_error_t *error) {
  for (size_t i = 0; i < count; i++) out_order[i] = i;
  if (count < 2) return OPC_OK;
  library_t *libraries = calloc(count, sizeof *libraries);
  bool *needs = calloc(count * count, sizeof *needs);
  bool whole = libraries != NULL && needs != NULL;
  for (size_t i = 0; whole && i < count; i++) {
    opc_error_t ignored;
    if (opc_elf_open(paths[i], &libraries[i].file, &ignored) != OPC_OK) continue;
    names_t *names = &libraries[i].undefined;
    opc_elf_each_symbol(libraries[i].file, add_undefined, names);
    whole = !names->failed;
    if (names->count > 0) qsort(names->items, names->count, sizeof *names->items, compare);
  }
  for (size_t i = 0; whole && i < count * count; i++) needs[i] = i / count != i % count && depends(&libraries[i / count], &libraries[i % count]);
  for (size_t i = 0; whole && i < count; i++) {
    out_order[i] = next(libraries, needs, count);
    libraries[out_order[i]].placed = true;
  }
  for (size_t i = 0; libraries != NULL && i < count; i++) {
    opc_elf_close(libraries[i].file);
    free(libraries[i].undefined.items);
  }
  free(libraries);
  free(needs);
  return whole ? OPC_OK : opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
}
