/* Which sizes change together. */
#include <stdlib.h>
#include <string.h>

#include "search/relations/learner_state.h"

static bool is_clean(opc_learner_t *learner, uint32_t set, int64_t by) {
  const learn_edits_t edits = learn_joint(learner, set, by);
  return learn_ask(learner, &edits) == OPC_LEARN_CLEAN;
}

static opc_learn_outcome_t alone(opc_learner_t *learner, size_t place, int64_t by) {
  const learn_edits_t edits = learn_joint(learner, UINT32_C(1) << place, by);
  return learn_ask(learner, &edits);
}

static uint32_t learner_sizes_places_of(const opc_learner_t *learner, int64_t size) {
  uint32_t set = 0;
  for (size_t i = 0; i < learner->place_count; i++)
    if (learner->places[i].size == size) set |= UINT32_C(1) << i;
  return set;
}

/* Those of the set that are dimensions of tensors. */
static uint32_t dimensions_of(const opc_learner_t *learner, uint32_t set) {
  for (size_t i = 0; i < learner->place_count; i++)
    if (learner->places[i].dim == OPC_PLACE_INTEGER) set &= ~(UINT32_C(1) << i);
  return set;
}

static bool has_several(uint32_t set) { return (set & (set - 1)) != 0; }

/* The smallest part of the set, with the place, that stays clean when it changes; 0: none. */
static uint32_t smallest_of(opc_learner_t *learner, uint32_t set, size_t place, int64_t by) {
  const uint32_t own = UINT32_C(1) << place;
  set |= own;
  if (!has_several(set)) return 0;
  if (is_clean(learner, set, by)) {
    for (size_t i = 0; i < learner->place_count; i++) {
      const uint32_t one = UINT32_C(1) << i;
      if (!(set & one) || one == own || !has_several(set & ~one)) continue;
      if (is_clean(learner, set & ~one, by)) set &= ~one;
    }
    return set;
  }
  for (size_t i = 0; i < learner->place_count && has_several(set & ~own); i++) {
    const uint32_t one = UINT32_C(1) << i;
    if ((set & one) && one != own && is_clean(learner, own | one, by)) return own | one;
  }
  return 0;
}

static bool ascends(const opc_learner_t *learner, const char *path) {
  for (size_t i = 0; i < learner->relations->count; i++) {
    const opc_relation_t *relation = &learner->relations->items[i];
    if (relation->kind == OPC_RELATION_ASCENDING && strcmp(relation->values, path) == 0) return true;
  }
  return false;
}

/* The ends of a single segment: without it there is nothing to divide, so that they cannot become fewer. */
static bool are_ends(const opc_learner_t *learner, uint32_t set) {
  for (size_t i = 0; i < learner->place_count; i++)
    if ((set >> i & 1) && (learner->places[i].size != 2 || !ascends(learner, learner->places[i].path))) return false;
  return true;
}

/* Clean both larger and smaller: a change that is clean in one direction only is an accident of the values. */
static bool holds_both_ways(opc_learner_t *learner, uint32_t set, int64_t size, int64_t by) {
  if (by > 0 && are_ends(learner, set)) return is_clean(learner, set, size);
  if (by > 0) return is_clean(learner, set, -1) || (size >= 4 && is_clean(learner, set, -size / 2));
  return is_clean(learner, set, 1) || is_clean(learner, set, size);
}

static void join(opc_learner_t *learner, uint32_t set) {
  int group = learner->groups++;
  for (size_t i = 0; i < learner->place_count; i++) {
    const int other = learner->places[i].group;
    if (!(set >> i & 1)) continue;
    for (size_t j = 0; j < learner->place_count && other >= 0; j++)
      if (learner->places[j].group == other) learner->places[j].group = group;
    learner->places[i].group = group;
  }
}

/* For a place that does not change alone: finds the others that change with it. */
static void learn_group(opc_learner_t *learner, size_t place, int64_t by) {
  const learn_place_t *own = &learner->places[place];
  const uint32_t same = learner_sizes_places_of(learner, own->size);
  const uint32_t longer = dimensions_of(learner, learner_sizes_places_of(learner, own->size + 1));
  const struct {
    uint32_t set;
    int64_t by;
  } steps[] = {{same, by}, {longer ? same | longer : 0, by}, {by > 0 ? same : 0, own->size}};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !learner->waiting; i++) {
    if (!steps[i].set) continue;
    const uint32_t set = smallest_of(learner, steps[i].set, place, steps[i].by);
    if (!set || !holds_both_ways(learner, set, own->size, by)) continue;
    join(learner, set);
    return;
  }
}

