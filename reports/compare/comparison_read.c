/* A run for comparison, from its JSON report; a journal is read as the report that is made of it. */
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "model/schema/schema.h"
#include "reports/compare/comparison.h"
#include "reports/compare/comparison_again.h"

typedef struct compare_reading {
  opc_compare_run_t *run;
  opc_status_t status;
  opc_error_t *error;
} compare_reading_t;

static bool reading_keep(compare_reading_t *reading, bool done) {
  if (!done && !reading->status) reading->status = opc_out_of_memory(reading->error);
  return !reading->status;
}

/* ---- results ---- */

static opc_compare_part_t *part_of(opc_compare_run_t *run, const char *operator_name, const char *name) {
  OPC_SCOPED(opc_scope_free) char *key = opc_string_format("%s\n%s", operator_name, name);
  const json_t *index = key ? json_object_get(run->part_indexes, key) : NULL;
  if (index) return &run->parts[json_integer_value(index)];
  if (!key || !OPC_ARRAY_GROW(run->parts, run->part_count)) return NULL;
  opc_compare_part_t *part = &run->parts[run->part_count];
  *part = (opc_compare_part_t){.operator_name = opc_string_copy(operator_name), .name = opc_string_copy(name)};
  run->part_count++;
  if (!part->operator_name || !part->name ||
      json_object_set_new(run->part_indexes, key, json_integer((json_int_t)(run->part_count - 1))) != 0)
    return NULL;
  return part;
}

static bool count_in_part(opc_compare_run_t *run, const char *operator_name, const char *name,
                          opc_verdict_kind_t verdict, opc_skip_reason_t reason) {
  opc_compare_part_t *part = part_of(run, operator_name, name);
  if (!part) return false;
  if (verdict != OPC_VERDICT_SKIP || reason == OPC_SKIP_XFAIL) part->checked++;
  else part->skips[reason]++;
  return true;
}

static bool is_named_sample(const char *sample) { return *sample && !opc_string_begins(sample, "s-"); }

void opc_compare_part_name(const opc_case_id_t *id, char out[OPC_COMPARE_PART_SIZE]) {
  snprintf(out, OPC_COMPARE_PART_SIZE, *id->device ? "%s (%s)" : "%s", id->check, id->device);
}

static bool note_case(compare_reading_t *reading, const opc_case_id_t *id, opc_verdict_kind_t verdict,
                      opc_skip_reason_t reason) {
  char name[OPC_COMPARE_PART_SIZE];
  opc_compare_part_name(id, name);
  bool kept = count_in_part(reading->run, id->operator_name, name, verdict, reason);
  snprintf(name, sizeof name, "sample %s", id->sample);
  if (is_named_sample(id->sample)) kept = kept && count_in_part(reading->run, id->operator_name, name, verdict, reason);
  kept = kept && opc_compare_again_note(reading->run->again, id, verdict, reason);
  return reading_keep(reading, kept);
}

/* ---- the other lists ---- */

static bool keep_library(compare_reading_t *reading, const json_t *record) {
  reading->run->libraries++;
  if (json_object_set_new(reading->run->library_names, opc_base_name(opc_record_text(record, "path")), json_null()) !=
      0)
    return false;
  if (strcmp(opc_record_text(record, "status"), "failed") != 0) return true;
  return json_object_set_new(reading->run->failed, opc_record_text(record, "path"),
                             json_string(opc_record_text(json_object_get(record, "error"), "message"))) == 0;
}

static json_t *sorted_names(const json_t *names) {
  json_t *set = json_object(), *list = json_array(), *name;
  size_t index;
  const char *key;
  json_array_foreach((json_t *)names, index, name) json_object_set_new(set, json_string_value(name), json_null());
  OPC_SCOPED(opc_scope_free) char *text = json_dumps(set, JSON_SORT_KEYS);
  json_decref(set);
  set = text ? json_loads(text, 0, NULL) : NULL;
  json_object_foreach(set, key, name) opc_json_append(&list, json_string(key));
  json_decref(set);
  return list;
}

/* One that several libraries register counts under the one that defines it. */
static bool compare_keep_operator(compare_reading_t *reading, const json_t *record) {
  json_t *operators = reading->run->operators;
  const char *name = opc_record_text(record, "name");
  if (json_object_get(operators, name) && !json_is_true(json_object_get(record, "defined_here"))) return true;
  return json_object_set_new(
             operators, name,
             json_pack("{s:s, s:s, s:o, s:o}", "library", opc_record_text(record, "library"), "schema",
                       opc_record_text(record, "schema"), "tags", sorted_names(json_object_get(record, "tags")),
                       "dispatch_keys", sorted_names(json_object_get(record, "dispatch_keys")))) == 0;
}

/* The methods are its schema. */
static bool keep_class(compare_reading_t *reading, const json_t *record) {
  OPC_SCOPED(opc_scope_free) char *name = opc_class_operator_name(opc_record_text(record, "name"));
  OPC_SCOPED(opc_text_clear) opc_text_t schema = {0};
  size_t index;
  json_t *method;
  json_array_foreach(json_object_get(record, "methods"), index, method)
      opc_text_addf(&schema, "%s%s", index ? "; " : "", opc_record_text(method, "schema"));
  return name && json_object_set_new(reading->run->operators, name,
                                     json_pack("{s:s, s:s}", "library", opc_record_text(record, "library"), "schema",
                                               opc_text_c(&schema))) == 0;
}

