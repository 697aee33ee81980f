/* Other shapes: empty dimensions, no items, 0-dim and larger tensors, the same tensor twice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant_table.h"

enum {
  LARGER_FACTOR = 3,
  LARGER_CHEAP = 4096 /* elements of the largest tensor */,
  LONG_SIZE = 1024,
  LONG_CHEAP = 8192,
  WIDE_CHEAP = 32768
};
static const int64_t larger_numel_max =
    4 << 20; /* elements; a variant should not take orders of magnitude longer than its sample */

bool opc_shape_empty(opc_tensor_spec_t *spec, int64_t number) {
  int64_t sizes[OPC_MAX_DIMS];
  if (number >= spec->ndim || spec->sizes[number] == 0) return false;
  memcpy(sizes, spec->sizes, sizeof sizes);
  sizes[number] = 0;
  return opc_variant_resize(spec, spec->ndim, sizes);
}

typedef struct place {
  int64_t dim, size;
} place_t;

static bool where_place(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context) {
  const place_t *place = context;
  return dim == place->dim && opc_resize_where_size(tensor, number, dim, &(int64_t){place->size});
}

/* Dimension `number` of the first tensor that has it, and of every tensor with the same size there: a batch. */
bool opc_shape_empty_together(opc_variant_step_t *step) {
  opc_resized_t resized;
  place_t place = {.dim = step->number, .size = -1};
  for (size_t i = 0; i < step->tensors->count && place.size < 0; i++) {
    const opc_tensor_spec_t *spec = step->tensors->items[i].value->tensor;
    if (step->number < spec->ndim) place.size = spec->sizes[step->number];
  }
  const opc_resize_t resize = {.where = where_place, .context = &place, .sharing = true};
  return opc_tensors_resize(step->tensors, &resize, &resized) && resized.changed > 0;
}

/* Every dimension of this size in every tensor, so that equal sizes stay equal: the inner one of a matrix product. */
bool opc_shape_empty_size(opc_variant_step_t *step) {
  opc_resized_t resized;
  const opc_resize_t resize = {.where = opc_resize_where_size, .context = &step->number, .sharing = true};
  return step->number >= 2 && opc_tensors_resize(step->tensors, &resize, &resized) && resized.changed > 1;
}

/* The argument if it is a list of any length with more than `most` items; NULL: it is not. */
static opc_value_t *list_given(const opc_variant_step_t *step, int index, size_t most) {
  if (index < 0 || (size_t)index >= step->sample->argument_count) return NULL;
  const opc_type_t *type = opc_type_given(&step->op->arguments[index].type);
  opc_value_t *value = &step->sample->arguments[index];
  if (step->sample->absent[index] || type->kind != OPC_TYPE_LIST || type->fixed_length > 0) return NULL;
  return value->kind == OPC_VALUE_LIST && value->list.count > most ? value : NULL;
}

/* The same, of tensors only. */
static opc_value_t *longer_list(const opc_variant_step_t *step, int index, size_t most) {
  opc_value_t *value = list_given(step, index, most);
  return value && opc_type_holds_tensor(opc_type_given(&step->op->arguments[index].type)) ? value : NULL;
}

static void shorten(opc_value_t *list, size_t count) {
  for (size_t i = count; i < list->list.count; i++) opc_value_clear(&list->list.items[i]);
  list->list.count = count;
}

/* Of tensors, or of integers: along no dimensions. */
bool opc_shape_no_items(opc_variant_step_t *step) {
  const int index = opc_operator_argument(step->op, step->path);
  opc_value_t *list = list_given(step, index, 0);
  if (!list) return false;
  const opc_type_t *type = opc_type_given(&step->op->arguments[index].type);
  if (!opc_type_holds_tensor(type) && !opc_type_is_integer(type->element)) return false;
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
    changed |= (bool)list;
  }
  return changed;
}

/* Appends copies of the list's items, with other numbers. A list whose items share a tensor or its memory stays as it
 * is. */
static bool lengthen(opc_value_t *list, const char *path, size_t by) {
  const size_t count = list->list.count;
  for (size_t i = 0; i < count; i++)
    if (list->list.items[i].tensor && (list->list.items[i].tensor->identity || list->list.items[i].tensor->storage))
      return false;
  opc_value_t *items = realloc(list->list.items, (count + by) * sizeof *items);
  if (!items) return false;
  list->list.items = items;
  for (size_t i = count; i < count + by; i++) {
    opc_value_t *item = &items[i];
    opc_error_t error;
    char stream[128];
    if (opc_value_copy(&items[i % count], item, &error) != OPC_OK) return false;
    list->list.count = i + 1;
    if (item->kind != OPC_VALUE_TENSOR || !item->tensor) continue;
    snprintf(stream, sizeof stream, "%s[%zu]", path, i);
    free(item->tensor->stream);
    item->tensor->stream = opc_string_copy(stream);
    if (!item->tensor->stream) return false;
  }
  return true;
}

