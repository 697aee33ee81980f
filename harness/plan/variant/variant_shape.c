/* Other shapes: empty dimensions, no items, 0-dim and larger tensors, the same tensor twice. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/variant/variant_table.h"

enum {
  LARGER_FACTOR = 3,
  LARGER_CHEAP = 4096 /* elements of the largest tensor */,
  LONG_SIZE = 1024,
  LONG_CHEAP = 8192
};
static const int64_t larger_numel_max =
    4 << 20; /* elements; a variant should not take longer than its sample by orders */

/* Explicit values have to be as many as elements: they repeat, so that what is valid for the operator (an index) stays
 * so. */
static bool refill(opc_fill_t *fill, int64_t numel) {
  if (fill->kind == OPC_FILL_FILE && numel > 0) return false;
  if (fill->kind == OPC_FILL_FILE || (fill->kind == OPC_FILL_VALUES && (numel == 0 || fill->value_count == 0))) {
    free(fill->file);
    free(fill->values);
    fill->file = NULL;
    fill->values = NULL;
    fill->value_count = 0;
    fill->kind = OPC_FILL_ZEROS;
    return true;
  }
  if (fill->kind != OPC_FILL_VALUES) return true;
  opc_number_t *values = calloc((size_t)numel, sizeof *values);
  if (!values) return false;
  for (size_t i = 0; i < (size_t)numel; i++) values[i] = fill->values[i % fill->value_count];
  free(fill->values);
  fill->values = values;
  fill->value_count = (size_t)numel;
  return true;
}

bool opc_variant_resize(opc_tensor_spec_t *spec, int ndim, const int64_t *sizes) {
  int64_t numel = 1;
  for (int i = 0; i < ndim; i++) numel *= sizes[i];
  if (!refill(&spec->fill, numel)) return false;
  bool contiguous = opc_tensor_spec_is_contiguous(spec) || ndim != spec->ndim;
  int64_t offset = spec->storage_offset, storage_size = spec->storage_size;
  spec->ndim = ndim;
  for (int i = 0; i < ndim; i++) spec->sizes[i] = sizes[i];
  if (contiguous) opc_tensor_spec_make_contiguous(spec);
  spec->storage_offset = offset;
  spec->storage_size = opc_tensor_spec_needed(spec);
  if (spec->storage_size < offset) spec->storage_size = offset;
  /* A storage that others use too stays as large as they need it. */
  if (spec->storage && spec->storage_size < storage_size) spec->storage_size = storage_size;
  return true;
}

bool opc_shape_empty(opc_tensor_spec_t *spec, int64_t number) {
  int64_t sizes[OPC_MAX_DIMS];
  if (number >= spec->ndim || spec->sizes[number] == 0) return false;
  memcpy(sizes, spec->sizes, sizeof sizes);
  sizes[number] = 0;
  return opc_variant_resize(spec, spec->ndim, sizes);
}

/* Dimension `number` of the first tensor that has it, and of every tensor that has the same size there: a batch. */
bool opc_shape_empty_together(opc_variant_step_t *step) {
  int64_t size = -1;
  bool changed = false;
  for (size_t i = 0; i < step->tensors->count; i++) {
    opc_tensor_spec_t *spec = step->tensors->items[i].value->tensor;
    if (step->number >= spec->ndim || step->tensors->items[i].twin != i) continue;
    if (size < 0) size = spec->sizes[step->number];
    if (spec->sizes[step->number] == size) changed |= opc_shape_empty(spec, step->number);
  }
  return changed;
}

/* Every dimension of this size in every tensor, so that what has to be equal stays equal: the inner one of a matrix
 * product. */
bool opc_shape_empty_size(opc_variant_step_t *step) {
  size_t changed = 0;
  if (step->number < 2) return false;
  for (size_t i = 0; i < step->tensors->count; i++) {
    int64_t sizes[OPC_MAX_DIMS];
    opc_tensor_spec_t *spec = step->tensors->items[i].value->tensor;
    bool found = false;
    if (step->tensors->items[i].twin != i) continue;
    memcpy(sizes, spec->sizes, sizeof sizes);
    for (int dim = 0; dim < spec->ndim; dim++) {
      if (sizes[dim] != step->number) continue;
      sizes[dim] = 0;
      found = true;
    }
    if (found) changed += opc_variant_resize(spec, spec->ndim, sizes);
  }
  return changed > 1;
}

