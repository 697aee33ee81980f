#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "supervise/emit/program_inside.h"

enum { PADDING = 0x5b, VALUES_MAX = 4096 }; /* PADDING: as in the cases' own calls */

static bool is_cpp(const opc_program_t *program) { return program->language == OPC_LANGUAGE_CPP; }

void opc_program_string(opc_text_t *out, const char *string) {
  opc_text_add(out, "\"");
  for (const char *at = string; *at; at++) {
    const unsigned char byte = (unsigned char)*at;
    if (byte == '"' || byte == '\\') opc_text_addf(out, "\\%c", byte);
    else if (byte < 0x20 || byte == 0x7f) opc_text_addf(out, "\\%03o", byte);
    else opc_text_add_bytes(out, at, 1);
  }
  opc_text_add(out, "\"");
}

/* ---- numbers ---- */

/* All digits; with a point, so that C++ takes it for a double. */
static void add_float(const opc_program_t *program, double number, int digits, opc_text_t *out) {
  char text[40];
  if (isnan(number)) opc_text_add(out, is_cpp(program) ? "NAN" : "float(\"nan\")");
  else if (isinf(number) && is_cpp(program)) opc_text_add(out, number > 0 ? "INFINITY" : "-INFINITY");
  else if (isinf(number)) opc_text_add(out, number > 0 ? "float(\"inf\")" : "float(\"-inf\")");
  else {
    snprintf(text, sizeof text, "%.*g", digits, number);
    opc_text_addf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
  }
}

static void add_complex(const opc_program_t *program, double re, double im, int digits, opc_text_t *out) {
  opc_text_add(out, is_cpp(program) ? "c10::complex<double>(" : "complex(");
  add_float(program, re, digits, out);
  opc_text_add(out, ", ");
  add_float(program, im, digits, out);
  opc_text_add(out, ")");
}

static void add_integer(const opc_program_t *program, int64_t number, opc_text_t *out) {
  if (number == INT64_MIN && is_cpp(program)) opc_text_add(out, "INT64_MIN");
  else opc_text_addf(out, "%" PRId64, number);
}

static void add_bool(const opc_program_t *program, bool value, opc_text_t *out) {
  opc_text_add(out, is_cpp(program) ? value ? "true" : "false" : value ? "True" : "False");
}

static void add_element(const opc_program_t *program, opc_dtype_t dtype, const void *element, opc_text_t *out) {
  const opc_number_t number = opc_number_load(dtype, element);
  const int digits = opc_dtype_digits(dtype) > 24 ? 17 : 9;
  if (opc_dtype_class(dtype) == OPC_CLASS_BOOLEAN && !is_cpp(program)) add_bool(program, number.i != 0, out);
  else if (number.kind == OPC_NUMBER_INT) add_integer(program, number.i, out);
  else if (number.kind == OPC_NUMBER_FLOAT) add_float(program, number.f, digits, out);
  else add_complex(program, number.c.re, number.c.im, digits, out);
}

static void write_dtype(const opc_program_t *program, opc_dtype_t dtype, opc_text_t *out) {
  if (is_cpp(program)) opc_text_addf(out, "at::ScalarType::%s", opc_dtype_scalar_type(dtype));
  else opc_text_addf(out, "torch.%s", opc_dtype_name(dtype));
}

/* ---- the memory of tensors ---- */

typedef struct memory {
  const char *storage; /* the id, if tensors share it; else NULL */
  opc_dtype_t dtype;
  unsigned char *bytes;
  size_t count; /* elements */
} memory_t;

static void memory_clear(memory_t *memory) { free(memory->bytes); }

/* The bytes that a scatter leaves alone take on the padding byte: two different ones find them. */
static opc_status_t memory_put(memory_t *memory, const opc_tensor_spec_t *spec, const char *path, uint64_t seed,
                               opc_error_t *error) {
  const size_t width = opc_dtype_size(spec->dtype), size = (size_t)spec->storage_size * width;
  OPC_SCOPED(opc_scope_free) unsigned char *low = malloc(size + 1), *high = malloc(size + 1);
  OPC_SCOPED(opc_scope_free) void *logical = malloc((size_t)opc_tensor_spec_numel(spec) * width + 1);
  if (!low || !high || !logical) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_fill_logical(spec, path, seed, logical, error));
  opc_fill_scatter(spec, logical, 0x00, low);
  opc_fill_scatter(spec, logical, 0xff, high);
  for (size_t i = 0; i < size && i < memory->count * width; i++)
    if (low[i] == high[i]) memory->bytes[i] = low[i];
  return OPC_OK;
}

