#include "plan/variant/variant.h"

#include <stdlib.h>
#include <string.h>

/* The tensors of a sample, at any depth. */

typedef struct collection {
  opc_variant_tensors_t *tensors;
  size_t argument;
  bool written;
} collection_t;

static void variant_tensors_collect(const char *path, opc_value_t *value, void *context) {
  collection_t *collection = context;
  opc_variant_tensors_t *tensors = collection->tensors;
  if (!value->tensor || tensors->failed) return;
  char *copy = OPC_ARRAY_GROW(tensors->items, tensors->count) ? opc_string_copy(path) : NULL;
  tensors->failed = !copy;
  if (!copy) return;
  tensors->items[tensors->count] = (opc_variant_tensor_t){.path = copy,
                                                          .value = value,
                                                          .argument = collection->argument,
                                                          .written = collection->written,
                                                          .twin = tensors->count};
  tensors->count++;
}

static bool both_equal(const char *left, const char *right) { return left && right && strcmp(left, right) == 0; }

opc_status_t opc_variant_tensors_collect(opc_sample_t *sample, const opc_operator_t *op, opc_variant_tensors_t *out,
                                         opc_error_t *error) {
  char name[32];
  *out = (opc_variant_tensors_t){0};
  for (size_t i = 0; i < sample->argument_count; i++) {
    if (sample->absent && sample->absent[i]) continue;
    collection_t collection = {.tensors = out, .argument = i, .written = op && op->arguments[i].alias.is_write};
    snprintf(name, sizeof name, "_%zu", i);
    opc_value_visit_tensors(op ? op->arguments[i].name : name, &sample->arguments[i], variant_tensors_collect,
                            &collection);
  }
  if (out->failed) {
    opc_variant_tensors_clear(out);
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the variants of a sample");
  }
  for (size_t i = 0; i < out->count; i++) {
    const opc_tensor_spec_t *spec = out->items[i].value->tensor;
    for (size_t j = 0; j < out->count; j++) {
      const opc_tensor_spec_t *other = out->items[j].value->tensor;
      if (j == i) continue;
      bool twins = both_equal(spec->identity, other->identity);
      if (twins && j < i && out->items[i].twin == i) out->items[i].twin = out->items[j].twin;
      if (twins) out->items[i].written |= out->items[j].written;
      if (!twins && both_equal(spec->storage, other->storage)) out->items[i].shared = true;
    }
  }
  return OPC_OK;
}

void opc_variant_tensors_clear(opc_variant_tensors_t *tensors) {
  for (size_t i = 0; i < tensors->count; i++) free(tensors->items[i].path);
  free(tensors->items);
  *tensors = (opc_variant_tensors_t){0};
}

opc_variant_tensor_t *opc_variant_tensors_find(const opc_variant_tensors_t *tensors, const char *path) {
  for (size_t i = 0; i < tensors->count; i++) {
    if (strcmp(tensors->items[i].path, path) == 0) return &tensors->items[i];
  }
  return NULL;
}

bool opc_variant_twins_follow(const opc_variant_tensors_t *tensors) {
  for (size_t i = 0; i < tensors->count; i++) {
    size_t twin = tensors->items[i].twin;
    if (twin == i) continue;
    opc_tensor_spec_t *copy = opc_tensor_spec_copy(tensors->items[twin].value->tensor);
    if (!copy) return false;
    opc_tensor_spec_free(tensors->items[i].value->tensor);
    tensors->items[i].value->tensor = copy;
  }
  return true;
}

/* ---- one tensor ---- */

static void forget_fill(opc_fill_t *fill) {
  free(fill->file);
  free(fill->values);
  fill->file = NULL;
  fill->values = NULL;
  fill->value_count = 0;
  fill->kind = OPC_FILL_ZEROS;
}

/* There must be as many explicit values as elements. They repeat, so that values valid for the operator (an index) stay
 * valid. */
