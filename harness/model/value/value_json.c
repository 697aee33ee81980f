#include <math.h>
#include <string.h>

#include "model/json/json_write.h"
#include "model/value/value_read.h"

const char *const opc_fill_words[] = {
    [OPC_FILL_NORMAL] = "normal", [OPC_FILL_UNIFORM] = "uniform", [OPC_FILL_ARANGE] = "arange",
    [OPC_FILL_ZEROS] = "zeros",   [OPC_FILL_ONES] = "ones",       [OPC_FILL_FULL] = "full",
    [OPC_FILL_RANGE] = "range",   [OPC_FILL_VALUES] = "values",   [OPC_FILL_FILE] = "file",
    [OPC_FILL_FILE + 1] = NULL,
};

const char *const opc_special_words[] = {
    [OPC_SPECIAL_NONE] = "",
    [OPC_SPECIAL_NAN] = "nan",
    [OPC_SPECIAL_NEGATIVE_ZERO] = "negative_zero",
    [OPC_SPECIAL_INFINITY] = "infinity",
    [OPC_SPECIAL_DENORMAL] = "denormal",
    [OPC_SPECIAL_EXTREME] = "extreme",
    [OPC_SPECIAL_ZERO] = "zero",
    [OPC_SPECIAL_ONES] = "ones",
    [OPC_SPECIAL_NEGATED] = "negated",
    [OPC_SPECIAL_TIES] = "ties",
    [OPC_SPECIAL_EIGHTHS] = "eighths",
    [OPC_SPECIAL_TIMES_64] = "times_64",
    [OPC_SPECIAL_OVER_64] = "over_64",
    [OPC_SPECIAL_GRADED] = "graded",
    [OPC_SPECIAL_ONE_ZERO] = "one_zero",
    [OPC_SPECIAL_ZERO_ROW] = "zero_row",
    [OPC_SPECIAL_LAST_NAN] = "last_nan",
    [OPC_SPECIAL_LAST_NAN + 1] = NULL,
};

static json_t *object_with(const char *key, json_t *value) {
  json_t *object = json_object();
  opc_json_put(&object, key, value);
  return object;
}

static json_t *bits_to_json(uint64_t bits) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)bits);
  return object_with("bits", json_string(text));
}

/* A floating number; JSON has no NaN or infinity. */
static json_t *floating_to_json(double value) {
  if (isnan(value)) return json_string("nan");
  if (isinf(value)) return json_string(value < 0 ? "-inf" : "inf");
  return json_real(value);
}

/* A NaN other than the default one keeps its bits. */
static json_t *double_to_json(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return isnan(value) && bits != OPC_DOUBLE_NAN_BITS ? bits_to_json(bits) : floating_to_json(value);
}

static json_t *complex_to_json(double re, double im) {
  json_t *parts = json_array();
  opc_json_append(&parts, floating_to_json(re));
  opc_json_append(&parts, floating_to_json(im));
  return object_with("complex", parts);
}

static json_t *number_to_json(opc_number_t number) {
  switch (number.kind) {
    case OPC_NUMBER_INT:
      return json_integer(number.i);
    case OPC_NUMBER_FLOAT:
      return floating_to_json(number.f);
    case OPC_NUMBER_COMPLEX:
      return complex_to_json(number.c.re, number.c.im);
    case OPC_NUMBER_BITS:
      return bits_to_json(number.bits);
  }
  return NULL;
}

static json_t *fill_to_json(const opc_fill_t *fill) {
  json_t *list;
  switch (fill->kind) {
    case OPC_FILL_FULL:
      return object_with("full", number_to_json(fill->value));
    case OPC_FILL_RANGE:
      list = json_array();
      opc_json_append(&list, json_integer(fill->lo));
      opc_json_append(&list, json_integer(fill->hi));
      return object_with("range", list);
    case OPC_FILL_VALUES:
      list = json_array();
      for (size_t i = 0; i < fill->value_count; i++) opc_json_append(&list, number_to_json(fill->values[i]));
      return object_with("values", list);
    case OPC_FILL_FILE:
      return object_with("file", opc_json_text(fill->file));
    default:
      return json_string(opc_fill_words[fill->kind]);
  }
}

static json_t *device_to_json(opc_device_t device) {
  char text[32];
  if (device.index < 0) return json_string(opc_device_type_name(device.type));
  snprintf(text, sizeof text, "%s:%d", opc_device_type_name(device.type), device.index);
  return json_string(text);
}