static const void *memory_at(const memory_t *memory, size_t index) {
  return memory->bytes + index * opc_dtype_size(memory->dtype);
}

static bool memory_is_equal(const memory_t *memory) {
  for (size_t i = 1; i < memory->count; i++)
    if (memcmp(memory_at(memory, 0), memory_at(memory, i), opc_dtype_size(memory->dtype)) != 0) return false;
  return memory->count > 2;
}

static bool memory_is_counting(const memory_t *memory) {
  for (size_t i = 0; i < memory->count; i++) {
    unsigned char number[16];
    if (!opc_number_store((opc_number_t){.kind = OPC_NUMBER_INT, .i = (int64_t)i}, memory->dtype, number) ||
        memcmp(number, memory_at(memory, i), opc_dtype_size(memory->dtype)) != 0)
      return false;
  }
  return memory->count > 2;
}

/* What C++ makes the elements from. */
static const char *element_type(opc_dtype_t dtype) {
  return opc_dtype_class(dtype) == OPC_CLASS_COMPLEX ? "c10::complex<double>"
         : opc_dtype_is_inexact(dtype)               ? "double"
                                                     : "int64_t";
}

static opc_status_t write_elements(const opc_program_t *program, const memory_t *memory, const char *path,
                                   opc_text_t *out, opc_error_t *error) {
  if (memory->count > VALUES_MAX)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "argument %s has %zu different numbers, too many to write down",
                         path, memory->count);
  if (is_cpp(program)) opc_text_addf(out, "at::tensor(std::vector<%s>{", element_type(memory->dtype));
  else opc_text_add(out, "torch.tensor([");
  for (size_t i = 0; i < memory->count; i++) {
    opc_text_add(out, i ? ", " : "");
    add_element(program, memory->dtype, memory_at(memory, i), out);
  }
  opc_text_add(out, is_cpp(program) ? "}).to(" : "], dtype=");
  write_dtype(program, memory->dtype, out);
  opc_text_add(out, ")");
  return OPC_OK;
}

/* An expression for a tensor of one dimension that is the whole memory. */
static opc_status_t add_memory(const opc_program_t *program, const memory_t *memory, const char *path, opc_text_t *out,
                               opc_error_t *error) {
  const char *module = is_cpp(program) ? "at::" : "torch.";
  if (memory->count == 0) opc_text_addf(out, "%sempty(%s)", module, is_cpp(program) ? "{0}" : "0");
  else if (memory_is_counting(memory)) opc_text_addf(out, "%sarange(%zu)", module, memory->count);
  else if (memory_is_equal(memory)) {
    opc_text_addf(out, is_cpp(program) ? "at::full({%zu}, " : "torch.full((%zu,), ", memory->count);
    add_element(program, memory->dtype, memory->bytes, out);
    opc_text_add(out, ")");
  } else return write_elements(program, memory, path, out, error);
  opc_text_add(out, ".to(");
  write_dtype(program, memory->dtype, out);
  opc_text_add(out, ")");
  return OPC_OK;
}

/* ---- variables ---- */

typedef struct tensor_writer {
  const opc_program_t *program;
  const char *indent;
  opc_text_t *out;
  char **names;
  const opc_tensor_spec_t **specs;
  size_t count;
  opc_status_t status;
  opc_error_t *error;
} tensor_writer_t;

static bool is_taken_variable(const tensor_writer_t *writer, const char *name) {
  for (size_t i = 0; i < writer->count; i++)
    if (strcmp(writer->names[i], name) == 0) return true;
  return false;
}

/* "x" becomes x_, "tensors[1]" tensors_1_. No word of a language and no name of the parts ends with "_". */
static char *variable_name(const tensor_writer_t *writer, const char *path) {
  opc_text_t name = {0};
  for (const char *from = path; *from; from++)
    if (*from != ']') opc_text_add_bytes(&name, opc_is_plain_word(from, 1) && *from != '-' ? from : "_", 1);
  do opc_text_add(&name, "_");
  while (!name.failed && is_taken_variable(writer, opc_text_c(&name)));
  return opc_text_take(&name);
}

static bool same_id(const char *left, const char *right) { return left && right && strcmp(left, right) == 0; }

