#include "reports/baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/json/json_write.h"

enum { ID_LENGTH = 16 };

/* ---- reading ---- */

typedef struct baseline_line {
  const char *file;
  int number;
  char *text; /* without the newline */
  char *at;
  opc_error_t *error;
} baseline_line_t;

static opc_status_t baseline_mistake(const baseline_line_t *line, const char *at, const char *what) {
  return opc_error_set(line->error, OPC_ERR_INPUT, "%s:%d:%zu: %s", line->file, line->number,
                       (size_t)(at - line->text) + 1, what);
}

/* The next word, which ends at a blank; "" at the end of the line. */
static const char *next_word(baseline_line_t *line) {
  char *word = line->at + strspn(line->at, " \t"), *end = word + strcspn(word, " \t");
  line->at = *end ? end + 1 : end;
  *end = '\0';
  return word;
}

static opc_status_t baseline_read_line(baseline_line_t *line, json_t *known) {
  const char *id = next_word(line);
  if (*id == '\0' || *id == '#') return OPC_OK;
  if (strlen(id) != ID_LENGTH || strspn(id, "0123456789abcdef") != ID_LENGTH)
    return baseline_mistake(line, id, "a line begins with the id of a problem, 16 digits and letters from a to f");
  const char *name = next_word(line);
  if (!strstr(name, "::")) return baseline_mistake(line, name, "the operator, as my_ops::scale, comes after the id");
  const char *rule = next_word(line);
  if (*rule == '\0') return baseline_mistake(line, rule, "the rule comes after the operator");
  if (json_object_get(known, id)) return baseline_mistake(line, id, "the same problem is in an earlier line");
  json_t *record = json_pack("{s:s, s:s, s:s, s:o, s:i, s:o, s:o}", "t", "known", "problem", id, "by", "baseline",
                             "file", opc_json_string(line->file), "line", line->number, "operator",
                             opc_json_string(name), "rule", opc_json_string(rule));
  return json_object_set_new(known, id, record) == 0 ? OPC_OK : opc_out_of_memory(line->error);
}

static opc_status_t baseline_read_lines(FILE *stream, const char *file, json_t *known, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *text = NULL;
  size_t size = 0;
  for (int number = 1; getline(&text, &size, stream) > 0; number++) {
    text[strcspn(text, "\r\n")] = '\0';
    baseline_line_t line = {.file = file, .number = number, .text = text, .at = text, .error = error};
    OPC_RETURN_IF_ERROR(baseline_read_line(&line, known));
  }
  if (!ferror(stream)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_INPUT, "cannot read the baseline %s: %s", file, strerror(errno));
}

opc_status_t opc_baseline_read(const char *file, json_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_fclose) FILE *stream = fopen(file, "re");
  json_auto_t *known = json_object();
  const char *id;
  json_t *record;
  *out = NULL;
  if (!stream)
    return opc_error_set(error, OPC_ERR_INPUT, "cannot read the baseline %s: %s; --write-baseline writes one", file,
                         strerror(errno));
  if (!known) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(baseline_read_lines(stream, file, known, error));
  json_t *records = json_array();
  json_object_foreach(known, id, record) opc_json_append(&records, json_incref(record));
  *out = records;
  return records ? OPC_OK : opc_out_of_memory(error);
}

/* ---- writing ---- */

size_t opc_baseline_id_count(const opc_problem_t *problem) { return problem->in_code ? 1 : problem->operator_count; }

const char *opc_baseline_id(const opc_problem_t *problem, size_t index) {
  return problem->in_code ? problem->id : problem->operators[index].id;
}

/* "gather (ops:12)" becomes "gather (ops)", and "gather (libops.so+0x12)" becomes "gather (libops.so)". */
static void add_where(opc_text_t *out, const char *location) {
  const size_t length = strlen(location);
  size_t end = length && location[length - 1] == ')' ? length - 1 : length;
  size_t kept = end;
  while (kept > 0 && strchr("0123456789abcdefx", location[kept - 1])) kept--;
  const bool cut = kept > 0 && kept < end && strchr(":+", location[kept - 1]);
  opc_text_add_utf8(out, location, cut ? kept - 1 : end);
  opc_text_add(out, location + end);
}

