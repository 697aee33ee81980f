/* Edits of one value of a tuple, within the caps of a search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "search/draft/search_inside.h"

/* Each case computes on the tuples found here, some dozens of times. Larger tensors cost minutes per operator and show
 * nothing more. */
static const int64_t dim_max = 4096, numel_max = 1 << 18;
enum { RANK_MAX = 8 };

/* ---- candidates ---- */

opc_sample_t *opc_candidates_add(opc_candidates_t *list, const opc_sample_t *base, opc_search_family_t family) {
  if (list->count >= OPC_CANDIDATES_MAX) return NULL;
  if (!OPC_ARRAY_GROW(list->items, list->count)) return NULL;
  list->items[list->count] = (opc_candidate_t){.family = family};
  if (opc_sample_copy(base, &list->items[list->count].sample, NULL) != OPC_OK) return NULL;
  return &list->items[list->count++].sample;
}

void opc_candidates_drop_last(opc_candidates_t *list) {
  if (list->count > 0) opc_sample_clear(&list->items[--list->count].sample);
}

void opc_candidates_clear(opc_candidates_t *list) {
  while (list->count > 0) opc_candidates_drop_last(list);
  free(list->items);
  *list = (opc_candidates_t){0};
}

/* ---- slots: constructor arguments, too ---- */

static void search_edit_collect(opc_value_t *value, size_t argument, opc_slot_t *slots, size_t *count) {
  if (value->kind == OPC_VALUE_LIST) {
    for (size_t i = 0; i < value->list.count; i++) search_edit_collect(&value->list.items[i], argument, slots, count);
  } else if (value->kind == OPC_VALUE_OBJECT) {
    for (size_t i = 0; i < value->object.init_count; i++)
      search_edit_collect(&value->object.init[i], argument, slots, count);
  } else if (*count < OPC_SLOTS_MAX && (value->kind == OPC_VALUE_TENSOR || value->kind == OPC_VALUE_INT ||
                                        value->kind == OPC_VALUE_FLOAT || value->kind == OPC_VALUE_BOOL)) {
    slots[(*count)++] = (opc_slot_t){value, argument};
  }
}

size_t opc_slots_of(const opc_sample_t *sample, opc_slot_t slots[OPC_SLOTS_MAX]) {
  size_t count = 0;
  for (size_t i = 0; i < sample->argument_count; i++) {
    if (!sample->absent[i]) search_edit_collect(&sample->arguments[i], i, slots, &count);
  }
  return count;
}

int64_t opc_sample_elements(const opc_sample_t *sample, size_t *out_tensors, size_t *out_empty) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  const size_t count = opc_slots_of(sample, slots);
  size_t tensors = 0, empty = 0;
  int64_t numel = 0;
  for (size_t i = 0; i < count; i++) {
    if (slots[i].value->kind != OPC_VALUE_TENSOR) continue;
    const int64_t own = opc_tensor_spec_numel(slots[i].value->tensor);
    numel += own;
    tensors++;
    empty += own == 0;
  }
  if (out_tensors) *out_tensors = tensors;
  if (out_empty) *out_empty = empty;
  return numel;
}

/* ---- tensors ---- */

bool opc_edit_shape(opc_value_t *tensor, int ndim, const int64_t *sizes) {
  int64_t numel = 1;
  opc_tensor_spec_t *spec = tensor->tensor;
  if (ndim < 0 || ndim > RANK_MAX) return false;
  if (ndim == spec->ndim && memcmp(spec->sizes, sizes, (size_t)ndim * sizeof *sizes) == 0) return false;
  for (int i = 0; i < ndim; i++) {
    if (sizes[i] < 0 || sizes[i] > dim_max || (sizes[i] > 0 && numel > numel_max / sizes[i])) return false;
    numel *= sizes[i];
  }
  bool was_empty = opc_tensor_spec_numel(spec) == 0;
  if (!opc_variant_resize(spec, ndim, sizes)) return false;
  if (was_empty && numel > 0 && spec->fill.kind == OPC_FILL_ZEROS) spec->fill.kind = OPC_FILL_NORMAL;
  return true;
}

bool opc_edit_dim(opc_value_t *tensor, int dim, int64_t size) {
  int64_t sizes[OPC_MAX_DIMS];
  opc_tensor_spec_t *spec = tensor->tensor;
  if (dim < 0) dim += spec->ndim;
  if (dim < 0 || dim >= spec->ndim) return false;
  memcpy(sizes, spec->sizes, sizeof sizes);
  sizes[dim] = size;
  return opc_edit_shape(tensor, spec->ndim, sizes);
}

bool opc_edit_rank(opc_value_t *tensor, int ndim, bool at_front) {
  int64_t sizes[OPC_MAX_DIMS];
  const opc_tensor_spec_t *spec = tensor->tensor;
  int change = ndim - spec->ndim;
  if (change == 0 || ndim < 0 || ndim > RANK_MAX) return false;
  for (int i = 0; i < ndim; i++) {
    int from = at_front ? i - change : i;
    sizes[i] = from >= 0 && from < spec->ndim ? spec->sizes[from] : 2;
  }
  return opc_edit_shape(tensor, ndim, sizes);
}

/* uint8 has no -1, int8 no 300, bool no 2: a sample file would reject them. */
static bool is_held(opc_dtype_t dtype, int64_t number) {
  bool has_negative = opc_dtype_class(dtype) != OPC_CLASS_UNSIGNED && opc_dtype_class(dtype) != OPC_CLASS_BOOLEAN;
  return fabs((double)number) <= opc_dtype_max(dtype) && (number >= 0 || has_negative);
}

