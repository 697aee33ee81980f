#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant_table.h"
#include "search/relations/learner_state.h"

enum { ELEMENTS_MAX = 1 << 18, INTEGERS_MAX = 4096 /* of a tensor */, LIST_MAX = 4 };

/* ---- places and integers that can change ---- */

static bool relation_learner_add_place(opc_learner_t *learner, const char *path, int dim, size_t argument,
                                       int64_t size) {
  if (learner->place_count == LEARN_PLACES_MAX) {
    learner->unknown[argument] = true;
    return true;
  }
  char *copy = opc_string_copy(path);
  if (!copy) return false;
  learner->places[learner->place_count++] =
      (learn_place_t){.path = copy, .dim = dim, .argument = argument, .size = size, .group = -1};
  return true;
}

static bool add_integers(opc_learner_t *learner, const char *path, size_t argument, const opc_value_t *value) {
  learn_integers_t integers = {.argument = argument, .plain = value->kind == OPC_VALUE_INT, .limit = INT64_MAX};
  bool known = learner->integers_count < LEARN_INTEGERS_MAX;
  if (integers.plain) {
    integers.own = (opc_integers_t){.count = 1, .lowest = value->integer, .highest = value->integer};
  } else {
    const opc_tensor_spec_t *spec = value->tensor;
    const int64_t numel = opc_tensor_spec_numel(spec);
    const size_t bits = 8 * opc_dtype_size(spec->dtype) - (opc_dtype_class(spec->dtype) == OPC_CLASS_SIGNED);
    if (bits < 63) integers.limit = (INT64_C(1) << bits) - 1;
    integers.ndim = spec->ndim;
    known = known && numel <= INTEGERS_MAX && opc_integers_of(spec, &integers.own);
    integers.random = known && !integers.own.values;
    if (integers.random) integers.own.count = (size_t)numel;
  }
  if (known) integers.path = opc_string_copy(path);
  if (integers.path) learner->integers[learner->integers_count++] = integers;
  else learner->unknown[argument] = true;
  return !known || integers.path;
}

static bool add_plain(opc_learner_t *learner, const char *path, size_t argument, const opc_value_t *value) {
  char inner[OPC_VARIANT_NAME_SIZE];
  if (value->kind == OPC_VALUE_INT)
    return relation_learner_add_place(learner, path, OPC_PLACE_INTEGER, argument, value->integer) &&
           add_integers(learner, path, argument, value);
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count && i < LIST_MAX; i++) {
    snprintf(inner, sizeof inner, "%s[%zu]", path, i);
    if (!add_plain(learner, inner, argument, &value->list.items[i])) return false;
  }
  return true;
}

static bool relation_learner_collect(opc_learner_t *learner) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  bool made = opc_variant_tensors_collect(&learner->base, learner->op, &tensors, NULL) == OPC_OK;
  for (size_t i = 0; i < tensors.count && made; i++) {
    const opc_variant_tensor_t *tensor = &tensors.items[i];
    const opc_tensor_spec_t *spec = tensor->value->tensor;
    if (tensor->twin != i || tensor->shared) continue;
    for (int dim = 0; dim < spec->ndim && made; dim++)
      made = relation_learner_add_place(learner, tensor->path, dim, tensor->argument, spec->sizes[dim]);
    if (made && opc_dtype_is_integral(spec->dtype))
      made = add_integers(learner, tensor->path, tensor->argument, tensor->value);
  }
  for (size_t i = 0; i < learner->base.argument_count && made; i++)
    if (!learner->base.absent[i])
      made = add_plain(learner, learner->op->arguments[i].name, i, &learner->base.arguments[i]);
  return made;
}

/* Writes out random integers as a run with this seed has them, so that one of them can be changed. */
static bool relation_learner_write_out(opc_learner_t *learner, uint64_t seed) {
  bool made = true;
  for (size_t i = 0; i < learner->integers_count && made; i++) {
    learn_integers_t *integers = &learner->integers[i];
    if (integers->plain || !integers->random || integers->own.count == 0) continue;
    opc_tensor_spec_t *spec = opc_sample_value(&learner->base, learner->op, integers->path)->tensor;
    const size_t width = opc_dtype_size(spec->dtype), count = integers->own.count;
    OPC_SCOPED(opc_scope_free) char *bytes = calloc(count, width);
    OPC_SCOPED(opc_scope_free) int64_t *values = calloc(count, sizeof *values);
    const char *path = spec->stream ? spec->stream : integers->path;
    made = bytes && values && opc_fill_logical(spec, path, seed, bytes, NULL) == OPC_OK;
    for (size_t k = 0; k < count && made; k++) values[k] = opc_number_load(spec->dtype, bytes + k * width).i;
    made = made && opc_related_fill(spec, values, count);
  }
  return made;
}

