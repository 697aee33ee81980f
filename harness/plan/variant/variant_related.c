#include "plan/variant/variant.h"

#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant_table.h"

enum { PASSES = 8 };

bool opc_related_resize(opc_sample_t *sample, const opc_operator_t *op, const opc_size_place_t *place, int64_t size) {
  int64_t sizes[OPC_MAX_DIMS], now;
  if (size < 0 || !opc_sample_size(sample, op, place, &now)) return false;
  opc_value_t *value = opc_sample_value(sample, op, place->path);
  if (place->dim == OPC_PLACE_INTEGER) {
    value->integer = size;
    return true;
  }
  if (now == size) return true;
  memcpy(sizes, value->tensor->sizes, sizeof sizes);
  sizes[place->dim] = size;
  return opc_variant_resize(value->tensor, value->tensor->ndim, sizes);
}

bool opc_related_fill(opc_tensor_spec_t *spec, const int64_t *values, size_t count) {
  opc_number_t *numbers = calloc(count + 1, sizeof *numbers);
  if (!numbers) return false;
  for (size_t i = 0; i < count; i++) numbers[i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = values[i]};
  free(spec->fill.values);
  free(spec->fill.file);
  spec->fill = (opc_fill_t){.kind = count ? OPC_FILL_VALUES : OPC_FILL_ZEROS};
  if (count) {
    spec->fill.values = numbers;
    spec->fill.value_count = count;
  } else {
    free(numbers);
  }
  return true;
}

/* ---- integers ---- */

static bool same_sizes(const opc_tensor_spec_t *left, const opc_tensor_spec_t *right) {
  return left->ndim == right->ndim &&
         (left->ndim == 0 || memcmp(left->sizes, right->sizes, (size_t)left->ndim * sizeof left->sizes[0]) == 0);
}

/* A tensor with its original sizes gets its values back. */
static bool restore(opc_value_t *value, const opc_tensor_spec_t *base) {
  const opc_fill_t *now = &value->tensor->fill;
  if (now->kind == base->fill.kind && now->value_count == base->fill.value_count) return true;
  opc_tensor_spec_t *copy = opc_tensor_spec_copy(base);
  if (!copy) return false;
  opc_tensor_spec_free(value->tensor);
  value->tensor = copy;
  return true;
}

static bool follow_base(opc_value_t *value, const opc_tensor_spec_t *base) {
  opc_tensor_spec_t *spec = value->tensor;
  OPC_SCOPED(opc_integers_clear) opc_integers_t from = {0};
  if (same_sizes(spec, base)) return restore(value, base);
  if (!opc_integers_of(base, &from)) return true;
  const int64_t count = opc_tensor_spec_numel(spec);
  if (!from.values || from.count == 0 || count > (1 << 20)) return true; /* random ones have a range instead */
  const bool in_order = spec->ndim == 1 && opc_integers_ascend(&from);
  OPC_SCOPED(opc_scope_free) int64_t *values = calloc((size_t)count + 1, sizeof *values);
  for (int64_t i = 0; values && i < count; i++) {
    const int64_t last = (int64_t)from.count - 1;
    values[i] = from.values[in_order ? (count > 1 ? i * last / (count - 1) : 0) : i % (last + 1)];
  }
  return values && opc_related_fill(spec, values, (size_t)count);
}

/* The smallest of the places, less one if the bound is not inclusive. */
static bool limit_of(const opc_relation_t *relation, const opc_sample_t *sample, const opc_operator_t *op,
                     int64_t *out) {
  *out = relation->number;
  for (size_t i = 0; i < relation->place_count; i++) {
    int64_t size;
    if (!opc_sample_size(sample, op, &relation->places[i], &size)) return false;
    if (i == 0 || size < *out) *out = size;
  }
  *out -= !relation->inclusive;
  return true;
}

static void keep_sum(opc_integers_t *integers, int64_t wanted) {
  int64_t sum = 0;
  for (size_t i = 0; i < integers->count; i++) sum += integers->values[i];
  if (integers->count > 0 && sum < wanted) integers->values[integers->count - 1] += wanted - sum;
  for (size_t i = integers->count; i > 0 && sum > wanted; i--) {
    int64_t *value = &integers->values[i - 1], less = sum - wanted;
    if (less > *value) less = *value > 0 ? *value : 0;
    *value -= less;
    sum -= less;
  }
}