static void try_alone(opc_learner_t *learner) {
  for (size_t i = 0; i < learner->place_count; i++) {
    learner->places[i].group = -1;
    learner->places[i].larger = learner->places[i].smaller = OPC_LEARN_NONE;
    if (learner->places[i].size < 2) continue;
    learner->places[i].larger = alone(learner, i, 1);
    learner->places[i].smaller = alone(learner, i, -1);
  }
}

static void add_group(opc_learner_t *learner, int group) {
  opc_relation_t relation = {.kind = OPC_RELATION_EQUAL};
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < learner->place_count; i++)
    if (learner->places[i].group == group && learner->places[i].size < least) least = learner->places[i].size;
  for (size_t i = 0; i < learner->place_count; i++) {
    const learn_place_t *place = &learner->places[i];
    if (place->group != group) continue;
    learn_add_place(learner, &relation, i, place->size - least);
    relation.checked |= place->larger == OPC_LEARN_REFUSED || place->smaller == OPC_LEARN_REFUSED;
  }
  if (relation.place_count > 1) learn_add(learner, &relation);
  else opc_relation_clear(&relation);
}

/* One more integer may be clean where many more are not: they count something. */
static void learn_many(opc_learner_t *learner, size_t index) {
  const learn_place_t *place = &learner->places[index];
  opc_relation_t relation = {.kind = OPC_RELATION_UNKNOWN};
  bool integers = false;
  for (size_t i = 0; i < learner->integers_count; i++) integers |= strcmp(learner->integers[i].path, place->path) == 0;
  if (!integers || place->larger != OPC_LEARN_CLEAN || !learn_is_broken(alone(learner, index, 2 * place->size))) return;
  learn_add_place(learner, &relation, index, 0);
  learn_add(learner, &relation);
}

/* A size that can neither grow nor shrink, with others or alone. If two more and two less are clean, it must be even. A
 * size that shrinks but cannot grow depends on something unknown. */
static void learn_fixed(opc_learner_t *learner, size_t index) {
  const learn_place_t *place = &learner->places[index];
  opc_relation_t relation = {.kind = OPC_RELATION_FIXED, .number = place->size};
  if (!learn_is_broken(place->larger)) {
    learn_many(learner, index);
    return;
  }
  if (!learn_is_broken(place->smaller)) {
    relation.kind = OPC_RELATION_UNKNOWN;
  } else if (place->size % 2 == 0 && alone(learner, index, 2) == OPC_LEARN_CLEAN) {
    const bool even = place->size >= 4 && alone(learner, index, -2) == OPC_LEARN_CLEAN;
    relation.kind = even ? OPC_RELATION_MULTIPLE : OPC_RELATION_UNKNOWN;
    relation.number = 2;
  } else if (alone(learner, index, place->size) == OPC_LEARN_CLEAN) {
    relation.kind = OPC_RELATION_MULTIPLE;
  }
  if (learner->waiting) return;
  relation.checked = place->larger == OPC_LEARN_REFUSED && place->smaller == OPC_LEARN_REFUSED;
  learn_add_place(learner, &relation, index, 0);
  learn_add(learner, &relation);
}

/* Some tensor with elements has no size in the set. Without a batch nothing is left; without a table, the tensors that
 * index it are left. */
static bool leaves_others(const opc_learner_t *learner, uint32_t set) {
  for (size_t i = 0; i < learner->place_count; i++) {
    const learn_place_t *place = &learner->places[i];
    bool among = place->dim == OPC_PLACE_INTEGER || place->size == 0;
    for (size_t k = 0; k < learner->place_count && !among; k++)
      among = (set >> k & 1) && strcmp(learner->places[k].path, place->path) == 0;
    if (!among) return true;
  }
  return false;
}

static void add_least(opc_learner_t *learner, uint32_t set, int64_t less) {
  for (size_t i = 0; i < learner->place_count && !learner->waiting; i++) {
    opc_relation_t relation = {.kind = OPC_RELATION_LEAST, .number = learner->places[i].size - less};
    if (!(set >> i & 1) || learner->places[i].dim == OPC_PLACE_INTEGER) continue;
    relation.checked = learner->places[i].smaller == OPC_LEARN_REFUSED;
    learn_add_place(learner, &relation, i, 0);
    learn_add(learner, &relation);
  }
}

static bool is_broken_by(opc_learner_t *learner, uint32_t set, int64_t by, bool follow) {
  learn_edits_t edits = learn_joint(learner, set, by);
  edits.follow = follow;
  return learn_is_broken(learn_ask(learner, &edits));
}

/* Others may be read as far as this one originally reached: a much smaller size shows it. If other tensors keep
 * elements, this one need not be allowed to be empty. */