static bool keep_torch(compare_reading_t *reading, const json_t *record) {
  const char *torch = opc_record_text(record, "torch");
  if (!*torch || reading->run->torch) return true;
  return (reading->run->torch = opc_string_copy(torch));
}

static bool is_list_of_texts(const json_t *list) {
  size_t index;
  json_t *item;
  json_array_foreach((json_t *)list, index, item) {
    if (!json_is_string(item)) return false;
  }
  return json_array_size(list) > 0;
}

static opc_status_t check_problem(const compare_reading_t *reading, const json_t *problem, opc_error_t *error) {
  static const char *const lists[] = {"operators", "cases"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (!is_list_of_texts(json_object_get(problem, lists[i])))
      return opc_error_set(error, OPC_ERR_INPUT, "%s: \"%s\" of the problem \"%.80s\" is no list of texts",
                           reading->run->name, lists[i], opc_record_text(problem, "id"));
  return OPC_OK;
}

static bool keep_problem(compare_reading_t *reading, json_t *problem) {
  opc_compare_run_t *run = reading->run;
  size_t index;
  json_t *name;
  bool kept = json_array_append(run->problems, problem) == 0 &&
              json_object_set(run->ids, opc_record_text(problem, "id"), problem) == 0;
  json_array_foreach(json_object_get(problem, "cases"), index, name) {
    const char *key = json_string_value(name);
    if (!json_object_get(run->by_case, key)) kept = kept && json_object_set_new(run->by_case, key, json_array()) == 0;
    kept = kept && json_array_append(json_object_get(run->by_case, key), problem) == 0;
  }
  return kept;
}

/* ---- the report ---- */

static opc_status_t take_result(compare_reading_t *reading, const json_t *item, opc_error_t *error) {
  opc_case_id_t id;
  const char *reason = opc_record_text(item, "reason");
  const int verdict = opc_verdict_find(opc_record_text(item, "verdict"));
  if (verdict < 0 || opc_case_id_parse(opc_record_text(item, "case"), &id, NULL) != OPC_OK)
    return opc_error_set(error, OPC_ERR_INPUT, "%s: a result has no verdict or no case: %.80s", reading->run->name,
                         opc_record_text(item, "case"));
  note_case(reading, &id, (opc_verdict_kind_t)verdict, *reason ? opc_skip_reason_find(reason) : OPC_SKIP_NONE);
  return reading->status;
}

static void take_run(opc_compare_run_t *run, const json_t *item) {
  const json_t *left_out = json_object_get(json_object_get(item, "budget"), "left_out");
  run->complete = json_is_true(json_object_get(item, "complete"));
  run->left_out = json_integer_value(json_object_get(left_out, "cases")) > 0;
}

static opc_status_t compare_visit_item(const opc_report_item_t *visited, void *context, opc_error_t *error) {
  const char *list = visited->list;
  const json_t *item = visited->json;
  compare_reading_t *reading = context;
  opc_compare_run_t *run = reading->run;
  reading->error = error;
  bool kept = true;
  if (strcmp(list, "results") == 0) return take_result(reading, item, error);
  if (strcmp(list, "problems") == 0) OPC_RETURN_IF_ERROR(check_problem(reading, item, error));
  if (strcmp(list, "tool") == 0) kept = keep_torch(reading, item);
  else if (strcmp(list, "run") == 0) take_run(run, item);
  else if (strcmp(list, "libraries") == 0) kept = keep_library(reading, item);
  else if (strcmp(list, "operators") == 0) kept = compare_keep_operator(reading, item);
  else if (strcmp(list, "classes") == 0) kept = keep_class(reading, item);
  else if (strcmp(list, "problems") == 0) kept = keep_problem(reading, (json_t *)item);
  else if (strcmp(list, "summary") == 0) {
    run->coverage.total = (uint64_t)json_integer_value(json_object_get(item, "operators"));
    run->coverage.checked = (uint64_t)json_integer_value(json_object_get(item, "checked"));
  }
  reading_keep(reading, kept);
  return reading->status;
}

opc_status_t opc_compare_run_read(const char *path, const opc_compare_run_t *before, opc_compare_run_t *out,
                                  opc_error_t *error) {
  *out = (opc_compare_run_t){.library_names = json_object(),
                             .failed = json_object(),
                             .operators = json_object(),
                             .problems = json_array(),
                             .ids = json_object(),
                             .by_case = json_object(),
                             .part_indexes = json_object(),
                             .again = opc_compare_again_of(before)};
  if (!out->library_names || !out->failed || !out->operators || !out->problems || !out->ids || !out->by_case ||
      !out->part_indexes || !out->again)
    return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_string_copy_to(path, &out->name, error));
  compare_reading_t reading = {.run = out, .error = error};
  OPC_SCOPED(opc_scope_fclose) FILE *report = NULL;
  OPC_RETURN_IF_ERROR(opc_run_file_open(path, &report, error));
  return opc_report_stream_read(report, path, compare_visit_item, &reading, error);
}

void opc_compare_run_clear(opc_compare_run_t *run) {
  for (size_t i = 0; i < run->part_count; i++) {
    free((char *)run->parts[i].operator_name);
    free((char *)run->parts[i].name);
  }
  free(run->parts);
  free(run->name);
  free(run->torch);
  json_decref(run->library_names);
  json_decref(run->failed);
  json_decref(run->operators);
  json_decref(run->problems);
  json_decref(run->ids);
  json_decref(run->by_case);
  json_decref(run->part_indexes);
  json_decref(run->again);
  *run = (opc_compare_run_t){0};
}
