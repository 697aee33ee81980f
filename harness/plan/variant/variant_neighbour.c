/* Neighbours: calls that differ from the sample's in a flag, a mode, a number, an optional argument or a size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant_table.h"

/* ---- arguments ---- */

static const opc_type_t *plain_type(const opc_argument_t *argument) { return opc_type_given(&argument->type); }

/* stride, padding: each item stands for a dimension. A list of any length may be sizes, or an order. */
static bool is_whole_list(const opc_type_t *type) {
  return type->kind == OPC_TYPE_LIST && type->fixed_length > 0 && opc_type_is_integer(type->element);
}

static bool is_given(const opc_sample_t *sample, size_t index) {
  return !sample->absent[index] && sample->arguments[index].kind != OPC_VALUE_NONE;
}

/* Takes over the value. */
static bool variant_neighbour_replace(opc_variant_step_t *step, size_t index, opc_value_t value) {
  opc_value_clear(&step->sample->arguments[index]);
  step->sample->arguments[index] = value;
  step->sample->absent[index] = false;
  return true;
}

/* The argument of the step. False: the path is not an argument. */
static bool variant_neighbour_find(const opc_variant_step_t *step, size_t *out_index) {
  const int index = opc_operator_argument(step->op, step->path);
  if (index < 0 || (size_t)index >= step->sample->argument_count) return false;
  *out_index = (size_t)index;
  return true;
}

/* ---- flags, modes and numbers ---- */

bool opc_neighbour_flipped(opc_variant_step_t *step) {
  size_t index;
  if (!variant_neighbour_find(step, &index) || plain_type(&step->op->arguments[index])->kind != OPC_TYPE_BOOL)
    return false;
  if (opc_argument_is_named(step->op->arguments[index].name, "verbose print debug progress")) return false; /* prints */
  const char *text = step->op->arguments[index].default_text;
  const opc_value_t *value = &step->sample->arguments[index];
  bool now =
      step->sample->absent[index] ? text && strcmp(text, "True") == 0 : value->kind == OPC_VALUE_BOOL && value->boolean;
  return variant_neighbour_replace(step, index, (opc_value_t){.kind = OPC_VALUE_BOOL, .boolean = !now});
}

static bool set_items(opc_variant_step_t *step, size_t index, int64_t number) {
  opc_value_t *value = &step->sample->arguments[index];
  bool changed = false;
  if (!is_given(step->sample, index) || value->kind != OPC_VALUE_LIST) return false;
  for (size_t i = 0; i < value->list.count; i++) {
    if (value->list.items[i].kind != OPC_VALUE_INT) return false;
    changed |= value->list.items[i].integer != number;
    value->list.items[i].integer = number;
  }
  return changed;
}

bool opc_neighbour_set(opc_variant_step_t *step) {
  size_t index;
  double now;
  if (!variant_neighbour_find(step, &index)) return false;
  const opc_type_t *type = plain_type(&step->op->arguments[index]);
  const double number = strtod(step->word, NULL);
  const bool whole = fabs(number) < (double)(INT64_C(1) << 53) && number == (double)(int64_t)number;
  now = opc_sample_number(step->sample, step->op, index);
  if (is_whole_list(type)) return whole && set_items(step, index, (int64_t)number);
  if (now == number || !(opc_type_is_real(type) || (opc_type_is_integer(type) && whole))) return false;
  const bool as_integer = opc_type_is_integer(type) || (type->kind == OPC_TYPE_SCALAR && whole &&
                                                        step->sample->arguments[index].kind == OPC_VALUE_INT);
  if (as_integer)
    return variant_neighbour_replace(step, index, (opc_value_t){.kind = OPC_VALUE_INT, .integer = (int64_t)number});
  return variant_neighbour_replace(step, index, (opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = number});
}

/* A dimension of the first tensor, counted from the end. */
bool opc_neighbour_from_end(opc_variant_step_t *step) {
  size_t index;
  double now;
  const opc_tensor_spec_t *first = opc_sample_tensor(step->sample, 0);
  if (!variant_neighbour_find(step, &index) || !opc_type_is_integer(plain_type(&step->op->arguments[index])) ||
      !opc_argument_is_named(step->op->arguments[index].name, "dim axis"))
    return false;
  now = opc_sample_number(step->sample, step->op, index);
  if (!first || !(now >= 0 && now < first->ndim)) return false;
  return variant_neighbour_replace(step, index,
                                   (opc_value_t){.kind = OPC_VALUE_INT, .integer = (int64_t)now - first->ndim});
}

