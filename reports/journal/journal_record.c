#include <string.h>

#include "reports/journal/journal_index.h"

static const char *const kind_names[OPC_RECORD_COUNT] = {
    NULL,     "run",  "tool",  "library", "operator", "class",    "sample_source", "coverage", "suspect",
    "result", "note", "known", "end",     "basis",    "finished", "since",         "shard"};

opc_record_kind_t opc_record_kind_find(const char *name) {
  for (int i = 1; i < OPC_RECORD_COUNT; i++)
    if (strcmp(kind_names[i], name) == 0) return (opc_record_kind_t)i;
  return OPC_RECORD_UNKNOWN;
}

json_t *opc_journal_parse(const char *line, size_t length) {
  json_t *record = opc_journal_parse_plain(line, length);
  if (!record) record = json_loadb(line, length, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
  if (record && !json_is_object(record)) {
    json_decref(record);
    record = NULL;
  }
  return record;
}

const char *opc_record_text(const json_t *record, const char *key) {
  const char *text = json_string_value(json_object_get(record, key));
  return text ? text : "";
}