static bool follow_relation(const opc_relation_t *relation, opc_sample_t *sample, const opc_operator_t *op) {
  if (relation->kind != OPC_RELATION_BOUND && relation->kind != OPC_RELATION_SUM) return true;
  opc_value_t *value = opc_sample_value(sample, op, relation->values);
  int64_t limit = 0;
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  const bool bound = relation->kind == OPC_RELATION_BOUND;
  if (!value || (bound && !limit_of(relation, sample, op, &limit))) return false;
  if (!bound && !opc_sample_size(sample, op, &relation->places[0], &limit)) return false;
  if (value->kind == OPC_VALUE_INT) {
    if (bound && value->integer > limit) value->integer = limit;
    return true;
  }
  if (value->kind != OPC_VALUE_TENSOR || !opc_integers_of(value->tensor, &integers)) return false;
  if (!integers.values || (bound && integers.highest <= limit)) return true;
  for (size_t i = 0; bound && i < integers.count; i++)
    if (integers.values[i] > limit) integers.values[i] = limit;
  if (!bound) keep_sum(&integers, limit);
  return opc_related_fill(value->tensor, integers.values, integers.count);
}

/* Integers (not tensors) that may be as large as a size become that large: a count of neighbours, of the points that
 * there are. */
static bool raise_counts(opc_sample_t *sample, const opc_operator_t *op) {
  const opc_relations_t *relations = sample->relations;
  for (size_t i = 0; relations && i < relations->count; i++) {
    const opc_relation_t *relation = &relations->items[i];
    int64_t limit = 0;
    if (relation->kind != OPC_RELATION_BOUND || !relation->inclusive || relation->place_count == 0) continue;
    opc_value_t *value = opc_sample_value(sample, op, relation->values);
    if (!value || value->kind != OPC_VALUE_INT) continue;
    if (!limit_of(relation, sample, op, &limit)) return false;
    if (value->integer > 0 && value->integer < limit) value->integer = limit;
  }
  return true;
}

bool opc_related_wide(opc_variant_step_t *step) { return opc_shape_wide(step) && raise_counts(step->sample, step->op); }

typedef struct pair {
  opc_variant_tensors_t from, to;
} pair_t;

static bool pair_take(pair_t *pair, const opc_sample_t *base, opc_sample_t *changed, const opc_operator_t *op) {
  /* Collecting takes no const because other callers change what it finds. */
  return opc_variant_tensors_collect((opc_sample_t *)base, op, &pair->from, NULL) == OPC_OK &&
         opc_variant_tensors_collect(changed, op, &pair->to, NULL) == OPC_OK && pair->from.count == pair->to.count;
}

static void pair_clear(pair_t *pair) {
  opc_variant_tensors_clear(&pair->from);
  opc_variant_tensors_clear(&pair->to);
}

bool opc_related_contents(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op,
                          const opc_relations_t *relations) {
  pair_t pair = {0};
  bool made = pair_take(&pair, base, changed, op);
  for (size_t i = 0; made && i < pair.from.count; i++)
    made = follow_base(pair.to.items[i].value, pair.from.items[i].value->tensor);
  pair_clear(&pair);
  for (size_t i = 0; made && i < relations->count; i++) made = follow_relation(&relations->items[i], changed, op);
  return made;
}

/* ---- sizes ---- */

typedef struct fit {
  opc_sample_t *changed;
  const opc_sample_t *base;
  const opc_operator_t *op;
  bool again, failed;
} fit_t;

static void set_size(fit_t *fit, const opc_size_place_t *place, int64_t size) {
  int64_t now;
  if (!opc_sample_size(fit->changed, fit->op, place, &now)) fit->failed = true;
  else if (now != size) fit->again = true;
  fit->failed = fit->failed || !opc_related_resize(fit->changed, fit->op, place, size);
}

/* The first size that changed determines all of them. */
static void follow_equal(fit_t *fit, const opc_relation_t *relation) {
  for (size_t i = 0; i < relation->place_count; i++) {
    int64_t now, before;
    const opc_size_place_t *place = &relation->places[i];
    fit->failed |=
        !opc_sample_size(fit->changed, fit->op, place, &now) || !opc_sample_size(fit->base, fit->op, place, &before);
    if (fit->failed) return;
    if (now == before) continue;
    const int64_t size = now > place->more ? now - place->more : 0;
    for (size_t j = 0; j < relation->place_count; j++)
      set_size(fit, &relation->places[j], size + relation->places[j].more);
    return;
  }
}

