#include "model/json/json_write.h"

#include <string.h>

#include "base/text.h"

json_t *opc_json_text(const char *text) {
  if (!text) return json_null();
  json_t *json = json_string(text);
  if (json) return json;

  OPC_SCOPED(opc_text_clear) opc_text_t clean = {0};
  opc_text_add_utf8(&clean, text, strlen(text));
  json = clean.failed ? NULL : json_string(opc_text_c(&clean));
  return json;
}

json_t *opc_json_string(const char *text) { return opc_json_text(text ? text : ""); }

const char *opc_json_text_of(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

void opc_json_put(json_t **object, const char *key, json_t *value) {
  if (*object && json_object_set_new(*object, key, value) == 0) return; /* consumes value even on failure */
  if (!*object) json_decref(value);
  json_decref(*object);
  *object = NULL;
}

void opc_json_append(json_t **array, json_t *value) {
  if (*array && json_array_append_new(*array, value) == 0) return;
  if (!*array) json_decref(value);
  json_decref(*array);
  *array = NULL;
}

json_t *opc_json_integers(const int64_t *values, size_t count) {
  json_t *array = json_array();
  for (size_t i = 0; i < count; i++) opc_json_append(&array, json_integer(values[i]));
  return array;
}
