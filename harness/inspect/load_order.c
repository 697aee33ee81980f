#include "inspect/symbol_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef struct library {
  opc_elf_file_t *file; /* NULL: unreadable */
  opc_symbol_set_t undefined;
  bool placed;
} library_t;

static bool names(const library_t *library, const library_t *other) {
  return opc_elf_needs(library->file, opc_base_name(other->file->path)) ||
         (other->file->soname && opc_elf_needs(library->file, other->file->soname));
}

/* A library that the other is linked against does not depend on it, even if it could take a symbol from it: malloc,
 * from a library with its own. */
static bool depends(const library_t *library, const library_t *on) {
  if (!library->file || !on->file) return false;
  return names(library, on) || (!names(on, library) && opc_symbol_set_served_by(&library->undefined, on->file));
}

/* The first unplaced library that depends on no unplaced one; in a cycle, the first that is left. */
static size_t load_order_next(const library_t *libraries, const bool *needs, size_t count) {
  size_t left = count;
  for (size_t i = 0; i < count; i++) {
    bool ready = !libraries[i].placed;
    if (ready && left == count) left = i;
    for (size_t j = 0; ready && j < count; j++) ready = libraries[j].placed || !needs[i * count + j];
    if (ready) return i;
  }
  return left;
}

typedef struct ordering {
  library_t *libraries;
  bool *needs;
  size_t count;
} ordering_t;

static void ordering_clear(ordering_t *ordering) {
  for (size_t i = 0; ordering->libraries && i < ordering->count; i++) {
    opc_symbol_set_clear(&ordering->libraries[i].undefined);
    opc_elf_close(ordering->libraries[i].file);
  }
  free(ordering->libraries);
  free(ordering->needs);
}

opc_status_t opc_load_order(const char *const *paths, size_t count, size_t *out_order, opc_error_t *error) {
  for (size_t i = 0; i < count; i++) out_order[i] = i;
  if (count < 2) return OPC_OK;
  OPC_SCOPED(ordering_clear)
  ordering_t ordering = {
      .libraries = calloc(count, sizeof(library_t)), .needs = calloc(count * count, sizeof(bool)), .count = count};
  library_t *libraries = ordering.libraries;
  if (!libraries || !ordering.needs) return opc_out_of_memory(error);
  for (size_t i = 0; i < count; i++) {
    opc_error_t ignored;
    if (opc_elf_open(paths[i], &libraries[i].file, &ignored) != OPC_OK) continue;
    opc_symbol_set_add(&libraries[i].undefined, libraries[i].file);
    OPC_RETURN_IF_ERROR(opc_symbol_set_close(&libraries[i].undefined, error));
  }
  for (size_t i = 0; i < count * count; i++)
    ordering.needs[i] = i / count != i % count && depends(&libraries[i / count], &libraries[i % count]);
  for (size_t i = 0; i < count; i++) {
    out_order[i] = load_order_next(libraries, ordering.needs, count);
    libraries[out_order[i]].placed = true;
  }
  return OPC_OK;
}
