#include "result/operator_records.h"

opc_status_t opc_operator_source_record(const char *name, const json_t *item, json_t **out, opc_error_t *error) {
  const json_t *source = json_object_get(item, "sample_source");
  *out = NULL;
  if (!source) return OPC_OK; /* a class */
  *out = json_pack("{s:s, s:s, s:O, s:O*, s:O*, s:O*, s:O*, s:O*}", "t", "sample_source", "operator", name, "source",
                   source, "detail", json_object_get(item, "sample_detail"), "search", json_object_get(item, "search"),
                   "beside", json_object_get(item, "search_beside"), "relations", json_object_get(item, "relations"),
                   "recipe", json_object_get(item, "recipe"));
  return *out ? OPC_OK : opc_out_of_memory(error);
}

opc_status_t opc_operator_coverage_record(const char *name, const json_t *item, json_t **out, opc_error_t *error) {
  const json_t *coverage = json_object_get(item, "coverage");
  *out = NULL;
  if (!coverage) return OPC_OK;
  json_t *record = json_pack("{s:s, s:s}", "t", "coverage", "operator", name);
  if (!record || json_object_update_missing(record, (json_t *)coverage) != 0) {
    json_decref(record);
    return opc_out_of_memory(error);
  }
  json_object_del(record, "gaps");
  *out = record;
  return OPC_OK;
}
