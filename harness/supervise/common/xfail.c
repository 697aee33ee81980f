#include "supervise/common/run_options.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "result/case_result.h"

static char *cut_word(char **rest) {
  char *start = *rest + strspn(*rest, " \t"), *end = start + strcspn(start, " \t\r\n");
  *rest = *end != '\0' ? end + 1 : end;
  *end = '\0';
  return start;
}

static opc_status_t read_rule_name(const opc_xfail_t *list, const char *rule, int number, opc_rule_id_t *out,
                                   opc_error_t *error) {
  *out = opc_rule_id(rule);
  if (*out != OPC_RULE_NONE) return OPC_OK;
  OPC_SCOPED(opc_scope_free) const char **known = calloc(opc_rule_count, sizeof *known);
  if (!known) return opc_out_of_memory(error);
  for (size_t i = 1; i < opc_rule_count; i++) known[i - 1] = opc_rules[i].name;
  const char *nearest = opc_json_nearest(rule, known);
  return opc_error_set(error, OPC_ERR_INPUT, "%s:%d: no rule is called \"%.100s\"%s%s%s", list->file, number, rule,
                       nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static opc_status_t xfail_add(opc_xfail_t *list, char *line, int number, opc_error_t *error) {
  char *rest = line, *pattern = cut_word(&rest), *rule = NULL;
  rest += strspn(rest, " \t");
  if (pattern[0] == '\0' || pattern[0] == '#') return OPC_OK;
  if (strncmp(rest, "rule=", 5) == 0) rule = cut_word(&rest) + 5;
  rest += strspn(rest, " \t");
  for (size_t length = strlen(rest); length > 0 && isspace((unsigned char)rest[length - 1]); length--)
    rest[length - 1] = '\0';
  if (!strchr(pattern, '/') && !strchr(pattern, '*')) {
    return opc_error_set(error, OPC_ERR_INPUT,
                         "%s:%d: \"%s\" is neither a case id (ns::op/check/device/dtype/SAMPLE/VARIANT) nor a glob: "
                         "write %s/* for all cases of an operator",
                         list->file, number, pattern, pattern);
  }
  opc_rule_id_t rule_id = OPC_RULE_NONE;
  if (rule) OPC_RETURN_IF_ERROR(read_rule_name(list, rule, number, &rule_id, error));
  if (strncmp(rest, "rule=", 5) == 0 || strstr(rest, " rule="))
    return opc_error_set(error, OPC_ERR_INPUT,
                         "%s:%d: rule=NAME comes right after the pattern, before the reason, and once", list->file,
                         number);
  if (rest[0] == '\0') {
    return opc_error_set(error, OPC_ERR_INPUT, "%s:%d: no reason after %s: write why the failure is expected",
                         list->file, number, pattern);
  }
  if (!OPC_ARRAY_GROW(list->entries, list->count)) return opc_out_of_memory(error);
  opc_xfail_entry_t *entry = &list->entries[list->count++];
  *entry = (opc_xfail_entry_t){.pattern = opc_string_copy(pattern),
                               .rule = rule_id,
                               .reason = opc_string_copy(rest),
                               .line = number,
                               .glob = strpbrk(pattern, "*?[")};
  if (!entry->pattern || !entry->reason) return opc_out_of_memory(error);
  return OPC_OK;
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
    free(list->entries[i].reason);
    opc_case_result_free(list->entries[i].held);
  }
  free(list->entries);
  free(list->file);
  free(list);
}

opc_xfail_entry_t *opc_xfail_match(opc_xfail_t *list, const char *case_id, opc_rule_id_t rule) {
  for (size_t i = 0; list && i < list->count; i++) {
    opc_xfail_entry_t *entry = &list->entries[i];
    if (rule && entry->rule && entry->rule != rule) continue;
    if (strcmp(entry->pattern, case_id) != 0 && fnmatch(entry->pattern, case_id, 0) != 0) continue;
    entry->used = true;
    return entry;
  }
  return NULL;
}
