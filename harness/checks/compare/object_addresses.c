#include "checks/compare/compare.h"

#include <limits.h>
#include <string.h>

#include "memory/cpu_memory.h"

enum { WORD = sizeof(void *) };

/* Random numbers are hardly ever addresses of mapped memory: there are 2^47 of them. */
static bool is_address(const opc_result_item_t *item, size_t at) {
  uintptr_t word;
  char byte;
  memcpy(&word, (const char *)item->bytes + at, WORD);
  return (at / WORD < CHAR_BIT && item->addresses >> at / WORD & 1) ||
         opc_memory_safe_read((const void *)word, &byte, 1);
}

static bool words_are_handles(const opc_result_item_t *left, const opc_result_item_t *right, size_t *count) {
  const char *a = left->bytes, *b = right->bytes;
  if (left->size != right->size || left->size % WORD != 0) return false;
  for (size_t i = 0; i < left->size; i += WORD) {
    if (memcmp(a + i, b + i, WORD) == 0) continue;
    if (!is_address(left, i) || !is_address(right, i)) return false;
    ++*count;
  }
  return true;
}

bool opc_results_are_handles(const opc_result_t *left, const opc_result_t *right) {
  size_t count = 0;
  if (left->count != right->count) return false;
  for (size_t i = 0; i < left->count; i++) {
    const opc_result_item_t *a = &left->items[i], *b = &right->items[i];
    if (!opc_result_item_differs(left, right, i)) continue;
    const bool holds_words = (a->kind == OPC_VALUE_TENSOR || a->kind == OPC_VALUE_INT) && a->kind == b->kind;
    if (!holds_words || !a->bytes || !b->bytes || !words_are_handles(a, b, &count)) return false;
  }
  return count > 0;
}
