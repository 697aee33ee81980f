/* What integers say about sizes. */
#include <stdlib.h>
#include <string.h>

#include "search/relations/learner_state.h"

enum { RAISES_MAX = 12 };

static opc_learn_outcome_t with_element(opc_learner_t *learner, size_t index, size_t element, int64_t value) {
  learn_edits_t edits = {.count = 0};
  learn_element(&edits, index, element, value);
  return learn_ask(learner, &edits);
}

static opc_learn_outcome_t with_two(opc_learner_t *learner, size_t index, size_t first, int64_t first_value,
                                    size_t second, int64_t second_value) {
  learn_edits_t edits = {.count = 0};
  learn_element(&edits, index, first, first_value);
  learn_element(&edits, index, second, second_value);
  return learn_ask(learner, &edits);
}

static opc_relation_t relation_of(opc_learner_t *learner, const learn_integers_t *integers, opc_relation_kind_t kind,
                                  opc_learn_outcome_t broken) {
  opc_relation_t relation = {
      .kind = kind, .values = opc_string_copy(integers->path), .checked = broken == OPC_LEARN_REFUSED};
  learner->failed |= !relation.values;
  return relation;
}

/* ---- a size that makes it clean ---- */

/* Places that have the size; an integer is not its own bound. */
static uint32_t learner_integers_places_of(const opc_learner_t *learner, const learn_integers_t *integers,
                                           int64_t size) {
  uint32_t set = 0;
  for (size_t i = 0; i < learner->place_count; i++) {
    const learn_place_t *place = &learner->places[i];
    if (place->size != size) continue;
    if (place->dim == OPC_PLACE_INTEGER && integers->plain && place->argument == integers->argument) continue;
    set |= UINT32_C(1) << i;
  }
  return set;
}

typedef struct raised {
  size_t index, element;
  int64_t value;
} raised_t;

static bool is_clean_with(opc_learner_t *learner, const raised_t *raised, uint32_t set) {
  learn_edits_t edits = learn_joint(learner, set, 1);
  learn_element(&edits, raised->index, raised->element, raised->value);
  return learn_ask(learner, &edits) == OPC_LEARN_CLEAN;
}

/* The places of the set that must grow to make the raised element clean; 0: none of them does it. */
static uint32_t needed_of(opc_learner_t *learner, const raised_t *raised, uint32_t set) {
  if (!set) return 0;
  if (!is_clean_with(learner, raised, set)) {
    for (size_t i = 0; i < learner->place_count && (set & (set - 1)); i++) {
      const uint32_t one = UINT32_C(1) << i;
      if ((set & one) && is_clean_with(learner, raised, one)) return one;
    }
    return 0;
  }
  for (size_t i = 0; i < learner->place_count && (set & (set - 1)); i++) {
    const uint32_t one = UINT32_C(1) << i;
    if ((set & one) && (set & ~one) && is_clean_with(learner, raised, set & ~one)) set &= ~one;
  }
  return set;
}

/* ---- bounds ---- */

