/* New sizes and values for a tuple that got far: its dtypes and ranks were right, and are what takes longest to come by again. Sizes are shared as the
 * arguments of one call share them: the batch in front, few others behind it, and lengths that speak of a tensor's second dimension. */
#include <string.h>

#include "plan/search_inside.h"

enum { SIZES = 4 };

/* The part of "logit_lengths" that says whose: 5 characters of it, "logit". */
static size_t stem_length(const char *name) {
  const char *end = strrchr(name, '_');
  return end ? (size_t)(end - name) : 0;
}

/* The tensor that the lengths are of: that of the same name ("logits" of "logit_lengths"), or the first. NULL: there is none of two dimensions. */
static const opc_tensor_spec_t *measured(const opc_operator_t *op, const char *name, const opc_slot_t *slots, size_t count) {
  const opc_tensor_spec_t *first = NULL;
  size_t stem = stem_length(name);
  for (size_t i = 0; i < count; i++) {
    if (slots[i].value->kind != OPC_VALUE_TENSOR || slots[i].value->tensor->ndim < 2) continue;
    if (!first) first = slots[i].value->tensor;
    if (stem > 0 && strncmp(op->arguments[slots[i].argument].name, name, stem) == 0) return slots[i].value->tensor;
  }
  return first;
}

static bool set_sizes(opc_rng_t *rng, opc_value_t *tensor, int64_t batch, const int64_t sizes[SIZES]) {
  int64_t drawn[OPC_MAX_DIMS];
  const opc_tensor_spec_t *spec = tensor->tensor;
  for (int dim = 0; dim < spec->ndim; dim++) {
    int64_t other = sizes[opc_rng_below(rng, SIZES)];
    bool less = opc_rng_chance(rng, 40) && other > 1;
    drawn[dim] = opc_rng_chance(rng, 60) ? sizes[dim % SIZES] : other - less;
    if (dim == 0 && opc_rng_chance(rng, 80)) drawn[dim] = batch;
  }
  return opc_edit_shape(tensor, spec->ndim, drawn);
}

static bool set_values(const opc_operator_t *op, opc_rng_t *rng, const opc_slot_t *slots, size_t count, size_t index) {
  opc_value_t *tensor = slots[index].value;
  const char *name = op->arguments[slots[index].argument].name;
  const opc_tensor_spec_t *of = opc_seed_synonyms(name, "lengths") ? measured(op, name, slots, count) : NULL;
  if (of && of != tensor->tensor) {
    int dim = opc_rng_chance(rng, 80) ? 1 : (int)opc_rng_below(rng, of->ndim);
    return opc_edit_full(tensor, of->sizes[dim] - opc_rng_chance(rng, 20));
  }
  bool changed = opc_edit_fill(tensor, OPC_FILL_RANGE);
  if (opc_rng_chance(rng, 50)) tensor->tensor->fill.lo = 1, tensor->tensor->fill.hi = 3; /* labels besides a blank 0 */
  return changed;
}

bool opc_redraw(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *sample) {
  static const int64_t choices[] = {1, 2, 3, 4, 5, 6, 8};
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(sample, slots);
  int64_t sizes[SIZES], batch = 1 + opc_rng_below(rng, 3) * opc_rng_below(rng, 2);
  bool changed = false;
  for (int i = 0; i < SIZES; i++) sizes[i] = choices[opc_rng_below(rng, (int64_t)(sizeof choices / sizeof *choices))];
  for (size_t i = 0; i < count; i++) {
    if (slots[i].value->kind == OPC_VALUE_TENSOR) changed |= set_sizes(rng, slots[i].value, batch, sizes);
    else if (slots[i].value->kind == OPC_VALUE_INT && opc_rng_chance(rng, 50)) changed |= opc_edit_number(slots[i].value, opc_rng_below(rng, 2));
  }
  for (size_t i = 0; i < count; i++)
    if (opc_tensor_holds_integers(slots[i].value)) changed |= set_values(op, rng, slots, count, i);
  return changed;
}
