/* Other layouts of other tensors: of larger ones, of single rows, of five dimensions, of numbers among which are
 * zeros. */
#include "plan/variant/variant_table.h"

/* Changes each tensor by `first` (may be NULL) and then by `second`. True: some changed by both. */
static bool lay_out_all(opc_variant_step_t *step, opc_tensor_change_t *first, opc_tensor_change_t *second) {
  bool changed = false;
  for (size_t i = 0; i < step->tensors->count; i++) {
    const opc_variant_tensor_t *tensor = &step->tensors->items[i];
    if (tensor->twin != i || tensor->shared) continue;
    changed |= (!first || first(tensor->value->tensor)) && second(tensor->value->tensor);
  }
  return changed;
}

static bool become_single(opc_variant_step_t *step) {
  opc_resized_t resized;
  const opc_resize_t resize = {.where = opc_resize_where_size, .context = &step->number, .add = 1};
  return step->number >= 2 && opc_tensors_resize(step->tensors, &resize, &resized) && resized.changed > 0;
}

/* Every dimension of the step's size becomes 1, and gets a stride that no layout has: a dense tensor stays dense. */
bool opc_layout_odd_strides(opc_variant_step_t *step) {
  return become_single(step) && lay_out_all(step, NULL, opc_layout_size1_strides);
}

/* The same of rows with gaps, for which a kernel does not take its path for dense tensors. */
bool opc_layout_odd_gaps(opc_variant_step_t *step) {
  return become_single(step) && lay_out_all(step, opc_layout_padded, opc_layout_size1_strides);
}

static bool negative_zeros(opc_tensor_spec_t *spec) { return opc_contents_overlay(spec, OPC_SPECIAL_NEGATIVE_ZERO); }

/* Some numbers are -0.0, which a path for other layouts may lose. */
bool opc_layout_zeros_sliced(opc_variant_step_t *step) { return lay_out_all(step, negative_zeros, opc_layout_sliced); }
bool opc_layout_zeros_transposed(opc_variant_step_t *step) {
  return lay_out_all(step, negative_zeros, opc_layout_transposed);
}

bool opc_layout_deep_permuted(opc_variant_step_t *step) {
  return opc_neighbour_deep(step) && lay_out_all(step, NULL, opc_layout_permuted);
}

bool opc_layout_larger_sliced(opc_variant_step_t *step) {
  return opc_shape_eight_times(step) && lay_out_all(step, NULL, opc_layout_sliced);
}
bool opc_layout_larger_transposed(opc_variant_step_t *step) {
  return opc_shape_eight_times(step) && lay_out_all(step, NULL, opc_layout_transposed);
}
