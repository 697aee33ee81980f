/* Owned memory: arrays that grow one item at a time, and variables cleared at the end of their block.
 *
 * Ownership: the caller owns an array and calls free(). Threads: no shared state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Makes room for one more item after the `count` items of `items`. False: out of memory, the array is unchanged. An
 * array starts as NULL with no items and grows only through this macro. Its capacity then follows from its count and
 * need not be stored. Items may be removed. */
#define OPC_ARRAY_GROW(items, count) opc_array_grow(&(items), (count), sizeof *(items))
bool opc_array_grow(void *array, size_t count, size_t item_size) __attribute__((warn_unused_result));

/* `OPC_SCOPED(opc_text_clear) opc_text_t text = {0};` is cleared wherever control leaves the block, in reverse order of
 * declaration. Initialise the variable where it is declared; no goto may jump over that. */
#define OPC_SCOPED(clear) __attribute__((cleanup(clear)))
/* Passes on what a scoped variable owns: *out becomes its value, and the variable is empty. */
#define OPC_MOVE(out, variable)             \
  do {                                      \
    *(out) = (variable);                    \
    (variable) = (__typeof__(variable)){0}; \
  } while (0)
/* For pointers: frees the memory that the pointer at this address points to. For a json_t use jansson's json_auto_t. */
void opc_scope_free(void *pointer);
void opc_scope_fclose(FILE **file);
/* Closes a file descriptor that is not negative. */
void opc_scope_close(int *fd);
