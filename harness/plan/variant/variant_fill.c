/* Other values: special numbers put over the fill, the lazy conj and neg bits, other dtypes. */
#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant_table.h"

/* Explicit integers are mostly indices, offsets or lengths, and a range is a stated domain. A number outside it is no
 * valid input, so a crash on it would say nothing about the operator. */
static bool has_domain(const opc_tensor_spec_t *spec) {
  if (spec->fill.kind == OPC_FILL_RANGE) return true;
  return opc_dtype_is_integral(spec->dtype) && spec->fill.kind != OPC_FILL_NORMAL &&
         spec->fill.kind != OPC_FILL_UNIFORM;
}

bool opc_contents_overlay(opc_tensor_spec_t *spec, opc_special_t special) {
  if (!opc_special_exists(special, spec->dtype) || has_domain(spec) || opc_tensor_spec_numel(spec) == 0) return false;
  spec->fill.special = special;
  return true;
}

bool opc_special_last_nan(opc_tensor_spec_t *spec) {
  return spec->ndim > 0 && spec->sizes[spec->ndim - 1] > 1 && opc_contents_overlay(spec, OPC_SPECIAL_LAST_NAN);
}

bool opc_contents_zero(opc_tensor_spec_t *spec) {
  return opc_dtype_is_inexact(spec->dtype) && opc_contents_overlay(spec, OPC_SPECIAL_ZERO);
}

/* Of any dtype. */
static bool refill_with(opc_tensor_spec_t *spec, opc_fill_kind_t kind) {
  if (has_domain(spec) || spec->fill.kind == kind || opc_tensor_spec_numel(spec) == 0) return false;
  free(spec->fill.values);
  free(spec->fill.file);
  spec->fill = (opc_fill_t){.kind = kind};
  return true;
}

bool opc_contents_zeros(opc_tensor_spec_t *spec) {
  return opc_dtype_is_inexact(spec->dtype) ? refill_with(spec, OPC_FILL_ZEROS) : opc_integers_zeros(spec);
}

bool opc_contents_zero_row(opc_tensor_spec_t *spec) {
  return opc_dtype_is_inexact(spec->dtype) && spec->ndim > 1 && spec->sizes[spec->ndim - 1] > 1 &&
         opc_contents_overlay(spec, OPC_SPECIAL_ZERO_ROW);
}

bool opc_bits_conj(opc_tensor_spec_t *spec) {
  if (spec->conj || opc_dtype_class(spec->dtype) != OPC_CLASS_COMPLEX || opc_tensor_spec_numel(spec) == 0) return false;
  spec->conj = true;
  return true;
}

/* PyTorch gives this bit to the imaginary part of a conjugate, which is every second number. */
bool opc_bits_neg(opc_tensor_spec_t *spec) {
  if (spec->neg || !opc_dtype_is_inexact(spec->dtype) || opc_dtype_is_float8(spec->dtype) ||
      opc_tensor_spec_numel(spec) == 0)
    return false;
  spec->neg = true;
  if (opc_tensor_spec_numel(spec) > 1 && opc_tensor_spec_is_contiguous(spec)) (void)opc_layout_sliced(spec);
  return true;
}

/* The dtype of one tensor; the fill keeps its logical values where the dtype can hold them. */
/* ---- masks ---- */

static bool is_mask(const opc_tensor_spec_t *spec) { return opc_dtype_class(spec->dtype) == OPC_CLASS_BOOLEAN; }

bool opc_mask_all_false(opc_tensor_spec_t *spec) { return is_mask(spec) && refill_with(spec, OPC_FILL_ZEROS); }

bool opc_mask_all_true(opc_tensor_spec_t *spec) { return is_mask(spec) && refill_with(spec, OPC_FILL_ONES); }

bool opc_mask_some_false(opc_tensor_spec_t *spec) {
  return is_mask(spec) && opc_contents_overlay(spec, OPC_SPECIAL_ZERO);
}

bool opc_mask_row_false(opc_tensor_spec_t *spec) {
  return is_mask(spec) && spec->ndim > 1 && opc_contents_overlay(spec, OPC_SPECIAL_ZERO_ROW);
}

static double real_of(opc_number_t number) { return number.kind == OPC_NUMBER_INT ? (double)number.i : number.f; }

