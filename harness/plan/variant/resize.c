#include "plan/variant/resize.h"

#include <stdlib.h>
#include <string.h>

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

bool opc_variant_resize(opc_tensor_spec_t *spec, int ndim, const int64_t *sizes) {
  int64_t numel = 1;
  for (int i = 0; i < ndim; i++) numel *= sizes[i];
  if (!resize_fill(&spec->fill, numel)) return false;
  bool contiguous = opc_tensor_spec_is_contiguous(spec) || ndim != spec->ndim;
  int64_t offset = spec->storage_offset, storage_size = spec->storage_size;
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
  opc_variant_tensors_t tensors;
  opc_status_t status = opc_variant_tensors_collect(sample, NULL, &tensors, error);
  if (status != OPC_OK) return status;
  *out_possible = opc_tensors_resize(&tensors, resize, out);
  if (*out_possible && out->changed && !resize->measures && !opc_variant_twins_follow(&tensors))
    status = opc_out_of_memory(error);
  opc_variant_tensors_clear(&tensors);
  return status;
}
