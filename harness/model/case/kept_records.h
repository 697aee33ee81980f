/* Records of a journal, by their places in its file, as they are in memory already: what need not be parsed again. The
 * first ones, up to a number of bytes of their lines, so that a journal of any length costs as much.
 *
 * Ownership: a record that is kept has a reference more; opc_kept_clear. A zeroed list is empty and valid. Errors:
 * none, what finds no memory is not kept. */
#ifndef OPC_MODEL_CASE_KEPT_RECORDS_H
#define OPC_MODEL_CASE_KEPT_RECORDS_H

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
  opc_kept_record_t *items; /* by offset */
  size_t count, bytes;
} opc_kept_records_t;

/* Behind all others. The record must not be changed any more. */
void opc_kept_add(opc_kept_records_t *kept, uint64_t offset, size_t length, json_t *record);
const opc_kept_record_t *opc_kept_find(const opc_kept_records_t *kept, uint64_t offset); /* NULL: not kept */
/* The file ends here: those behind are not in it. */
void opc_kept_cut(opc_kept_records_t *kept, uint64_t end);
void opc_kept_clear(opc_kept_records_t *kept);

#endif