/* Real numbers get each other's as imaginary parts. False: they are complex already, or there is no memory. */
static bool make_complex(opc_fill_t *fill) {
  for (size_t i = 0; i < fill->value_count; i++)
    if (fill->values[i].kind == OPC_NUMBER_COMPLEX) return false;
  opc_number_t *made = calloc(fill->value_count + 1, sizeof *made);
  for (size_t i = 0; made && i < fill->value_count; i++)
    made[i] = (opc_number_t){.kind = OPC_NUMBER_COMPLEX,
                             .c = {real_of(fill->values[i]), real_of(fill->values[(i + 1) % fill->value_count])}};
  if (!made) return false;
  free(fill->values);
  fill->values = made;
  return true;
}

static void tensor_cast(opc_tensor_spec_t *spec, opc_dtype_t dtype) {
  if (spec->fill.filled_as == OPC_DTYPE_OTHER) spec->fill.filled_as = spec->dtype;
  if (spec->fill.filled_as == dtype) spec->fill.filled_as = OPC_DTYPE_OTHER;
  /* Complex numbers with an imaginary part of 0 would not exercise complex arithmetic. */
  bool as_complex = spec->fill.kind == OPC_FILL_NORMAL || spec->fill.kind == OPC_FILL_UNIFORM;
  if (opc_dtype_class(dtype) == OPC_CLASS_COMPLEX && opc_dtype_class(spec->dtype) == OPC_CLASS_FLOATING &&
      spec->fill.kind == OPC_FILL_VALUES)
    as_complex = make_complex(&spec->fill);
  if (as_complex && opc_dtype_class(dtype) == OPC_CLASS_COMPLEX) spec->fill.filled_as = OPC_DTYPE_OTHER;
  if (!opc_special_exists(spec->fill.special, dtype)) spec->fill.special = OPC_SPECIAL_NONE;
  if (opc_dtype_class(dtype) != OPC_CLASS_COMPLEX) spec->conj = false;
  if (!opc_dtype_is_inexact(dtype) || opc_dtype_is_float8(dtype)) spec->neg = false;
  if (!opc_dtype_is_inexact(dtype)) spec->requires_grad = false; /* libtorch refuses it */
  spec->dtype = dtype;
}

static bool is_alone(const opc_variant_tensors_t *tensors) {
  size_t own = 0;
  for (size_t i = 0; i < tensors->count; i++) own += tensors->items[i].twin == i;
  return own < 2;
}

bool opc_cast_alone(opc_variant_step_t *step) {
  opc_dtype_t dtype = opc_dtype_find(step->word);
  if (!step->target || dtype == OPC_DTYPE_OTHER || strcmp(opc_dtype_name(dtype), step->word) != 0) return false;
  opc_tensor_spec_t *spec = step->target->value->tensor;
  if (is_alone(step->tensors) || spec->dtype == dtype || opc_dtype_class(spec->dtype) != opc_dtype_class(dtype))
    return false;
  tensor_cast(spec, dtype);
  return true;
}

static bool is_float(opc_dtype_t dtype) { return dtype == OPC_DTYPE_FLOAT32 || dtype == OPC_DTYPE_FLOAT64; }

/* Beside a tensor that keeps its dtype: together they are a sample of the other dtype. */
bool opc_cast_other_float(opc_variant_step_t *step) {
  size_t others = 0;
  if (!step->target) return false;
  opc_tensor_spec_t *spec = step->target->value->tensor;
  for (size_t i = 0; i < step->tensors->count; i++) {
    const opc_tensor_spec_t *other = step->tensors->items[i].value->tensor;
    others += other != spec && step->tensors->items[i].twin == i && is_float(other->dtype);
  }
  if (!others || !is_float(spec->dtype) || spec->fill.special != OPC_SPECIAL_NONE) return false;
  tensor_cast(spec, spec->dtype == OPC_DTYPE_FLOAT32 ? OPC_DTYPE_FLOAT64 : OPC_DTYPE_FLOAT32);
  return true;
}

static bool fit_into_int32(const opc_fill_t *fill) {
  if (fill->kind == OPC_FILL_RANGE && (fill->hi > INT32_MAX || fill->lo < INT32_MIN)) return false;
  for (size_t i = 0; i < fill->value_count; i++)
    if (fill->values[i].kind == OPC_NUMBER_INT && (fill->values[i].i > INT32_MAX || fill->values[i].i < INT32_MIN))
      return false;
  return true;
}

bool opc_cast_other_width(opc_tensor_spec_t *spec) {
  if (spec->dtype != OPC_DTYPE_INT64 && spec->dtype != OPC_DTYPE_INT32) return false;
  if (spec->dtype == OPC_DTYPE_INT64 && !fit_into_int32(&spec->fill)) return false; /* they would be other numbers */
  if (spec->fill.special != OPC_SPECIAL_NONE) return false;
  tensor_cast(spec, spec->dtype == OPC_DTYPE_INT64 ? OPC_DTYPE_INT32 : OPC_DTYPE_INT64);
  return true;
}

