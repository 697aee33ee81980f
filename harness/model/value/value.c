#include "model/value/value.h"

#include <stdlib.h>
#include <string.h>

void opc_values_free(opc_value_t *values, size_t count) {
  for (size_t i = 0; values && i < count; i++) opc_value_clear(&values[i]);
  free(values);
}

void opc_value_clear(opc_value_t *value) {
  if (!value) return;
  switch (value->kind) {
    case OPC_VALUE_STRING:
    case OPC_VALUE_OPAQUE:
      free(value->string);
      break;
    case OPC_VALUE_TENSOR:
      opc_tensor_spec_free(value->tensor);
      break;
    case OPC_VALUE_LIST:
      opc_values_free(value->list.items, value->list.count);
      break;
    case OPC_VALUE_OBJECT:
      free(value->object.class_name);
      free(value->object.made_by);
      free(value->object.pickle);
      opc_values_free(value->object.init, value->object.init_count);
      break;
    default:
      break;
  }
  *value = (opc_value_t){0};
}

opc_status_t opc_values_copy(const opc_value_t *values, size_t count, opc_value_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_value_clear) opc_value_t list = {.kind = OPC_VALUE_LIST};
  *out = NULL;
  list.list.items = calloc(count + 1, sizeof *list.list.items);
  if (!list.list.items) return opc_out_of_memory(error);
  list.list.count = count;
  for (size_t i = 0; i < count; i++) OPC_RETURN_IF_ERROR(opc_value_copy(&values[i], &list.list.items[i], error));
  OPC_MOVE(out, list.list.items);
  return OPC_OK;
}

static opc_status_t object_copy(const opc_value_t *value, opc_value_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_value_clear) opc_value_t copy = {.kind = OPC_VALUE_OBJECT};
  OPC_RETURN_IF_ERROR(opc_values_copy(value->object.init, value->object.init_count, &copy.object.init, error));
  copy.object.init_count = value->object.init_count;
  OPC_RETURN_IF_ERROR(opc_string_copy_to(value->object.class_name, &copy.object.class_name, error));
  OPC_RETURN_IF_ERROR(opc_string_copy_to(value->object.made_by, &copy.object.made_by, error));
  OPC_RETURN_IF_ERROR(opc_string_copy_to(value->object.pickle, &copy.object.pickle, error));
  out->object = copy.object;
  copy = (opc_value_t){0};
  return OPC_OK;
}

opc_status_t opc_value_copy(const opc_value_t *value, opc_value_t *out, opc_error_t *error) {
  opc_value_t copy = *value;
  copy.handle = NULL;
  *out = (opc_value_t){0};
  switch (value->kind) {
    case OPC_VALUE_STRING:
    case OPC_VALUE_OPAQUE:
      OPC_RETURN_IF_ERROR(opc_string_copy_to(value->string, &copy.string, error));
      break;
    case OPC_VALUE_TENSOR:
      copy.tensor = opc_tensor_spec_copy(value->tensor);
      if (!copy.tensor && value->tensor) return opc_out_of_memory(error);
      break;
    case OPC_VALUE_LIST:
      OPC_RETURN_IF_ERROR(opc_values_copy(value->list.items, value->list.count, &copy.list.items, error));
      break;
    case OPC_VALUE_OBJECT:
      OPC_RETURN_IF_ERROR(object_copy(value, &copy, error));
      break;
    default:
      break;
  }
  *out = copy;
  return OPC_OK;
}

opc_tensor_spec_t *opc_tensor_spec_new(opc_dtype_t dtype, int ndim, const int64_t *sizes) {
  if (ndim < 0 || ndim > OPC_MAX_DIMS) return NULL;
  opc_tensor_spec_t *spec = calloc(1, sizeof *spec);
  if (!spec) return NULL;
  spec->dtype = dtype;
  spec->device = (opc_device_t){OPC_DEVICE_CPU, -1};
  spec->ndim = ndim;
  if (ndim) memcpy(spec->sizes, sizes, (size_t)ndim * sizeof *sizes);
  opc_tensor_spec_make_contiguous(spec);
  return spec;
}

/* Copies a string into *out; sets *whole to false on failure. */
static void copy_into(const char *string, char **out, bool *whole) {
  *out = opc_string_copy(string);
  if (string && !*out) *whole = false;
}

