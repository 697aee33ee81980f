#include "model/package/archive.h"

#include <stdlib.h>
#include <string.h>

#include "model/value/value.h"

enum {
  TENSORS_MAX = 4096,
  NODES_MAX = 1 << 16, /* nodes of the value; shared ones count at each visit */
  DEPTH_MAX = 64,
  VALUES_MAX = 3 * 224 * 224 /* elements of all tensors: their text then fits a line of the worker's channel */
};

typedef struct reader {
  const opc_archive_t *archive;
  json_t *tensors;
  size_t nodes;
  int64_t values;
  opc_error_t *error;
} reader_t;

static opc_status_t broken(reader_t *reader, const char *what) {
  return opc_error_set(reader->error, OPC_ERR_INPUT, "%s", what);
}

/* ---- a tensor ---- */

/* "torch FloatStorage"; or "torch.storage UntypedStorage" with a separate dtype, "torch float32". */
static opc_dtype_t dtype_of(const json_t *storage, const json_t *dtype) {
  static const struct {
    const char *storage;
    opc_dtype_t dtype;
  } typed[] = {{"torch FloatStorage", OPC_DTYPE_FLOAT32},
               {"torch DoubleStorage", OPC_DTYPE_FLOAT64},
               {"torch HalfStorage", OPC_DTYPE_FLOAT16},
               {"torch BFloat16Storage", OPC_DTYPE_BFLOAT16},
               {"torch LongStorage", OPC_DTYPE_INT64},
               {"torch IntStorage", OPC_DTYPE_INT32},
               {"torch ShortStorage", OPC_DTYPE_INT16},
               {"torch CharStorage", OPC_DTYPE_INT8},
               {"torch ByteStorage", OPC_DTYPE_UINT8},
               {"torch BoolStorage", OPC_DTYPE_BOOL},
               {"torch ComplexFloatStorage", OPC_DTYPE_COMPLEX64},
               {"torch ComplexDoubleStorage", OPC_DTYPE_COMPLEX128}};
  const char *name = json_string_value(json_object_get(storage, "global")),
             *own = json_string_value(json_object_get(dtype, "global"));
  if (own && strncmp(own, "torch ", 6) == 0) return opc_dtype_find(own + 6);
  for (size_t i = 0; name && i < sizeof typed / sizeof *typed; i++)
    if (strcmp(typed[i].storage, name) == 0) return typed[i].dtype;
  return OPC_DTYPE_OTHER;
}

/* The file's entry for a storage: "…/data/KEY". */
static const opc_archive_entry_t *find_entry(const opc_archive_t *archive, const char *end) {
  size_t wanted = strlen(end);
  for (size_t i = 0; i < archive->count; i++) {
    size_t length = strlen(archive->entries[i].name);
    if (length >= wanted && strcmp(archive->entries[i].name + length - wanted, end) == 0) return &archive->entries[i];
  }
  return NULL;
}

static bool take_list(const json_t *list, int64_t *out, int *out_count) {
  size_t count = json_array_size(list);
  if (!json_is_array(list) || count > OPC_MAX_DIMS) return false;
  for (size_t i = 0; i < count; i++) {
    if (!json_is_integer(json_array_get(list, i)) || json_integer_value(json_array_get(list, i)) < 0) return false;
    out[i] = json_integer_value(json_array_get(list, i));
  }
  *out_count = (int)count;
  return true;
}

/* Number of storage elements that the tensor spans, from the storage's start; -1: overflow. */
static int64_t elements_reached(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset) {
  int64_t last = offset;
  for (int d = 0; d < ndim; d++) {
    int64_t reach = 0;
    if (sizes[d] == 0) return 0;
    if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last))
      return -1;
  }
  return last < INT64_MAX ? last + 1 : -1;
}

static void fill_values(opc_tensor_spec_t *spec, const char *bytes, int64_t offset) {
  size_t width = opc_dtype_size(spec->dtype);
  for (size_t i = 0; i < spec->fill.value_count; i++) {
    int64_t place = offset, rest = (int64_t)i;
    for (int d = spec->ndim - 1; d >= 0; rest /= spec->sizes[d], d--) place += rest % spec->sizes[d] * spec->strides[d];
    spec->fill.values[i] = opc_number_load(spec->dtype, bytes + (size_t)place * width);
  }
}

static opc_status_t add_spec(reader_t *reader, opc_tensor_spec_t *spec, const opc_archive_entry_t *entry,
                             int64_t offset) {
  opc_value_t value = {.kind = OPC_VALUE_TENSOR, .tensor = spec};
  int64_t numel = opc_tensor_spec_numel(spec),
          worth = opc_dtype_class(spec->dtype) == OPC_CLASS_COMPLEX ? 3 * numel : numel;
  if (numel <= VALUES_MAX && worth <= VALUES_MAX - reader->values) {
    OPC_SCOPED(opc_scope_free) char *bytes = NULL;
    reader->values += worth;
    OPC_RETURN_IF_ERROR(opc_archive_read(reader->archive, entry, &bytes, reader->error));
    spec->fill = (opc_fill_t){.kind = OPC_FILL_VALUES,
                              .value_count = (size_t)numel,
                              .rounded_to = OPC_DTYPE_OTHER,
                              .filled_as = OPC_DTYPE_OTHER};
    spec->fill.values = calloc((size_t)numel + 1, sizeof *spec->fill.values);
    if (!spec->fill.values) return opc_out_of_memory(reader->error);
    fill_values(spec, bytes, offset);
  }
  if (json_array_append_new(reader->tensors, opc_value_to_json(&value)) != 0) return opc_out_of_memory(reader->error);
  return OPC_OK;
}

/* torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks), and _v3 with a dtype after
 * these. */
static opc_status_t add_tensor(reader_t *reader, const json_t *arguments) {
  const json_t *id = json_object_get(json_array_get(arguments, 0), "persistent");
  const char *key = json_string_value(json_array_get(id, 2));
  opc_dtype_t dtype = dtype_of(json_array_get(id, 1), json_array_get(arguments, 6));
  int64_t sizes[OPC_MAX_DIMS] = {0}, strides[OPC_MAX_DIMS] = {0},
          offset = json_integer_value(json_array_get(arguments, 1));
  int ndim = 0, stride_count = 0;
  char end[128];
  if (!key || !take_list(json_array_get(arguments, 2), sizes, &ndim) ||
      !take_list(json_array_get(arguments, 3), strides, &stride_count) || ndim != stride_count || offset < 0)
    return broken(reader, "a tensor in it is broken");
  if (dtype == OPC_DTYPE_OTHER)
    return opc_error_set(reader->error, OPC_ERR_UNSUPPORTED,
                         "a tensor in it has a dtype that sample files have no name for");
  snprintf(end, sizeof end, "/data/%s", key);
  const opc_archive_entry_t *entry = find_entry(reader->archive, end);
  int64_t reached = elements_reached(ndim, sizes, strides, offset);
  if (!entry || reached < 0 || (uint64_t)reached > entry->size / opc_dtype_size(dtype))
    return broken(reader, "a tensor in it has no data, or less than its sizes say");
  if (json_array_size(reader->tensors) == TENSORS_MAX)
    return opc_error_set(reader->error, OPC_ERR_UNSUPPORTED, "it has more than %d tensors", TENSORS_MAX);
  opc_tensor_spec_t *spec = opc_tensor_spec_new(dtype, ndim, sizes);
  if (!spec) return opc_error_set(reader->error, OPC_ERR_MEMORY, "out of memory for an example");
  memcpy(spec->strides, strides, sizeof spec->strides);
  spec->storage_size = opc_tensor_spec_needed(spec);
  const opc_status_t status = add_spec(reader, spec, entry, offset);
  opc_tensor_spec_free(spec);
  return status;
}

/* ---- the containers ---- */

static opc_status_t add_value(reader_t *reader, const json_t *value, int depth);

static opc_status_t torch_saved_add_call(reader_t *reader, const json_t *value, int depth) {
  const char *name = json_string_value(json_object_get(value, "call"));
  const json_t *arguments = json_object_get(value, "args");
  if (name &&
      (strcmp(name, "torch._utils _rebuild_tensor_v2") == 0 || strcmp(name, "torch._utils _rebuild_tensor_v3") == 0))
    return add_tensor(reader, arguments);
  if (name && strcmp(name, "torch._utils _rebuild_parameter") == 0)
    return add_value(reader, json_array_get(arguments, 0), depth + 1);
  return opc_error_set(reader->error, OPC_ERR_UNSUPPORTED, "it holds something that is not a tensor: %.100s",
                       name ? name : "an object");
}

static opc_status_t add_value(reader_t *reader, const json_t *value, int depth) {
  const json_t *pairs = json_object_get(value, "dict");
  if (depth > DEPTH_MAX || reader->nodes++ > NODES_MAX)
    return opc_error_set(reader->error, OPC_ERR_UNSUPPORTED, "its values are nested too deeply");
  if (json_is_object(value) && !pairs) return torch_saved_add_call(reader, value, depth);
  for (size_t i = 0; i < json_array_size(value); i++)
    OPC_RETURN_IF_ERROR(add_value(reader, json_array_get(value, i), depth + 1));
  for (size_t i = 1; i < json_array_size(pairs); i += 2)
    OPC_RETURN_IF_ERROR(add_value(reader, json_array_get(pairs, i), depth + 1));
  return OPC_OK;
}

opc_status_t opc_torch_saved_read(const char *bytes, size_t size, json_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_archive_close) opc_archive_t archive = {0};
  OPC_SCOPED(opc_scope_free) char *pickle = NULL, *order_text = NULL;
  json_auto_t *value = NULL, *tensors = json_array();
  *out = NULL;
  OPC_RETURN_IF_ERROR(opc_archive_open_bytes(bytes, size, &archive, error));
  reader_t reader = {.archive = &archive, .tensors = tensors, .error = error};
  const opc_archive_entry_t *order = find_entry(&archive, "/byteorder"), *entry = find_entry(&archive, "/data.pkl");
  if (!tensors) return opc_out_of_memory(error);
  if (!entry) return opc_error_set(error, OPC_ERR_UNSUPPORTED, "torch.save did not write it");
  if (order) OPC_RETURN_IF_ERROR(opc_archive_read(&archive, order, &order_text, error));
  if (order_text && strcmp(order_text, "little") != 0)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "it was written on a big-endian machine");
  OPC_RETURN_IF_ERROR(opc_archive_read(&archive, entry, &pickle, error));
  OPC_RETURN_IF_ERROR(opc_pickle_read(pickle, (size_t)entry->size, &value, error));
  OPC_RETURN_IF_ERROR(add_value(&reader, value, 0));
  OPC_MOVE(out, tensors);
  return OPC_OK;
}
