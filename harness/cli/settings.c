#include "cli/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/json/json_read.h"

static const char *const fields[] = {"format", "samples", "recipes", "xfail", "baseline", "checks", "severities", NULL};
static const char *const choices[] = {
    [OPC_CHOICE_OFF] = "off", [OPC_CHOICE_WARNING] = "warning", [OPC_CHOICE_ERROR] = "error"};

/* *out stays NULL where no folder has the file. */
static opc_status_t find_file(char **out, opc_error_t *error) {
  char folder[PATH_MAX];
  if (!getcwd(folder, sizeof folder)) return OPC_OK; /* the folder was removed: nothing is above it */
  for (;;) {
    OPC_SCOPED(opc_scope_free) char *file = opc_string_format("%s/" OPC_SETTINGS_FILE, folder);
    if (!file) return opc_out_of_memory(error);
    if (access(file, F_OK) == 0) {
      OPC_MOVE(out, file);
      return OPC_OK;
    }
    char *slash = strrchr(folder, '/');
    if (!slash || folder[0] == '\0') return OPC_OK;
    *slash = '\0';
  }
}

static opc_status_t strings_own(opc_strings_t *list, char *item, opc_error_t *error) {
  if (!item || !OPC_ARRAY_GROW(list->owned, list->owned_count)) {
    free(item);
    return opc_out_of_memory(error);
  }
  list->owned[list->owned_count++] = item;
  return opc_strings_add(list, item, error);
}

static char *beside(const opc_json_reader_t *reader, const char *path) {
  return *path == '/' ? opc_string_copy(path) : opc_string_format("%s/%s", reader->folder, path);
}

static opc_status_t read_path(opc_json_reader_t *reader, const json_t *json, char **out) {
  const char *path = NULL;
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &path));
  *out = beside(reader, path);
  if (!*out) return opc_out_of_memory(reader->error);
  return access(*out, R_OK) == 0 ? OPC_OK : opc_json_fail(reader, "%s: %s", path, strerror(errno));
}

typedef opc_status_t read_item_t(opc_json_reader_t *reader, const json_t *json, opc_strings_t *out);

static opc_status_t read_file_item(opc_json_reader_t *reader, const json_t *json, opc_strings_t *out) {
  OPC_SCOPED(opc_scope_free) char *path = NULL;
  OPC_RETURN_IF_ERROR(read_path(reader, json, &path));
  char *item = path;
  path = NULL;
  return strings_own(out, item, reader->error);
}

static opc_status_t read_check_item(opc_json_reader_t *reader, const json_t *json, opc_strings_t *out) {
  opc_error_t trouble;
  const char *name = NULL;
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &name));
  const opc_strings_t one = {.items = &name, .count = 1};
  if (opc_check_names_validate(&one, &trouble) != OPC_OK) return opc_json_fail(reader, "%s", trouble.message);
  return strings_own(out, opc_string_copy(name), reader->error);
}

static opc_status_t read_list(opc_json_reader_t *reader, const json_t *json, read_item_t *read, opc_strings_t *out) {
  char what[64];
  size_t i;
  json_t *item;
  if (!json) return OPC_OK;
  if (!json_is_array(json))
    return opc_json_fail(reader, "expected a list of strings, not %s", opc_json_what(json, what, sizeof what));
  json_array_foreach((json_t *)(uintptr_t)json, i, item) OPC_JSON_ITEM(reader, i, read(reader, item, out));
  return OPC_OK;
}

static opc_status_t settings_read_rule(opc_json_reader_t *reader, const char *name, opc_rule_id_t *out) {
  *out = opc_rule_id(name);
  if (*out != OPC_RULE_NONE) return OPC_OK;
  opc_nearest_t nearest = {.word = name};
  for (size_t i = 1; i < opc_rule_count; i++) opc_nearest_try(&nearest, opc_rules[i].name);
  return opc_json_fail(reader, "no rule is called this%s%s%s; opcheck-c checks lists them",
                       nearest.best ? ", did you mean \"" : "", nearest.best ? nearest.best : "",
                       nearest.best ? "\"?" : "");
}