/* A growing list of lines, each id once. */
typedef struct baseline_lines {
  char **items;
  size_t count;
  json_t *ids; /* a set */
} baseline_lines_t;

static void baseline_lines_clear(baseline_lines_t *lines) {
  for (size_t i = 0; i < lines->count; i++) free(lines->items[i]);
  free(lines->items);
  json_decref(lines->ids);
}

static opc_status_t baseline_add_line(baseline_lines_t *lines, const char *id, opc_text_t *line, opc_error_t *error) {
  if (json_object_get(lines->ids, id)) return OPC_OK;
  if (json_object_set_new(lines->ids, id, json_null()) != 0) return opc_out_of_memory(error);
  for (size_t i = 0; i < line->length; i++)
    if (line->data[i] == '\n' || line->data[i] == '\r') line->data[i] = ' ';
  if (!OPC_ARRAY_GROW(lines->items, lines->count)) return opc_out_of_memory(error);
  lines->items[lines->count] = opc_text_take(line);
  return lines->items[lines->count++] ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t baseline_add_lines(const opc_problems_t *problems, const opc_problem_t *problem,
                                       baseline_lines_t *lines, opc_error_t *error) {
  json_auto_t *json = NULL;
  OPC_RETURN_IF_ERROR(opc_problem_to_json(problems, problem, &json, NULL, error));
  const char *location = opc_record_text(json, "location");
  const size_t count = opc_baseline_id_count(problem);
  for (size_t i = 0; i < count; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
    const char *id = opc_baseline_id(problem, i),
               *name = opc_journal_reader_operator(problems->journal, problem->operators[i].index)->name;
    opc_text_addf(&line, "%s %s %s", id, name, opc_rule_name(opc_problem_rule(problem)));
    if (*location) opc_text_add(&line, "  ");
    add_where(&line, location);
    if (count < problem->operator_count) opc_text_addf(&line, "  in %zu operators", problem->operator_count);
    OPC_RETURN_IF_ERROR(baseline_add_line(lines, id, &line, error));
  }
  return OPC_OK;
}

/* By operator and rule, which come after the id. */
static int baseline_by_name(const void *left, const void *right) {
  const char *a = *(char *const *)left, *b = *(char *const *)right;
  const int order = strcmp(a + ID_LENGTH, b + ID_LENGTH);
  return order ? order : strcmp(a, b);
}

static opc_status_t write_baseline(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  const opc_problems_t *problems = source->problems;
  OPC_SCOPED(baseline_lines_clear) baseline_lines_t lines = {.ids = json_object()};
  if (!lines.ids) return opc_out_of_memory(error);
  for (size_t i = 0; i < problems->count; i++)
    OPC_RETURN_IF_ERROR(baseline_add_lines(problems, &problems->items[i], &lines, error));
  if (lines.count > 0) qsort(lines.items, lines.count, sizeof *lines.items, baseline_by_name);
  fputs(
      "# Known problems: opcheck-c run --baseline THIS_FILE fails on others only. Written by --write-baseline.\n"
      "# id, operator, rule, where\n",
      stream);
  for (size_t i = 0; i < lines.count; i++) fprintf(stream, "%s\n", lines.items[i]);
  return OPC_OK;
}

const opc_report_t opc_report_baseline = {
    .name = "baseline", .summary = "the problems, one a line", .write = write_baseline};

/* ---- lines that are left out ---- */

static opc_status_t rewrite(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  const opc_rewrite_t *change = source->rewrite;
  OPC_SCOPED(opc_scope_fclose) FILE *old = fopen(change->file, "re");
  OPC_SCOPED(opc_scope_free) char *text = NULL;
  size_t size = 0;
  ssize_t length;
  char number[24];
  for (int line = 1; old && (length = getline(&text, &size, old)) > 0; line++) {
    snprintf(number, sizeof number, "%d", line);
    if (!json_object_get(change->lines, number)) fwrite(text, 1, (size_t)length, stream);
  }
  if (old && !ferror(old)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_IO, "cannot read %s: %s", change->file, strerror(errno));
}

const opc_report_t opc_report_rewrite = {.name = "rewrite", .summary = "a file without some lines", .write = rewrite};
