#include "model/value/value_read.h"

#include <stdlib.h>
#include <string.h>

static const char *const tag_words[] = {"tensor", "dtype", "device", "generator", "complex", "bits", "object", NULL};

static opc_status_t expected(opc_json_reader_t *reader, const char *what, const json_t *json, const char *type_text) {
  char there[64];
  /* Reports a mistyped {"tensr": …} as such. */
  if (json_is_object(json)) OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, tag_words));
  return opc_json_fail(reader, "expected %s (the schema says %s%s), not %s", what, type_text,
                       json_is_null(json) ? ", which may not be absent" : "", opc_json_what(json, there, sizeof there));
}

/* The value of the only key of an object like {"dtype": …}; NULL: other JSON. The reader has then entered the key. */
static const json_t *tagged(opc_json_reader_t *reader, const json_t *json, const char *key) {
  const json_t *inner = json_object_get(json, key);
  if (!inner || json_object_size(json) != 1) return NULL;
  opc_json_enter(reader, key);
  return inner;
}

/* ---- by type ---- */

static opc_status_t read_double(opc_json_reader_t *reader, const json_t *json, const char *type_text,
                                opc_value_t *out) {
  double value = 0.0;
  uint64_t bits;
  const json_t *inner = tagged(reader, json, "bits");
  if (inner) {
    OPC_RETURN_IF_ERROR(opc_bits_read(reader, inner, sizeof bits, &bits));
    memcpy(&value, &bits, sizeof value);
  } else if (json_is_number(json) || json_is_string(json)) {
    OPC_RETURN_IF_ERROR(opc_floating_read(reader, json, "a number", &value));
  } else {
    OPC_RETURN_IF_ERROR(expected(reader, "a number", json, type_text));
  }
  *out = (opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = value};
  return OPC_OK;
}

static opc_status_t read_integer(const json_t *json, opc_value_t *out) {
  *out = (opc_value_t){.kind = OPC_VALUE_INT, .integer = json_integer_value(json)};
  return OPC_OK;
}

static opc_status_t read_boolean(const json_t *json, opc_value_t *out) {
  *out = (opc_value_t){.kind = OPC_VALUE_BOOL, .boolean = json_is_true(json)};
  return OPC_OK;
}

static opc_status_t read_complex(opc_json_reader_t *reader, const json_t *inner, opc_value_t *out) {
  double re, im;
  OPC_RETURN_IF_ERROR(opc_complex_read(reader, inner, &re, &im));
  *out = (opc_value_t){.kind = OPC_VALUE_COMPLEX, .complex = {.re = re, .im = im}};
  return OPC_OK;
}

/* Any number of the format; its kind is kept. */
static opc_status_t read_scalar(opc_json_reader_t *reader, const json_t *json, const char *type_text,
                                opc_value_t *out) {
  if (json_is_integer(json)) return read_integer(json, out);
  if (json_is_boolean(json)) return read_boolean(json, out);
  const json_t *inner = tagged(reader, json, "complex");
  if (inner) return read_complex(reader, inner, out);
  return read_double(reader, json, type_text, out);
}

static opc_status_t read_string(const char *text, opc_json_reader_t *reader, opc_value_t *out) {
  char *copy = opc_string_copy(text);
  if (!copy) return opc_out_of_memory(reader->error);
  *out = (opc_value_t){.kind = OPC_VALUE_STRING, .string = copy};
  return OPC_OK;
}

static opc_status_t value_read_word(opc_json_reader_t *reader, const json_t *json, const char *const *known,
                                    const char *what, const char *type_text, opc_value_t *out) {
  const char *word = json_string_value(json);
  if (!word) return expected(reader, what, json, type_text);
  for (size_t i = 0; known[i]; i++)
    if (strcmp(known[i], word) == 0) return read_string(word, reader, out);
  OPC_SCOPED(opc_text_clear) opc_text_t all = {0};
  for (size_t i = 0; known[i]; i++) opc_text_addf(&all, "%s%s", i ? ", " : "", known[i]);
  return opc_json_fail(reader, "\"%.40s\" is not %s (known: %s)", word, what, opc_text_c(&all));
}

static opc_status_t read_dtype(opc_json_reader_t *reader, const json_t *json, const char *type_text, opc_value_t *out) {
  opc_dtype_t dtype = OPC_DTYPE_OTHER;
  const json_t *inner = json_is_string(json) ? json : tagged(reader, json, "dtype");
  if (!inner) return expected(reader, "a dtype like \"float32\"", json, type_text);
  OPC_RETURN_IF_ERROR(opc_dtype_read(reader, inner, &dtype));
  *out = (opc_value_t){.kind = OPC_VALUE_DTYPE, .dtype = dtype};
  return OPC_OK;
}

