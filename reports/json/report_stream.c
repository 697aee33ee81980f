#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reports/json/run_file.h"

#define REPORT_FORMAT "opcheck-c/report/1"

typedef struct report_stream {
  FILE *stream;
  char *line; /* the rest of it, from `at`, is still to be read */
  size_t at, length, capacity;
  const char *text; /* of the value that was read last, if it was a line of its own */
  size_t text_length;
  const char *path, *list; /* the field that is being read; NULL: none yet */
  size_t items;            /* of it */
  bool known;              /* it has said its format */
  opc_report_visit_t *visit;
  void *context;
  opc_error_t *error;
} report_stream_t;

/* Everything was read. */
static bool stream_ended(const report_stream_t *report) { return report->at == report->length && feof(report->stream); }

static opc_status_t stream_fail(const report_stream_t *report, const char *what) {
  if (ferror(report->stream) && errno != EBADMSG)
    return opc_error_set(report->error, OPC_ERR_IO, "cannot read %s: %s", report->path, strerror(errno));
  if (!ferror(report->stream) && !report->known && (!report->list || !stream_ended(report)))
    return opc_error_set(report->error, OPC_ERR_INPUT,
                         "%s is neither a JSON report nor a journal of opcheck-c (run --json FILE writes a report)",
                         report->path);
  if (ferror(report->stream) || stream_ended(report)) {
    OPC_SCOPED(opc_text_clear) opc_text_t where = {0};
    if (report->list) opc_text_addf(&where, " after item %zu of \"%s\"", report->items, report->list);
    return opc_error_set(report->error, OPC_ERR_INPUT,
                         "%s is cut off%s: copy it again, or write it again with opcheck-c report render --json FILE "
                         "JOURNAL",
                         report->path, opc_text_c(&where));
  }
  return opc_error_set(report->error, OPC_ERR_INPUT, "%s: item %zu of \"%s\": %s", report->path, report->items + 1,
                       report->list ? report->list : "the report", what);
}

static int stream_get(report_stream_t *report) {
  if (report->at == report->length) {
    const ssize_t length = getline(&report->line, &report->capacity, report->stream);
    report->at = 0;
    report->length = length > 0 ? (size_t)length : 0;
    if (length <= 0) return EOF;
  }
  return (unsigned char)report->line[report->at++];
}

/* The next character that is no blank, which stays to be read. */
static int peek(report_stream_t *report) {
  int next;
  do next = stream_get(report);
  while (next != EOF && isspace(next));
  if (next != EOF) report->at--;
  return next;
}

static bool stream_take_mark(report_stream_t *report, int mark) {
  if (peek(report) != mark) return false;
  report->at++;
  return true;
}

/* A number or a word, which jansson would read too far. */
static json_t *stream_read_word(report_stream_t *report, json_error_t *why) {
  char word[64];
  size_t length = 0;
  int next;
  while ((next = stream_get(report)) != EOF && (isalnum(next) || strchr("+-.", next)) && length + 1 < sizeof word)
    word[length++] = (char)next;
  if (next != EOF) report->at--;
  return json_loadb(word, length, JSON_DECODE_ANY, why);
}

/* opcheck-c writes each object of a list in a line. NULL: this one is not. */
static json_t *stream_read_line(report_stream_t *report) {
  size_t end = report->length;
  while (end > report->at && strchr(",\r\n", report->line[end - 1])) end--;
  json_t *value = end > report->at ? opc_journal_parse(report->line + report->at, end - report->at) : NULL;
  if (!value) return NULL;
  report->text = report->line + report->at;
  report->text_length = end - report->at;
  report->at = end;
  return value;
}

static size_t stream_give(void *out, size_t size, void *context) {
  const int next = size > 0 ? stream_get(context) : EOF;
  if (next != EOF) *(char *)out = (char)next;
  return next != EOF;
}

static opc_status_t stream_read_value(report_stream_t *report, json_t **out) {
  json_error_t why = {.text = ""};
  const int next = peek(report);
  report->text = NULL;
  *out = next == '{' ? stream_read_line(report) : NULL;
  if (!*out)
    *out =
        next != EOF && strchr("{[\"", next)
            ? json_load_callback(stream_give, report, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL, &why)
            : stream_read_word(report, &why);
  return *out ? OPC_OK : stream_fail(report, why.text);
}

static opc_status_t stream_take_value(report_stream_t *report) {
  json_auto_t *value = NULL;
  OPC_RETURN_IF_ERROR(stream_read_value(report, &value));
  if (strcmp(report->list, "format") == 0) {
    const char *format = json_string_value(value);
    report->known = format && strcmp(format, REPORT_FORMAT) == 0;
    if (!report->known)
      return opc_error_set(report->error, OPC_ERR_INPUT,
                           "%s has the format %.60s, and this opcheck-c reads " REPORT_FORMAT, report->path,
                           format ? format : "of something else");
  }
  const opc_report_item_t item = {report->list, value, report->text, report->text_length};
  OPC_RETURN_IF_ERROR(report->visit(&item, report->context, report->error));
  report->items++;
  return OPC_OK;
}

/* Each item of a list alone: a report may have millions of them. */
static opc_status_t take_field(report_stream_t *report) {
  report->items = 0;
  if (!stream_take_mark(report, '[')) return stream_take_value(report);
  if (stream_take_mark(report, ']')) return OPC_OK;
  do OPC_RETURN_IF_ERROR(stream_take_value(report));
  while (stream_take_mark(report, ','));
  return stream_take_mark(report, ']') ? OPC_OK : stream_fail(report, "a comma or a bracket is missing");
}

static opc_status_t take_fields(report_stream_t *report) {
  if (!stream_take_mark(report, '{')) return stream_fail(report, "no object");
  do {
    json_auto_t *name = NULL;
    if (peek(report) != '"') return stream_fail(report, "the name of a field is missing");
    OPC_RETURN_IF_ERROR(stream_read_value(report, &name));
    if (!stream_take_mark(report, ':')) return stream_fail(report, "a colon is missing");
    report->list = json_string_value(name);
    OPC_RETURN_IF_ERROR(take_field(report));
    report->list = NULL;
  } while (stream_take_mark(report, ','));
  if (!stream_take_mark(report, '}') || peek(report) != EOF || ferror(report->stream))
    return stream_fail(report, "something is left after the end");
  return OPC_OK;
}

opc_status_t opc_report_stream_read(FILE *stream, const char *path, opc_report_visit_t *visit, void *context,
                                    opc_error_t *error) {
  report_stream_t report = {.stream = stream, .path = path, .visit = visit, .context = context, .error = error};
  const opc_status_t status = take_fields(&report);
  free(report.line);
  OPC_RETURN_IF_ERROR(status);
  if (report.known) return OPC_OK;
  return opc_error_set(error, OPC_ERR_INPUT,
                       "%s is neither a JSON report nor a journal of opcheck-c (run --json FILE writes a report)",
                       path);
}