/* The argument where it is a list of tensors of any length that has more than `most` items; NULL: it is none. */
static opc_value_t *longer_list(const opc_variant_step_t *step, int index, size_t most) {
  if (index < 0 || (size_t)index >= step->sample->argument_count) return NULL;
  const opc_type_t *type = &step->op->arguments[index].type;
  if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
  opc_value_t *value = &step->sample->arguments[index];
  if (step->sample->absent[index] || type->kind != OPC_TYPE_LIST || type->fixed_length > 0 ||
      !opc_type_holds_tensor(type))
    return NULL;
  return value->kind == OPC_VALUE_LIST && value->list.count > most ? value : NULL;
}

static void shorten(opc_value_t *list, size_t count) {
  for (size_t i = count; i < list->list.count; i++) opc_value_clear(&list->list.items[i]);
  list->list.count = count;
}

bool opc_shape_no_items(opc_variant_step_t *step) {
  opc_value_t *list = longer_list(step, opc_operator_argument(step->op, step->path), 0);
  if (!list) return false;
  shorten(list, 0);
  free(list->list.items);
  list->list.items = NULL;
  return true;
}

bool opc_shape_one_item(opc_variant_step_t *step) {
  bool all = strcmp(step->path, "all") == 0, changed = false;
  for (size_t i = 0; i < step->sample->argument_count; i++) {
    opc_value_t *list =
        all || strcmp(step->op->arguments[i].name, step->path) == 0 ? longer_list(step, (int)i, 1) : NULL;
    if (list) shorten(list, 1);
    changed |= list != NULL;
  }
  return changed;
}

bool opc_shape_scalar(opc_tensor_spec_t *spec, int64_t number) {
  (void)number;
  if (spec->ndim == 0 || opc_tensor_spec_numel(spec) == 0) return false;
  return opc_variant_resize(spec, 0, NULL);
}

/* Elements of the largest tensor and the longest dimension, when every dimension that is not 1 becomes `factor` times
 * as long; false: too many. */
static bool is_cheap(const opc_variant_tensors_t *tensors, int64_t factor, int64_t *out_longest) {
  *out_longest = 0;
  for (size_t i = 0; i < tensors->count; i++) {
    const opc_tensor_spec_t *spec = tensors->items[i].value->tensor;
    int64_t numel = 1;
    for (int dim = 0; dim < spec->ndim; dim++) {
      if (spec->sizes[dim] > LARGER_CHEAP) return false;
      int64_t size = spec->sizes[dim] > 1 ? spec->sizes[dim] * factor : spec->sizes[dim];
      if (size > *out_longest) *out_longest = size;
      numel *= size;
      if (numel > LARGER_CHEAP) return false;
    }
  }
  return true;
}

/* Kernels work in tiles of 16, 32 or 64 and have other code for what is left, so the longest dimension goes past one
 * where that is cheap. Odd: what was no multiple of a tile does not become one. */
static int64_t larger_factor(const opc_variant_tensors_t *tensors) {
  static const int64_t tiles[] = {64, 32};
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    int64_t longest = 0;
    for (int64_t factor = LARGER_FACTOR; is_cheap(tensors, factor, &longest) && longest > 1; factor += 2)
      if (longest > tiles[i]) return factor;
  }
  return LARGER_FACTOR;
}

bool opc_shape_larger(opc_variant_step_t *step) {
  bool changed = false;
  if (strcmp(step->path, "all") != 0) return false;
  const int64_t factor = larger_factor(step->tensors);
  for (size_t i = 0; i < step->tensors->count; i++) {
    int64_t sizes[OPC_MAX_DIMS], numel = 1;
    const opc_variant_tensor_t *tensor = &step->tensors->items[i];
    opc_tensor_spec_t *spec = tensor->value->tensor;
    if (tensor->twin != i) continue;
    if (tensor->shared) return false;
    for (int dim = 0; dim < spec->ndim; dim++) {
      if (spec->sizes[dim] > larger_numel_max) return false; /* beside an empty dimension a size may be anything */
      sizes[dim] = spec->sizes[dim] > 1 ? spec->sizes[dim] * factor : spec->sizes[dim];
      changed |= sizes[dim] != spec->sizes[dim];
      if (sizes[dim] > 0 && numel > larger_numel_max / sizes[dim]) return false;
      numel *= sizes[dim];
    }
    if (!opc_variant_resize(spec, spec->ndim, sizes)) return false;
  }
  return changed;
}

