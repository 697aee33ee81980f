#include "supervise/session/classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/value/simple_value.h"

static bool is_operator(const opc_loaded_t *loaded, const char *name) {
  for (size_t i = 0; i < loaded->operator_count; i++)
    if (strcmp(loaded->operators[i].name, name) == 0) return true;
  return false;
}

opc_status_t opc_classes_take(opc_loaded_t *loaded, opc_error_t *error) {
  size_t i;
  json_t *json;
  opc_status_t status = OPC_OK;
  loaded->class_operators = calloc(json_array_size(loaded->classes) + 1, sizeof *loaded->class_operators);
  if (loaded->class_operators == NULL) return opc_out_of_memory(error);
  json_array_foreach(loaded->classes, i, json) {
    OPC_SCOPED(opc_class_clear) opc_class_t class_ = {0};
    opc_operator_t *op = &loaded->class_operators[loaded->class_operator_count];
    if (status == OPC_OK) status = opc_class_from_json(json, &class_, error);
    if (status == OPC_OK) status = opc_operator_from_class(&class_, op, error);
    if (status == OPC_OK && is_operator(loaded, op->name)) opc_operator_clear(op);
    else if (status == OPC_OK) loaded->class_operator_count++;
  }
  return status;
}

/* ---- arguments ---- */

static bool has_sample(const opc_sample_set_t *set, const char *name) {
  for (size_t i = 0; i < set->count; i++)
    if (strcmp(set->samples[i].name, name) == 0) return true;
  return false;
}

static char *constructor_of(const char *class_name, const void *context) {
  const opc_loaded_t *loaded = context;
  size_t i, k;
  json_t *class_, *method;
  json_array_foreach(loaded->classes, i, class_) {
    const char *name = json_string_value(json_object_get(class_, "name"));
    if (name == NULL || strcmp(name, class_name) != 0) continue;
    json_array_foreach(json_object_get(class_, "methods"), k, method) {
      const char *method_name = json_string_value(json_object_get(method, "name"));
      if (method_name != NULL && strcmp(method_name, "__init__") == 0)
        return opc_string_copy(json_string_value(json_object_get(method, "schema")));
    }
  }
  return NULL;
}

static opc_status_t add_sample(const opc_session_t *session, const opc_operator_t *op, int round, opc_sample_set_t *out,
                               opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  json_auto_t *args = json_array();
  const opc_simple_classes_t classes = {.constructor = constructor_of, .context = &session->loaded};
  bool possible = true;
  for (size_t i = 0; i < op->argument_count && !op->arguments[i].has_default && possible; i++) {
    json_t *value = opc_simple_value(&op->arguments[i].type, round, &classes);
    possible = value != NULL;
    if (possible) json_array_append_new(args, value);
  }
  opc_status_t status = OPC_OK;
  if (possible) {
    json_t *text = json_pack("{s:s, s:O}", "operator", op->name, "args", args);
    status = opc_sample_from_json(text, op, NULL, &sample, NULL, 0, error);
    json_decref(text);
    if (status == OPC_OK) status = opc_sample_name(&sample, op, error);
    sample.source = OPC_SAMPLE_SEARCHED;
    free(sample.origin);
    sample.origin = opc_string_copy("simple values by the constructor's types");
    if (status == OPC_OK && !has_sample(out, sample.name)) status = opc_sample_set_add(out, &sample, error);
  }
  return status;
}

opc_status_t opc_class_samples(const opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                               opc_error_t *error) {
  const int rounds = op->argument_count > 0 ? OPC_SIMPLE_ROUNDS : 1;
  opc_status_t status = OPC_OK;
  for (int round = 0; round < rounds && status == OPC_OK; round++) status = add_sample(session, op, round, out, error);
  return status;
}