static void add_sizes(const opc_program_t *program, const int64_t *sizes, int count, opc_text_t *out) {
  opc_text_add(out, is_cpp(program) ? "{" : "(");
  for (int i = 0; i < count; i++) opc_text_addf(out, "%s%" PRId64, i ? ", " : "", sizes[i]);
  opc_text_add(out, is_cpp(program) ? "}" : count == 1 ? ",)" : ")");
}

static void add_view(const opc_program_t *program, const opc_tensor_spec_t *spec, opc_text_t *out) {
  const bool whole = !spec->storage && opc_tensor_spec_is_contiguous(spec) && spec->storage_offset == 0 &&
                     spec->storage_size == opc_tensor_spec_numel(spec);
  if (!whole || spec->ndim != 1) {
    opc_text_add(out, whole ? ".reshape(" : ".as_strided(");
    add_sizes(program, spec->sizes, spec->ndim, out);
    if (!whole) {
      opc_text_add(out, ", ");
      add_sizes(program, spec->strides, spec->ndim, out);
      opc_text_addf(out, ", %" PRId64, spec->storage_offset);
    }
    opc_text_add(out, ")");
  }
  if (spec->conj) opc_text_add(out, ".conj()");
  if (spec->requires_grad) opc_text_add(out, is_cpp(program) ? ".set_requires_grad(true)" : ".requires_grad_()");
}

/* All that tensors with this storage write. */
static opc_status_t fill_memory(tensor_writer_t *writer, const opc_tensor_spec_t *spec, const char *path,
                                memory_t *memory) {
  const size_t width = opc_dtype_size(spec->dtype);
  if (width == 0) return opc_error_set(writer->error, OPC_ERR_UNSUPPORTED, "argument %s has another dtype", path);
  *memory = (memory_t){.storage = spec->storage, .dtype = spec->dtype, .count = (size_t)spec->storage_size};
  const opc_tensor_spec_t *other;
  for (size_t i = 0; spec->storage && (other = opc_sample_tensor(writer->program->sample, i)); i++) {
    if (!same_id(other->storage, spec->storage)) continue;
    if (other->dtype != spec->dtype)
      return opc_error_set(writer->error, OPC_ERR_UNSUPPORTED, "argument %s shares memory of another dtype", path);
    if ((size_t)other->storage_size > memory->count) memory->count = (size_t)other->storage_size;
  }
  memory->bytes = malloc(memory->count * width + 1);
  if (!memory->bytes) return opc_out_of_memory(writer->error);
  memset(memory->bytes, opc_dtype_class(spec->dtype) == OPC_CLASS_BOOLEAN ? 1 : PADDING, memory->count * width);
  for (size_t i = 0; spec->storage && (other = opc_sample_tensor(writer->program->sample, i)); i++)
    if (same_id(other->storage, spec->storage))
      OPC_RETURN_IF_ERROR(
          memory_put(memory, other, other->stream ? other->stream : path, writer->program->seed, writer->error));
  return spec->storage ? OPC_OK : memory_put(memory, spec, path, writer->program->seed, writer->error);
}

static opc_status_t write_tensor(tensor_writer_t *writer, const char *path, const opc_tensor_spec_t *spec) {
  const opc_program_t *program = writer->program;
  OPC_SCOPED(memory_clear) memory_t memory = {0};
  opc_text_t *out = writer->out;
  const char *own = writer->names[writer->count - 1], *shared = NULL;
  const bool cpp = is_cpp(program);
  if (spec->device_given && spec->device.type != OPC_DEVICE_CPU)
    return opc_error_set(writer->error, OPC_ERR_UNSUPPORTED, "argument %s is on another device than the CPU", path);
  for (size_t i = 0; i + 1 < writer->count; i++) {
    if (same_id(spec->identity, writer->specs[i]->identity)) {
      opc_text_addf(out, "%s%s%s = %s%s\n", writer->indent, cpp ? "at::Tensor " : "", own, writer->names[i],
                    cpp ? ";" : "");
      return OPC_OK;
    }
    if (!shared && same_id(spec->storage, writer->specs[i]->storage)) shared = writer->names[i];
  }
  opc_text_addf(out, "%s%s%s = ", writer->indent, cpp ? "at::Tensor " : "", own);
  if (spec->neg) opc_text_add(out, cpp ? "at::_neg_view(" : "torch._neg_view(");
  if (shared) {
    opc_text_add(out, shared); /* as_strided counts from the beginning of the memory */
  } else {
    OPC_RETURN_IF_ERROR(fill_memory(writer, spec, path, &memory));
    OPC_RETURN_IF_ERROR(add_memory(program, &memory, path, out, writer->error));
  }
  add_view(program, spec, out);
  opc_text_addf(out, "%s%s\n", spec->neg ? ")" : "", cpp ? ";" : "");
  return OPC_OK;
}

