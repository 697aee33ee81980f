/* A record of a journal by itself: its kind and its fields (journal_reader.h).
 *
 * Ownership: see below. Threads: any. */
#pragma once

#include <jansson.h>
#include <stddef.h>

typedef enum opc_record_kind {
  OPC_RECORD_UNKNOWN = 0,
  OPC_RECORD_RUN,
  OPC_RECORD_TOOL,
  OPC_RECORD_LIBRARY,
  OPC_RECORD_OPERATOR,
  OPC_RECORD_CLASS,
  OPC_RECORD_SAMPLE_SOURCE,
  OPC_RECORD_SUSPECT,
  OPC_RECORD_RESULT,
  OPC_RECORD_NOTE,
  OPC_RECORD_END,
  OPC_RECORD_COUNT
} opc_record_kind_t;

opc_record_kind_t opc_record_kind_find(const char *name);   /* OPC_RECORD_UNKNOWN where there is none */
json_t *opc_journal_parse(const char *line, size_t length); /* new reference; NULL: no object */
/* Text of a record's field; "" where it is absent, null or no string. */
const char *opc_record_text(const json_t *record, const char *key);
