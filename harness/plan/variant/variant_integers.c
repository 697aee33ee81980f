/* Other integers in a tensor: all 0, all the highest, reversed; of offsets, an empty segment; of lengths, one of 0;
 * every bit set, and the dtype's largest. */
#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant_table.h"

/* The tensor's integers, to be changed. False: they are not known, or there are none. */
static bool variant_integers_take(const opc_tensor_spec_t *spec, opc_integers_t *out) {
  return opc_integers_of(spec, out) && out->values && out->count > 0;
}

/* False: nothing changed. */
static bool variant_integers_put(opc_tensor_spec_t *spec, const opc_integers_t *integers, bool changed) {
  return changed && opc_related_fill(spec, integers->values, integers->count);
}

static bool all_become(opc_tensor_spec_t *spec, opc_integers_t *integers, int64_t value) {
  const bool changed = integers->lowest != value || integers->highest != value;
  for (size_t i = 0; i < integers->count; i++) integers->values[i] = value;
  return variant_integers_put(spec, integers, changed);
}

bool opc_integers_zeros(opc_tensor_spec_t *spec) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  return variant_integers_take(spec, &integers) && all_become(spec, &integers, 0);
}

bool opc_integers_highest(opc_tensor_spec_t *spec) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  return variant_integers_take(spec, &integers) && all_become(spec, &integers, integers.highest);
}

bool opc_integers_all_bits(opc_tensor_spec_t *spec) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  const size_t bits = 8 * opc_dtype_size(spec->dtype);
  const bool is_signed = opc_dtype_class(spec->dtype) == OPC_CLASS_SIGNED;
  if (!is_signed || bits == 0 || !variant_integers_take(spec, &integers))
    return false; /* unsigned ones: opc_integers_largest */
  return all_become(spec, &integers, -1);
}

/* Only of narrow dtypes: in others they are indices and counts, mostly, and such memory is never there. */
bool opc_integers_largest(opc_tensor_spec_t *spec) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  const size_t bits = 8 * opc_dtype_size(spec->dtype) - (opc_dtype_class(spec->dtype) == OPC_CLASS_SIGNED);
  if (bits > 16 || !variant_integers_take(spec, &integers)) return false;
  return all_become(spec, &integers, (INT64_C(1) << bits) - 1);
}

bool opc_integers_reversed(opc_tensor_spec_t *spec) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  bool changed = false;
  if (!variant_integers_take(spec, &integers)) return false;
  for (size_t i = 0; i < integers.count / 2; i++) {
    const int64_t value = integers.values[i];
    integers.values[i] = integers.values[integers.count - 1 - i];
    integers.values[integers.count - 1 - i] = value;
    changed |= value != integers.values[i];
  }
  return variant_integers_put(spec, &integers, changed);
}

/* Offsets of at least two segments: those between the first and the last can move. */
static bool take_offsets(const opc_tensor_spec_t *spec, opc_integers_t *out) {
  return spec->ndim == 1 && variant_integers_take(spec, out) && out->count >= 3 && opc_integers_ascend(out);
}

bool opc_integers_first_empty(opc_tensor_spec_t *spec) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  if (!take_offsets(spec, &integers)) return false;
  const bool changed = integers.values[1] != integers.values[0];
  integers.values[1] = integers.values[0];
  return variant_integers_put(spec, &integers, changed);
}

bool opc_integers_last_empty(opc_tensor_spec_t *spec) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  if (!take_offsets(spec, &integers)) return false;
  const size_t last = integers.count - 1;
  const bool changed = integers.values[last - 1] != integers.values[last];
  integers.values[last - 1] = integers.values[last];
  return variant_integers_put(spec, &integers, changed);
}

/* What is known of the tensor's integers; NULL: no relation of this kind. */
static const opc_relation_t *relation_with(const opc_variant_step_t *step, opc_relation_kind_t kind) {
  const opc_relations_t *relations = step->sample->relations;
  for (size_t i = 0; relations && i < relations->count; i++)
    if (relations->items[i].kind == kind && relations->items[i].values &&
        strcmp(relations->items[i].values, step->path) == 0)
      return &relations->items[i];
  return NULL;
}

/* Of lengths, the one in the middle becomes 0. If they add up to a size, the next one gets what it had. */
bool opc_integers_one_none(opc_variant_step_t *step) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  opc_tensor_spec_t *spec = step->target ? step->target->value->tensor : NULL;
  const opc_relation_t *sum = relation_with(step, OPC_RELATION_SUM), *bound = relation_with(step, OPC_RELATION_BOUND);
  if (!spec || spec->ndim != 1 || (!sum && !(bound && bound->inclusive)) || relation_with(step, OPC_RELATION_LEAST) ||
      relation_with(step, OPC_RELATION_ASCENDING) || !variant_integers_take(spec, &integers))
    return false;
  const size_t at = integers.count / 2, other = at + 1 < integers.count ? at + 1 : 0;
  const int64_t length = integers.values[at];
  if (integers.count < 2 || length < 1) return false;
  integers.values[at] = 0;
  if (sum) integers.values[other] += length;
  return variant_integers_put(spec, &integers, true);
}