bool opc_learner_is_worth_it(const opc_operator_t *op, const opc_sample_t *sample) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  size_t dimensions = 0, integers = 0;
  int64_t elements = 0;
  /* Collecting takes no const because other callers change what it finds. */
  if (opc_variant_tensors_collect((opc_sample_t *)sample, op, &tensors, NULL) != OPC_OK) return false;
  for (size_t i = 0; i < tensors.count; i++) {
    const opc_tensor_spec_t *spec = tensors.items[i].value->tensor;
    const int64_t numel = opc_tensor_spec_numel(spec);
    elements += numel < ELEMENTS_MAX ? numel : ELEMENTS_MAX;
    for (int dim = 0; dim < spec->ndim; dim++) dimensions += spec->sizes[dim] > 1;
    integers += opc_dtype_is_integral(spec->dtype) && numel > 0;
  }
  for (size_t i = 0; i < sample->argument_count; i++) {
    const opc_value_t *value = &sample->arguments[i];
    const bool list = value->kind == OPC_VALUE_LIST && value->list.count > 0;
    if (!sample->absent[i])
      integers += value->kind == OPC_VALUE_INT || (list && value->list.items[0].kind == OPC_VALUE_INT);
  }
  return elements > 0 && elements < ELEMENTS_MAX && dimensions > 0 && dimensions + integers > 1;
}

static void scope_learner(opc_learner_t **learner) { opc_learner_free(*learner); }

opc_status_t opc_learner_new(const opc_operator_t *op, const opc_sample_t *sample, uint64_t seed, const bool *unknown,
                             opc_learner_t **out, opc_error_t *error) {
  OPC_SCOPED(scope_learner) opc_learner_t *learner = calloc(1, sizeof *learner);
  *out = NULL;
  if (!learner) return opc_out_of_memory(error);
  learner->op = op;
  learner->unknown = calloc(op->argument_count + 1, sizeof *learner->unknown);
  learner->avoided = calloc(op->argument_count + 1, sizeof *learner->avoided);
  learner->left_out = calloc(op->argument_count + 1, sizeof *learner->left_out);
  learner->values_avoided = calloc(op->argument_count + 1, sizeof *learner->values_avoided);
  bool made = learner->unknown && learner->avoided && learner->left_out && learner->values_avoided;
  for (size_t i = 0; made && unknown && i < op->argument_count; i++) learner->unknown[i] = unknown[i];
  made = made && opc_sample_copy(sample, &learner->sample, NULL) == OPC_OK &&
         opc_sample_copy(sample, &learner->base, NULL) == OPC_OK;
  if (!made) return opc_out_of_memory(error);
  opc_relations_free(learner->base.relations);
  learner->base.relations = NULL;
  if (!relation_learner_collect(learner) || !relation_learner_write_out(learner, seed)) return opc_out_of_memory(error);
  OPC_MOVE(out, learner);
  return OPC_OK;
}

void opc_learner_free(opc_learner_t *learner) {
  if (!learner) return;
  for (size_t i = 0; i < learner->place_count; i++) free(learner->places[i].path);
  for (size_t i = 0; i < learner->integers_count; i++) {
    free(learner->integers[i].path);
    free(learner->integers[i].own.values);
  }
  opc_relations_free(learner->relations);
  opc_sample_clear(&learner->sample);
  opc_sample_clear(&learner->base);
  free(learner->unknown);
  free(learner->avoided);
  free(learner->left_out);
  free(learner->values_avoided);
  free(learner);
}

/* ---- try after try ---- */

static void relation_learner_run(opc_learner_t *learner) {
  const size_t arguments = learner->op->argument_count;
  const learn_edits_t none = {.count = 0};
  opc_relations_free(learner->relations);
  learner->relations = calloc(1, sizeof *learner->relations);
  learner->failed |= !learner->relations;
  learner->asked = 0;
  learner->waiting = false;
  learner->hangs = 0;
  learner->groups = 0;
  memcpy(learner->avoided, learner->unknown, arguments * sizeof *learner->avoided);
  memset(learner->left_out, 0, arguments * sizeof *learner->left_out);
  memset(learner->values_avoided, 0, arguments * sizeof *learner->values_avoided);
  learner->clean = learn_ask(learner, &none) == OPC_LEARN_CLEAN;
  if (!learner->clean) return;
  learn_integers_all(learner);
  if (!learner->waiting) learn_sizes_all(learner);
}

