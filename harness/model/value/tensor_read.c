/* The value of "tensor" in a sample file, and its fill. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/value/value_read.h"

/* ---- fill ---- */

/* Reads a number as an element of the dtype. Rejects 300 for uint8 and 1.5 for an integer, which would be puzzling
 * later. */
static opc_status_t tensor_read_element(opc_json_reader_t *reader, const json_t *json, opc_dtype_t dtype,
                                        opc_number_t *out) {
  const opc_dtype_class_t kind = opc_dtype_class(dtype);
  const size_t size = opc_dtype_size(dtype);
  const char *name = opc_dtype_name(dtype);
  char there[64];
  opc_json_what(json, there, sizeof there);
  *out = (opc_number_t){.kind = OPC_NUMBER_INT};
  if (json_is_object(json)) {
    const json_t *bits = json_object_get(json, "bits"), *parts = json_object_get(json, "complex");
    static const char *const tags[] = {"bits", "complex", NULL};
    OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, tags));
    if (json_object_size(json) != 1) return opc_json_fail(reader, "expected {\"bits\": …} or {\"complex\": …}");
    opc_json_enter(reader, bits ? "bits" : "complex");
    if (bits) {
      out->kind = OPC_NUMBER_BITS;
      OPC_RETURN_IF_ERROR(opc_bits_read(reader, bits, size < 8 ? size : 8, &out->bits));
      if (kind == OPC_CLASS_BOOLEAN && out->bits > 1) return opc_json_fail(reader, "a bool's bits are 0x0 or 0x1");
      return OPC_OK;
    }
    if (kind != OPC_CLASS_COMPLEX) return opc_json_fail(reader, "a complex number does not fit %s", name);
    out->kind = OPC_NUMBER_COMPLEX;
    return opc_complex_read(reader, parts, &out->c.re, &out->c.im);
  }
  if (opc_dtype_is_inexact(dtype)) {
    if (json_is_integer(json)) {
      out->i = json_integer_value(json);
      return OPC_OK;
    }
    out->kind = OPC_NUMBER_FLOAT;
    return opc_floating_read(reader, json, "a number", &out->f);
  }
  if (kind == OPC_CLASS_BOOLEAN) {
    if (!json_is_boolean(json) && !(json_is_integer(json) && (uint64_t)json_integer_value(json) < 2))
      return opc_json_fail(reader, "expected true or false for %s, not %s", name, there);
    out->i = json_is_boolean(json) ? json_is_true(json) : json_integer_value(json);
    return OPC_OK;
  }
  if (!json_is_integer(json)) return opc_json_fail(reader, "expected an integer for %s, not %s", name, there);
  out->i = json_integer_value(json);
  unsigned char element[8];
  opc_number_store(*out, dtype, element);
  opc_number_t stored = opc_number_load(dtype, element);
  if (stored.kind != OPC_NUMBER_INT || stored.i != out->i)
    return opc_json_fail(reader, "%s does not fit %s", there, name);
  return OPC_OK;
}

static opc_status_t read_range(opc_json_reader_t *reader, const json_t *json, opc_dtype_t dtype, opc_fill_t *fill) {
  int64_t *const ends[] = {&fill->lo, &fill->hi};
  if (json_array_size(json) != 2) return opc_json_fail(reader, "expected [lo, hi], two integers");
  for (size_t i = 0; i < 2; i++)
    OPC_JSON_ITEM(reader, i, opc_json_read_integer(reader, json_array_get(json, i), INT64_MIN, ends[i]));
  if (fill->lo >= fill->hi)
    return opc_json_fail(reader, "no integer is at least %lld and below %lld: hi has to be above lo",
                         (long long)fill->lo, (long long)fill->hi);
  opc_dtype_class_t kind = opc_dtype_class(dtype);
  double largest = opc_dtype_max(dtype), lowest = kind == OPC_CLASS_SIGNED ? -largest - 1.0 : 0.0;
  bool limited = !opc_dtype_is_inexact(dtype);
  if (limited && ((double)fill->lo < lowest || (double)(fill->hi - 1) > largest))
    return opc_json_fail(reader, "the range [%lld, %lld) does not fit %s", (long long)fill->lo, (long long)fill->hi,
                         opc_dtype_name(dtype));
  return OPC_OK;
}