static opc_status_t read_device(opc_json_reader_t *reader, const json_t *json, const char *type_text,
                                opc_value_t *out) {
  opc_device_t device = {0};
  const json_t *inner = json_is_string(json) ? json : tagged(reader, json, "device");
  if (!inner) return expected(reader, "a device like \"cpu\"", json, type_text);
  OPC_RETURN_IF_ERROR(opc_device_read(reader, inner, &device));
  *out = (opc_value_t){.kind = OPC_VALUE_DEVICE, .device = device};
  return OPC_OK;
}

static opc_status_t read_generator(opc_json_reader_t *reader, const json_t *json, const char *type_text,
                                   opc_value_t *out) {
  int64_t seed;
  const json_t *inner = tagged(reader, json, "generator");
  if (!inner) return expected(reader, "a generator like {\"generator\": 7}", json, type_text);
  OPC_RETURN_IF_ERROR(opc_json_read_integer(reader, inner, INT64_MIN, &seed));
  *out = (opc_value_t){.kind = OPC_VALUE_GENERATOR, .seed = (uint64_t)seed};
  return OPC_OK;
}

static opc_status_t value_read_tensor(opc_json_reader_t *reader, const json_t *json, const char *type_text,
                                      opc_value_t *out) {
  opc_tensor_spec_t *spec;
  const json_t *inner = tagged(reader, json, "tensor");
  if (!inner) return expected(reader, "a tensor like {\"tensor\": {\"shape\": [2, 3]}}", json, type_text);
  OPC_RETURN_IF_ERROR(opc_tensor_spec_read(reader, inner, &spec));
  *out = (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec};
  return OPC_OK;
}

/* A list of `count` empty values; cleared by opc_value_clear, on failure too. */
static opc_status_t list_make(size_t count, opc_value_t *out, opc_error_t *error) {
  *out = (opc_value_t){.kind = OPC_VALUE_LIST};
  if (count) out->list.items = calloc(count, sizeof(opc_value_t));
  if (count && !out->list.items) return opc_out_of_memory(error);
  out->list.count = count;
  return OPC_OK;
}

/* The items of a JSON list, or the same value `repeat` times. On failure *out is NONE. */
static opc_status_t value_read_items(opc_json_reader_t *reader, const json_t *json, size_t repeat,
                                     const opc_type_t *element, const char *type_text, opc_value_t *out) {
  OPC_SCOPED(opc_value_clear) opc_value_t list = {0};
  OPC_RETURN_IF_ERROR(list_make(repeat ? repeat : json_array_size(json), &list, reader->error));
  for (size_t i = 0; i < list.list.count; i++) {
    size_t before = repeat ? strlen(reader->path) : opc_json_enter_index(reader, i);
    OPC_RETURN_IF_ERROR(
        opc_value_read(reader, repeat ? json : json_array_get(json, i), element, type_text, &list.list.items[i]));
    opc_json_leave(reader, before);
  }
  OPC_MOVE(out, list);
  return OPC_OK;
}

static opc_status_t value_read_list(opc_json_reader_t *reader, const json_t *json, const opc_type_t *type,
                                    const char *type_text, opc_value_t *out) {
  const size_t fixed = (size_t)type->fixed_length;
  if (json_is_array(json)) {
    /* The dispatcher does not enforce the length, and recorded calls have other lengths. ATen writes int[1] for any
     * list that a single number can replace (sum's dim). Kernels get an empty list for "not given" (int[2] stride=[]).
     * */
    if (fixed > 1 && json_array_size(json) != fixed && json_array_size(json) != 0)
      return opc_json_fail(reader, "expected a list of %zu (the schema says %s), not of %zu", fixed, type_text,
                           json_array_size(json));
    return value_read_items(reader, json, 0, type->element, type_text, out);
  }
  if (fixed && !json_is_null(json)) return value_read_items(reader, json, fixed, type->element, type_text, out);
  return expected(reader, "a list", json, type_text);
}

/* The constructor's arguments, by its schema; its first argument is the object itself. */
static opc_status_t read_constructor(opc_json_reader_t *reader, const json_t *list, const opc_operator_t *constructor,
                                     opc_value_t *out) {
  const size_t count = json_array_size(list), most = constructor->argument_count ? constructor->argument_count - 1 : 0;
  if (count > most)
    return opc_json_fail(reader, "%zu values for the %zu argument%s of the constructor: %s", count, most,
                         most == 1 ? "" : "s", constructor->schema);
  if (count < most && !constructor->arguments[count + 1].has_default)
    return opc_json_fail(reader, "argument %zu of the constructor is missing and has no default: %s", count + 1,
                         constructor->schema);
  OPC_SCOPED(opc_value_clear) opc_value_t values = {0};
  OPC_RETURN_IF_ERROR(list_make(count, &values, reader->error));
  for (size_t i = 0; i < count; i++) {
    const opc_argument_t *argument = &constructor->arguments[i + 1];
    OPC_JSON_ITEM(
        reader, i,
        opc_value_read(reader, json_array_get(list, i), &argument->type, argument->type_text, &values.list.items[i]));
  }
  OPC_MOVE(out, values);
  return OPC_OK;
}

