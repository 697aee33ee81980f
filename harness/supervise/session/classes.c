#include "supervise/session/session.h"

#include <stdlib.h>
#include <string.h>

static bool is_operator(const opc_loaded_t *loaded, const char *name) {
  for (size_t i = 0; i < loaded->operator_count; i++)
    if (strcmp(loaded->operators[i].name, name) == 0) return true;
  return false;
}

opc_status_t opc_classes_take(opc_loaded_t *loaded, opc_error_t *error) {
  const size_t count = json_array_size(loaded->classes);
  loaded->class_values = calloc(count + 1, sizeof *loaded->class_values);
  loaded->class_operators = calloc(count + 1, sizeof *loaded->class_operators);
  if (!loaded->class_values || !loaded->class_operators) return opc_out_of_memory(error);
  for (size_t i = 0; i < count; i++) {
    opc_class_t *class_ = &loaded->class_values[loaded->class_count++];
    opc_operator_t *op = &loaded->class_operators[loaded->class_operator_count];
    OPC_RETURN_IF_ERROR(opc_class_from_json(json_array_get(loaded->classes, i), class_, error));
    OPC_RETURN_IF_ERROR(opc_operator_from_class(class_, op, error));
    if (is_operator(loaded, op->name)) opc_operator_clear(op);
    else loaded->class_operator_count++;
  }
  return OPC_OK;
}

/* ---- arguments ---- */

static bool classes_has_sample(const opc_sample_set_t *set, const char *name) {
  for (size_t i = 0; i < set->count; i++)
    if (strcmp(set->samples[i].name, name) == 0) return true;
  return false;
}

static char *constructor_of(const char *class_name, const void *context) {
  const opc_loaded_t *loaded = context;
  for (size_t i = 0; i < loaded->class_count; i++) {
    const opc_class_t *class_ = &loaded->class_values[i];
    for (size_t k = 0; strcmp(class_->name, class_name) == 0 && k < class_->method_count; k++)
      if (strcmp(class_->methods[k].name, "__init__") == 0) return opc_string_copy(class_->methods[k].schema);
  }
  return NULL;
}

static opc_status_t classes_add_sample(const opc_session_t *session, const opc_operator_t *op, int round,
                                       opc_sample_set_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  json_auto_t *args = json_array();
  const opc_simple_classes_t classes = {.constructor = constructor_of, .context = &session->loaded};
  bool possible = true;
  for (size_t i = 0; i < op->argument_count && !op->arguments[i].has_default && possible; i++) {
    json_t *value = opc_simple_value(&op->arguments[i].type, round, &classes);
    possible = value;
    if (possible) json_array_append_new(args, value);
  }
  if (!possible) return OPC_OK;
  json_auto_t *text = json_pack("{s:s, s:O}", "operator", op->name, "args", args);
  OPC_RETURN_IF_ERROR(opc_sample_from_json(text, op, NULL, &sample, NULL, 0, error));
  OPC_RETURN_IF_ERROR(opc_sample_name(&sample, op, error));
  sample.source = OPC_SAMPLE_SEARCHED;
  free(sample.origin);
  sample.origin = opc_string_copy("simple values by the constructor's types");
  return classes_has_sample(out, sample.name) ? OPC_OK : opc_sample_set_add(out, &sample, error);
}

opc_status_t opc_class_samples(const opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                               opc_error_t *error) {
  const int rounds = op->argument_count > 0 ? OPC_SIMPLE_ROUNDS : 1;
  for (int round = 0; round < rounds; round++) OPC_RETURN_IF_ERROR(classes_add_sample(session, op, round, out, error));
  return OPC_OK;
}