/* Every dimension of this size, so that what has to be equal stays equal, by an odd factor. */
bool opc_shape_long(opc_variant_step_t *step) {
  bool changed = false;
  if (strcmp(step->path, "all") != 0 || step->number < 2 || step->number >= LONG_SIZE) return false;
  const int64_t factor = (LONG_SIZE / step->number) | 1;
  for (size_t i = 0; i < step->tensors->count; i++) {
    int64_t sizes[OPC_MAX_DIMS], numel = 1;
    const opc_variant_tensor_t *tensor = &step->tensors->items[i];
    opc_tensor_spec_t *spec = tensor->value->tensor;
    bool found = false;
    if (tensor->twin != i) continue;
    for (int dim = 0; dim < spec->ndim; dim++) {
      sizes[dim] = spec->sizes[dim] == step->number ? spec->sizes[dim] * factor : spec->sizes[dim];
      found |= spec->sizes[dim] == step->number;
      if (sizes[dim] > LONG_CHEAP) return false;
      numel *= sizes[dim];
      if (numel > LONG_CHEAP) return false;
    }
    if (!found) continue;
    if (tensor->shared || !opc_variant_resize(spec, spec->ndim, sizes)) return false;
    changed = true;
  }
  return changed;
}

/* Makes the sizes one larger that are `size`, or all even ones where it is 0. Sizes that are equal stay equal; 1 is
 * left alone, for it broadcasts. */
static bool lengthen(opc_variant_step_t *step, int64_t size) {
  bool changed = false;
  if (strcmp(step->path, "all") != 0) return false;
  for (size_t i = 0; i < step->tensors->count; i++) {
    int64_t sizes[OPC_MAX_DIMS];
    opc_tensor_spec_t *spec = step->tensors->items[i].value->tensor;
    bool found = false;
    if (step->tensors->items[i].twin != i) continue;
    memcpy(sizes, spec->sizes, sizeof sizes);
    for (int dim = 0; dim < spec->ndim; dim++) {
      if (size ? sizes[dim] != size : sizes[dim] % 2 != 0 || sizes[dim] == 0) continue;
      sizes[dim]++;
      found = true;
    }
    if (!found) continue;
    if (step->tensors->items[i].shared || !opc_variant_resize(spec, spec->ndim, sizes)) return false;
    changed = true;
  }
  return changed;
}

bool opc_shape_longer(opc_variant_step_t *step) { return step->number > 1 && lengthen(step, step->number); }
bool opc_shape_uneven(opc_variant_step_t *step) { return lengthen(step, 0); }

static bool equal_kind(const opc_tensor_spec_t *left, const opc_tensor_spec_t *right) {
  return left->dtype == right->dtype && left->ndim == right->ndim && opc_device_equal(left->device, right->device) &&
         left->requires_grad == right->requires_grad &&
         (left->ndim == 0 || memcmp(left->sizes, right->sizes, (size_t)left->ndim * sizeof left->sizes[0]) == 0);
}

/* A written argument that is another argument as well changes that one too, and whether it may is the caller's
 * business, so neither of the two may be written. */
bool opc_shape_same_as(opc_variant_step_t *step) {
  const opc_variant_tensor_t *other = opc_variant_tensors_find(step->tensors, step->word);
  opc_variant_tensor_t *target = step->target;
  if (!target || !other || other >= target || other->twin == target->twin || target->shared) return false;
  if (target->written || other->written || !equal_kind(target->value->tensor, other->value->tensor)) return false;
  for (const opc_variant_tensor_t *twin = target + 1; twin < step->tensors->items + step->tensors->count; twin++) {
    if (twin->twin == target->twin) return false;
  }
  opc_tensor_spec_t *first = other->value->tensor;
  if (!first->identity) first->identity = opc_string_format("same:%s", other->path);
  opc_tensor_spec_t *copy = first->identity ? opc_tensor_spec_copy(first) : NULL;
  if (!copy) return false;
  opc_tensor_spec_free(target->value->tensor);
  target->value->tensor = copy;
  return true;
}