/* The default of a string is quoted. */
static bool is_default_word(const opc_argument_t *argument, const char *word) {
  const char *quoted = argument->default_text;
  const size_t length = strlen(word);
  return quoted && strlen(quoted) == length + 2 && strncmp(quoted + 1, word, length) == 0;
}

bool opc_neighbour_word(opc_variant_step_t *step) {
  size_t index;
  if (!variant_neighbour_find(step, &index) || plain_type(&step->op->arguments[index])->kind != OPC_TYPE_STRING)
    return false;
  const opc_value_t *value = &step->sample->arguments[index];
  if (step->sample->absent[index] && is_default_word(&step->op->arguments[index], step->word)) return false;
  if (is_given(step->sample, index) && value->kind == OPC_VALUE_STRING && strcmp(value->string, step->word) == 0)
    return false;
  opc_value_t word = {.kind = OPC_VALUE_STRING, .string = opc_string_copy(step->word)};
  return word.string && variant_neighbour_replace(step, index, word);
}

/* ---- optional arguments ---- */

/* False: it would be the same call, or that of another neighbour: a flag is flipped. */
static bool has_other_default(const opc_variant_step_t *step, size_t index) {
  const opc_argument_t *argument = &step->op->arguments[index];
  const opc_value_t *value = &step->sample->arguments[index];
  if (!argument->default_text || step->sample->absent[index]) return false;
  if (value->kind == OPC_VALUE_STRING) return !is_default_word(argument, value->string);
  if (value->kind == OPC_VALUE_LIST && !is_whole_list(plain_type(argument))) return false;
  const char *text = argument->default_text + (argument->default_text[0] == '[');
  return value->kind != OPC_VALUE_BOOL && opc_sample_number(step->sample, step->op, index) != strtod(text, NULL);
}

bool opc_neighbour_left_out(opc_variant_step_t *step) {
  size_t index;
  if (!variant_neighbour_find(step, &index)) return false;
  if (step->op->arguments[index].type.kind == OPC_TYPE_OPTIONAL)
    return is_given(step->sample, index) &&
           variant_neighbour_replace(step, index, (opc_value_t){.kind = OPC_VALUE_NONE});
  if (!has_other_default(step, index)) return false;
  variant_neighbour_replace(step, index, (opc_value_t){0});
  return step->sample->absent[index] = true;
}

/* An optional tensor that the sample does not give. */
static bool is_open(const opc_variant_step_t *step, size_t index) {
  const opc_type_t *type = &step->op->arguments[index].type;
  return type->kind == OPC_TYPE_OPTIONAL && type->element->kind == OPC_TYPE_TENSOR && !is_given(step->sample, index);
}

bool opc_neighbour_like(opc_variant_step_t *step) {
  size_t index;
  if (!variant_neighbour_find(step, &index) || !is_open(step, index)) return false;
  const opc_variant_tensor_t *other = opc_variant_tensors_find(step->tensors, step->word);
  if (!other) return false;
  opc_tensor_spec_t *spec = opc_tensor_spec_copy(other->value->tensor);
  if (!spec) return false;
  free(spec->storage);
  free(spec->identity);
  free(spec->stream);
  spec->storage = spec->identity = spec->stream = NULL;
  opc_tensor_spec_make_contiguous(spec);
  return variant_neighbour_replace(step, index, (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec});
}

bool opc_neighbour_row(opc_variant_step_t *step) {
  size_t index;
  if (!variant_neighbour_find(step, &index) || !is_open(step, index) || step->number < 1) return false;
  const opc_dtype_t main = opc_sample_main_dtype(step->sample);
  const opc_dtype_t dtype = main == OPC_DTYPE_OTHER ? OPC_DTYPE_FLOAT32 : main;
  opc_value_t value = {.kind = OPC_VALUE_TENSOR, .tensor = opc_tensor_spec_new(dtype, 1, &step->number)};
  if (!value.tensor) return false;
  if (opc_dtype_is_inexact(dtype))
    value.tensor->fill.kind = OPC_FILL_UNIFORM; /* a scale or a variance is not negative */
  return variant_neighbour_replace(step, index, value);
}

