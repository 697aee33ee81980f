/* Memory that somebody owns: arrays that grow by an item at a time, and what ends with its block.
 *
 * Ownership: an array is the caller's, free(). Threads: none shared. */
#ifndef OPC_BASE_OWNED_H
#define OPC_BASE_OWNED_H

#include <stdbool.h>
#include <stddef.h>

/* Room for one more item behind the `count` that `items` has. False: memory ran out, and the array is as it was. An
 * array starts as NULL with no items and grows by this alone: then its room follows from its count, and nobody has to
 * keep it. It may lose items. */
#define OPC_ARRAY_GROW(items, count) opc_array_grow(&(items), (count), sizeof *(items))
bool opc_array_grow(void *array, size_t count, size_t item_size) __attribute__((warn_unused_result));

/* `OPC_SCOPED(opc_text_clear) opc_text_t text = {0};` is cleared wherever the block is left, in the opposite order of
 * declaration. A variable has its first value where it is declared, and no goto jumps over that. */
#define OPC_SCOPED(clear) __attribute__((cleanup(clear)))
/* For pointers: free() of what the pointer at this address points at. jansson's json_auto_t is the same for a json_t.
 */
void opc_scope_free(void *pointer);

#endif