opc_tensor_spec_t *opc_tensor_spec_copy(const opc_tensor_spec_t *spec) {
  if (!spec) return NULL;
  opc_tensor_spec_t *copy = malloc(sizeof *copy);
  if (!copy) return NULL;
  bool whole = true;
  *copy = *spec;
  copy_into(spec->storage, &copy->storage, &whole);
  copy_into(spec->identity, &copy->identity, &whole);
  copy_into(spec->stream, &copy->stream, &whole);
  copy_into(spec->fill.file, &copy->fill.file, &whole);
  copy->fill.values = NULL;
  if (spec->fill.value_count) {
    copy->fill.values = malloc(spec->fill.value_count * sizeof *copy->fill.values);
    if (copy->fill.values)
      memcpy(copy->fill.values, spec->fill.values, spec->fill.value_count * sizeof *copy->fill.values);
    else whole = false;
  }
  if (whole) return copy;
  opc_tensor_spec_free(copy);
  return NULL;
}

void opc_tensor_spec_free(opc_tensor_spec_t *spec) {
  if (!spec) return;
  free(spec->storage);
  free(spec->identity);
  free(spec->stream);
  free(spec->fill.file);
  free(spec->fill.values);
  free(spec);
}

int64_t opc_tensor_spec_numel(const opc_tensor_spec_t *spec) {
  int64_t numel = 1;
  bool huge = false;
  for (int i = 0; i < spec->ndim; i++) {
    if (spec->sizes[i] == 0) return 0;
    huge |= __builtin_mul_overflow(numel, spec->sizes[i], &numel);
  }
  return huge ? INT64_MAX : numel;
}

void opc_tensor_spec_make_contiguous(opc_tensor_spec_t *spec) {
  int64_t stride = 1;
  for (int i = spec->ndim - 1; i >= 0; i--) {
    spec->strides[i] = stride;
    /* As in libtorch: a dimension of size 0 counts as size 1 for the strides before it. */
    if (spec->sizes[i] > 1 && __builtin_mul_overflow(stride, spec->sizes[i], &stride)) stride = INT64_MAX;
  }
  spec->storage_offset = 0;
  spec->storage_size = opc_tensor_spec_numel(spec);
}

int64_t opc_tensor_spec_needed(const opc_tensor_spec_t *spec) {
  int64_t last = spec->storage_offset, reach;
  if (opc_tensor_spec_numel(spec) == 0) return 0;
  for (int i = 0; i < spec->ndim; i++) {
    if (__builtin_mul_overflow(spec->sizes[i] - 1, spec->strides[i], &reach)) return INT64_MAX;
    if (__builtin_add_overflow(last, reach, &last)) return INT64_MAX;
  }
  return last == INT64_MAX ? last : last + 1;
}

bool opc_tensor_spec_is_contiguous(const opc_tensor_spec_t *spec) {
  int64_t stride = 1;
  if (opc_tensor_spec_numel(spec) == 0) return true;
  for (int i = spec->ndim - 1; i >= 0; i--) {
    if (spec->sizes[i] == 1) continue;
    if (spec->strides[i] != stride) return false;
    stride *= spec->sizes[i];
  }
  return true;
}

void opc_value_visit_tensors(const char *path, opc_value_t *value, opc_tensor_visit_t *visit, void *context) {
  char inner[256];
  if (value->kind == OPC_VALUE_TENSOR) visit(path, value, context);
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++) {
    snprintf(inner, sizeof inner, "%s[%zu]", path, i);
    opc_value_visit_tensors(inner, &value->list.items[i], visit, context);
  }
  for (size_t i = 0; value->kind == OPC_VALUE_OBJECT && i < value->object.init_count; i++) {
    snprintf(inner, sizeof inner, "%s.init[%zu]", path, i);
    opc_value_visit_tensors(inner, &value->object.init[i], visit, context);
  }
}

opc_tensor_spec_t *opc_value_tensor(const opc_value_t *value, size_t *number) {
  opc_tensor_spec_t *found = NULL;
  if (value->kind == OPC_VALUE_TENSOR && value->tensor && (*number)-- == 0) found = value->tensor;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && !found && i < value->list.count; i++)
    found = opc_value_tensor(&value->list.items[i], number);
  for (size_t i = 0; value->kind == OPC_VALUE_OBJECT && !found && i < value->object.init_count; i++)
    found = opc_value_tensor(&value->object.init[i], number);
  return found;
}

