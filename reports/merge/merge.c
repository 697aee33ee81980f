#include "reports/merge/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "model/schema/schema.h"
#include "reports/json/run_file.h"
#include "result/operator_records.h"

enum { EXIT_GOOD = 0, EXIT_BROKEN = 1, EXIT_STOPPED = 3, EXIT_LIBRARY = 4, EXIT_NOTHING = 5 };
enum { PARTS_MOST = 999999999 /* as --shard takes them */, MISSING_TOLD = 1000 };

typedef struct merge {
  FILE *out;        /* a journal */
  const char *path; /* of the part that is being read */
  json_t *run, *tool;
  json_t *first_run, *first_tool; /* of the first part; NULL: it is being read */
  const char *first_path;
  json_t *part_libraries; /* of the part that is being read: a set of digests */
  bool part_failed;       /* it could not load one of them */
  json_t *digests;        /* path of a library -> [digest, path of the part] */
  json_t *records;        /* a set of the records that were written, and are in every part */
  json_t *owners;         /* operator -> path of the part with its results */
  json_t *groups;         /* libraries -> {"of": N, "parts": {K: path}} */
  opc_text_t missing;
  double seconds, budget;
  json_int_t left_out_cases, left_out_operators, taken_over, checked;
  bool budgeted, since;
} merge_t;

static void merge_part_clear(merge_t *merge) {
  json_decref(merge->run);
  json_decref(merge->tool);
  json_decref(merge->part_libraries);
  merge->run = merge->tool = merge->part_libraries = NULL;
}

static void merge_clear(merge_t *merge) {
  json_t **const all[] = {&merge->first_run, &merge->first_tool, &merge->digests,
                          &merge->records,   &merge->owners,     &merge->groups};
  merge_part_clear(merge);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) json_decref(*all[i]);
  opc_text_clear(&merge->missing);
  if (merge->out) fclose(merge->out);
}

/* ---- writing ---- */

static opc_status_t put_failed(opc_error_t *error) {
  return opc_error_set(error, OPC_ERR_IO, "cannot write the merged run to a temporary file: %s; set TMPDIR",
                       strerror(errno));
}

static opc_status_t put_end(const merge_t *merge, opc_error_t *error) {
  return fputc('\n', merge->out) != EOF && !ferror(merge->out) ? OPC_OK : put_failed(error);
}

/* Takes the reference. */
static opc_status_t put_record(const merge_t *merge, json_t *record, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *line = record ? json_dumps(record, JSON_COMPACT) : NULL;
  json_decref(record);
  if (!line) return opc_out_of_memory(error);
  fputs(line, merge->out);
  return put_end(merge, error);
}

/* The item of a list as a record of this kind. */
static json_t *record_of(const char *kind, const json_t *item) {
  json_t *record = json_pack("{s:s}", "t", kind);
  if (record && json_object_update(record, (json_t *)item) == 0) return record;
  json_decref(record);
  return NULL;
}

/* What each part says alike is written once. */
static opc_status_t put_once(merge_t *merge, const char *key, json_t *record, opc_error_t *error) {
  const bool written = json_object_get(merge->records, key);
  if (!written && json_object_set_new(merge->records, key, json_null()) == 0) return put_record(merge, record, error);
  json_decref(record);
  return written ? OPC_OK : opc_out_of_memory(error);
}

/* ---- what belongs together ---- */

static opc_status_t merge_is_foreign(const merge_t *merge, const char *what, opc_error_t *error) {
  return opc_error_set(error, OPC_ERR_INPUT, "%s and %s are no parts of one run: they differ in %s", merge->first_path,
                       merge->path, what);
}

/* Runs on different libraries may differ in it. */
static bool is_of_libraries(const char *key) {
  return strcmp(key, "samples or recipes of classes") == 0 || strcmp(key, "--cuda-arch") == 0;
}

static opc_status_t compare_part(const merge_t *merge, opc_error_t *error) {
  static const char *const words[] = {"version", "torch", "cuda"};
  const json_t *before = json_object_get(merge->first_run, "basis"), *now = json_object_get(merge->run, "basis");
  const char *key;
  json_t *value;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!json_equal(json_object_get(merge->first_tool, words[i]), json_object_get(merge->tool, words[i])))
      return merge_is_foreign(merge, i == 0 ? "the version of opcheck-c" : words[i], error);
  if (!json_equal(json_object_get(merge->first_run, "seed"), json_object_get(merge->run, "seed")))
    return merge_is_foreign(merge, "--seed", error);
  json_object_foreach((json_t *)before, key, value) {
    if (!is_of_libraries(key) && !json_equal(value, json_object_get(now, key)))
      return merge_is_foreign(merge, key, error);
  }
  return json_object_size(before) == json_object_size(now) ? OPC_OK : merge_is_foreign(merge, "the options", error);
}

