#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_text.h"

/* 0 gives each piece its own memory, so that a sanitizer sees its end. */
#ifndef OPC_PTX_BLOCK_BYTES
#define OPC_PTX_BLOCK_BYTES ((size_t)1 << 16)
#endif

struct opc_ptx_block {
  opc_ptx_block_t *next;
  size_t used, size;
};

enum { ALIGNMENT = 16, HEADER = (sizeof(opc_ptx_block_t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

void *opc_ptx_arena_take(opc_ptx_arena_t *arena, size_t size) {
  opc_ptx_block_t *block = arena->blocks;
  if (size > SIZE_MAX / 2) return NULL;
  const size_t wanted = OPC_PTX_BLOCK_BYTES == 0 ? size : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!block || block->size - block->used < wanted) {
    const size_t room = wanted > OPC_PTX_BLOCK_BYTES ? wanted : OPC_PTX_BLOCK_BYTES;
    block = calloc(1, HEADER + room);
    if (!block) return NULL;
    block->size = room;
    block->next = arena->blocks;
    arena->blocks = block;
  }
  void *out = (unsigned char *)block + HEADER + block->used;
  block->used += wanted;
  return out;
}

void opc_ptx_arena_clear(opc_ptx_arena_t *arena) {
  while (arena->blocks) {
    opc_ptx_block_t *next = arena->blocks->next;
    free(arena->blocks);
    arena->blocks = next;
  }
}

void *opc_ptx_list_add(opc_ptx_arena_t *arena, opc_ptx_list_t *list, size_t item_size) {
  if (list->count == list->capacity) {
    const uint32_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
    if (capacity < list->capacity) return NULL;
    void *items = opc_ptx_arena_take(arena, capacity * item_size);
    if (!items) return NULL;
    if (list->count > 0) memcpy(items, list->items, list->count * item_size);
    list->items = items;
    list->capacity = capacity;
  }
  return (unsigned char *)list->items + item_size * list->count++;
}