static opc_status_t tensor_read_values(opc_json_reader_t *reader, const json_t *json, opc_dtype_t dtype,
                                       opc_tensor_spec_t *spec) {
  const int64_t numel = opc_tensor_spec_numel(spec);
  const size_t count = json_array_size(json);
  if (!json_is_array(json)) return opc_json_fail(reader, "expected a list of numbers in logical order");
  if (numel != (int64_t)count)
    return opc_json_fail(reader, "%zu value%s for %lld element%s: the shape needs as many values as it has elements",
                         count, count == 1 ? "" : "s", (long long)numel, numel == 1 ? "" : "s");
  if (count == 0) return OPC_OK;
  spec->fill.values = calloc(count, sizeof *spec->fill.values);
  if (!spec->fill.values) return opc_out_of_memory(reader->error);
  spec->fill.value_count = count;
  for (size_t i = 0; i < count; i++)
    OPC_JSON_ITEM(reader, i, tensor_read_element(reader, json_array_get(json, i), dtype, &spec->fill.values[i]));
  return OPC_OK;
}

/* An array converts to the tensor's dtype only if no number loses its kind: bool, integer, floating, complex. */
static int kind_rank(opc_dtype_t dtype) {
  switch (opc_dtype_class(dtype)) {
    case OPC_CLASS_BOOLEAN:
      return 0;
    case OPC_CLASS_SIGNED:
    case OPC_CLASS_UNSIGNED:
      return 1;
    case OPC_CLASS_FLOATING:
      return 2;
    default:
      return 3;
  }
}

static opc_status_t tensor_read_file(opc_json_reader_t *reader, const json_t *json, opc_dtype_t dtype,
                                     opc_tensor_spec_t *spec) {
  const char *name;
  opc_npy_t npy;
  opc_error_t trouble = {0};
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &name));
  if (!*name) return opc_json_fail(reader, "expected the name of a .npy file");
  OPC_RETURN_IF_ERROR(opc_file_read_path(reader, name, &spec->fill.file));
  if (opc_npy_describe(spec->fill.file, &npy, &trouble) != OPC_OK) return opc_json_fail(reader, "%s", trouble.message);
  if (npy.ndim != spec->ndim || memcmp(npy.sizes, spec->sizes, (size_t)npy.ndim * sizeof npy.sizes[0]) != 0) {
    char shapes[2][160] = {"", ""};
    opc_tensor_spec_t *there = opc_tensor_spec_new(npy.dtype, npy.ndim, npy.sizes);
    OPC_SCOPED(opc_value_clear) opc_value_t of_file = {.kind = OPC_VALUE_TENSOR, .tensor = there};
    opc_tensor_spec_t bare = {.dtype = spec->dtype, .ndim = spec->ndim};
    memcpy(bare.sizes, spec->sizes, sizeof bare.sizes);
    opc_tensor_spec_make_contiguous(&bare);
    opc_value_describe(&of_file, shapes[0], sizeof shapes[0]);
    opc_value_describe(&(opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = &bare}, shapes[1], sizeof shapes[1]);
    return opc_json_fail(reader, "%s holds %s, the tensor is %s", name, shapes[0], shapes[1]);
  }
  if (kind_rank(npy.dtype) > kind_rank(dtype))
    return opc_json_fail(reader, "%s holds %s, which does not fit %s", name, opc_dtype_name(npy.dtype),
                         opc_dtype_name(dtype));
  return OPC_OK;
}

opc_status_t opc_fill_read(opc_json_reader_t *reader, const json_t *json, opc_tensor_spec_t *spec) {
  static const char *const tags[] = {"full", "range", "values", "file", NULL};
  opc_dtype_t dtype = spec->fill.filled_as == OPC_DTYPE_OTHER ? spec->dtype : spec->fill.filled_as;
  char there[64];
  const char *word = json_string_value(json);
  if (!word && !json_is_object(json))
    return opc_json_fail(
        reader,
        "expected \"normal\", \"uniform\", \"arange\", \"zeros\", \"ones\", {\"full\": v}, {\"range\": [lo, hi]}, "
        "{\"values\": […]} or {\"file\": \"x.npy\"}, not %s",
        opc_json_what(json, there, sizeof there));
  for (int kind = OPC_FILL_NORMAL; word && kind < OPC_FILL_FULL; kind++) {
    if (strcmp(word, opc_fill_words[kind]) != 0) continue;
    spec->fill.kind = (opc_fill_kind_t)kind;
    return OPC_OK;
  }
  if (word) {
    const char *nearest = opc_json_nearest(word, opc_fill_words);
    return opc_json_fail(
        reader,
        "no such fill: \"%.40s\"%s%s%s (known: normal, uniform, arange, zeros, ones, full, range, values, file)", word,
        nearest ? ", did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
  }
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, tags));
  if (json_object_size(json) != 1)
    return opc_json_fail(reader, "expected an object with one of full, range, values, file");

  size_t before = strlen(reader->path);
  for (int kind = OPC_FILL_FULL; kind <= OPC_FILL_FILE; kind++) {
    const json_t *inner = json_object_get(json, opc_fill_words[kind]);
    if (!inner) continue;
    spec->fill.kind = (opc_fill_kind_t)kind;
    opc_json_enter(reader, opc_fill_words[kind]);
    if (kind == OPC_FILL_FULL) OPC_RETURN_IF_ERROR(tensor_read_element(reader, inner, dtype, &spec->fill.value));
    if (kind == OPC_FILL_RANGE) OPC_RETURN_IF_ERROR(read_range(reader, inner, dtype, &spec->fill));
    if (kind == OPC_FILL_VALUES) OPC_RETURN_IF_ERROR(tensor_read_values(reader, inner, dtype, spec));
    if (kind == OPC_FILL_FILE) OPC_RETURN_IF_ERROR(tensor_read_file(reader, inner, dtype, spec));
  }
  opc_json_leave(reader, before);
  return OPC_OK;
}

