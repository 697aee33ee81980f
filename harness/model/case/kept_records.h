/* Records of a journal that are still in memory, by offset in its file, and need not be parsed again. Only the first
 * ones, up to a number of bytes of their lines: this limits the memory for journals of any length.
 *
 * Ownership: each kept record holds one reference; opc_kept_clear. A zeroed list is empty and valid. Errors: none; if
 * memory runs out, a record is not kept. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { OPC_KEPT_BYTES = 1 << 20 };

typedef struct opc_kept_record {
  uint64_t offset; /* of its line */
  size_t length;   /* without the newline */
  json_t *record;
} opc_kept_record_t;

typedef struct opc_kept_records {
  opc_kept_record_t *items; /* sorted by offset */
  size_t count, bytes;
} opc_kept_records_t;

/* Adds a record at the end. The record must not change any more. */
void opc_kept_add(opc_kept_records_t *kept, uint64_t offset, size_t length, json_t *record);
const opc_kept_record_t *opc_kept_find(const opc_kept_records_t *kept, uint64_t offset); /* NULL: not kept */
/* The file now ends here: drops the records past the end. */
void opc_kept_cut(opc_kept_records_t *kept, uint64_t end);
void opc_kept_clear(opc_kept_records_t *kept);