bool opc_shape_more_items(opc_variant_step_t *step) {
  enum { MORE = 2 };
  bool all = strcmp(step->path, "all") == 0, changed = false;
  for (size_t i = 0; i < step->sample->argument_count; i++) {
    const char *name = step->op->arguments[i].name;
    opc_value_t *list = all || strcmp(name, step->path) == 0 ? longer_list(step, (int)i, 0) : NULL;
    if (!list) continue;
    if (!lengthen(list, name, MORE)) return false;
    changed = true;
  }
  return changed;
}

bool opc_shape_scalar(opc_tensor_spec_t *spec) {
  if (spec->ndim == 0 || opc_tensor_spec_numel(spec) == 0) return false;
  return opc_variant_resize(spec, 0, NULL);
}

static bool where_not_one(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context) {
  (void)number;
  (void)context;
  return tensor->value->tensor->sizes[dim] > 1;
}

/* Kernels work in tiles of 16, 32 or 64 and have other code for the remainder, so the longest dimension exceeds a tile
 * if that is cheap. The factor is odd: a size that was no multiple of a tile does not become one. */
static int64_t larger_factor(const opc_variant_tensors_t *tensors) {
  static const int64_t tiles[] = {64, 32};
  opc_resize_t resize = {.where = where_not_one, .size_max = LARGER_CHEAP, .numel_max = LARGER_CHEAP, .measures = true};
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    opc_resized_t resized;
    for (resize.factor = LARGER_FACTOR; opc_tensors_resize(tensors, &resize, &resized) && resized.longest > 1;
         resize.factor += 2)
      if (resized.longest > tiles[i]) return resize.factor;
  }
  return LARGER_FACTOR;
}

/* For all tensors together, if any changes. */
static bool resize_all(const opc_variant_step_t *step, const opc_resize_t *resize) {
  opc_resized_t resized;
  return strcmp(step->path, "all") == 0 && opc_tensors_resize(step->tensors, resize, &resized) && resized.changed > 0;
}

/* Every dimension that is not 1 becomes `factor` times as long. */
static bool multiply(opc_variant_step_t *step, int64_t factor) {
  const opc_resize_t resize = {
      .where = where_not_one, .factor = factor, .size_max = larger_numel_max, .numel_max = larger_numel_max};
  return resize_all(step, &resize);
}

bool opc_shape_larger(opc_variant_step_t *step) { return multiply(step, larger_factor(step->tensors)); }
bool opc_shape_twice(opc_variant_step_t *step) { return multiply(step, 2); }
bool opc_shape_five_times(opc_variant_step_t *step) { return multiply(step, 5); }
bool opc_shape_eight_times(opc_variant_step_t *step) { return multiply(step, 8); }

/* Makes every dimension of this size longer by an odd factor, so that equal sizes stay equal. Eight rows are cheap
 * enough, if need be with the next smaller factor. */
bool opc_shape_long(opc_variant_step_t *step) {
  enum { LEAST = 3 };
  if (step->number < 2 || step->number >= LONG_SIZE) return false;
  const int64_t factor = (LONG_SIZE / step->number) | 1;
  opc_resize_t resize = {.where = opc_resize_where_size,
                         .context = &step->number,
                         .factor = factor > LEAST ? factor : LEAST,
                         .size_max = LONG_CHEAP,
                         .numel_max = LONG_CHEAP,
                         .measures = true};
  opc_resized_t resized;
  if (!opc_tensors_resize(step->tensors, &resize, &resized) && resize.factor > LEAST) resize.factor -= 2;
  resize.measures = false;
  return resize_all(step, &resize);
}

/* Integers with a bit, a byte or a block for each of so many elements: nothing says that, and the smaller variants
 * leave their number as it is. */
static bool may_be_packed(const opc_variant_tensors_t *tensors, int64_t elements) {
  static const int64_t places[] = {8, 16, 32, 64};
  for (size_t i = 0; i < tensors->count; i++) {
    const opc_tensor_spec_t *spec = tensors->items[i].value->tensor;
    for (int dim = 0; dim < spec->ndim && !opc_dtype_is_inexact(spec->dtype); dim++)
      for (size_t k = 0; k < sizeof places / sizeof *places; k++)
        if (spec->sizes[dim] == (elements + places[k] - 1) / places[k]) return true;
  }
  return false;
}

/* Every dimension of the step's size becomes so large, or a little larger, in every tensor: an odd multiple, so that
 * values which belong together are repeated whole. */
static bool become(opc_variant_step_t *step, int64_t least, int64_t numel_max) {
  if (step->number < 2 || may_be_packed(step->tensors, step->number)) return false;
  const int64_t size = step->number * (((least + step->number - 1) / step->number) | 1);
  opc_resized_t resized;
  opc_resize_t resize = {
      .where = opc_resize_where_size, .context = &step->number, .add = size, .numel_max = numel_max, .measures = true};
  if (least <= step->number || !opc_tensors_resize(step->tensors, &resize, &resized)) return false;
  resize.measures = false;
  return resize_all(step, &resize);
}

