/* The comparison as JSON, `opcheck-c/compare/1`: each object of a list has its own line. */
#include <stdlib.h>

#include "model/json/json_write.h"
#include "reports/compare/comparison.h"

/* Takes the reference. */
static opc_status_t put_json(FILE *stream, json_t *value, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *text = value ? json_dumps(value, 0) : NULL;
  json_decref(value);
  if (!text) return opc_out_of_memory(error);
  return fputs(text, stream) >= 0 ? OPC_OK : opc_error_set(error, OPC_ERR_IO, "cannot write the JSON report");
}

static json_t *run_json(const opc_compare_run_t *run) {
  return json_pack("{s:o, s:s?, s:b, s:I, s:I}", "file", opc_json_string(run->name), "torch", run->torch, "complete",
                   run->complete ? 1 : 0, "operators", (json_int_t)run->coverage.total, "checked",
                   (json_int_t)run->coverage.checked);
}

static json_t *compare_problem_json(const opc_comparison_t *comparison, size_t index) {
  const opc_compare_problem_t *one = &comparison->problems[index];
  return json_pack("{s:s, s:o, s:O?, s:O?}", "kind", opc_compare_kind_name(one->kind), "why", opc_json_text(one->why),
                   "old", one->before, "new", one->now);
}

static json_t *operator_json(const opc_comparison_t *comparison, size_t index) {
  const opc_compare_operator_t *op = &comparison->operators[index];
  json_t *json = json_pack("{s:s, s:s}", "name", op->name, "kind",
                           op->fields ? "changed"
                           : op->now  ? "added"
                                      : "removed");
  if (json && op->fields) json_object_update_missing(json, op->fields);
  return json;
}

static json_t *lost_json(const opc_comparison_t *comparison, size_t index) {
  const opc_compare_lost_t *lost = &comparison->lost[index];
  return json_pack("{s:s, s:s?, s:I, s:s?}", "operator", lost->operator_name, "part", lost->name, "cases",
                   (json_int_t)lost->cases, "reason",
                   lost->reason == OPC_SKIP_NONE ? NULL : opc_skip_reason_name(lost->reason));
}

typedef json_t *make_item_t(const opc_comparison_t *comparison, size_t index);

static opc_status_t put_items(FILE *stream, const opc_comparison_t *comparison, const char *name, size_t count,
                              make_item_t *make, opc_error_t *error) {
  fprintf(stream, "  \"%s\": [", name);
  for (size_t i = 0; i < count; i++) {
    fputs(i ? ",\n    " : "\n    ", stream);
    OPC_RETURN_IF_ERROR(put_json(stream, make(comparison, i), error));
  }
  fputs(count ? "\n  ],\n" : "],\n", stream);
  return OPC_OK;
}

static json_t *summary_json(const opc_comparison_t *comparison) {
  json_t *json = json_object();
  for (size_t kind = 0; kind < OPC_COMPARE_KINDS; kind++)
    opc_json_put(&json, opc_compare_kind_name((opc_compare_kind_t)kind),
                 json_integer((json_int_t)comparison->counts[kind]));
  opc_json_put(&json, "known", json_integer((json_int_t)comparison->known));
  opc_json_put(&json, "operators", json_integer((json_int_t)comparison->operator_count));
  opc_json_put(&json, "no_longer_checked", json_integer((json_int_t)comparison->lost_count));
  opc_json_put(&json, "no_longer_loaded", opc_json_text(comparison->unloaded));
  opc_json_put(&json, "is_worse", json_boolean(opc_comparison_is_worse(comparison)));
  return json;
}

static opc_status_t write_comparison(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  const opc_comparison_t *comparison = source->comparison;
  fputs("{\n  \"format\": \"opcheck-c/compare/1\",\n  \"old\": ", stream);
  OPC_RETURN_IF_ERROR(put_json(stream, run_json(comparison->before), error));
  fputs(",\n  \"new\": ", stream);
  OPC_RETURN_IF_ERROR(put_json(stream, run_json(comparison->now), error));
  fputs(",\n", stream);
  OPC_RETURN_IF_ERROR(
      put_items(stream, comparison, "problems", comparison->problem_count, compare_problem_json, error));
  OPC_RETURN_IF_ERROR(put_items(stream, comparison, "operators", comparison->operator_count, operator_json, error));
  OPC_RETURN_IF_ERROR(put_items(stream, comparison, "no_longer_checked", comparison->lost_count, lost_json, error));
  fputs("  \"summary\": ", stream);
  OPC_RETURN_IF_ERROR(put_json(stream, summary_json(comparison), error));
  fputs("\n}\n", stream);
  return OPC_OK;
}

const opc_report_t opc_report_compare_json = {.name = "json",
                                              .summary = "the comparison as JSON (format opcheck-c/compare/1)",
                                              .compressible = true,
                                              .write = write_comparison};
