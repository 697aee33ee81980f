#include "model/value/value.h"

#include <stdlib.h>

static json_t *simple(const opc_type_t *type, int round, const opc_simple_classes_t *classes, int depth);

static json_t *simple_value_tensor(void) { return json_pack("{s:{s:[i, i]}}", "tensor", "shape", 2, 3); }

/* One kind of value per round: those that constructors take most often where their schema says Any. */
static json_t *any(int round) {
  static const opc_type_kind_t kinds[OPC_SIMPLE_ROUNDS] = {OPC_TYPE_STRING, OPC_TYPE_STRING, OPC_TYPE_INT,
                                                           OPC_TYPE_TENSOR};
  const opc_type_t type = {.kind = kinds[round]};
  json_t *value = simple(&type, round, NULL, 0);
  return round == 0 ? json_pack("[o]", value) : value;
}

/* Arguments with defaults are left out, and so is what follows them. */
static json_t *object(const char *class_name, int round, const opc_simple_classes_t *classes, int depth) {
  enum { DEPTH_MAX = 4 }; /* a constructor may take an object of its own class */
  char *schema = classes && depth < DEPTH_MAX ? classes->constructor(class_name, classes->context) : NULL;
  OPC_SCOPED(opc_operator_clear) opc_operator_t constructor = {0};
  const opc_status_t status = schema ? opc_schema_arguments(schema, &constructor, NULL) : OPC_ERR_UNSUPPORTED;
  free(schema);
  if (status != OPC_OK) return NULL;
  json_auto_t *init = json_array();
  for (size_t i = 1; i < constructor.argument_count && !constructor.arguments[i].has_default; i++) {
    json_t *value = simple(&constructor.arguments[i].type, round, classes, depth + 1);
    if (!value || json_array_append_new(init, value) != 0) return NULL;
  }
  return json_pack("{s:{s:s, s:O}}", "object", "class", class_name, "init", init);
}

static json_t *simple(const opc_type_t *type, int round, const opc_simple_classes_t *classes, int depth) {
  static const json_int_t integers[OPC_SIMPLE_ROUNDS] = {3, 1, 2, 0};
  static const double numbers[OPC_SIMPLE_ROUNDS] = {0.5, 1, 2, 0};
  static const char *const words[OPC_SIMPLE_ROUNDS] = {"a", "mean", "cpu", ""};
  json_t *item;
  switch (type->kind) {
    case OPC_TYPE_OPTIONAL:
      return round % 2 == 0 ? json_null() : simple(type->element, round, classes, depth);
    case OPC_TYPE_LIST:
      item = simple(type->element, round, classes, depth);
      return item ? json_pack("[o]", item) : NULL;
    case OPC_TYPE_TENSOR:
      return simple_value_tensor();
    case OPC_TYPE_INT:
    case OPC_TYPE_SYMINT:
      return json_integer(integers[round]);
    case OPC_TYPE_FLOAT:
    case OPC_TYPE_SCALAR:
      return json_real(numbers[round]);
    case OPC_TYPE_BOOL:
      return json_boolean(round % 2);
    case OPC_TYPE_STRING:
      return json_string(words[round]);
    case OPC_TYPE_DTYPE:
      return json_pack("{s:s}", "dtype", "float32");
    case OPC_TYPE_DEVICE:
      return json_pack("{s:s}", "device", "cpu");
    case OPC_TYPE_ANY:
      return any(round);
    case OPC_TYPE_OBJECT:
      return type->class_name ? object(type->class_name, round, classes, depth) : NULL;
    default:
      return NULL;
  }
}

json_t *opc_simple_value(const opc_type_t *type, int round, const opc_simple_classes_t *classes) {
  return simple(type, round, classes, 0);
}