/* A buffer of a fixed size has room for a power of two, or for a hundred. This is more than the largest of them for
 * which the tensors stay small, and so it is too much for the smaller ones, too. */
bool opc_shape_wide(opc_variant_step_t *step) {
  static const int64_t sizes[] = {257, 129, 65, 33, 17, 9};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (become(step, sizes[i], WIDE_CHEAP)) return true;
  return false;
}

/* Equal sizes stay equal; 1 stays 1 because it broadcasts. */
bool opc_shape_longer(opc_variant_step_t *step) {
  const opc_resize_t resize = {.where = opc_resize_where_size, .context = &step->number, .factor = 1, .add = 1};
  return step->number > 1 && resize_all(step, &resize);
}

/* Every dimension of this size becomes 1: it broadcasts, its stride means nothing, and a sum over it is a copy. The
 * half of 2 or 3 is 1 already (opc_neighbour_fewer). */
bool opc_shape_single(opc_variant_step_t *step) {
  opc_resized_t resized;
  const opc_resize_t resize = {
      .where = opc_resize_where_size, .context = &step->number, .factor = 1, .add = 1 - step->number};
  return step->number > 3 && opc_tensors_resize(step->tensors, &resize, &resized) && resized.changed > 0;
}

static bool where_even(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context) {
  return where_not_one(tensor, number, dim, context) && tensor->value->tensor->sizes[dim] % 2 == 0;
}

bool opc_shape_uneven(opc_variant_step_t *step) {
  const opc_resize_t resize = {.where = where_even, .factor = 1, .add = 1};
  return resize_all(step, &resize);
}

static bool equal_kind(const opc_tensor_spec_t *left, const opc_tensor_spec_t *right) {
  return left->dtype == right->dtype && left->ndim == right->ndim && opc_device_equal(left->device, right->device) &&
         left->requires_grad == right->requires_grad &&
         (left->ndim == 0 || memcmp(left->sizes, right->sizes, (size_t)left->ndim * sizeof left->sizes[0]) == 0);
}

/* Writing to an argument that is also another argument changes both. Whether that is allowed is up to the caller, so
 * neither of the two may be written. */
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

/* Very large tensors whose memory must not be touched: for devices that only simulate kernels. */

enum { ROWS = 65536 }; /* one more than gridDim.y and gridDim.z allow */
/* More than an int, and more than an unsigned int, can count. What 32 bits keep of them is a number that is nothing
 * else. */
static const int64_t huge_numel = 0x81234567, vast_numel = 0x112345679;
static const int64_t bytes_max = (int64_t)36 << 30; /* with a result of the same size it fits a device of 80 GiB */

static int count_dims(const opc_tensor_spec_t *spec, int64_t size) {
  int count = 0;
  for (int dim = 0; dim < spec->ndim; dim++) count += spec->sizes[dim] == size;
  return count;
}

/* Every dimension of this size in every tensor, so that equal sizes stay equal. A size of 1 broadcasts: it changes only
 * in a lone tensor. Nothing reads the values; for zeros the simulated device would fill gigabytes for nothing. */
static bool change_size(opc_variant_step_t *step, int64_t from, int64_t to) {
  opc_resized_t resized;
  const opc_resize_t resize = {
      .where = opc_resize_where_size, .context = &from, .add = to, .values = OPC_RESIZE_FORGET, .bytes_max = bytes_max};
  if (strcmp(step->path, "all") != 0 || to <= from || from < 1 || (from == 1 && step->tensors->count > 1)) return false;
  for (size_t i = 0; i < step->tensors->count; i++) {
    const opc_tensor_spec_t *spec = step->tensors->items[i].value->tensor;
    if (count_dims(spec, from) && opc_tensor_spec_numel(spec) == 0) return false;
  }
  return opc_tensors_resize(step->tensors, &resize, &resized) && resized.changed > 0;
}

bool opc_large_rows(opc_variant_step_t *step) { return change_size(step, step->number, ROWS); }

/* The smallest size that gives the largest tensor with this size more than `numel` elements. */
static int64_t size_beyond(const opc_variant_tensors_t *tensors, int64_t size, int64_t numel) {
  int64_t smallest = 0;
  for (size_t i = 0; i < tensors->count && size > 0; i++) {
    const opc_tensor_spec_t *spec = tensors->items[i].value->tensor;
    int dims = count_dims(spec, size);
    double others = 1;
    for (int dim = 0; dim < spec->ndim; dim++) others *= spec->sizes[dim] == size ? 1 : (double)spec->sizes[dim];
    if (!dims || others == 0) continue;
    int64_t needed = (int64_t)floor(pow((double)numel / others, 1.0 / dims)) + 1;
    if (!smallest || needed < smallest) smallest = needed;
  }
  return smallest;
}

bool opc_large_huge(opc_variant_step_t *step) {
  return change_size(step, step->number, size_beyond(step->tensors, step->number, huge_numel));
}

bool opc_large_vast(opc_variant_step_t *step) {
  return change_size(step, step->number, size_beyond(step->tensors, step->number, vast_numel));
}
