#include "model/json/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static opc_status_t json_file_read_text(opc_json_file_t *file, const char *kind) {
  char block[65536];
  FILE *stream = fopen(file->name, "rbe");
  if (!stream)
    return opc_error_set(file->error, OPC_ERR_IO, "cannot open the %s %s: %s", kind, file->name, strerror(errno));
  size_t length;
  while ((length = fread(block, 1, sizeof block, stream)) > 0) opc_text_add_bytes(&file->text, block, length);
  int failure = ferror(stream) ? errno : 0;
  fclose(stream);
  if (failure)
    return opc_error_set(file->error, OPC_ERR_IO, "cannot read the %s %s: %s", kind, file->name, strerror(failure));
  return file->text.failed ? opc_out_of_memory(file->error) : OPC_OK;
}

opc_status_t opc_json_file_open(opc_json_file_t *file, const char *name, const char *kind, opc_error_t *error) {
  *file = (opc_json_file_t){.name = name, .error = error};
  const char *slash = strrchr(name, '/');
  json_error_t syntax;
  OPC_RETURN_IF_ERROR(json_file_read_text(file, kind));
  if (slash) {
    file->folder = strndup(name, slash == name ? 1 : (size_t)(slash - name));
    if (!file->folder) return opc_out_of_memory(error);
  }
  file->top = json_loadb(opc_text_c(&file->text), file->text.length, JSON_REJECT_DUPLICATES, &syntax);
  if (file->top) return OPC_OK;
  return opc_error_set(error, OPC_ERR_INPUT, "%s:%d:%d: %s", name, syntax.line > 0 ? syntax.line : 1,
                       syntax.column > 0 ? syntax.column : 1, syntax.text);
}

void opc_json_file_close(opc_json_file_t *file) {
  json_decref(file->top);
  free(file->folder);
  opc_text_clear(&file->text);
  *file = (opc_json_file_t){0};
}

opc_status_t opc_json_file_mistake(const opc_json_file_t *file, const char *field, const char *what) {
  int line, column;
  opc_json_locate(opc_text_c(&file->text), field, &line, &column);
  return opc_error_set(file->error, OPC_ERR_INPUT, "%s:%d:%d: %s%s%s", file->name, line, column, field,
                       field[0] ? ": " : "", what);
}

opc_status_t opc_json_file_item_mistake(const opc_json_file_t *file, const char *list, size_t index, const char *field,
                                        const char *what) {
  char whole[OPC_FIELD_SIZE + 64];
  int prefix = snprintf(whole, sizeof whole, "%s[%zu]%s", list, index, field[0] && field[0] != '[' ? "." : "");
  snprintf(whole + prefix, sizeof whole - (size_t)prefix, "%s", field);
  size_t named = strlen(field);
  if (named && strncmp(what, field, named) == 0 && strncmp(what + named, ": ", 2) == 0) what += named + 2;
  return opc_json_file_mistake(file, whole, what);
}

opc_status_t opc_json_file_items(const opc_json_file_t *file, const char *format, const char *list,
                                 const json_t **out_items) {
  const char *const fields[] = {"format", list, "comment", NULL}; /* a comment is for people */
  char message[128];
  opc_error_t trouble = {0};
  opc_json_reader_t reader = {.error = &trouble};
  const json_t *given = json_object_get(file->top, "format");
  *out_items = json_object_get(file->top, list);
  if (!json_is_object(file->top)) {
    snprintf(message, sizeof message, "expected an object with format and %s", list);
    return opc_json_file_mistake(file, "", message);
  }
  if (opc_json_check_fields(&reader, file->top, fields) != OPC_OK) {
    const char *what = strstr(trouble.message, ": ");
    return opc_json_file_mistake(file, reader.path, what ? what + 2 : trouble.message);
  }
  if (json_object_get(file->top, "comment") && !json_is_string(json_object_get(file->top, "comment")))
    return opc_json_file_mistake(file, "comment", "expected a text");
  if (!json_is_string(given) || strcmp(json_string_value(given), format) != 0) {
    snprintf(message, sizeof message, "expected \"%s\", the format that this program reads", format);
    return opc_json_file_mistake(file, "format", message);
  }
  if (json_is_array(*out_items)) return OPC_OK;
  snprintf(message, sizeof message, "expected the list of %s", list);
  return opc_json_file_mistake(file, list, message);
}

char *opc_json_file_place(opc_json_file_t *file, const char *list, size_t index) {
  opc_json_locate_item(opc_text_c(&file->text), list, index, &file->last);
  return opc_string_format("%s:%d", file->name, file->last.line);
}