static const char *constructor_schema(const opc_class_t *class_) {
  for (size_t i = 0; i < class_->method_count; i++)
    if (strcmp(class_->methods[i].name, "__init__") == 0) return class_->methods[i].schema;
  return NULL;
}

/* *out_schema: the constructor's; NULL: unknown. constructed: it must have one. */
static opc_status_t read_class(opc_json_reader_t *reader, const json_t *json, const opc_type_t *type, bool constructed,
                               const char **out_name, const char **out_schema) {
  *out_schema = NULL;
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, out_name));
  if (type->class_name && strcmp(type->class_name, *out_name) != 0)
    return opc_json_fail(reader, "expected the class %s that the schema names, not %.100s", type->class_name,
                         *out_name);
  if (!reader->find_class) return OPC_OK;
  const opc_class_t *class_ = reader->find_class(*out_name, reader->context);
  /* A class named by the schema exists: if no library here has it, it is libtorch's. */
  if (!class_)
    return type->class_name ? OPC_OK : opc_json_fail(reader, "no loaded library has a class %.100s", *out_name);
  *out_schema = constructor_schema(class_);
  return *out_schema || !constructed
             ? OPC_OK
             : opc_json_fail(reader,
                             "the class %.100s has no constructor: name the operator that returns an object of it",
                             *out_name);
}

static opc_status_t read_init(opc_json_reader_t *reader, const json_t *list, const char *schema, opc_value_t *out) {
  const opc_type_t any = {0};
  OPC_SCOPED(opc_operator_clear) opc_operator_t constructor = {0};
  if (!schema) return value_read_items(reader, list, 0, &any, "any", out);
  OPC_RETURN_IF_ERROR(opc_schema_arguments(schema, &constructor, reader->error));
  return read_constructor(reader, list, &constructor, out);
}

/* The list of arguments under this key, which may be absent. schema: the constructor's; NULL: unknown. */
static opc_status_t value_read_arguments(opc_json_reader_t *reader, const json_t *inner, const char *key,
                                         const char *whose, const char *schema, const char *type_text,
                                         opc_value_t *out) {
  const json_t *list = json_object_get(inner, key);
  const size_t before = opc_json_enter(reader, key);
  if (list && !json_is_array(list)) return expected(reader, whose, list, type_text);
  OPC_RETURN_IF_ERROR(read_init(reader, list, schema, out));
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t read_pickle(opc_json_reader_t *reader, const json_t *json, char **out) {
  const char *name;
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &name));
  if (!*name) return opc_json_fail(reader, "expected the name of a file that opcheck-c record wrote");
  return opc_file_read_path(reader, name, out);
}

static opc_status_t read_object(opc_json_reader_t *reader, const json_t *json, const opc_type_t *type,
                                const char *type_text, opc_value_t *out) {
  static const char *const fields[] = {"class", "init", "operator", "args", "pickle", NULL};
  const json_t *inner = tagged(reader, json, "object");
  if (!inner)
    return expected(reader, "an object like {\"object\": {\"class\": \"ns.Name\", \"init\": []}}", json, type_text);
  if (!json_is_object(inner)) return expected(reader, "{\"class\": …, \"init\": […]}", inner, type_text);
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, inner, fields));
  const json_t *by = json_object_get(inner, "operator");
  const json_t *pickle = json_object_get(inner, "pickle");
  const bool has_init = json_object_get(inner, "init"), has_args = json_object_get(inner, "args");
  if (by ? has_init || pickle : has_args || (has_init && pickle))
    return opc_json_fail(reader,
                         "an object has init, the arguments of its constructor; or operator and args, the "
                         "operator that returns it and what that gets; or pickle, its file");

  const char *name = NULL, *schema = NULL, *maker = NULL;
  OPC_SCOPED(opc_scope_free) char *file = NULL;
  if (pickle) OPC_JSON_MEMBER(reader, "pickle", read_pickle(reader, pickle, &file));
  if (by) OPC_JSON_MEMBER(reader, "operator", opc_json_read_string(reader, by, &maker));
  OPC_JSON_MEMBER(reader, "class",
                  read_class(reader, json_object_get(inner, "class"), type, !by && !pickle, &name, &schema));

  opc_value_t init = {0};
  if (!pickle)
    OPC_RETURN_IF_ERROR(
        by ? value_read_arguments(reader, inner, "args", "the list of the operator's arguments", NULL, type_text, &init)
           : value_read_arguments(reader, inner, "init", "the list of the constructor's arguments", schema, type_text,
                                  &init));

  opc_value_t object = {.kind = OPC_VALUE_OBJECT};
  object.object.init = init.list.items;
  object.object.init_count = init.list.count;
  object.object.class_name = opc_string_copy(name);
  object.object.made_by = opc_string_copy(maker);
  OPC_MOVE(&object.object.pickle, file);
  if (object.object.class_name && (object.object.made_by || !maker)) *out = object;
  else opc_value_clear(&object);
  return out->kind == OPC_VALUE_OBJECT ? OPC_OK : opc_out_of_memory(reader->error);
}

