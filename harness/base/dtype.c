#include "base/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *scalar_type;
  size_t bytes;
  opc_dtype_class_t kind;
  int digits;
  opc_encoding_t encoding;
} dtypes[OPC_DTYPE_COUNT] = {
    {"other", "Undefined", 0, OPC_CLASS_OTHER, 0, OPC_ENCODING_NONE},
#define OPC_DTYPE(constant, name, scalar_type, bytes, kind, digits, encoding) \
  {name, #scalar_type, bytes, OPC_CLASS_##kind, digits, OPC_ENCODING_##encoding},
#include "base/dtype.def"
#undef OPC_DTYPE
};

/* Torch's other names for them, in Python and in error messages. */
static const struct {
  const char *alias;
  opc_dtype_t dtype;
} aliases[] = {
    {"half", OPC_DTYPE_FLOAT16},       {"float", OPC_DTYPE_FLOAT32},   {"double", OPC_DTYPE_FLOAT64},
    {"short", OPC_DTYPE_INT16},        {"int", OPC_DTYPE_INT32},       {"long", OPC_DTYPE_INT64},
    {"char", OPC_DTYPE_INT8},          {"byte", OPC_DTYPE_UINT8},      {"cfloat", OPC_DTYPE_COMPLEX64},
    {"cdouble", OPC_DTYPE_COMPLEX128}, {"chalf", OPC_DTYPE_COMPLEX32},
};

static bool known(opc_dtype_t dtype) { return (unsigned)dtype < OPC_DTYPE_COUNT; }

const char *opc_dtype_name(opc_dtype_t dtype) { return dtypes[known(dtype) ? dtype : OPC_DTYPE_OTHER].name; }
const char *opc_dtype_scalar_type(opc_dtype_t dtype) {
  return dtypes[known(dtype) ? dtype : OPC_DTYPE_OTHER].scalar_type;
}
size_t opc_dtype_size(opc_dtype_t dtype) { return known(dtype) ? dtypes[dtype].bytes : 0; }
opc_dtype_class_t opc_dtype_class(opc_dtype_t dtype) { return known(dtype) ? dtypes[dtype].kind : OPC_CLASS_OTHER; }
int opc_dtype_digits(opc_dtype_t dtype) { return known(dtype) ? dtypes[dtype].digits : 0; }
opc_encoding_t opc_dtype_encoding(opc_dtype_t dtype) {
  return known(dtype) ? dtypes[dtype].encoding : OPC_ENCODING_NONE;
}
bool opc_dtype_is_integral(opc_dtype_t dtype) {
  opc_dtype_class_t kind = opc_dtype_class(dtype);
  return kind == OPC_CLASS_SIGNED || kind == OPC_CLASS_UNSIGNED;
}

bool opc_dtype_is_inexact(opc_dtype_t dtype) {
  opc_dtype_class_t kind = opc_dtype_class(dtype);
  return kind == OPC_CLASS_FLOATING || kind == OPC_CLASS_COMPLEX;
}

bool opc_dtype_is_float8(opc_dtype_t dtype) {
  return opc_dtype_class(dtype) == OPC_CLASS_FLOATING && opc_dtype_size(dtype) == 1;
}

opc_dtype_t opc_dtype_find(const char *name) {
  if (!name) return OPC_DTYPE_OTHER;
  for (int i = OPC_DTYPE_OTHER + 1; i < OPC_DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0) return (opc_dtype_t)i;
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
    if (strcmp(aliases[i].alias, name) == 0) return aliases[i].dtype;
  return OPC_DTYPE_OTHER;
}

static const char *const device_names[] = {"cpu", "cuda", "meta", "other"};

const char *opc_device_type_name(opc_device_type_t type) {
  return device_names[(unsigned)type < OPC_DEVICE_OTHER ? type : OPC_DEVICE_OTHER];
}

bool opc_device_parse(const char *text, opc_device_t *out) {
  if (!text) return false;
  for (int type = OPC_DEVICE_CPU; type < OPC_DEVICE_OTHER; type++) {
    size_t length = strlen(device_names[type]);
    if (strncmp(text, device_names[type], length) != 0) continue;
    const char *rest = text + length;
    long index = -1;
    if (*rest == ':') {
      char *end;
      if (rest[1] < '0' || rest[1] > '9') return false;
      index = strtol(rest + 1, &end, 10);
      if (*end || index > 127) return false;
    } else if (*rest) {
      return false;
    }
    *out = (opc_device_t){(opc_device_type_t)type, (int)index};
    return true;
  }
  return false;
}

bool opc_device_equal(opc_device_t left, opc_device_t right) {
  int left_index = left.index < 0 ? 0 : left.index, right_index = right.index < 0 ? 0 : right.index;
  return left.type == right.type && left_index == right_index;
}