/* ---- sizes ---- */

bool opc_neighbour_fewer(opc_variant_step_t *step) {
  opc_resized_t resized;
  const opc_resize_t resize = {
      .where = opc_resize_where_size, .context = &step->number, .factor = 1, .add = -(step->number - step->number / 2)};
  return step->number >= 2 && opc_tensors_resize(step->tensors, &resize, &resized) && resized.changed > 0;
}

static bool where_single(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context) {
  (void)number;
  (void)context;
  return dim == 0 && tensor->value->tensor->ndim > 1 && tensor->value->tensor->sizes[0] == 1;
}

/* Given values are repeated in the second batch; with its rows in the reverse order it differs from the first, and what
 * is sorted within a row stays sorted. */
static void reverse_second(opc_tensor_spec_t *spec) {
  opc_number_t *values = spec->fill.values;
  if (spec->fill.kind != OPC_FILL_VALUES || spec->ndim < 3 || spec->sizes[0] != 2 || spec->sizes[1] < 2) return;
  const size_t half = spec->fill.value_count / 2, rows = (size_t)spec->sizes[1], row = half / rows;
  for (size_t i = 0; i < half; i++) values[half + i] = values[(rows - 1 - i / row) * row + i % row];
}

/* A batch of one becomes a batch of two, in all tensors that have one. */
bool opc_neighbour_second(opc_variant_step_t *step) {
  opc_resized_t resized;
  const opc_resize_t resize = {.where = where_single, .factor = 2};
  OPC_SCOPED(opc_scope_free) bool *single = calloc(step->tensors->count + 1, sizeof *single);
  if (!single) return false;
  for (size_t i = 0; i < step->tensors->count; i++) single[i] = where_single(&step->tensors->items[i], i, 0, NULL);
  if (!opc_tensors_resize(step->tensors, &resize, &resized) || resized.changed == 0) return false;
  for (size_t i = 0; i < step->tensors->count; i++)
    if (single[i]) reverse_second(step->tensors->items[i].value->tensor);
  return true;
}

/* Other numbers of dimensions, with the same elements: all tensors get a first dimension of size 1, or lose it. */
static bool change_dimensions(opc_variant_step_t *step, int more) {
  for (size_t i = 0; i < step->tensors->count; i++) {
    const opc_variant_tensor_t *tensor = &step->tensors->items[i];
    opc_tensor_spec_t *spec = tensor->value->tensor;
    int64_t sizes[OPC_MAX_DIMS + 1] = {1};
    if (tensor->twin != i || tensor->shared || spec->ndim == 0 || spec->ndim + more > OPC_MAX_DIMS) return false;
    if (more < 0 && (spec->ndim < 2 || spec->sizes[0] != 1)) return false;
    for (int dim = 0; dim < spec->ndim; dim++)
      if (dim + more >= 0) sizes[dim + more] = spec->sizes[dim];
    if (!opc_variant_resize(spec, spec->ndim + more, sizes)) return false;
  }
  return step->tensors->count > 0;
}

bool opc_neighbour_unsqueezed(opc_variant_step_t *step) { return change_dimensions(step, 1); }
bool opc_neighbour_squeezed(opc_variant_step_t *step) { return change_dimensions(step, -1); }

/* Five dimensions, as nobody tries: those tensors that have the most get first ones of 2. */
bool opc_neighbour_deep(opc_variant_step_t *step) {
  enum { DEEP = 5, NUMEL_MOST = 1 << 16 };
  int ndim = 0;
  for (size_t i = 0; i < step->tensors->count; i++) {
    const opc_variant_tensor_t *tensor = &step->tensors->items[i];
    if (tensor->twin != i || tensor->shared) return false;
    if (tensor->value->tensor->ndim > ndim) ndim = tensor->value->tensor->ndim;
  }
  if (ndim < 2 || ndim >= DEEP) return false;
  for (size_t i = 0; i < step->tensors->count; i++) {
    opc_tensor_spec_t *spec = step->tensors->items[i].value->tensor;
    int64_t sizes[DEEP] = {2, 2, 2, 2, 2};
    if (spec->ndim != ndim) continue;
    if (opc_tensor_spec_numel(spec) > NUMEL_MOST) return false;
    for (int dim = 0; dim < ndim; dim++) sizes[DEEP - ndim + dim] = spec->sizes[dim];
    if (!opc_variant_resize(spec, DEEP, sizes)) return false;
  }
  return true;
}