static void tensor_write(const char *path, opc_value_t *value, void *context) {
  tensor_writer_t *writer = context;
  if (writer->status != OPC_OK) return;
  const opc_tensor_spec_t *spec = value->tensor;
  if (!OPC_ARRAY_GROW(writer->names, writer->count) || !OPC_ARRAY_GROW(writer->specs, writer->count)) {
    writer->status = opc_out_of_memory(writer->error);
    return;
  }
  writer->specs[writer->count] = spec;
  char *name = variable_name(writer, path);
  if (name) writer->names[writer->count++] = name;
  writer->status = name ? write_tensor(writer, path, spec) : opc_out_of_memory(writer->error);
}

opc_status_t opc_program_tensors(const opc_program_t *program, const char *indent, char ***names, size_t *name_count,
                                 opc_text_t *out, opc_error_t *error) {
  const opc_sample_t *sample = program->sample;
  tensor_writer_t writer = {.program = program, .indent = indent, .out = out, .error = error};
  for (size_t i = 0; i < sample->argument_count; i++)
    if (!sample->absent[i])
      opc_value_visit_tensors(program->op->arguments[i].name, &sample->arguments[i], tensor_write, &writer);
  free(writer.specs);
  *names = writer.names;
  *name_count = writer.count;
  return writer.status;
}

/* ---- values ---- */

static opc_status_t cannot_write(const opc_program_t *program, const char *what, opc_error_t *error) {
  return opc_error_set(error, OPC_ERR_UNSUPPORTED, "an argument is %s, which cannot be written in %s", what,
                       opc_language_name(program->language));
}

static opc_status_t add_list(const opc_program_t *program, const opc_value_t *value, const opc_type_t *type,
                             char *const *names, size_t *next, opc_text_t *out, opc_error_t *error) {
  static const opc_type_t any = {.kind = OPC_TYPE_ANY};
  const opc_type_t *element = type->kind == OPC_TYPE_LIST ? type->element : &any, *given = opc_type_given(element);
  const char *name = given->kind == OPC_TYPE_TENSOR                                  ? "at::Tensor"
                     : given->kind == OPC_TYPE_INT || given->kind == OPC_TYPE_SYMINT ? "int64_t"
                     : given->kind == OPC_TYPE_FLOAT                                 ? "double"
                     : given->kind == OPC_TYPE_BOOL                                  ? "bool"
                     : given->kind == OPC_TYPE_STRING                                ? "std::string"
                                                                                     : NULL;
  if (is_cpp(program) && !name) return cannot_write(program, "a list of an unusual type", error);
  const bool optional = element->kind == OPC_TYPE_OPTIONAL;
  if (is_cpp(program)) opc_text_addf(out, optional ? "c10::List<std::optional<%s>>({" : "c10::List<%s>({", name);
  else opc_text_add(out, "[");
  for (size_t i = 0; i < value->list.count; i++) {
    const opc_value_t *item = &value->list.items[i];
    opc_text_add(out, i ? ", " : "");
    if (is_cpp(program) && item->kind == OPC_VALUE_NONE) opc_text_add(out, "std::nullopt");
    else OPC_RETURN_IF_ERROR(opc_program_value(program, item, element, names, next, out, error));
  }
  opc_text_add(out, is_cpp(program) ? "})" : "]");
  return OPC_OK;
}

/* torch.channels_last and at::MemoryFormat::ChannelsLast, torch.strided and at::kStrided; or a string. */
static opc_status_t add_word(const opc_program_t *program, const char *word, const opc_type_t *type, opc_text_t *out,
                             opc_error_t *error) {
  static const char *const formats[][2] = {{"contiguous_format", "at::MemoryFormat::Contiguous"},
                                           {"preserve_format", "at::MemoryFormat::Preserve"},
                                           {"channels_last", "at::MemoryFormat::ChannelsLast"},
                                           {"channels_last_3d", "at::MemoryFormat::ChannelsLast3d"},
                                           {"strided", "at::kStrided"}};
  const bool names = type->kind == OPC_TYPE_LAYOUT || type->kind == OPC_TYPE_MEMORY_FORMAT;
  if (!names && is_cpp(program)) opc_text_add(out, "std::string(");
  if (!names) opc_program_string(out, word);
  if (!names && is_cpp(program)) opc_text_add(out, ")");
  if (names && !is_cpp(program)) opc_text_addf(out, "torch.%s", word);
  if (!names || !is_cpp(program)) return OPC_OK;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (strcmp(formats[i][0], word) != 0) continue;
    opc_text_add(out, formats[i][1]);
    return OPC_OK;
  }
  return cannot_write(program, "an unusual layout", error);
}

