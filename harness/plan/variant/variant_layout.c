/* Other layouts of the same logical tensor: shape and values stay, strides, offset and storage change. */
#include "plan/variant/variant_table.h"

/* Lays the elements out row-major in the given order of dimensions, outermost first, with no gap before or after.
 * False: no relevant stride changes. */
static bool variant_layout_lay_out(opc_tensor_spec_t *spec, const int *order) {
  int64_t stride = 1;
  bool changed = false;
  for (int i = spec->ndim - 1; i >= 0; i--) {
    int dim = order[i];
    changed |= spec->sizes[dim] > 1 && spec->strides[dim] != stride;
    spec->strides[dim] = stride;
    stride *= spec->sizes[dim] > 0 ? spec->sizes[dim] : 1;
  }
  spec->storage_offset = 0;
  spec->storage_size = 0;
  spec->storage_size = opc_tensor_spec_needed(spec);
  return changed;
}

/* With fewer than two elements the layout has no effect: all strides are equivalent. */
static bool has_layout(const opc_tensor_spec_t *spec) { return opc_tensor_spec_numel(spec) > 1; }

bool opc_layout_contiguous(opc_tensor_spec_t *spec) {
  if (opc_tensor_spec_is_contiguous(spec)) return false;
  opc_tensor_spec_make_contiguous(spec);
  return true;
}

bool opc_layout_transposed(opc_tensor_spec_t *spec) {
  int order[OPC_MAX_DIMS];
  if (spec->ndim < 2 || !has_layout(spec)) return false;
  for (int i = 0; i < spec->ndim; i++) order[i] = i;
  order[spec->ndim - 1] = spec->ndim - 2;
  order[spec->ndim - 2] = spec->ndim - 1;
  return variant_layout_lay_out(spec, order);
}

bool opc_layout_permuted(opc_tensor_spec_t *spec) {
  int order[OPC_MAX_DIMS];
  if (spec->ndim < 3 || !has_layout(spec)) return false;
  for (int i = 0; i < spec->ndim; i++) order[i] = (i + 1) % spec->ndim;
  return variant_layout_lay_out(spec, order);
}

bool opc_layout_channels_last(opc_tensor_spec_t *spec) {
  static const int order2d[] = {0, 2, 3, 1}, order3d[] = {0, 2, 3, 4, 1};
  if ((spec->ndim != 4 && spec->ndim != 5) || !has_layout(spec)) return false;
  return variant_layout_lay_out(spec, spec->ndim == 4 ? order2d : order3d);
}

/* Every second element of a storage twice as large. */
bool opc_layout_sliced(opc_tensor_spec_t *spec) {
  if (spec->ndim == 0 || !has_layout(spec)) return false;
  for (int i = 0; i < spec->ndim; i++) spec->strides[i] *= 2;
  spec->storage_size = 2 * spec->storage_size - spec->storage_offset;
  int64_t needed = opc_tensor_spec_needed(spec);
  if (spec->storage_size < needed) spec->storage_size = needed;
  return true;
}

/* Rows with gaps between them, each dense in itself: some columns of a wider tensor. Kernels that only require the last
 * stride to be 1 refuse every other layout here. */
bool opc_layout_padded(opc_tensor_spec_t *spec) {
  enum { PADDING = 3 };
  const int64_t row = spec->ndim >= 2 ? spec->sizes[spec->ndim - 1] : 0;
  if (row == 0 || opc_tensor_spec_numel(spec) == row || !opc_tensor_spec_is_contiguous(spec)) return false;
  for (int i = 0; i < spec->ndim - 1; i++) spec->strides[i] = spec->strides[i] / row * (row + PADDING);
  const int64_t needed = opc_tensor_spec_needed(spec) + PADDING;
  if (spec->storage_size < needed) spec->storage_size = needed;
  return true;
}

static bool move(opc_tensor_spec_t *spec, int64_t before, int64_t after) {
  if (opc_tensor_spec_numel(spec) == 0) return false;
  spec->storage_offset += before;
  spec->storage_size += before + after;
  return true;
}

bool opc_layout_offset(opc_tensor_spec_t *spec) { return move(spec, 3, 3); }

/* One element off: a kernel with vector loads must not assume alignment beyond one element. */
bool opc_layout_misaligned(opc_tensor_spec_t *spec) { return move(spec, 1, 0); }

bool opc_layout_expanded(opc_tensor_spec_t *spec, int64_t number) {
  if (number >= spec->ndim || spec->sizes[number] < 2 || !has_layout(spec)) return false;
  int64_t size = spec->sizes[number];
  spec->sizes[number] = 1;
  opc_tensor_spec_make_contiguous(spec);
  spec->sizes[number] = size;
  spec->strides[number] = 0;
  return true;
}

/* The values of the expanded tensor in a plain layout: the control for findings on an expanded one. */
bool opc_layout_repeated(opc_tensor_spec_t *spec, int64_t number) {
  if (number >= spec->ndim || spec->sizes[number] < 2 || !has_layout(spec)) return false;
  opc_tensor_spec_make_contiguous(spec);
  spec->repeated |= 1U << number;
  return true;
}

/* The stride of a dimension of size 1 is never used, so it may be anything: here a prime that no layout would give. */
bool opc_layout_size1_strides(opc_tensor_spec_t *spec) {
  bool changed = false;
  for (int i = 0; i < spec->ndim; i++) {
    if (spec->sizes[i] != 1) continue;
    spec->strides[i] = 17;
    changed = true;
  }
  return changed;
}