/* Nothing could be loaded there: it does not say what is compared. */
static bool is_empty(const json_t *tool) { return !*opc_record_text(tool, "torch"); }

/* Its records "run" and "tool". */
static opc_status_t begin_part(merge_t *merge, opc_error_t *error) {
  if (!merge->run || !merge->tool)
    return opc_error_set(error, OPC_ERR_INPUT, "%s does not say how it was made", merge->path);
  if (merge->first_run && !is_empty(merge->first_tool))
    return is_empty(merge->tool) ? OPC_OK : compare_part(merge, error);
  json_decref(merge->first_run);
  json_decref(merge->first_tool);
  merge->first_path = merge->path;
  merge->first_run = json_incref(merge->run);
  merge->first_tool = json_incref(merge->tool);
  return OPC_OK;
}

static opc_status_t take_library(merge_t *merge, const json_t *item, opc_error_t *error) {
  const char *path = opc_record_text(item, "path"), *digest = opc_record_text(item, "digest");
  const json_t *known = json_object_get(merge->digests, path);
  const bool failed = strcmp(opc_record_text(item, "status"), "failed") == 0;
  OPC_SCOPED(opc_scope_free) char *key = opc_string_format("library %s%s", failed ? "failed " : "", path);
  if (!key || json_object_set_new(merge->part_libraries, *digest ? digest : path, json_null()) != 0)
    return opc_out_of_memory(error);
  if (failed) {
    merge->part_failed = true;
    opc_text_addf(&merge->missing, "%s could not load %s: what is in it was not checked there\n", merge->path, path);
  } else if (known && strcmp(json_string_value(json_array_get(known, 0)), digest) != 0) {
    return opc_error_set(error, OPC_ERR_INPUT, "%s and %s are no parts of one run: they checked different files %s",
                         json_string_value(json_array_get(known, 1)), merge->path, path);
  } else if (!known && json_object_set_new(merge->digests, path, json_pack("[s, s]", digest, merge->path)) != 0) {
    return opc_out_of_memory(error);
  }
  return put_once(merge, key, record_of("library", item), error);
}

/* ---- operators ---- */

static const char *const moved[] = {"sample_source", "sample_detail", "search",   "search_beside", "relations",
                                    "recipe",        "coverage",      "finished", "inputs"};

/* As the libraries describe it. */
static json_t *described(const char *kind, const json_t *item) {
  json_t *record = record_of(kind, item);
  for (size_t i = 0; record && i < sizeof moved / sizeof *moved; i++) json_object_del(record, moved[i]);
  return record;
}

/* The part that has selected it has more to say. */
static bool merge_is_selected(const json_t *item) {
  static const char *const signs[] = {"sample_detail", "search", "search_beside", "coverage", "finished"};
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (json_object_get(item, signs[i])) return true;
  const char *source = opc_record_text(item, "sample_source");
  return *source && strcmp(source, "none") != 0;
}

static opc_status_t merge_take_operator(merge_t *merge, const char *kind, const char *name, const json_t *item,
                                        opc_error_t *error) {
  OPC_SCOPED(opc_scope_free)
  char *key = opc_string_format("%s %s %s", kind, name, opc_record_text(item, "library"));
  OPC_SCOPED(opc_scope_free) char *selected = opc_string_format("selected %s", name);
  json_t *source = NULL, *coverage = NULL;
  if (!key || !selected) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(put_once(merge, key, described(kind, item), error));
  if (!merge_is_selected(item) || json_object_get(merge->records, selected)) return OPC_OK;
  if (json_object_set_new(merge->records, selected, json_null()) != 0) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_operator_source_record(name, item, &source, error));
  if (source) OPC_RETURN_IF_ERROR(put_record(merge, source, error));
  OPC_RETURN_IF_ERROR(opc_operator_coverage_record(name, item, &coverage, error));
  if (coverage) OPC_RETURN_IF_ERROR(put_record(merge, coverage, error));
  if (!json_is_true(json_object_get(item, "finished"))) return OPC_OK;
  return put_record(
      merge,
      json_pack("{s:s, s:s, s:O*}", "t", "finished", "operator", name, "inputs", json_object_get(item, "inputs")),
      error);
}

