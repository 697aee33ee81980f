/* The JSON report, `opcheck-c/report/1` (users' programs read it). Streamed: each object of a list has its own line.
 * Most of it are results that passed or were skipped, so that each of their bytes counts. */
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "model/json/json_write.h"
#include "model/schema/schema.h"
#include "reports/json/json_report.h"
#include "reports/text/gaps.h"

typedef struct json_writer {
  opc_journal_reader_t *journal;
  FILE *stream;
  opc_status_t status;
  opc_error_t *error;
  bool first; /* of the list being written */
} json_writer_t;

/* The first error is kept, and nothing is written after it. */
static void keep_status(json_writer_t *writer, opc_status_t status) {
  if (!writer->status) writer->status = status;
}

static void json_cannot_write(json_writer_t *writer) {
  writer->status = opc_error_set(writer->error, OPC_ERR_IO, "cannot write the JSON report");
}

static bool json_put(json_writer_t *writer, const char *text) {
  if (!writer->status && fputs(text, writer->stream) < 0) json_cannot_write(writer);
  return !writer->status;
}

/* Takes the reference. `end`: what to write in place of the last bracket; NULL: nothing. */
static bool put_text(json_writer_t *writer, json_t *value, size_t flags, const char *end) {
  /* Written at once: json_dumpf would call fwrite for every comma. */
  char *text = !writer->status && value ? json_dumps(value, JSON_ENCODE_ANY | flags) : NULL;
  json_decref(value);
  if (!writer->status && !text)
    writer->status = opc_error_set(writer->error, OPC_ERR_MEMORY, "out of memory while writing the JSON report");
  if (text && end) text[strlen(text) - 1] = '\0';
  if (text && json_put(writer, text) && end) json_put(writer, end);
  free(text);
  return !writer->status;
}

static bool put_value(json_writer_t *writer, json_t *value) { return put_text(writer, value, 0, NULL); }

static void put_separator(json_writer_t *writer, const char *indent) {
  json_put(writer, writer->first ? "\n" : ",\n");
  json_put(writer, indent);
  writer->first = false;
}

/* One object of a list, on its own line. */
static bool put_item(json_writer_t *writer, json_t *item) {
  put_separator(writer, "    ");
  return put_value(writer, item);
}

/* The report's own fields come first, in the format's order; the record's other fields follow. Takes the reference to
 * `fixed`. */
static json_t *json_arrange(const json_t *record, json_t *fixed) {
  if (json_object_update(fixed, (json_t *)record) != 0) { /* out of memory: put_text says so */
    json_decref(fixed);
    return NULL;
  }
  json_object_del(fixed, "t");
  return fixed;
}

static bool json_visit_library(const json_t *record, void *context) {
  return put_item(context, json_arrange(record, json_pack("{s:n, s:n, s:n, s:i, s:i}", "path", "status", "error",
                                                          "operators", 0, "classes", 0)));
}

/* "coverage": its record, and the gaps as text; nothing where no input was noted. */
static void add_coverage(json_writer_t *writer, const char *name, const json_t *record, json_t *item) {
  json_t *coverage = NULL;
  OPC_SCOPED(opc_text_clear) opc_text_t gaps = {0};
  keep_status(writer, opc_journal_reader_coverage(writer->journal, name, &coverage, writer->error));
  if (!item || !coverage) return;
  opc_gaps_of(record, coverage, &gaps);
  json_t *shown =
      json_pack("{s:O?, s:O?, s:O?, s:O*, s:O*, s:o}", "inputs", json_object_get(coverage, "inputs"), "devices",
                json_object_get(coverage, "devices"), "arguments", json_object_get(coverage, "arguments"), "methods",
                json_object_get(coverage, "methods"), "refusals", json_object_get(coverage, "refusals"), "gaps",
                opc_json_string(opc_text_c(&gaps)));
  json_object_set_new(item, "coverage", shown);
  json_decref(coverage);
}

/* "finished" and "inputs": a later run may take its results over. */
static void add_finished(json_writer_t *writer, const char *name, json_t *item) {
  json_auto_t *record = NULL;
  keep_status(writer, opc_journal_reader_finished(writer->journal, name, &record, writer->error));
  if (!item || !record) return;
  json_object_set_new(item, "finished", json_true());
  json_object_set(item, "inputs", json_object_get(record, "inputs"));
}