bool opc_learner_next(opc_learner_t *learner, opc_sample_t *out) {
  while (!learner->over) {
    relation_learner_run(learner);
    if (learner->failed || !learner->waiting) break;
    if (learn_make(learner, &learner->wanted, out)) return true;
    opc_learner_tell(learner, OPC_LEARN_NONE); /* such a sample cannot be made */
  }
  learner->over = true;
  return false;
}

void opc_learner_tell(opc_learner_t *learner, opc_learn_outcome_t outcome) {
  if (learner->answered < OPC_LEARNER_TRIES_MAX) learner->answers[learner->answered++] = outcome;
}

void opc_learner_stop(opc_learner_t *learner) { learner->stopped = true; }

size_t opc_learner_tries(const opc_learner_t *learner) { return learner->answered; }

void opc_learner_hung(const opc_learner_t *learner, bool *arguments) {
  for (size_t i = 0; i < learner->op->argument_count; i++)
    arguments[i] |= learner->avoided[i] || learner->values_avoided[i];
}

/* ---- learned relations ---- */

/* n is at most a size, or at least so much, and is known to equal a size. */
static bool is_implied(const opc_relations_t *relations, const opc_relation_t *bound) {
  const bool least = bound->kind == OPC_RELATION_LEAST && bound->values;
  for (size_t i = 0; i < relations->count && (bound->place_count > 0 || least); i++) {
    const opc_relation_t *equal = &relations->items[i];
    if (equal->kind != OPC_RELATION_EQUAL) continue;
    bool own = false;
    size_t found = 0;
    for (size_t k = 0; k < equal->place_count; k++) {
      const opc_size_place_t *place = &equal->places[k];
      own |= place->dim == OPC_PLACE_INTEGER && strcmp(place->path, bound->values) == 0;
      for (size_t j = 0; j < bound->place_count; j++)
        found += bound->places[j].dim == place->dim && strcmp(bound->places[j].path, place->path) == 0;
    }
    if (own && found == bound->place_count) return true;
  }
  return false;
}

static bool holds(const opc_learner_t *learner, opc_relation_t *relation) {
  const opc_relations_t one = {.items = relation, .count = 1};
  return opc_relations_hold(&one, &learner->sample, learner->op, NULL, NULL, NULL, 0);
}

opc_status_t opc_learner_take(opc_learner_t *learner, opc_relations_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_relations) opc_relations_t *kept = calloc(1, sizeof *kept);
  opc_relations_t *all = learner->relations;
  *out = NULL;
  if (!kept || learner->failed) return opc_out_of_memory(error);
  for (size_t i = 0; all && i < all->count; i++) {
    opc_relation_t *relation = &all->items[i];
    const bool implied = (relation->kind == OPC_RELATION_BOUND || relation->kind == OPC_RELATION_LEAST) &&
                         relation->values && is_implied(all, relation);
    if (!implied && holds(learner, relation)) OPC_RETURN_IF_ERROR(opc_relations_add(kept, relation, error));
  }
  for (size_t i = 0; i < learner->op->argument_count; i++) {
    opc_relation_t unknown = {.kind = OPC_RELATION_UNKNOWN};
    if (!learner->avoided[i] && !learner->left_out[i]) continue;
    unknown.values = opc_string_copy(learner->op->arguments[i].name);
    OPC_RETURN_IF_ERROR(unknown.values ? opc_relations_add(kept, &unknown, error) : opc_out_of_memory(error));
  }
  if (!learner->clean) return OPC_OK;
  *out = kept;
  kept = NULL;
  return OPC_OK;
}

/* ---- other samples ---- */

static bool has_same_form(const opc_operator_t *op, const opc_sample_t *from, const opc_sample_t *to) {
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t left = {0}, right = {0};
  bool same = opc_variant_tensors_collect((opc_sample_t *)from, op, &left, NULL) == OPC_OK &&
              opc_variant_tensors_collect((opc_sample_t *)to, op, &right, NULL) == OPC_OK && left.count == right.count;
  for (size_t i = 0; i < left.count && same; i++) {
    const opc_tensor_spec_t *one = left.items[i].value->tensor, *other = right.items[i].value->tensor;
    same = strcmp(left.items[i].path, right.items[i].path) == 0 && one->ndim == other->ndim &&
           opc_dtype_is_integral(one->dtype) == opc_dtype_is_integral(other->dtype) &&
           left.items[i].twin == right.items[i].twin;
  }
  return same;
}

opc_status_t opc_relations_transfer(const opc_operator_t *op, const opc_sample_t *from, const opc_sample_t *to,
                                    opc_relations_t **out, opc_error_t *error) {
  *out = NULL;
  if (!from->relations || !has_same_form(op, from, to) ||
      !opc_relations_hold(from->relations, to, op, NULL, NULL, NULL, 0))
    return OPC_OK;
  return opc_relations_copy(from->relations, out, error);
}