static opc_status_t merge_take_class(merge_t *merge, const json_t *item, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *name = opc_class_operator_name(opc_record_text(item, "name"));
  return name ? merge_take_operator(merge, "class", name, item, error) : opc_out_of_memory(error);
}

/* ---- results ---- */

static opc_status_t own_operator(merge_t *merge, const char *name, opc_error_t *error) {
  const char *owner = opc_json_text_of(merge->owners, name);
  if (!owner)
    return json_object_set_new(merge->owners, name, json_string(merge->path)) == 0 ? OPC_OK : opc_out_of_memory(error);
  if (strcmp(owner, merge->path) == 0) return OPC_OK;
  return opc_error_set(error, OPC_ERR_INPUT, "%s is in two parts, %s and %s: leave one out", name, owner, merge->path);
}

/* A line is copied. Whoever reads the merged run looks into it. */
static opc_status_t merge_take_result(merge_t *merge, const opc_report_item_t *item, opc_error_t *error) {
  const char *kind = json_is_false(json_object_get(item->json, "confirmed")) ? "suspect" : "result";
  OPC_RETURN_IF_ERROR(own_operator(merge, opc_record_text(item->json, "operator"), error));
  if (!item->line) return put_record(merge, record_of(kind, item->json), error);
  fprintf(merge->out, "{\"t\":\"%s\",", kind);
  fwrite(item->line + 1, 1, item->length - 1, merge->out);
  return put_end(merge, error);
}

/* ---- a part ---- */

static void add_numbers(merge_t *merge) {
  const json_t *budget = json_object_get(merge->run, "budget"), *left_out = json_object_get(budget, "left_out"),
               *since = json_object_get(merge->run, "since");
  merge->seconds += json_number_value(json_object_get(merge->run, "seconds"));
  if (budget) {
    merge->budgeted = true;
    merge->budget += json_number_value(json_object_get(budget, "seconds"));
    merge->left_out_cases += json_integer_value(json_object_get(left_out, "cases"));
    merge->left_out_operators += json_integer_value(json_object_get(left_out, "operators"));
  }
  merge->since = merge->since || since;
  merge->taken_over += json_integer_value(json_object_get(since, "taken_over"));
  merge->checked += json_integer_value(json_object_get(since, "checked"));
}

/* The same libraries cut into parts: which of these is this one? */
static opc_status_t take_shard(merge_t *merge, opc_error_t *error) {
  json_int_t part = 1, of = 1, before = 0;
  const json_t *shard = json_object_get(merge->run, "shard");
  if (!shard || merge->part_failed) return OPC_OK;
  part = json_integer_value(json_object_get(shard, "part"));
  of = json_integer_value(json_object_get(shard, "of"));
  if (part < 1 || part > of || of > PARTS_MOST)
    return opc_error_set(error, OPC_ERR_INPUT, "%s is damaged: there is no part %lld of %lld", merge->path,
                         (long long)part, (long long)of);
  OPC_SCOPED(opc_scope_free) char *libraries = json_dumps(merge->part_libraries, JSON_SORT_KEYS);
  const char *plan = opc_record_text(shard, "plan"), *plan_before = NULL;
  char number[32];
  snprintf(number, sizeof number, "%d", (int)part);
  json_t *group = libraries ? json_object_get(merge->groups, libraries) : NULL;
  if (!group && libraries) {
    group = json_pack("{s:I, s:s, s:{}}", "of", of, "plan", plan, "parts");
    if (json_object_set_new(merge->groups, libraries, group) != 0) group = NULL;
  }
  if (!group) return opc_out_of_memory(error);
  before = json_integer_value(json_object_get(group, "of"));
  json_t *parts = json_object_get(group, "parts");
  const char *other = opc_json_text_of(parts, number);
  if (before != of) {
    const char *any = json_string_value(json_object_iter_value(json_object_iter(parts)));
    return opc_error_set(error, OPC_ERR_INPUT,
                         "%s is part of a run in %d parts, and %s of one in %d: give the parts of one run", any,
                         (int)before, merge->path, (int)of);
  }
  plan_before = opc_json_text_of(group, "plan");
  if (strcmp(plan, plan_before) != 0)
    return opc_error_set(error, OPC_ERR_INPUT,
                         "%s and %s are no parts of one run: other operators, or another report of --shard-times",
                         json_string_value(json_object_iter_value(json_object_iter(parts))), merge->path);
  if (other)
    return opc_error_set(error, OPC_ERR_INPUT, "%s and %s are both part %d of %d: leave one out", other, merge->path,
                         (int)part, (int)of);
  return json_object_set_new(parts, number, json_string(merge->path)) == 0 ? OPC_OK : opc_out_of_memory(error);
}