/* ---- tensor ---- */

static opc_status_t read_integers(opc_json_reader_t *reader, const json_t *json, int64_t out[OPC_MAX_DIMS],
                                  int *out_count) {
  char there[64];
  if (!json_is_array(json))
    return opc_json_fail(reader, "expected a list of integers, not %s", opc_json_what(json, there, sizeof there));
  if (json_array_size(json) > OPC_MAX_DIMS)
    return opc_json_fail(reader, "%zu dimensions, more than the %d that the harness handles", json_array_size(json),
                         OPC_MAX_DIMS);
  for (size_t i = 0; i < json_array_size(json); i++)
    OPC_JSON_ITEM(reader, i, opc_json_read_integer(reader, json_array_get(json, i), 0, &out[i]));
  *out_count = (int)json_array_size(json);
  return OPC_OK;
}

static opc_status_t read_layout(opc_json_reader_t *reader, const json_t *json, opc_tensor_spec_t *spec) {
  int count = 0;
  size_t before = opc_json_enter(reader, "shape");
  if (!json_object_get(json, "shape")) return opc_json_fail(reader, "missing: every tensor needs a shape");
  OPC_RETURN_IF_ERROR(read_integers(reader, json_object_get(json, "shape"), spec->sizes, &spec->ndim));
  if (opc_tensor_spec_numel(spec) > INT64_MAX / 16)
    return opc_json_fail(reader, "so many elements that their bytes cannot be counted");
  opc_tensor_spec_make_contiguous(spec);
  opc_json_leave(reader, before);

  const json_t *strides = json_object_get(json, "strides"), *offset = json_object_get(json, "storage_offset");
  const json_t *size = json_object_get(json, "storage_size");
  if (strides) {
    opc_json_enter(reader, "strides");
    OPC_RETURN_IF_ERROR(read_integers(reader, strides, spec->strides, &count));
    if (count != spec->ndim)
      return opc_json_fail(reader, "%d stride%s for %d dimension%s", count, count == 1 ? "" : "s", spec->ndim,
                           spec->ndim == 1 ? "" : "s");
    opc_json_leave(reader, before);
  }
  if (offset)
    OPC_JSON_MEMBER(reader, "storage_offset", opc_json_read_integer(reader, offset, 0, &spec->storage_offset));
  int64_t needed = opc_tensor_spec_needed(spec);
  spec->storage_size = needed;
  if (size) {
    opc_json_enter(reader, "storage_size");
    OPC_RETURN_IF_ERROR(opc_json_read_integer(reader, size, 0, &spec->storage_size));
    if (spec->storage_size < needed)
      return opc_json_fail(reader, "%lld elements, but shape, strides and offset reach %lld",
                           (long long)spec->storage_size, (long long)needed);
  }
  if (spec->storage_size > INT64_MAX / 16)
    return opc_json_fail(reader, "so many elements that their bytes cannot be counted");
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t read_dtype_field(opc_json_reader_t *reader, const json_t *json, const char *key, opc_dtype_t *out) {
  const json_t *inner = json_object_get(json, key);
  if (!inner) return OPC_OK;
  OPC_JSON_MEMBER(reader, key, opc_dtype_read(reader, inner, out));
  return OPC_OK;
}

static opc_status_t read_text_field(opc_json_reader_t *reader, const json_t *json, const char *key, char **out) {
  const json_t *inner = json_object_get(json, key);
  const char *text;
  if (!inner) return OPC_OK;
  OPC_JSON_MEMBER(reader, key, opc_json_read_string(reader, inner, &text));
  return opc_string_copy_to(text, out, reader->error);
}

static opc_status_t read_special(opc_json_reader_t *reader, const json_t *json, opc_special_t *out) {
  const json_t *inner = json_object_get(json, "special");
  const char *word;
  if (!inner) return OPC_OK;
  size_t before = opc_json_enter(reader, "special");
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, inner, &word));
  int i = OPC_SPECIAL_NAN;
  while (opc_special_words[i] && strcmp(opc_special_words[i], word) != 0) i++;
  if (!opc_special_words[i])
    return opc_json_fail(
        reader,
        "\"%.40s\" is not one of nan, negative_zero, infinity, denormal, extreme, zero, ones, negated, ties, eighths, "
        "times_64, over_64, graded, one_zero, zero_row, last_nan",
        word);
  *out = (opc_special_t)i;
  opc_json_leave(reader, before);
  return OPC_OK;
}