static opc_status_t add_object(const opc_program_t *program, const opc_value_t *value, char *const *names, size_t *next,
                               opc_text_t *out, opc_error_t *error) {
  static const opc_type_t any = {.kind = OPC_TYPE_ANY};
  if (is_cpp(program)) return cannot_write(program, "an object of a custom class", error);
  const char *maker = value->object.made_by ? value->object.made_by : value->object.class_name;
  const char *rest = strstr(maker, "::");
  if (rest) opc_text_addf(out, "torch.ops.%.*s.%s(", (int)(rest - maker), maker, rest + 2);
  else opc_text_addf(out, "torch.classes.%s(", maker);
  for (size_t i = 0; i < value->object.init_count; i++) {
    opc_text_add(out, i ? ", " : "");
    OPC_RETURN_IF_ERROR(opc_program_value(program, &value->object.init[i], &any, names, next, out, error));
  }
  opc_text_add(out, ")");
  return OPC_OK;
}

/* C++ needs the integer that a float argument, or a list of fixed length, is given as. */
static opc_status_t add_int(const opc_program_t *program, int64_t number, const opc_type_t *type, opc_text_t *out) {
  if (is_cpp(program) && type->kind == OPC_TYPE_LIST) {
    opc_text_add(out, "c10::List<int64_t>({");
    for (int64_t i = 0; i < (type->fixed_length ? type->fixed_length : 1); i++) {
      opc_text_add(out, i ? ", " : "");
      add_integer(program, number, out);
    }
    opc_text_add(out, "})");
  } else if (is_cpp(program) && type->kind == OPC_TYPE_FLOAT) {
    add_float(program, (double)number, 17, out);
  } else {
    opc_text_add(out, is_cpp(program) ? "int64_t{" : "");
    add_integer(program, number, out);
    opc_text_add(out, is_cpp(program) ? "}" : "");
  }
  return OPC_OK;
}

static void add_device(const opc_program_t *program, opc_device_t device, opc_text_t *out) {
  opc_text_addf(out, is_cpp(program) ? "c10::Device(\"%s" : "torch.device(\"%s", opc_device_type_name(device.type));
  if (device.index >= 0) opc_text_addf(out, ":%d", (int)device.index);
  opc_text_add(out, "\")");
}

opc_status_t opc_program_value(const opc_program_t *program, const opc_value_t *value, const opc_type_t *type,
                               char *const *names, size_t *next, opc_text_t *out, opc_error_t *error) {
  type = opc_type_given(type);
  switch (value->kind) {
    case OPC_VALUE_NONE:
      opc_text_add(out, is_cpp(program) ? "c10::IValue()" : "None");
      return OPC_OK;
    case OPC_VALUE_BOOL:
      add_bool(program, value->boolean, out);
      return OPC_OK;
    case OPC_VALUE_INT:
      return add_int(program, value->integer, type, out);
    case OPC_VALUE_FLOAT:
      add_float(program, value->floating, 17, out);
      return OPC_OK;
    case OPC_VALUE_COMPLEX:
      add_complex(program, value->complex.re, value->complex.im, 17, out);
      return OPC_OK;
    case OPC_VALUE_STRING:
      return add_word(program, value->string, type, out, error);
    case OPC_VALUE_DTYPE:
      write_dtype(program, value->dtype, out);
      return OPC_OK;
    case OPC_VALUE_DEVICE:
      add_device(program, value->device, out);
      return OPC_OK;
    case OPC_VALUE_GENERATOR:
      opc_text_addf(out, is_cpp(program) ? "generator(%" PRIu64 ")" : "torch.Generator().manual_seed(%" PRIu64 ")",
                    value->seed);
      return OPC_OK;
    case OPC_VALUE_TENSOR:
      opc_text_add(out, names[(*next)++]);
      return OPC_OK;
    case OPC_VALUE_LIST:
      return add_list(program, value, type, names, next, out, error);
    case OPC_VALUE_OBJECT:
      return add_object(program, value, names, next, out, error);
    default:
      return cannot_write(program, "an unknown value", error);
  }
}
