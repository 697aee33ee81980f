#include "base/owned.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies pointers as bytes: the caller's pointers have other types. */
bool opc_array_grow(void *array, size_t count, size_t item_size) {
  void *items;
  if (count & (count - 1)) return true;
  memcpy(&items, array, sizeof items);
  items = realloc(items, (count > 0 ? 2 * count : 1) * item_size);
  if (items) memcpy(array, &items, sizeof items);
  return items;
}

void opc_scope_fclose(FILE **file) {
  if (*file) fclose(*file);
}

void opc_scope_close(int *fd) {
  if (*fd >= 0) close(*fd);
}

void opc_scope_free(void *pointer) {
  void *memory;
  memcpy(&memory, pointer, sizeof memory);
  free(memory);
}