/* Only what differs from the defaults, so that files stay readable and a sample's digest does not depend on explicit
 * defaults. */
static json_t *value_json_tensor_to_json(const opc_tensor_spec_t *spec) {
  json_t *json = json_object();
  if (!spec) return NULL;
  const size_t ndim = (size_t)spec->ndim;
  opc_tensor_spec_t plain = *spec;
  opc_tensor_spec_make_contiguous(&plain);
  opc_json_put(&json, "shape", opc_json_integers(spec->sizes, ndim));
  if (spec->dtype_given || spec->dtype != OPC_DTYPE_FLOAT32)
    opc_json_put(&json, "dtype", json_string(opc_dtype_name(spec->dtype)));
  if (ndim && memcmp(plain.strides, spec->strides, ndim * sizeof spec->strides[0]) != 0)
    opc_json_put(&json, "strides", opc_json_integers(spec->strides, ndim));
  if (spec->storage_offset) opc_json_put(&json, "storage_offset", json_integer(spec->storage_offset));
  if (spec->storage_size != opc_tensor_spec_needed(spec))
    opc_json_put(&json, "storage_size", json_integer(spec->storage_size));
  if (spec->storage) opc_json_put(&json, "storage", opc_json_text(spec->storage));
  if (spec->identity) opc_json_put(&json, "identity", opc_json_text(spec->identity));
  if (spec->fill.kind != OPC_FILL_NORMAL) opc_json_put(&json, "fill", fill_to_json(&spec->fill));
  if (spec->fill.special) opc_json_put(&json, "special", json_string(opc_special_words[spec->fill.special]));
  if (spec->fill.rounded_to) opc_json_put(&json, "rounded_to", json_string(opc_dtype_name(spec->fill.rounded_to)));
  if (spec->fill.filled_as) opc_json_put(&json, "filled_as", json_string(opc_dtype_name(spec->fill.filled_as)));
  if (spec->stream) opc_json_put(&json, "stream", opc_json_text(spec->stream));
  if (spec->device_given || spec->device.type != OPC_DEVICE_CPU)
    opc_json_put(&json, "device", device_to_json(spec->device));
  if (spec->requires_grad) opc_json_put(&json, "requires_grad", json_true());
  if (spec->conj) opc_json_put(&json, "conj", json_true());
  if (spec->neg) opc_json_put(&json, "neg", json_true());
  return object_with("tensor", json);
}

static json_t *value_json_values_to_json(const opc_value_t *values, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) opc_json_append(&list, opc_value_to_json(&values[i]));
  return list;
}

json_t *opc_value_to_json(const opc_value_t *value) {
  json_t *json;
  switch (value->kind) {
    case OPC_VALUE_NONE:
      return json_null();
    case OPC_VALUE_BOOL:
      return json_boolean(value->boolean);
    case OPC_VALUE_INT:
      return json_integer(value->integer);
    case OPC_VALUE_FLOAT:
      return double_to_json(value->floating);
    case OPC_VALUE_COMPLEX:
      return complex_to_json(value->complex.re, value->complex.im);
    case OPC_VALUE_STRING:
    case OPC_VALUE_OPAQUE:
      return opc_json_text(value->string);
    case OPC_VALUE_DTYPE:
      return object_with("dtype", json_string(opc_dtype_name(value->dtype)));
    case OPC_VALUE_DEVICE:
      return object_with("device", device_to_json(value->device));
    case OPC_VALUE_GENERATOR:
      return object_with("generator", json_integer((json_int_t)value->seed));
    case OPC_VALUE_TENSOR:
      return value_json_tensor_to_json(value->tensor);
    case OPC_VALUE_LIST:
      return value_json_values_to_json(value->list.items, value->list.count);
    case OPC_VALUE_OBJECT:
      json = json_object();
      opc_json_put(&json, "class", opc_json_text(value->object.class_name));
      if (value->object.made_by) opc_json_put(&json, "operator", opc_json_text(value->object.made_by));
      if (value->object.pickle) opc_json_put(&json, "pickle", opc_json_text(value->object.pickle));
      else
        opc_json_put(&json, value->object.made_by ? "args" : "init",
                     value_json_values_to_json(value->object.init, value->object.init_count));
      return object_with("object", json);
  }
  return NULL;
}