/* ---- parameters worth trying ---- */

static void use_number(double number, opc_neighbour_text_t *use, void *context) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", number);
  if (!strchr(text, 'e') && isfinite(number)) use(text, context); /* '+' separates the steps of a name */
}

/* A dimension of the first tensor; "dim" may also be a size. */
static bool variant_neighbour_is_dimension(const opc_sample_t *sample, const opc_operator_t *op, size_t argument) {
  const opc_tensor_spec_t *first = opc_sample_tensor(sample, 0);
  if (!first || !opc_argument_is_named(op->arguments[argument].name, "dim axis")) return false;
  const double now = opc_sample_number(sample, op, argument);
  return now >= -first->ndim && now < first->ndim;
}

/* Of a tensor with so many dimensions; last comes one that it does not have. */
static void use_dimensions(int ndim, opc_neighbour_text_t *use, void *context) {
  use_number(0, use, context);
  for (int dim = 1; dim <= ndim; dim++) use_number(-dim, use, context);
  for (int dim = 1; dim <= ndim; dim++) use_number(dim, use, context);
}

void opc_neighbour_values(const opc_sample_t *sample, const opc_operator_t *op, size_t argument,
                          opc_neighbour_text_t *use, void *context) {
  static const int64_t usual[] = {0, 1, -1, 2, 3};
  const opc_type_t *type = plain_type(&op->arguments[argument]);
  const opc_tensor_spec_t *first = opc_sample_tensor(sample, 0);
  double now;
  if (opc_type_is_integer(type) && variant_neighbour_is_dimension(sample, op, argument)) {
    use_dimensions(first->ndim, use, context);
  } else if (opc_type_is_integer(type) || is_whole_list(type)) {
    now = opc_sample_number(sample, op, argument);
    if (opc_type_is_integer(type) && now > 3)
      use_number(now + 1, use, context); /* a count is rarely refused that is larger */
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) use_number((double)usual[i], use, context);
    if (!opc_type_is_integer(type) || !first || first->ndim == 0) return;
    const int64_t size = first->sizes[first->ndim - 1];
    use_number((double)(size - 1), use, context);
    use_number((double)size, use, context);
  } else if (opc_type_is_real(type)) {
    now = opc_sample_number(sample, op, argument);
    const double other[] = {now == 0 ? 1 : -now, 0, 1, 2 * now, now / 2};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) use_number(other[i], use, context);
  }
}

static bool variant_neighbour_has_word(const char *words, const char *word, size_t length) {
  while (words && *words) {
    const size_t size = strcspn(words, "|");
    if (size == length && strncmp(words, word, length) == 0) return true;
    words += size + (words[size] == '|');
  }
  return false;
}

/* Without those that are among `used`, which may be NULL. */
static void use_words(const char *words, const char *used, opc_neighbour_text_t *use, void *context) {
  char word[OPC_WORD_MAX + 1];
  while (words && *words) {
    const size_t length = strcspn(words, "|");
    if (length < sizeof word && !variant_neighbour_has_word(used, words, length)) {
      memcpy(word, words, length);
      word[length] = '\0';
      use(word, context);
    }
    words += length;
    words += *words == '|';
  }
}

/* First those that the operator itself names. */
void opc_neighbour_words(const opc_sample_t *sample, const opc_operator_t *op, size_t argument,
                         opc_neighbour_text_t *use, void *context) {
  if (plain_type(&op->arguments[argument])->kind != OPC_TYPE_STRING) return;
  const char *named = sample->words ? sample->words[argument] : NULL;
  use_words(named, NULL, use, context);
  use_words(opc_argument_words(op->arguments[argument].name), named, use, context);
}