/* The first floating tensor's dtype, else the first tensor's: a sample's indices keep their dtype in a sweep. */
static opc_dtype_t main_dtype(const opc_variant_tensors_t *tensors) {
  opc_dtype_t first = OPC_DTYPE_OTHER;
  for (size_t i = 0; i < tensors->count; i++) {
    opc_dtype_t dtype = tensors->items[i].value->tensor->dtype;
    if (dtype == OPC_DTYPE_OTHER) continue;
    if (opc_dtype_class(dtype) == OPC_CLASS_FLOATING) return dtype;
    if (first == OPC_DTYPE_OTHER) first = dtype;
  }
  return first;
}

opc_dtype_t opc_sample_main_dtype(const opc_sample_t *sample) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  /* The collection only reads; it takes no const because other callers change what it finds. */
  if (opc_variant_tensors_collect((opc_sample_t *)sample, NULL, &tensors, NULL) != OPC_OK) return OPC_DTYPE_OTHER;
  return main_dtype(&tensors);
}

/* True when a tensor that keeps its dtype shares its storage with this one, which then must keep its dtype, too. */
static bool is_bound(const opc_variant_tensors_t *tensors, size_t index) {
  const char *storage = tensors->items[index].value->tensor->storage;
  if (!storage) return false;
  for (size_t i = 0; i < tensors->count; i++) {
    const opc_tensor_spec_t *other = tensors->items[i].value->tensor;
    if (other->storage && strcmp(other->storage, storage) == 0 &&
        other->dtype != tensors->items[index].value->tensor->dtype)
      return true;
  }
  return false;
}

/* Float8 tensors and wider floating ones: numbers before and after quantisation. */
static bool has_both_widths(const opc_variant_tensors_t *tensors) {
  bool narrow = false, wide = false;
  for (size_t i = 0; i < tensors->count; i++) {
    opc_dtype_t dtype = tensors->items[i].value->tensor->dtype;
    if (opc_dtype_is_float8(dtype)) narrow = true;
    else if (opc_dtype_class(dtype) == OPC_CLASS_FLOATING) wide = true;
  }
  return narrow && wide;
}

bool opc_sample_cast(opc_sample_t *sample, opc_dtype_t dtype) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  bool changed = false;
  if (dtype == OPC_DTYPE_OTHER || opc_variant_tensors_collect(sample, NULL, &tensors, NULL) != OPC_OK) return false;
  opc_dtype_t from = main_dtype(&tensors);
  bool floating = opc_dtype_class(from) == OPC_CLASS_FLOATING, mixed = has_both_widths(&tensors);
  OPC_SCOPED(opc_scope_free) bool *changes = calloc(tensors.count + 1, sizeof *changes);
  if (from == OPC_DTYPE_OTHER || !changes) return false;
  for (size_t i = 0; i < tensors.count; i++) {
    opc_dtype_t own = tensors.items[i].value->tensor->dtype;
    bool chosen = floating ? opc_dtype_class(own) == OPC_CLASS_FLOATING : own == from;
    if (mixed && opc_dtype_is_float8(own) != opc_dtype_is_float8(dtype)) chosen = false;
    changes[i] = chosen && own != dtype && !is_bound(&tensors, i);
  }
  for (size_t i = 0; i < tensors.count; i++) {
    if (!changes[i]) continue;
    tensor_cast(tensors.items[i].value->tensor, dtype);
    changed = true;
  }
  return changed;
}

/* Indices, offsets and lengths that are all zero: each of them is in range wherever it points. */
bool opc_zero_integers(opc_variant_step_t *step) {
  bool changed = false;
  if (strcmp(step->path, "all") != 0) return false;
  for (size_t i = 0; i < step->tensors->count; i++) {
    opc_tensor_spec_t *spec = step->tensors->items[i].value->tensor;
    if (step->tensors->items[i].twin != i || !opc_dtype_is_integral(spec->dtype) || spec->fill.kind == OPC_FILL_ZEROS)
      continue;
    free(spec->fill.file);
    free(spec->fill.values);
    spec->fill = (opc_fill_t){.kind = OPC_FILL_ZEROS, .filled_as = spec->fill.filled_as};
    changed = true;
  }
  return changed;
}