static void learn_least(opc_learner_t *learner, uint32_t set, bool smaller_is_clean) {
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < learner->place_count; i++)
    if ((set >> i & 1) && learner->places[i].size < least) least = learner->places[i].size;
  if (least < 2) return;
  if (!smaller_is_clean) add_least(learner, set, 0);
  else if (least > 2 && is_broken_by(learner, set, 1 - least, false)) add_least(learner, set, 1);
  else if (leaves_others(learner, set) && is_broken_by(learner, set, -least, true)) add_least(learner, set, least - 1);
}

static void learn_least_of_all(opc_learner_t *learner) {
  for (int group = 0; group < learner->groups && !learner->waiting; group++) {
    uint32_t set = 0;
    for (size_t i = 0; i < learner->place_count; i++)
      if (learner->places[i].group == group) set |= UINT32_C(1) << i;
    if (set) learn_least(learner, set, true);
  }
  for (size_t i = 0; i < learner->place_count && !learner->waiting; i++) {
    const learn_place_t *place = &learner->places[i];
    if (place->group >= 0 || place->dim == OPC_PLACE_INTEGER || place->larger != OPC_LEARN_CLEAN) continue;
    if (place->smaller != OPC_LEARN_NONE) learn_least(learner, UINT32_C(1) << i, place->smaller == OPC_LEARN_CLEAN);
  }
}

/* A size of 1 may broadcast. Where the operator refuses each of several larger ones alone, and takes them together, it
 * does not. */
static void learn_single(opc_learner_t *learner, size_t place) {
  const uint32_t same = dimensions_of(learner, learner_sizes_places_of(learner, 1));
  if (!has_several(same) || alone(learner, place, 1) != OPC_LEARN_REFUSED) return;
  const uint32_t set = smallest_of(learner, same, place, 1);
  for (size_t i = 0; i < learner->place_count; i++)
    if ((set >> i & 1) && alone(learner, i, 1) != OPC_LEARN_REFUSED) return;
  if (!set || learner->waiting || !is_clean(learner, set, 2)) return;
  for (size_t i = 0; i < learner->place_count; i++)
    if (set >> i & 1) learner->places[i].larger = OPC_LEARN_REFUSED;
  join(learner, set);
}

/* Any other size of 0 or 1 does not show how it relates to others, if there are others. */
static void leave_small(opc_learner_t *learner) {
  bool others = learner->integers_count > 0;
  for (size_t i = 1; i < learner->place_count; i++)
    others |= learner->places[i].argument != learner->places[0].argument;
  for (size_t i = 0; i < learner->place_count && others; i++) {
    opc_relation_t relation = {.kind = OPC_RELATION_UNKNOWN};
    if (learner->places[i].size > 1 || learner->places[i].dim == OPC_PLACE_INTEGER || learner->places[i].group >= 0)
      continue;
    learn_add_place(learner, &relation, i, 0);
    learn_add(learner, &relation);
  }
}

/* The smallest size above this one; INT64_MAX: none. */
static int64_t next_size(const opc_learner_t *learner, int64_t above) {
  int64_t next = INT64_MAX;
  for (size_t i = 0; i < learner->place_count; i++) {
    const int64_t size = learner->places[i].size;
    if (size > above && size < next) next = size;
  }
  return next;
}

void learn_sizes_all(opc_learner_t *learner) {
  try_alone(learner);
  for (int64_t size = next_size(learner, 1); size < INT64_MAX && !learner->waiting; size = next_size(learner, size)) {
    for (size_t i = 0; i < learner->place_count && !learner->waiting; i++) {
      const learn_place_t *place = &learner->places[i];
      if (place->size != size) continue;
      if (place->group < 0 && learn_is_broken(place->larger)) learn_group(learner, i, 1);
      if (place->group < 0 && learn_is_broken(place->smaller)) learn_group(learner, i, -1);
    }
  }
  for (size_t i = 0; i < learner->place_count && !learner->waiting; i++) {
    const learn_place_t *place = &learner->places[i];
    if (place->size == 1 && place->group < 0 && place->dim != OPC_PLACE_INTEGER) learn_single(learner, i);
  }
  for (int group = 0; group < learner->groups && !learner->waiting; group++) add_group(learner, group);
  for (size_t i = 0; i < learner->place_count && !learner->waiting; i++) {
    const learn_place_t *place = &learner->places[i];
    if (place->group < 0 && place->dim != OPC_PLACE_INTEGER) learn_fixed(learner, i);
  }
  if (!learner->waiting) learn_least_of_all(learner);
  if (!learner->waiting) leave_small(learner);
}
