/* Arrays that grow by an item at a time.
 *
 * An array starts as NULL with no items and grows by this alone: then its room follows from its count, and nobody has
 * to keep it. It may lose items. Ownership: the caller's, free(). */
#ifndef OPC_BASE_ARRAY_H
#define OPC_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Room for one more item behind the `count` that `items` has. False: memory ran out, and the array is as it was. */
#define OPC_ARRAY_GROW(items, count) opc_array_grow(&(items), (count), sizeof *(items))
bool opc_array_grow(void *array, size_t count, size_t item_size) OPC_CHECKED;

#endif
