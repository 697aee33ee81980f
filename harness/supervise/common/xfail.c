#include "supervise/common/run_options.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "result/case_result.h"

static char *cut_word(char **rest) {
  char *start = *rest + strspn(*rest, " \t"), *end = start + strcspn(start, " \t\r\n");
  *rest = *end != '\0' ? end + 1 : end;
  *end = '\0';
  return start;
}

typedef struct xfail_line {
  const opc_xfail_t *list;
  opc_xfail_entry_t *entry;
  const char *text; /* the line, whose words are cut out of it */
  opc_error_t *error;
} xfail_line_t;

static opc_status_t xfail_mistake(const xfail_line_t *line, const char *at, const char *format, ...) OPC_PRINTF(3, 4);
static opc_status_t xfail_mistake(const xfail_line_t *line, const char *at, const char *format, ...) {
  va_list arguments;
  char *what = NULL;
  va_start(arguments, format);
  const int length = vasprintf(&what, format, arguments);
  va_end(arguments);
  if (length < 0) return opc_out_of_memory(line->error);
  const opc_status_t status = opc_error_set(line->error, OPC_ERR_INPUT, "%s:%d:%zu: %s", line->list->file,
                                            line->entry->line, (size_t)(at - line->text) + 1, what);
  free(what);
  return status;
}

static opc_status_t read_rule_name(const xfail_line_t *line, const char *rule) {
  line->entry->rule = opc_rule_id(rule);
  if (line->entry->rule != OPC_RULE_NONE) return OPC_OK;
  OPC_SCOPED(opc_scope_free) const char **known = calloc(opc_rule_count, sizeof *known);
  if (!known) return opc_out_of_memory(line->error);
  for (size_t i = 1; i < opc_rule_count; i++) known[i - 1] = opc_rules[i].name;
  const char *nearest = opc_json_nearest(rule, known);
  return xfail_mistake(line, rule, "no rule is called \"%.100s\"%s%s%s", rule, nearest ? "; did you mean " : "",
                       nearest ? nearest : "", nearest ? "?" : "");
}

static opc_status_t read_problem(const xfail_line_t *line, const char *id) {
  if (strlen(id) != 16 || strspn(id, "0123456789abcdef") != 16)
    return xfail_mistake(line, id, "\"%.100s\" is no id of a problem: it has 16 digits and letters from a to f", id);
  return opc_string_copy_to(id, &line->entry->problem, line->error);
}

/* The last day on which the line holds. */
static opc_status_t read_date(const xfail_line_t *line, const char *date) {
  struct tm day = {0}, now;
  const time_t seconds = time(NULL);
  char today[sizeof line->entry->expires], again[sizeof line->entry->expires] = "";
  const char *end = strptime(date, "%Y-%m-%d", &day);
  day.tm_isdst = -1;
  if (end && *end == '\0' && timegm(&day) != -1) strftime(again, sizeof again, "%Y-%m-%d", &day);
  if (*again == '\0' || strcmp(again, date) != 0)
    return xfail_mistake(line, date, "\"%.40s\" is no date: write expires=2026-01-31", date);
  strftime(today, sizeof today, "%Y-%m-%d", gmtime_r(&seconds, &now));
  opc_string_put(line->entry->expires, sizeof line->entry->expires, date);
  line->entry->expired = strcmp(today, date) > 0;
  return OPC_OK;
}

/* rule=NAME, problem=ID and expires=DATE, in any order. */
static opc_status_t read_options(const xfail_line_t *line, char **rest) {
  static const struct {
    const char *name;
    opc_status_t (*read)(const xfail_line_t *line, const char *value);
  } options[] = {{"rule=", read_rule_name}, {"problem=", read_problem}, {"expires=", read_date}};
  enum { COUNT = sizeof options / sizeof *options };
  bool given[COUNT] = {false};
  for (;;) {
    size_t which = 0;
    *rest += strspn(*rest, " \t");
    while (which < COUNT && !opc_string_begins(*rest, options[which].name)) which++;
    if (which == COUNT) break;
    const char *at = *rest, *word = cut_word(rest);
    if (given[which]) return xfail_mistake(line, at, "%s is given twice", options[which].name);
    given[which] = true;
    OPC_RETURN_IF_ERROR(options[which].read(line, word + strlen(options[which].name)));
  }
  for (size_t i = 0; i < COUNT; i++) {
    OPC_SCOPED(opc_scope_free) char *later = opc_string_format(" %s", options[i].name);
    const char *found = later ? strstr(*rest, later) : NULL;
    if (found)
      return xfail_mistake(line, found + 1, "%s comes right after the pattern, before the reason", options[i].name);
  }
  return OPC_OK;
}

static opc_status_t read_pattern(const xfail_line_t *line, const char *pattern) {
  if (!strchr(pattern, '/') && !strchr(pattern, '*'))
    return xfail_mistake(line, pattern,
                         "\"%s\" is neither a case id (ns::op/check/device/dtype/SAMPLE/VARIANT) nor a glob: "
                         "write %s/* for all cases of an operator",
                         pattern, pattern);
  line->entry->glob = strpbrk(pattern, "*?[");
  return opc_string_copy_to(pattern, &line->entry->pattern, line->error);
}

