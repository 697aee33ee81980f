#include "model/case/kept_records.h"

#include <stdlib.h>

#include "base/owned.h"

void opc_kept_add(opc_kept_records_t *kept, uint64_t offset, size_t length, json_t *record) {
  if (kept->bytes + length > OPC_KEPT_BYTES) {
    kept->bytes = OPC_KEPT_BYTES; /* later, shorter records are not kept either: only the first records are */
    return;
  }
  if (!OPC_ARRAY_GROW(kept->items, kept->count)) return;
  kept->items[kept->count++] = (opc_kept_record_t){.offset = offset, .length = length, .record = json_incref(record)};
  kept->bytes += length;
}

static int kept_records_compare(const void *left, const void *right) {
  const opc_kept_record_t *a = left, *b = right;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

const opc_kept_record_t *opc_kept_find(const opc_kept_records_t *kept, uint64_t offset) {
  const opc_kept_record_t wanted = {.offset = offset};
  return kept->count > 0 ? bsearch(&wanted, kept->items, kept->count, sizeof wanted, kept_records_compare) : NULL;
}

void opc_kept_cut(opc_kept_records_t *kept, uint64_t end) {
  while (kept->count > 0 && kept->items[kept->count - 1].offset >= end) json_decref(kept->items[--kept->count].record);
}

void opc_kept_clear(opc_kept_records_t *kept) {
  opc_kept_cut(kept, 0);
  free(kept->items);
  *kept = (opc_kept_records_t){.count = 0};
}
