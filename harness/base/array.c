#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool opc_array_grow(void *array, size_t count, size_t item_size) {
  void *items; /* copied as bytes: the caller's pointer is one to another type */
  if (count & (count - 1)) return true;
  memcpy(&items, array, sizeof items);
  items = realloc(items, (count > 0 ? 2 * count : 1) * item_size);
  if (items) memcpy(array, &items, sizeof items);
  return items != NULL;
}