typedef struct merge_reading {
  merge_t *merge;
  bool begun, placed;
} merge_reading_t;

static opc_status_t merge_visit(const opc_report_item_t *visited, void *context, opc_error_t *error) {
  const char *list = visited->list;
  const json_t *item = visited->json;
  merge_reading_t *reading = context;
  merge_t *merge = reading->merge;
  json_t **const head = strcmp(list, "run") == 0 ? &merge->run : strcmp(list, "tool") == 0 ? &merge->tool : NULL;
  if (head) { /* a damaged report may have it twice */
    json_decref(*head);
    *head = json_incref((json_t *)item);
    return OPC_OK;
  }
  if (strcmp(list, "format") == 0) return OPC_OK;
  if (!reading->begun) OPC_RETURN_IF_ERROR(begin_part(merge, error));
  reading->begun = true;
  if (strcmp(list, "libraries") == 0) return take_library(merge, item, error);
  if (!reading->placed) OPC_RETURN_IF_ERROR(take_shard(merge, error));
  reading->placed = true;
  if (strcmp(list, "results") == 0) return merge_take_result(merge, visited, error);
  if (strcmp(list, "operators") == 0)
    return merge_take_operator(merge, "operator", opc_record_text(item, "name"), item, error);
  if (strcmp(list, "classes") == 0) return merge_take_class(merge, item, error);
  OPC_SCOPED(opc_scope_free) char *key = NULL;
  if (strcmp(list, "notes") == 0) {
    key = opc_string_format("note %s", json_is_string(item) ? json_string_value(item) : "");
    return key ? put_once(merge, key, json_pack("{s:s, s:O}", "t", "note", "message", item), error)
               : opc_out_of_memory(error);
  }
  if (strcmp(list, "known") == 0) {
    key = opc_string_format("known %s", opc_record_text(item, "problem"));
    json_t *known = record_of("known", item);
    json_object_del(known, "state"); /* of that part alone */
    if (key) return put_once(merge, key, known, error);
    json_decref(known);
    return opc_out_of_memory(error);
  }
  return OPC_OK; /* problems and the summary are made anew */
}

static opc_status_t merge_part(merge_t *merge, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *stream = NULL;
  merge_reading_t reading = {.merge = merge};
  merge_part_clear(merge);
  merge->part_libraries = json_object();
  merge->part_failed = false;
  OPC_RETURN_IF_ERROR(opc_run_file_open(merge->path, &stream, error));
  OPC_RETURN_IF_ERROR(opc_report_stream_read(stream, merge->path, merge_visit, &reading, error));
  if (!json_is_true(json_object_get(merge->run, "complete")))
    opc_text_addf(&merge->missing, "%s stopped early: run it again\n", merge->path);
  add_numbers(merge);
  return OPC_OK;
}

/* ---- the whole ---- */

static void tell_missing_parts(merge_t *merge) {
  const char *libraries;
  json_t *group;
  json_object_foreach(merge->groups, libraries, group) {
    const json_int_t of = json_integer_value(json_object_get(group, "of"));
    json_t *parts = json_object_get(group, "parts");
    int told = 0;
    for (json_int_t i = 1; i <= of && told <= MISSING_TOLD; i++) {
      char number[32];
      snprintf(number, sizeof number, "%d", (int)i);
      if (json_object_get(parts, number)) continue;
      if (told++ == MISSING_TOLD) opc_text_add(&merge->missing, "further parts are missing\n");
      else
        opc_text_addf(&merge->missing, "part %d of %d is missing (%s is another part): run it with --shard %d/%d\n",
                      (int)i, (int)of, json_string_value(json_object_iter_value(json_object_iter(parts))), (int)i,
                      (int)of);
    }
  }
}