static bool resize_fill(opc_fill_t *fill, int64_t numel) {
  if (fill->kind == OPC_FILL_FILE && numel > 0) return false;
  if (fill->kind == OPC_FILL_FILE || (fill->kind == OPC_FILL_VALUES && (numel == 0 || fill->value_count == 0))) {
    forget_fill(fill);
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

/* The dimensions of more than one element that do not lie on a single one, the smallest stride first. */
static int by_stride(const opc_tensor_spec_t *spec, const int64_t *sizes, int *out) {
  int count = 0;
  for (int dim = 0; dim < spec->ndim; dim++) {
    if (sizes[dim] < 2 || (spec->strides[dim] == 0 && spec->sizes[dim] > 1)) continue;
    int at = count++;
    for (; at > 0 && spec->strides[out[at - 1]] > spec->strides[dim]; at--) out[at] = out[at - 1];
    out[at] = dim;
  }
  return count;
}

static bool lie_apart(const opc_tensor_spec_t *spec) {
  int dims[OPC_MAX_DIMS];
  const int count = by_stride(spec, spec->sizes, dims);
  for (int i = 1; i < count; i++)
    if (spec->strides[dims[i]] < spec->strides[dims[i - 1]] * spec->sizes[dims[i - 1]]) return false;
  return true;
}

/* Elements that had a place of their own keep one: strides grow where they have to. */
static void grow_strides(opc_tensor_spec_t *spec, const int64_t *sizes) {
  int dims[OPC_MAX_DIMS];
  const int count = lie_apart(spec) ? by_stride(spec, sizes, dims) : 0;
  int64_t least = 1;
  for (int i = 0; i < count; i++) {
    int64_t *stride = &spec->strides[dims[i]];
    if (*stride < least) *stride = least;
    if (__builtin_mul_overflow(*stride, sizes[dims[i]], &least)) least = INT64_MAX;
  }
}

bool opc_variant_resize(opc_tensor_spec_t *spec, int ndim, const int64_t *sizes) {
  int64_t numel = 1;
  for (int i = 0; i < ndim; i++) numel *= sizes[i];
  if (!resize_fill(&spec->fill, numel)) return false;
  bool contiguous = opc_tensor_spec_is_contiguous(spec) || ndim != spec->ndim;
  int64_t offset = spec->storage_offset, storage_size = spec->storage_size;
  if (!contiguous) grow_strides(spec, sizes);
  spec->ndim = ndim;
  for (int i = 0; i < ndim; i++) spec->sizes[i] = sizes[i];
  if (contiguous) opc_tensor_spec_make_contiguous(spec);
  spec->storage_offset = offset;
  spec->storage_size = opc_tensor_spec_needed(spec);
  if (spec->storage_size < offset) spec->storage_size = offset;
  /* A storage shared with others stays as large as they need it. */
  if (spec->storage && spec->storage_size < storage_size) spec->storage_size = storage_size;
  return true;
}

static bool tensor_resize(opc_tensor_spec_t *spec, const int64_t *sizes, opc_resize_values_t values) {
  if (values == OPC_RESIZE_FORGET) forget_fill(&spec->fill);
  if (values != OPC_RESIZE_GIVEN) return opc_variant_resize(spec, spec->ndim, sizes);
  memcpy(spec->sizes, sizes, (size_t)spec->ndim * sizeof *sizes);
  opc_tensor_spec_make_contiguous(spec);
  return true;
}

/* ---- all tensors ---- */

bool opc_resize_where_size(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context) {
  (void)number;
  return tensor->value->tensor->sizes[dim] == *(const int64_t *)context;
}

bool opc_tensors_resize(const opc_variant_tensors_t *tensors, const opc_resize_t *resize, opc_resized_t *out) {
  *out = (opc_resized_t){0};
  for (size_t i = 0; i < tensors->count; i++) {
    const opc_variant_tensor_t *tensor = &tensors->items[i];
    opc_tensor_spec_t *spec = tensor->value->tensor;
    const int64_t width = opc_dtype_size(spec->dtype) ? (int64_t)opc_dtype_size(spec->dtype) : 1;
    int64_t sizes[OPC_MAX_DIMS], numel = 1;
    bool changed = false;
    if (tensor->twin != i) continue;
    for (int dim = 0; dim < spec->ndim; dim++) {
      int64_t size = spec->sizes[dim];
      if (resize->where(tensor, i, dim, resize->context) &&
          (__builtin_mul_overflow(size, resize->factor, &size) || __builtin_add_overflow(size, resize->add, &size)))
        return false;
      if (__builtin_mul_overflow(numel, size, &numel)) numel = INT64_MAX;
      if ((resize->size_max && size > resize->size_max) || (resize->numel_max && numel > resize->numel_max) ||
          (resize->bytes_max && numel > resize->bytes_max / width))
        return false;
      changed |= size != spec->sizes[dim];
      if (size > out->longest) out->longest = size;
      sizes[dim] = size;
    }
    if (numel > out->largest) out->largest = numel;
    out->changed += changed;
    if (!changed || resize->measures) continue;
    if ((tensor->shared && !resize->sharing) || !tensor_resize(spec, sizes, resize->values)) return false;
  }
  return true;
}

opc_status_t opc_sample_resize(opc_sample_t *sample, const opc_resize_t *resize, opc_resized_t *out, bool *out_possible,
                               opc_error_t *error) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  OPC_RETURN_IF_ERROR(opc_variant_tensors_collect(sample, NULL, &tensors, error));
  *out_possible = opc_tensors_resize(&tensors, resize, out);
  if (*out_possible && out->changed && !resize->measures && !opc_variant_twins_follow(&tensors))
    return opc_out_of_memory(error);
  return OPC_OK;
}