static bool needs_one(const fit_t *fit, const char *path) {
  for (size_t i = 0; i < fit->base->relations->count; i++) {
    const opc_relation_t *relation = &fit->base->relations->items[i];
    if (relation->kind == OPC_RELATION_LEAST && !relation->values && relation->number == 1 &&
        strcmp(relation->places[0].path, path) == 0)
      return true;
  }
  return false;
}

/* Offsets of no segment are a single 0, unless they are empty. If no valid index is left, there are no indices. If no
 * lengths are left, the size that they sum to is 0. */
static void follow_emptied(fit_t *fit, const opc_relation_t *relation) {
  int64_t limit = 0;
  opc_value_t *value = opc_sample_value(fit->changed, fit->op, relation->values);
  if (!value || value->kind != OPC_VALUE_TENSOR) return;
  const bool empty = opc_tensor_spec_numel(value->tensor) == 0;
  if (empty && opc_relation_has_ends(relation) && needs_one(fit, relation->values)) {
    set_size(fit, &(opc_size_place_t){.path = relation->values, .dim = 0}, 1);
    return;
  }
  if (relation->kind == OPC_RELATION_SUM && empty) set_size(fit, &relation->places[0], 0);
  if (relation->kind != OPC_RELATION_BOUND || empty || !limit_of(relation, fit->changed, fit->op, &limit)) return;
  const opc_size_place_t place = {.path = relation->values, .dim = 0};
  if (limit < 0) set_size(fit, &place, 0);
}

/* A size of at least 1 that the operator does not check is what an empty tensor tries. */
static bool is_least_one(const opc_relation_t *relation) {
  return relation->kind == OPC_RELATION_LEAST && !relation->values && !relation->checked && relation->number == 1;
}

static bool related_hold(const opc_relations_t *relations, const opc_sample_t *sample, const opc_operator_t *op,
                         bool empty) {
  bool hold = true;
  for (size_t i = 0; i < relations->count && hold; i++) {
    const opc_relations_t one = {.items = &relations->items[i], .count = 1};
    hold = (empty && is_least_one(one.items)) || opc_relations_hold(&one, sample, op, NULL, NULL, NULL, 0);
  }
  return hold;
}

static bool fit_to(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op, bool empty) {
  const opc_relations_t *relations = base->relations;
  fit_t fit = {.changed = changed, .base = base, .op = op, .again = true};
  if (!relations) return false;
  for (int pass = 0; fit.again && pass < PASSES; pass++) {
    fit.again = false;
    for (size_t i = 0; i < relations->count && !fit.failed; i++) {
      const opc_relation_t *relation = &relations->items[i];
      if (relation->kind == OPC_RELATION_EQUAL) follow_equal(&fit, relation);
      else if (relation->kind == OPC_RELATION_FIXED) set_size(&fit, &relation->places[0], relation->number);
      else if (relation->kind != OPC_RELATION_UNKNOWN && relation->values) follow_emptied(&fit, relation);
    }
  }
  return !fit.failed && opc_related_contents(changed, base, op, relations) &&
         related_hold(relations, changed, op, empty);
}

bool opc_related_fit(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op) {
  return fit_to(changed, base, op, false);
}

/* ---- the transformation ---- */

bool opc_related_differs(const opc_sample_t *left, const opc_sample_t *right, const opc_operator_t *op) {
  json_auto_t *from = opc_sample_to_json(left, op), *to = opc_sample_to_json(right, op);
  bool equal = json_equal(json_object_get(from, "args"), json_object_get(to, "args")) &&
               json_equal(json_object_get(from, "kwargs"), json_object_get(to, "kwargs"));
  return !equal;
}

/* Makes a dimension 0, and everything that must follow. If nothing must follow, it equals x.empty0. */
bool opc_related_empty(opc_variant_step_t *step) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t base = {0}, alone = {0};
  opc_tensor_spec_t *spec = step->target ? step->target->value->tensor : NULL;
  const int64_t size = spec && step->number < spec->ndim ? spec->sizes[step->number] : 0;
  if (size == 0 || !step->op || !step->sample->relations || opc_sample_copy(step->sample, &base, NULL) != OPC_OK)
    return false;
  return opc_shape_empty(spec, step->number) && opc_sample_copy(step->sample, &alone, NULL) == OPC_OK &&
         fit_to(step->sample, &base, step->op, true) && step->target->value->tensor->sizes[step->number] < size &&
         opc_related_differs(step->sample, &alone, step->op);
}