static bool json_visit_operator(const json_t *record, void *context) {
  json_writer_t *writer = context;
  json_t *source = NULL;
  keep_status(writer, opc_journal_reader_sample_source(writer->journal, opc_record_text(record, "name"), &source,
                                                       writer->error));
  const char *how = opc_record_text(source, "source");
  json_t *fixed = json_pack("{s:n, s:n, s:n, s:n, s:[], s:[], s:s}", "name", "schema", "library", "registered_at",
                            "dispatch_keys", "tags", "sample_source", *how ? how : "none");
  json_t *item = json_arrange(record, fixed);
  static const char *const copied[][2] = {{"sample_detail", "detail"},
                                          {"search", "search"},
                                          {"search_beside", "beside"},
                                          {"relations", "relations"},
                                          {"recipe", "recipe"}};
  for (size_t i = 0; item && source && i < sizeof copied / sizeof copied[0]; i++)
    if (json_object_set(item, copied[i][0], json_object_get(source, copied[i][1])) != 0)
      json_object_del(item, copied[i][0]); /* the record lacks it */
  json_decref(source);
  add_coverage(writer, opc_record_text(record, "name"), record, item);
  add_finished(writer, opc_record_text(record, "name"), item);
  return put_item(writer, item);
}

static bool json_visit_class(const json_t *record, void *context) {
  json_t *item = json_arrange(record, json_pack("{s:n, s:n, s:[]}", "name", "library", "methods"));
  OPC_SCOPED(opc_scope_free) char *name = opc_class_operator_name(opc_record_text(record, "name"));
  if (name) add_coverage(context, name, record, item);
  if (name) add_finished(context, name, item);
  return put_item(context, item);
}

/* The fields of a result in a line of the journal (opc_case_result_encode). NULL: not all are there, as in the journal
 * of an older version. */
static const char *result_fields(const char *line) {
  static const char *const kinds[] = {"{\"t\":\"result\",", "{\"t\":\"suspect\","};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (opc_string_begins(line, kinds[i]) && opc_string_begins(line + strlen(kinds[i]), "\"operator\":") &&
        strstr(line, ",\"standing\":"))
      return line + strlen(kinds[i]);
  return NULL;
}

/* The last field, with two digits. */
static const char *result_seconds(const char *fields, const char *end, double *out) {
  static const char key[] = ",\"seconds\":";
  const char *at = memrchr(fields, ',', (size_t)(end - fields));
  if (!at || !opc_string_begins(at, key)) return NULL;
  *out = strtod(at + strlen(key), NULL);
  return at;
}

static opc_status_t json_visit_line(const char *line, size_t length, void *context, opc_error_t *error) {
  json_writer_t *writer = context;
  OPC_SCOPED(opc_scope_free) char *anew = NULL;
  double seconds = 0;
  const char *fields = result_fields(line), *end = fields ? result_seconds(fields, line + length, &seconds) : NULL;
  if (!end) {
    OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
    json_auto_t *record = opc_journal_parse(line, length);
    OPC_RETURN_IF_ERROR(opc_case_result_decode(record, &result, error));
    json_auto_t *now = opc_case_result_encode(result);
    anew = now ? json_dumps(now, JSON_COMPACT) : NULL;
    if (!anew) return opc_out_of_memory(error);
    fields = result_fields(anew);
    end = result_seconds(fields, anew + strlen(anew), &seconds);
  }
  put_separator(writer, "");
  if (!writer->status && fprintf(writer->stream, "{%.*s,\"seconds\":%.2g}", (int)(end - fields), fields, seconds) < 0)
    json_cannot_write(writer);
  return writer->status;
}

static bool json_visit_note(const json_t *record, void *context) {
  return put_item(context, json_incref(json_object_get(record, "message")));
}

static void begin_list(json_writer_t *writer, const char *name) {
  if (!writer->status && fprintf(writer->stream, "  \"%s\": [", name) < 0) json_cannot_write(writer);
  writer->first = true;
}

static void end_list(json_writer_t *writer) { json_put(writer, writer->first ? "],\n" : "\n  ],\n"); }

static void put_list(json_writer_t *writer, const char *name, const char *t, opc_record_visit_t *visit) {
  begin_list(writer, name);
  if (!writer->status) keep_status(writer, opc_journal_reader_each(writer->journal, t, visit, writer, writer->error));
  end_list(writer);
}

static void put_results(json_writer_t *writer) {
  begin_list(writer, "results");
  if (!writer->status)
    keep_status(writer, opc_journal_reader_result_lines(writer->journal, json_visit_line, writer, writer->error));
  end_list(writer);
}

static void put_problems(json_writer_t *writer, const opc_problems_t *problems) {
  begin_list(writer, "problems");
  for (size_t i = 0; i < problems->count && !writer->status; i++) {
    json_t *item = NULL;
    writer->status = opc_problem_to_json(problems, &problems->items[i], &item, NULL, writer->error);
    if (!writer->status) put_item(writer, item);
  }
  end_list(writer);
}

/* Lines of a baseline or an xfail file, and what became of each. */
static void put_known(json_writer_t *writer, const opc_problems_t *problems) {
  const char *id;
  json_t *known;
  begin_list(writer, "known");
  json_object_foreach(problems->known, id, known) {
    json_t *fixed =
        json_pack("{s:s, s:s}", "problem", id, "state", opc_known_state_name(opc_known_state(problems, known)));
    json_t *item = json_arrange(known, fixed);
    json_object_del(item, "whole");
    put_item(writer, item);
  }
  end_list(writer);
}