/* A flag that libtorch supports only for some dtypes. */
static opc_status_t tensor_read_flag(opc_json_reader_t *reader, const json_t *json, const char *key, bool fits,
                                     const char *where, bool *out) {
  const json_t *inner = json_object_get(json, key);
  if (!inner) return OPC_OK;
  size_t before = opc_json_enter(reader, key);
  OPC_RETURN_IF_ERROR(opc_json_read_boolean(reader, inner, out));
  if (*out && !fits) return opc_json_fail(reader, "only %s tensors can have this", where);
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t read_spec(opc_json_reader_t *reader, const json_t *json, opc_tensor_spec_t *spec) {
  static const char *const fields[] = {
      "shape", "dtype", "strides", "storage_offset", "storage_size", "storage", "fill",     "device", "requires_grad",
      "conj",  "neg",   "special", "rounded_to",     "filled_as",    "stream",  "identity", NULL};
  const json_t *device = json_object_get(json, "device"), *fill = json_object_get(json, "fill");
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, fields));
  OPC_RETURN_IF_ERROR(read_dtype_field(reader, json, "dtype", &spec->dtype));
  OPC_RETURN_IF_ERROR(read_layout(reader, json, spec));
  OPC_RETURN_IF_ERROR(read_dtype_field(reader, json, "rounded_to", &spec->fill.rounded_to));
  OPC_RETURN_IF_ERROR(read_dtype_field(reader, json, "filled_as", &spec->fill.filled_as));
  OPC_RETURN_IF_ERROR(read_special(reader, json, &spec->fill.special));
  OPC_RETURN_IF_ERROR(read_text_field(reader, json, "storage", &spec->storage));
  OPC_RETURN_IF_ERROR(read_text_field(reader, json, "identity", &spec->identity));
  OPC_RETURN_IF_ERROR(read_text_field(reader, json, "stream", &spec->stream));
  spec->dtype_given = json_object_get(json, "dtype");
  spec->device_given = device;
  if (device) OPC_JSON_MEMBER(reader, "device", opc_device_read(reader, device, &spec->device));
  if (fill) OPC_JSON_MEMBER(reader, "fill", opc_fill_read(reader, fill, spec));
  opc_dtype_class_t kind = opc_dtype_class(spec->dtype);
  bool floating = opc_dtype_is_inexact(spec->dtype);
  bool is_signed = (floating && !opc_dtype_is_float8(spec->dtype)) || kind == OPC_CLASS_SIGNED;
  OPC_RETURN_IF_ERROR(
      tensor_read_flag(reader, json, "requires_grad", floating, "floating and complex", &spec->requires_grad));
  OPC_RETURN_IF_ERROR(tensor_read_flag(reader, json, "conj", kind == OPC_CLASS_COMPLEX, "complex", &spec->conj));
  return tensor_read_flag(reader, json, "neg", is_signed, "signed", &spec->neg);
}

static void scope_spec(opc_tensor_spec_t **spec) { opc_tensor_spec_free(*spec); }

opc_status_t opc_tensor_spec_read(opc_json_reader_t *reader, const json_t *json, opc_tensor_spec_t **out) {
  char there[64];
  *out = NULL;
  if (!json_is_object(json))
    return opc_json_fail(reader, "expected an object like {\"shape\": [2, 3]}, not %s",
                         opc_json_what(json, there, sizeof there));
  OPC_SCOPED(scope_spec) opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, 0, NULL);
  if (!spec) return opc_out_of_memory(reader->error);
  OPC_RETURN_IF_ERROR(read_spec(reader, json, spec));
  OPC_MOVE(out, spec);
  return OPC_OK;
}