static int compare(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* The numbers around the existing sizes that exceed the integers, ascending, each once. A count may be larger than each
 * size, and have a limit all the same: a product of them. */
static size_t candidates_of(const opc_learner_t *learner, const learn_integers_t *integers, int64_t *out) {
  enum { STEPS = 3, MORE = 2 }; /* a step or a mode is no count */
  int64_t all[3 * LEARN_PLACES_MAX + MORE];
  const int64_t own = integers->own.highest;
  size_t count = 0, kept = 0;
  if (integers->plain && own > STEPS && own < integers->limit / 2) {
    all[count++] = own + 1;
    all[count++] = 2 * own;
  }
  for (size_t i = 0; i < learner->place_count; i++) {
    const learn_place_t *place = &learner->places[i];
    if (place->dim == OPC_PLACE_INTEGER && integers->plain && place->argument == integers->argument) continue;
    for (int64_t value = place->size - 1; value <= place->size + 1; value++)
      if (value > integers->own.highest && value <= integers->limit) all[count++] = value;
  }
  qsort(all, count, sizeof *all, compare);
  for (size_t i = 0; i < count && kept < RAISES_MAX; i++)
    if (i == 0 || all[i] != all[i - 1]) out[kept++] = all[i];
  return kept;
}

/* Raises one element until a call is not clean. False: no such call. */
static bool raise_element(opc_learner_t *learner, size_t index, size_t element, int64_t *out_value, int64_t *out_clean,
                          opc_learn_outcome_t *out_outcome) {
  const learn_integers_t *integers = &learner->integers[index];
  int64_t candidates[RAISES_MAX];
  const size_t count = candidates_of(learner, integers, candidates);
  *out_clean = integers->own.highest;
  for (size_t i = 0; i < count; i++) {
    *out_outcome = with_element(learner, index, element, candidates[i]);
    *out_value = candidates[i];
    if (*out_outcome == OPC_LEARN_NONE) return false;
    if (*out_outcome != OPC_LEARN_CLEAN) return true;
    *out_clean = candidates[i];
  }
  return false;
}

static void add_bound(opc_learner_t *learner, const learn_integers_t *integers, uint32_t set, bool inclusive,
                      int64_t number, opc_learn_outcome_t outcome) {
  opc_relation_t relation = relation_of(learner, integers, OPC_RELATION_BOUND, outcome);
  relation.inclusive = inclusive;
  relation.number = number;
  for (size_t i = 0; i < learner->place_count; i++)
    if (set >> i & 1) learn_add_place(learner, &relation, i, 0);
  learn_add(learner, &relation);
}

static bool learn_bound_at(opc_learner_t *learner, size_t index, size_t element) {
  const learn_integers_t *integers = &learner->integers[index];
  raised_t raised = {.index = index, .element = element};
  int64_t clean;
  opc_learn_outcome_t outcome;
  if (!raise_element(learner, index, element, &raised.value, &clean, &outcome)) return false;
  /* Below a size, or at most a size; offsets that follow the size are one more. */
  const uint32_t at = learner_integers_places_of(learner, integers, raised.value),
                 behind = learner_integers_places_of(learner, integers, raised.value - 1);
  uint32_t set = clean == raised.value - 1 || !behind ? needed_of(learner, &raised, at) : 0;
  bool inclusive = false;
  if (!set && clean == raised.value - 1 && (set = needed_of(learner, &raised, behind))) inclusive = true;
  if (!set && at &&
      (set = needed_of(learner, &raised, at | learner_integers_places_of(learner, integers, raised.value + 1))) != 0)
    set &= at;
  if (!learner->waiting) add_bound(learner, integers, set, inclusive, set ? 0 : clean + 1, outcome);
  return true;
}

/* ---- order and sum ---- */

static bool has_order(const learn_integers_t *integers) {
  const opc_integers_t *own = &integers->own;
  if (integers->plain || integers->random || integers->ndim != 1 || own->count < 2) return false;
  for (size_t i = 1; i < own->count; i++)
    if (own->values[i] < own->values[i - 1]) return false;
  return own->values[0] < own->values[own->count - 1];
}

/* Whether one between the first and the last may be one more and one less, if the others leave room for it. Where keys
 * are counted first, their offsets may not. */
static bool may_move(opc_learner_t *learner, size_t index) {
  const opc_integers_t *own = &learner->integers[index].own;
  opc_learn_outcome_t more = OPC_LEARN_NONE, less = OPC_LEARN_NONE;
  for (size_t i = 1; i + 1 < own->count; i++) {
    const int64_t value = own->values[i];
    if (more == OPC_LEARN_NONE && own->values[i + 1] - value > 1) more = with_element(learner, index, i, value + 1);
    if (less == OPC_LEARN_NONE && value - own->values[i - 1] > 1) less = with_element(learner, index, i, value - 1);
  }
  return (more == OPC_LEARN_CLEAN || less == OPC_LEARN_CLEAN) && !learn_is_broken(more) && !learn_is_broken(less);
}

static void learn_order(opc_learner_t *learner, size_t index) {
  const learn_integers_t *integers = &learner->integers[index];
  const int64_t *values = integers->own.values;
  const size_t count = integers->own.count;
  size_t last = count - 1, first = 1;
  if (!has_order(integers)) return;
  const bool movable = may_move(learner, index); /* before a swap that may hang: then no more values are tried */
  while (values[last] == values[last - 1]) last--;
  while (values[first] == values[first - 1]) first++;
  opc_learn_outcome_t outcome = with_two(learner, index, last, values[last - 1], last - 1, values[last]);
  if (outcome == OPC_LEARN_CLEAN && first != last)
    outcome = with_two(learner, index, first, values[first - 1], first - 1, values[first]);
  if (!learn_is_broken(outcome)) return;
  opc_relation_t relation = relation_of(learner, integers, OPC_RELATION_ASCENDING, outcome);
  relation.movable = movable;
  learn_add(learner, &relation);
}

/* In a sum, one more breaks the call, and one moved does not. The smallest integer grows: if it were a bound, the call
 * would stay clean. */
static bool learn_sum(opc_learner_t *learner, size_t index) {
  const learn_integers_t *integers = &learner->integers[index];
  const opc_integers_t *own = &integers->own;
  int64_t sum = 0;
  size_t smallest = 0, largest = 0;
  if (integers->plain || integers->random || integers->ndim != 1 || own->count < 2 || own->lowest < 0) return false;
  for (size_t i = 0; i < own->count; i++) {
    sum += own->values[i];
    if (own->values[i] < own->values[smallest]) smallest = i;
    if (own->values[i] >= own->values[largest]) largest = i;
  }
  if (smallest == largest) smallest = 0;
  const uint32_t set = learner_integers_places_of(learner, integers, sum);
  if (!set || own->values[largest] < 1 || smallest == largest) return false;
  const opc_learn_outcome_t more = with_element(learner, index, smallest, own->values[smallest] + 1);
  if (!learn_is_broken(more)) return false;
  if (with_two(learner, index, smallest, own->values[smallest] + 1, largest, own->values[largest] - 1) !=
      OPC_LEARN_CLEAN)
    return false;
  const raised_t raised = {.index = index, .element = smallest, .value = own->values[smallest] + 1};
  const uint32_t needed = needed_of(learner, &raised, set);
  if (!needed || learner->waiting) return false;
  for (size_t i = 0; i < learner->place_count; i++) {
    if (!(needed >> i & 1)) continue;
    opc_relation_t relation = relation_of(learner, integers, OPC_RELATION_SUM, more);
    learn_add_place(learner, &relation, i, 0);
    learn_add(learner, &relation);
  }
  return true;
}

/* Other integers have it as a bound or a sum already. */
static bool is_place(const opc_learner_t *learner, const char *path) {
  for (size_t i = 0; i < learner->relations->count; i++) {
    const opc_relation_t *relation = &learner->relations->items[i];
    for (size_t k = 0; k < relation->place_count; k++)
      if (strcmp(relation->places[k].path, path) == 0) return true;
  }
  return false;
}

/* Whether one of them may be 0; for lengths, another one takes its value. */
static void learn_lowest(opc_learner_t *learner, size_t index, bool is_sum) {
  const learn_integers_t *integers = &learner->integers[index];
  const opc_integers_t *own = &integers->own;
  size_t smallest = 0, other = 0;
  if (own->lowest < 1 || integers->random || (integers->plain && is_place(learner, integers->path))) return;
  for (size_t i = 0; !integers->plain && i < own->count; i++)
    if (own->values[i] < own->values[smallest]) smallest = i;
  if (own->count > 1) other = smallest == 0 ? 1 : 0;
  const opc_learn_outcome_t outcome = is_sum && own->count > 1 ? with_two(learner, index, smallest, 0, other,
                                                                          own->values[other] + own->values[smallest])
                                                               : with_element(learner, index, smallest, 0);
  /* A length of 0 whose part of the result is not written is no demand on the lengths. */
  if (!learn_is_broken(outcome) || (is_sum && outcome == OPC_LEARN_POISON)) return;
  opc_relation_t relation = relation_of(learner, integers, OPC_RELATION_LEAST, outcome);
  relation.number = own->lowest;
  learn_add(learner, &relation);
}

/* A dimension, which may be counted from the end: the operator accepts -ndim, and refuses -ndim - 1. */
static void learn_from_end(opc_learner_t *learner, size_t index) {
  const learn_integers_t *integers = &learner->integers[index];
  const opc_tensor_spec_t *first = opc_sample_tensor(&learner->base, 0);
  if (!integers->plain || !first || !opc_argument_is_named(integers->path, "dim axis")) return;
  if (integers->own.lowest < 0 || integers->own.lowest >= first->ndim) return;
  if (with_element(learner, index, 0, -first->ndim) != OPC_LEARN_CLEAN) return;
  const opc_learn_outcome_t outcome = with_element(learner, index, 0, -first->ndim - 1);
  if (outcome != OPC_LEARN_REFUSED) return;
  opc_relation_t relation = relation_of(learner, integers, OPC_RELATION_LEAST, outcome);
  relation.number = -first->ndim;
  learn_add(learner, &relation);
}

void learn_integers_all(opc_learner_t *learner) {
  for (size_t i = 0; i < learner->integers_count && !learner->waiting; i++) {
    const opc_integers_t *own = &learner->integers[i].own;
    if (own->count == 0) continue;
    const bool is_sum = learn_sum(learner, i);
    learn_lowest(learner, i, is_sum);
    if (is_sum) continue;
    bool bounded = learn_bound_at(learner, i, own->count - 1);
    if (!bounded && own->count > 1) learn_bound_at(learner, i, 0);
    learn_order(learner, i);
    learn_from_end(learner, i);
  }
}