/* A copy of the first record of its kind; NULL: there is none. */
static json_t *json_first(json_writer_t *writer, const char *kind) {
  json_auto_t *record = NULL;
  if (!writer->status) writer->status = opc_journal_reader_first(writer->journal, kind, &record, writer->error);
  json_t *copy = json_copy(record);
  json_object_del(copy, "t");
  return copy;
}

/* Facts about the whole run, from the records "run", "tool", "basis" and "since", which an early report may lack. */
static void put_head(json_writer_t *writer, const opc_journal_summary_t *summary) {
  json_auto_t *run = json_first(writer, "run"), *tool = json_first(writer, "tool"),
              *basis = json_first(writer, "basis"), *since = json_first(writer, "since"),
              *shard = json_first(writer, "shard");
  json_t *argv = json_object_get(run, "argv");
  json_put(writer, "{\n  \"format\": \"opcheck-c/report/1\",\n  \"tool\": ");
  put_value(writer, json_pack("{s:O?, s:O?, s:O?}", "version", json_object_get(run, "version"), "torch",
                              json_object_get(tool, "torch"), "cuda", json_object_get(tool, "cuda")));
  json_put(writer, ",\n  \"run\": ");
  json_t *seed = json_object_get(run, "seed"), *budget = NULL;
  if (summary->budget > 0)
    budget = json_pack("{s:f, s:{s:I, s:I}}", "seconds", summary->budget, "left_out", "cases",
                       (json_int_t)summary->left_out_cases, "operators", (json_int_t)summary->left_out_operators);
  put_value(writer,
            json_pack("{s:o, s:f, s:b, s:o, s:O?, s:O*, s:O*, s:O*, s:o*, s:O*, s:O*}", "seed",
                      seed ? json_incref(seed) : json_integer(0), "seconds", summary->seconds, "complete",
                      summary->complete ? 1 : 0, "argv", argv ? json_incref(argv) : json_array(), "started",
                      json_object_get(run, "started"), "loading_cpu_seconds",
                      json_object_get(tool, "loading_cpu_seconds"), "settings", json_object_get(run, "settings"),
                      "shard", shard, "budget", budget, "since", since, "basis", json_object_get(basis, "basis")));
  json_put(writer, ",\n");
}

/* Of how many operators each check has a verdict. New reference; NULL: out of memory. */
static json_t *proved_by(const opc_coverage_t *coverage) {
  json_t *checks = json_object();
  for (size_t i = 0; i < opc_check_info_count && i < 64; i++)
    if (coverage->asked_checks >> i & 1U)
      json_object_set_new(checks, opc_check_infos[i].name, json_integer((json_int_t)coverage->proved[i]));
  return checks;
}

/* Launches on the simulated device; NULL: there were none. */
static json_t *kernels_of(const opc_journal_summary_t *summary) {
  if (summary->kernels_exact + summary->kernels_bounded + summary->kernels_replaced + summary->kernels_recorded == 0)
    return NULL;
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "exact", (json_int_t)summary->kernels_exact, "bounded",
                   (json_int_t)summary->kernels_bounded, "replaced", (json_int_t)summary->kernels_replaced, "recorded",
                   (json_int_t)summary->kernels_recorded, "sampled", (json_int_t)summary->kernels_sampled,
                   "compared_cases", (json_int_t)summary->cases_computed);
}

static opc_status_t write_json(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  opc_journal_summary_t summary;
  opc_journal_reader_t *journal = source->journal;
  const opc_coverage_t coverage = opc_coverage_of(journal);
  opc_journal_reader_summary(journal, &summary);
  json_writer_t writer = {.journal = journal, .stream = stream, .error = error};
  put_head(&writer, &summary);
  put_list(&writer, "libraries", "library", json_visit_library);
  put_list(&writer, "operators", "operator", json_visit_operator);
  put_list(&writer, "classes", "class", json_visit_class);
  put_list(&writer, "notes", "note", json_visit_note);
  put_results(&writer);
  put_problems(&writer, source->problems);
  if (json_object_size(source->problems->known) > 0) put_known(&writer, source->problems);
  json_put(&writer, "  \"summary\": ");
  put_value(&writer, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o*}", "pass",
                               (json_int_t)summary.pass, "fail", (json_int_t)summary.fail, "skip",
                               (json_int_t)summary.skip, "error", (json_int_t)summary.error, "warnings",
                               (json_int_t)summary.warnings, "problems", (json_int_t)source->problems->count, "known",
                               (json_int_t)(source->problems->count - source->problems->fresh), "operators",
                               (json_int_t)coverage.total, "checked", (json_int_t)coverage.checked, "checks",
                               proved_by(&coverage), "kernels", kernels_of(&summary)));
  json_put(&writer, "\n}\n");
  return writer.status;
}

const opc_report_t opc_report_json = {
    "json", "the whole result as JSON (format opcheck-c/report/1), compressed if FILE ends with .zst or .gz", true,
    false, write_json};