bool opc_edit_dtype(opc_value_t *tensor, opc_dtype_t dtype) {
  opc_tensor_spec_t *spec = tensor->tensor;
  opc_dtype_class_t class_ = opc_dtype_class(dtype);
  if (dtype == OPC_DTYPE_OTHER || spec->dtype == dtype) return false;
  spec->dtype = dtype;
  bool full = spec->fill.kind == OPC_FILL_FULL;
  if (full && (spec->fill.value.kind != OPC_NUMBER_INT || !is_held(dtype, spec->fill.value.i)))
    opc_edit_fill(tensor, OPC_FILL_NORMAL);
  if (spec->fill.kind == OPC_FILL_VALUES) opc_edit_fill(tensor, OPC_FILL_NORMAL); /* the values may not fit */
  /* A range for indices does not suit data, and the reverse. */
  if (class_ == OPC_CLASS_SIGNED || class_ == OPC_CLASS_UNSIGNED) {
    if (spec->fill.kind == OPC_FILL_NORMAL) spec->fill.kind = OPC_FILL_RANGE, spec->fill.lo = 0, spec->fill.hi = 2;
  } else if (spec->fill.kind == OPC_FILL_RANGE) {
    spec->fill.kind = OPC_FILL_NORMAL;
  }
  return true;
}

bool opc_edit_fill(opc_value_t *tensor, opc_fill_kind_t kind) {
  opc_fill_t *fill = &tensor->tensor->fill;
  if (fill->kind == kind && kind != OPC_FILL_RANGE) return false;
  free(fill->values);
  fill->values = NULL;
  fill->value_count = 0;
  fill->kind = kind;
  fill->lo = 0;
  fill->hi = 2;
  return true;
}

bool opc_edit_full(opc_value_t *tensor, int64_t number) {
  opc_fill_t *fill = &tensor->tensor->fill;
  if ((fill->kind == OPC_FILL_FULL && fill->value.i == number) || !is_held(tensor->tensor->dtype, number)) return false;
  opc_edit_fill(tensor, OPC_FILL_FULL);
  fill->value = (opc_number_t){.kind = OPC_NUMBER_INT, .i = number};
  return true;
}

bool opc_tensor_holds_integers(const opc_value_t *value) {
  if (value->kind != OPC_VALUE_TENSOR) return false;
  opc_dtype_class_t class_ = opc_dtype_class(value->tensor->dtype);
  return class_ == OPC_CLASS_SIGNED || class_ == OPC_CLASS_UNSIGNED;
}

/* ---- numbers ---- */

bool opc_edit_number(opc_value_t *value, int64_t number) {
  if (value->kind == OPC_VALUE_INT && value->integer != number) {
    value->integer = number;
    return true;
  }
  if (value->kind == OPC_VALUE_FLOAT && value->floating != (double)number) {
    value->floating = (double)number;
    return true;
  }
  return false;
}

bool opc_type_is_any_length(const opc_type_t *type) {
  if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
  return type->kind == OPC_TYPE_LIST && type->fixed_length == 0;
}

bool opc_edit_list_length(opc_value_t *list, size_t length) {
  enum { LENGTH_MAX = 64 };
  if (list->kind != OPC_VALUE_LIST || list->list.count == length || length > LENGTH_MAX) return false;
  while (list->list.count > length) opc_value_clear(&list->list.items[--list->list.count]);
  if (list->list.count == length) return true;
  if (list->list.count == 0) return false; /* nothing to repeat */
  opc_value_t *items = realloc(list->list.items, length * sizeof *items);
  if (!items) return false;
  list->list.items = items;
  while (list->list.count < length) {
    if (opc_value_copy(&items[list->list.count - 1], &items[list->list.count], NULL) != OPC_OK) return false;
    list->list.count++;
  }
  return true;
}

/* Which operators belong together, judged by their names. */

/* "decode_png" of "image::decode_png.overload". */
static const char *base_name(const char *name, size_t *out_length) {
  const char *base = strstr(name, "::");
  base = base ? base + 2 : name;
  *out_length = strcspn(base, ".");
  return base;
}

static bool search_alike_has_word(const char *name, size_t length, const char *word, size_t word_length) {
  for (size_t i = 0; i + word_length <= length; i++) {
    bool whole = (i == 0 || name[i - 1] == '_') && (i + word_length == length || name[i + word_length] == '_');
    if (whole && strncasecmp(name + i, word, word_length) == 0) return true;
  }
  return false;
}

int opc_search_shared_words(const char *left, const char *right) {
  size_t left_length, right_length;
  int shared = 0;
  left = base_name(left, &left_length);
  right = base_name(right, &right_length);
  for (size_t i = 0; i < left_length;) {
    size_t length = 0;
    while (i + length < left_length && left[i + length] != '_') length++;
    shared += length > 1 && search_alike_has_word(right, right_length, left + i, length);
    i += length + 1;
  }
  return shared;
}

/* "deform_conv2d_backward" of "torchvision::_deform_conv2d_backward.out". */
static const char *stem_of(const char *name, size_t *out_length) {
  const char *base = base_name(name, out_length);
  size_t underscores = strspn(base, "_");
  *out_length -= underscores;
  return base + underscores;
}

bool opc_search_is_backward_of(const opc_operator_t *op, const opc_operator_t *forward) {
  static const char suffix[] = "_backward";
  size_t length, forward_length, space = strcspn(op->name, ":");
  const char *stem = stem_of(op->name, &length), *forward_stem = stem_of(forward->name, &forward_length);
  bool same_space = strncmp(op->name, forward->name, space) == 0 && forward->name[space] == ':';
  return same_space && length > forward_length && strncmp(stem, forward_stem, forward_length) == 0 &&
         strncmp(stem + forward_length, suffix, strlen(suffix)) == 0;
}