/* ---- text for messages ---- */

static void describe_integers(opc_text_t *text, const int64_t *values, int count) {
  opc_text_add(text, "[");
  for (int i = 0; i < count; i++) opc_text_addf(text, "%s%lld", i ? ", " : "", (long long)values[i]);
  opc_text_add(text, "]");
}

static void describe_tensor(opc_text_t *text, const opc_tensor_spec_t *spec) {
  if (!spec) {
    opc_text_add(text, "a tensor");
    return;
  }
  opc_text_add(text, opc_dtype_name(spec->dtype));
  describe_integers(text, spec->sizes, spec->ndim);
  if (!opc_tensor_spec_is_contiguous(spec)) {
    opc_text_add(text, " strides ");
    describe_integers(text, spec->strides, spec->ndim);
  }
  if (spec->storage_offset) opc_text_addf(text, " offset %lld", (long long)spec->storage_offset);
  if (spec->device_given && spec->device.type != OPC_DEVICE_CPU)
    opc_text_addf(text, " on %s", opc_device_type_name(spec->device.type));
  if (spec->requires_grad) opc_text_add(text, " requires_grad");
  if (spec->conj) opc_text_add(text, " conj");
  if (spec->neg) opc_text_add(text, " neg");
}

static void describe_number(opc_text_t *text, opc_dtype_t dtype, opc_number_t number) {
  unsigned char element[16];
  char words[96];
  if (opc_number_store(number, dtype, element))
    opc_text_add(text, opc_number_format(dtype, element, words, sizeof words));
}

static void value_describe(opc_text_t *text, const opc_value_t *value);

static void describe_values(opc_text_t *text, const char *open, const opc_value_t *values, size_t count,
                            const char *close) {
  opc_text_add(text, open);
  for (size_t i = 0; i < count; i++) {
    opc_text_add(text, i ? ", " : "");
    value_describe(text, &values[i]);
  }
  opc_text_add(text, close);
}

static void value_describe(opc_text_t *text, const opc_value_t *value) {
  switch (value->kind) {
    case OPC_VALUE_NONE:
      opc_text_add(text, "None");
      break;
    case OPC_VALUE_BOOL:
      opc_text_add(text, value->boolean ? "true" : "false");
      break;
    case OPC_VALUE_INT:
      opc_text_addf(text, "%lld", (long long)value->integer);
      break;
    case OPC_VALUE_FLOAT:
      describe_number(text, OPC_DTYPE_FLOAT64, (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = value->floating});
      break;
    case OPC_VALUE_COMPLEX:
      describe_number(text, OPC_DTYPE_COMPLEX128,
                      (opc_number_t){.kind = OPC_NUMBER_COMPLEX, .c = {value->complex.re, value->complex.im}});
      break;
    case OPC_VALUE_STRING:
      opc_text_addf(text, "\"%s\"", value->string ? value->string : "");
      break;
    case OPC_VALUE_OPAQUE:
      opc_text_add(text, value->string ? value->string : "something");
      break;
    case OPC_VALUE_DTYPE:
      opc_text_add(text, opc_dtype_name(value->dtype));
      break;
    case OPC_VALUE_DEVICE:
      opc_text_add(text, opc_device_type_name(value->device.type));
      if (value->device.index >= 0) opc_text_addf(text, ":%d", value->device.index);
      break;
    case OPC_VALUE_GENERATOR:
      opc_text_addf(text, "generator %llu", (unsigned long long)value->seed);
      break;
    case OPC_VALUE_TENSOR:
      describe_tensor(text, value->tensor);
      break;
    case OPC_VALUE_LIST:
      describe_values(text, "[", value->list.items, value->list.count, "]");
      break;
    case OPC_VALUE_OBJECT:
      if (value->object.made_by) opc_text_add(text, value->object.made_by);
      else opc_text_add(text, value->object.class_name ? value->object.class_name : "an object");
      if (value->object.pickle) opc_text_addf(text, " of %s", opc_base_name(value->object.pickle));
      else if (value->object.class_name) describe_values(text, "(", value->object.init, value->object.init_count, ")");
      break;
  }
}

void opc_value_describe(const opc_value_t *value, char *out, size_t size) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  value_describe(&text, value);
  if (size) snprintf(out, size, "%s", opc_text_c(&text));
  if (size && text.length >= size && size > 4) memcpy(out + size - 4, "...", 4);
}
