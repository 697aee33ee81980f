#include "model/value/simple_value.h"

json_t *opc_simple_value(const opc_type_t *type, int round) {
  static const json_int_t integers[] = {3, 1, 2, 0};
  static const double numbers[] = {0.5, 1, 2, 0};
  static const char *const words[] = {"a", "mean", "cpu", ""};
  json_t *item;
  switch (type->kind) {
    case OPC_TYPE_OPTIONAL:
      return round % 2 == 0 ? json_null() : opc_simple_value(type->element, round);
    case OPC_TYPE_LIST:
      item = opc_simple_value(type->element, round);
      return item != NULL ? json_pack("[o]", item) : NULL;
    case OPC_TYPE_TENSOR:
      return json_pack("{s:{s:[i, i]}}", "tensor", "shape", 2, 3);
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
    default:
      return NULL;
  }
}