static opc_status_t settings_read_choice(opc_json_reader_t *reader, const char *name, const json_t *json,
                                         opc_rule_choice_t *out) {
  char what[64];
  opc_rule_id_t rule;
  OPC_RETURN_IF_ERROR(settings_read_rule(reader, name, &rule));
  for (int i = OPC_CHOICE_OFF; i <= OPC_CHOICE_ERROR; i++)
    if (json_is_string(json) && strcmp(json_string_value(json), choices[i]) == 0) out[rule] = (opc_rule_choice_t)i;
  if (out[rule] == OPC_CHOICE_NONE)
    return opc_json_fail(reader, "expected \"error\", \"warning\" or \"off\", not %s",
                         opc_json_what(json, what, sizeof what));
  if (rule == OPC_RULE_xfail_unexpected_pass)
    return opc_json_fail(reader, "this is always an error: remove the line of the xfail file");
  if (out[rule] == OPC_CHOICE_ERROR && rule == OPC_RULE_memory_unchecked_arguments)
    return opc_json_fail(reader, "such input is an error only with --untrusted-input");
  return OPC_OK;
}

static opc_status_t settings_read_choices(opc_json_reader_t *reader, const json_t *json, opc_rule_choice_t **out) {
  char what[64];
  const char *name;
  json_t *value;
  if (!json) return OPC_OK;
  if (!json_is_object(json))
    return opc_json_fail(reader, "expected an object of rules, not %s", opc_json_what(json, what, sizeof what));
  *out = calloc(OPC_RULE_END, sizeof **out);
  if (!*out) return opc_out_of_memory(reader->error);
  json_object_foreach((json_t *)(uintptr_t)json, name, value)
      OPC_JSON_MEMBER(reader, name, settings_read_choice(reader, name, value, *out));
  return OPC_OK;
}

static opc_status_t settings_read_fields(opc_json_reader_t *reader, const json_t *top, opc_settings_t *out) {
  const json_t *format = json_object_get(top, "format"), *xfail = json_object_get(top, "xfail"),
               *baseline = json_object_get(top, "baseline");
  if (!json_is_object(top)) return opc_json_fail(reader, "expected an object of settings");
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, top, fields));
  if (format && (!json_is_string(format) || strcmp(json_string_value(format), "opcheck-c/settings/1") != 0)) {
    opc_json_enter(reader, "format");
    return opc_json_fail(reader, "expected \"opcheck-c/settings/1\", the format that this program reads");
  }
  OPC_JSON_MEMBER(reader, "samples", read_list(reader, json_object_get(top, "samples"), read_file_item, &out->samples));
  OPC_JSON_MEMBER(reader, "recipes", read_list(reader, json_object_get(top, "recipes"), read_file_item, &out->recipes));
  OPC_JSON_MEMBER(reader, "checks", read_list(reader, json_object_get(top, "checks"), read_check_item, &out->checks));
  if (xfail) OPC_JSON_MEMBER(reader, "xfail", read_path(reader, xfail, &out->xfail));
  if (baseline) OPC_JSON_MEMBER(reader, "baseline", read_path(reader, baseline, &out->baseline));
  OPC_JSON_MEMBER(reader, "severities",
                  settings_read_choices(reader, json_object_get(top, "severities"), &out->choices));
  return OPC_OK;
}

opc_status_t opc_settings_read(opc_settings_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_json_file_close) opc_json_file_t file = {0};
  opc_error_t trouble = {0};
  OPC_RETURN_IF_ERROR(find_file(&out->file, error));
  if (!out->file) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_json_file_open(&file, out->file, "settings", error));
  opc_json_reader_t reader = {.folder = file.folder, .error = &trouble};
  if (settings_read_fields(&reader, file.top, out) != OPC_OK) {
    /* The message begins with the field, which the file's own message names, too. */
    const size_t named = strlen(reader.path);
    const bool repeats = named && strncmp(trouble.message, reader.path, named) == 0;
    return opc_json_file_mistake(&file, reader.path, trouble.message + (repeats ? named + 2 : 0));
  }
  out->text = json_dumps(file.top, JSON_COMPACT);
  return out->text ? OPC_OK : opc_out_of_memory(error);
}

void opc_settings_clear(opc_settings_t *settings) {
  opc_strings_clear(&settings->samples);
  opc_strings_clear(&settings->recipes);
  opc_strings_clear(&settings->checks);
  free(settings->file);
  free(settings->text);
  free(settings->xfail);
  free(settings->baseline);
  free(settings->choices);
  *settings = (opc_settings_t){0};
}