static opc_status_t put_missing(const merge_t *merge, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *lines = opc_string_copy(opc_text_c(&merge->missing));
  char *rest = NULL;
  for (char *line = lines ? strtok_r(lines, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
    OPC_RETURN_IF_ERROR(
        put_record(merge, json_pack("{s:s, s:o}", "t", "note", "message", opc_json_string(line)), error));
  return OPC_OK;
}

/* What the parts have in common. */
static opc_status_t merge_put_head(const merge_t *merge, const json_t *argv, opc_error_t *error) {
  const json_t *run = merge->first_run, *tool = merge->first_tool, *basis = json_object_get(run, "basis");
  OPC_RETURN_IF_ERROR(
      put_record(merge,
                 json_pack("{s:s, s:s, s:O?, s:O?, s:O?, s:O?, s:O*}", "t", "run", "format", "opcheck-c/journal/1",
                           "version", json_object_get(tool, "version"), "argv",
                           argv ? argv : json_object_get(run, "argv"), "seed", json_object_get(run, "seed"), "started",
                           json_object_get(run, "started"), "settings", json_object_get(run, "settings")),
                 error));
  OPC_RETURN_IF_ERROR(put_record(
      merge,
      json_pack("{s:s, s:O?, s:O?, s:O*}", "t", "tool", "torch", json_object_get(tool, "torch"), "cuda",
                json_object_get(tool, "cuda"), "loading_cpu_seconds", json_object_get(run, "loading_cpu_seconds")),
      error));
  return basis ? put_record(merge, json_pack("{s:s, s:O}", "t", "basis", "basis", basis), error) : OPC_OK;
}

static opc_status_t merge_end(merge_t *merge, const json_t *argv, opc_error_t *error) {
  json_t *budget = NULL;
  OPC_RETURN_IF_ERROR(merge_put_head(merge, argv, error));
  tell_missing_parts(merge);
  OPC_RETURN_IF_ERROR(put_missing(merge, error));
  if (merge->since)
    OPC_RETURN_IF_ERROR(put_record(merge,
                                   json_pack("{s:s, s:O?, s:I, s:I}", "t", "since", "report",
                                             json_object_get(json_object_get(merge->first_run, "since"), "report"),
                                             "taken_over", merge->taken_over, "checked", merge->checked),
                                   error));
  if (merge->budgeted)
    budget = json_pack("{s:f, s:{s:I, s:I}}", "seconds", merge->budget, "left_out", "cases", merge->left_out_cases,
                       "operators", merge->left_out_operators);
  return put_record(merge,
                    json_pack("{s:s, s:f, s:b, s:o*}", "t", "end", "seconds", merge->seconds, "complete",
                              merge->missing.length == 0, "budget", budget),
                    error);
}

/* That of the run in one piece. */
static int merge_exit_code(const opc_journal_reader_t *journal) {
  opc_journal_summary_t summary;
  bool asked = false, called = false, ran = false;
  opc_journal_reader_summary(journal, &summary);
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(journal, i);
    asked |= op->asked;
    called |= op->called;
    ran |= op->asked_checks != 0;
  }
  if (summary.libraries_failed > 0) return EXIT_LIBRARY;
  if (!summary.complete) return EXIT_STOPPED;
  if (summary.fail + summary.error > 0) return EXIT_BROKEN;
  return (asked ? called : ran) ? EXIT_GOOD : EXIT_NOTHING;
}

static opc_status_t merge_open(merge_t *merge, opc_merged_t *out, opc_error_t *error) {
  opc_journal_summary_t summary;
  char name[64];
  if (fflush(merge->out) != 0) return put_failed(error);
  snprintf(name, sizeof name, "/proc/self/fd/%d", fileno(merge->out));
  OPC_RETURN_IF_ERROR(opc_journal_reader_open(name, &out->journal, error));
  opc_journal_reader_summary(out->journal, &summary);
  if (summary.damaged > 0)
    return opc_error_set(error, OPC_ERR_INPUT, "%zu results of these parts are damaged: copy the files again",
                         (size_t)summary.damaged);
  out->exit_code = merge_exit_code(out->journal);
  OPC_MOVE(&out->missing, merge->missing);
  return OPC_OK;
}

opc_status_t opc_merge(const char *const *parts, size_t count, const json_t *argv, opc_merged_t *out,
                       opc_error_t *error) {
  OPC_SCOPED(merge_clear)
  merge_t merge = {
      .digests = json_object(), .records = json_object(), .owners = json_object(), .groups = json_object()};
  *out = (opc_merged_t){0};
  OPC_RETURN_IF_ERROR(opc_run_file_unnamed("the merged run", &merge.out, error));
  for (size_t i = 0; i < count; i++) {
    merge.path = parts[i];
    OPC_RETURN_IF_ERROR(merge_part(&merge, error));
  }
  OPC_RETURN_IF_ERROR(merge_end(&merge, argv, error));
  return merge_open(&merge, out, error);
}

void opc_merged_clear(opc_merged_t *merged) {
  opc_scope_journal_reader(&merged->journal);
  opc_text_clear(&merged->missing);
}