static opc_status_t xfail_read_entry(const xfail_line_t *line, char *rest) {
  opc_xfail_entry_t *entry = line->entry;
  const bool of_problem = opc_string_begins(rest, "problem=") || opc_string_begins(rest, "expires=");
  if (!of_problem) OPC_RETURN_IF_ERROR(read_pattern(line, cut_word(&rest)));
  OPC_RETURN_IF_ERROR(read_options(line, &rest));
  for (size_t length = strlen(rest); length > 0 && isspace((unsigned char)rest[length - 1]); length--)
    rest[length - 1] = '\0';
  if (entry->problem && (entry->pattern || entry->rule))
    return xfail_mistake(line, line->text, "problem=ID stands for a pattern and a rule: leave them out");
  if (!entry->problem && !entry->pattern)
    return xfail_mistake(line, line->text, "a pattern, or problem=ID, comes first");
  if (rest[0] == '\0')
    return xfail_mistake(line, rest, "no reason after %s: write why the failure is expected",
                         entry->pattern ? entry->pattern : "the problem");
  if (!entry->pattern) OPC_RETURN_IF_ERROR(opc_string_copy_to("", &entry->pattern, line->error));
  if (!entry->problem) OPC_RETURN_IF_ERROR(opc_string_copy_to("", &entry->problem, line->error));
  return opc_string_copy_to(rest, &entry->reason, line->error);
}

static opc_status_t xfail_add(opc_xfail_t *list, char *text, int number, opc_error_t *error) {
  text[strcspn(text, "\r\n")] = '\0';
  char *rest = text + strspn(text, " \t");
  if (*rest == '\0' || *rest == '#') return OPC_OK;
  if (!OPC_ARRAY_GROW(list->entries, list->count)) return opc_out_of_memory(error);
  opc_xfail_entry_t *entry = &list->entries[list->count++];
  *entry = (opc_xfail_entry_t){.line = number};
  const xfail_line_t line = {.list = list, .entry = entry, .text = text, .error = error};
  return xfail_read_entry(&line, rest);
}

static void scope_list(opc_xfail_t **list) { opc_xfail_free(*list); }

opc_status_t opc_xfail_read(const char *file, opc_xfail_t **out, opc_error_t *error) {
  *out = NULL;
  OPC_SCOPED(opc_scope_fclose) FILE *stream = fopen(file, "re");
  if (!stream)
    return opc_error_set(error, OPC_ERR_IO, "cannot read the expected failures %s: %s", file, strerror(errno));
  OPC_SCOPED(opc_scope_free) char *line = NULL;
  size_t size = 0;
  OPC_SCOPED(scope_list) opc_xfail_t *list = calloc(1, sizeof *list);
  if (!list || !(list->file = opc_string_copy(file))) return opc_out_of_memory(error);
  for (int number = 1; getline(&line, &size, stream) > 0; number++)
    OPC_RETURN_IF_ERROR(xfail_add(list, line, number, error));
  if (ferror(stream))
    return opc_error_set(error, OPC_ERR_IO, "cannot read the expected failures %s: %s", file, strerror(errno));
  *out = list;
  list = NULL;
  return OPC_OK;
}

void opc_xfail_free(opc_xfail_t *list) {
  if (!list) return;
  for (size_t i = 0; i < list->count; i++) {
    free(list->entries[i].pattern);
    free(list->entries[i].problem);
    free(list->entries[i].reason);
    opc_case_result_free(list->entries[i].held);
  }
  free(list->entries);
  free(list->file);
  free(list);
}

static bool matches_case(const opc_xfail_entry_t *entry, const char *case_id) {
  return strcmp(entry->pattern, case_id) == 0 || fnmatch(entry->pattern, case_id, 0) == 0;
}

opc_xfail_entry_t *opc_xfail_match(opc_xfail_t *list, const char *case_id, opc_rule_id_t rule) {
  opc_xfail_entry_t *found = NULL;
  for (size_t i = 0; list && i < list->count && (!found || found->expired); i++) {
    opc_xfail_entry_t *entry = &list->entries[i];
    if (*entry->problem || (rule && entry->rule && entry->rule != rule) || (found && entry->expired)) continue;
    if (matches_case(entry, case_id)) found = entry;
  }
  if (found) found->used = true;
  return found;
}

void opc_xfail_skip(opc_xfail_t *list, const char *case_id, opc_skip_reason_t reason) {
  static const bool of_run[OPC_SKIP_COUNT] = {
      [OPC_SKIP_NO_DEVICE] = true,   [OPC_SKIP_NO_SAMPLE] = true, [OPC_SKIP_BUDGET] = true,
      [OPC_SKIP_AFTER_CRASH] = true, [OPC_SKIP_SIMULATED] = true, [OPC_SKIP_OFF] = true};
  for (size_t i = 0; list && of_run[reason] && i < list->count; i++)
    list->entries[i].skipped |= matches_case(&list->entries[i], case_id);
}

/* A * matches slashes, too, so that only what comes before it must be in the name. */
bool opc_xfail_is_of(const opc_xfail_entry_t *entry, const char *operator_name) {
  const size_t length = strcspn(entry->pattern, "/*[\\");
  const bool rest = entry->pattern[length] != '/';
  OPC_SCOPED(opc_scope_free)
  char *part = opc_string_format("%.*s%s", (int)length, entry->pattern, rest ? "*" : "");
  return !part || fnmatch(part, operator_name, 0) == 0;
}