/* Using only the JSON. */
static opc_status_t read_untyped(opc_json_reader_t *reader, const json_t *json, const opc_type_t *type,
                                 const char *type_text, opc_value_t *out) {
  if (json_is_null(json)) return OPC_OK;
  if (json_is_string(json)) return read_string(json_string_value(json), reader, out);
  if (json_is_array(json)) return value_read_items(reader, json, 0, type, type_text, out);
  if (!json_is_object(json)) return read_scalar(reader, json, type_text, out);
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, tag_words));
  if (json_object_size(json) != 1)
    return opc_json_fail(reader,
                         "expected an object with one of tensor, dtype, device, generator, complex, bits, object");
  if (json_object_get(json, "tensor")) return value_read_tensor(reader, json, type_text, out);
  if (json_object_get(json, "dtype")) return read_dtype(reader, json, type_text, out);
  if (json_object_get(json, "device")) return read_device(reader, json, type_text, out);
  if (json_object_get(json, "generator")) return read_generator(reader, json, type_text, out);
  if (json_object_get(json, "object")) return read_object(reader, json, type, type_text, out);
  return read_scalar(reader, json, type_text, out);
}

opc_status_t opc_value_read(opc_json_reader_t *reader, const json_t *json, const opc_type_t *type,
                            const char *type_text, opc_value_t *out) {
  static const char *const layouts[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr",
                                        "sparse_bsc", "mkldnn",     "jagged",     NULL};
  static const char *const formats[] = {
      "contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "contiguous", "preserve", NULL};
  *out = (opc_value_t){0};
  switch (type->kind) {
    case OPC_TYPE_OPTIONAL:
      return json_is_null(json) ? OPC_OK : opc_value_read(reader, json, type->element, type_text, out);
    case OPC_TYPE_LIST:
      return value_read_list(reader, json, type, type_text, out);
    case OPC_TYPE_TENSOR:
      return value_read_tensor(reader, json, type_text, out);
    case OPC_TYPE_INT:
    case OPC_TYPE_SYMINT:
      return json_is_integer(json) ? read_integer(json, out) : expected(reader, "an integer", json, type_text);
    case OPC_TYPE_FLOAT:
      return read_double(reader, json, type_text, out);
    case OPC_TYPE_BOOL:
      return json_is_boolean(json) ? read_boolean(json, out) : expected(reader, "true or false", json, type_text);
    case OPC_TYPE_SCALAR:
    case OPC_TYPE_COMPLEX:
      if (type->kind == OPC_TYPE_COMPLEX && json_is_boolean(json)) return expected(reader, "a number", json, type_text);
      return read_scalar(reader, json, type_text, out);
    case OPC_TYPE_STRING:
    case OPC_TYPE_DIMNAME:
      return json_is_string(json) ? read_string(json_string_value(json), reader, out)
                                  : expected(reader, "a string", json, type_text);
    case OPC_TYPE_DTYPE:
      return read_dtype(reader, json, type_text, out);
    case OPC_TYPE_DEVICE:
      return read_device(reader, json, type_text, out);
    case OPC_TYPE_LAYOUT:
      return value_read_word(reader, json, layouts, "a layout", type_text, out);
    case OPC_TYPE_MEMORY_FORMAT:
      return value_read_word(reader, json, formats, "a memory format", type_text, out);
    case OPC_TYPE_GENERATOR:
      return read_generator(reader, json, type_text, out);
    case OPC_TYPE_OBJECT:
      return read_object(reader, json, type, type_text, out);
    case OPC_TYPE_STREAM:
    case OPC_TYPE_STORAGE:
      return opc_json_fail(reader, "the harness cannot make a value of type %s", type_text);
    case OPC_TYPE_ANY:
    case OPC_TYPE_OTHER:
      break;
  }
  return read_untyped(reader, json, type, type_text, out);
}
