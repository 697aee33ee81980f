/* Questions to the operator, and the samples that ask them. */
#include <stdlib.h>

#include "plan/variant/variant.h"
#include "search/relations/learner_state.h"

static size_t learner_tries_argument_of(const opc_learner_t *learner, const learn_edit_t *edit) {
  return edit->kind == LEARN_RESIZE ? learner->places[edit->index].argument : learner->integers[edit->index].argument;
}

static bool is_avoided(const opc_learner_t *learner, const learn_edit_t *edit) {
  const size_t argument = learner_tries_argument_of(learner, edit);
  if (learner->hangs >= OPC_LEARNER_HANGS_MAX || learner->avoided[argument]) return true;
  return edit->kind == LEARN_ELEMENT && learner->values_avoided[argument];
}

/* True when the question has no answer, now or later. */
static bool leave_out(opc_learner_t *learner, const learn_edits_t *edits) {
  const bool spent =
      learner->asked == learner->answered && (learner->stopped || learner->answered == OPC_LEARNER_TRIES_MAX);
  bool left_out = spent;
  for (size_t i = 0; i < edits->count; i++) {
    if (!spent && !is_avoided(learner, &edits->items[i])) continue;
    learner->left_out[learner_tries_argument_of(learner, &edits->items[i])] = true;
    left_out = true;
  }
  return left_out;
}

/* The last edit causes the hang: an element comes after the sizes that make room for it. */
static void note_hang(opc_learner_t *learner, const learn_edits_t *edits) {
  learner->hangs++;
  if (edits->count == 0) return;
  const learn_edit_t *last = &edits->items[edits->count - 1];
  bool *avoided = last->kind == LEARN_ELEMENT ? learner->values_avoided : learner->avoided;
  avoided[learner_tries_argument_of(learner, last)] = true;
}

opc_learn_outcome_t learn_ask(opc_learner_t *learner, const learn_edits_t *edits) {
  if (learner->waiting || learner->failed) return OPC_LEARN_NONE;
  if (leave_out(learner, edits)) return OPC_LEARN_NONE;
  if (learner->asked == learner->answered) {
    learner->waiting = true;
    learner->wanted = *edits;
    return OPC_LEARN_NONE;
  }
  const opc_learn_outcome_t outcome = learner->answers[learner->asked++];
  if (outcome == OPC_LEARN_HUNG) note_hang(learner, edits);
  return outcome;
}

/* ---- samples ---- */

static bool set_element(const opc_learner_t *learner, const learn_edit_t *edit, opc_sample_t *sample) {
  const learn_integers_t *integers = &learner->integers[edit->index];
  opc_value_t *value = opc_sample_value(sample, learner->op, integers->path);
  OPC_SCOPED(opc_integers_clear) opc_integers_t now = {0};
  if (!value) return false;
  if (integers->plain) {
    value->integer = edit->value;
    return true;
  }
  if (!opc_integers_of(value->tensor, &now)) return false;
  if (!now.values || edit->element >= now.count) return false;
  now.values[edit->element] = edit->value;
  return opc_related_fill(value->tensor, now.values, now.count);
}

bool learn_make(const opc_learner_t *learner, const learn_edits_t *edits, opc_sample_t *out) {
  bool made = opc_sample_copy(&learner->base, out, NULL) == OPC_OK, resized = false;
  for (size_t i = 0; i < edits->count && made; i++) {
    const learn_edit_t *edit = &edits->items[i];
    if (edit->kind != LEARN_RESIZE) continue;
    const learn_place_t *place = &learner->places[edit->index];
    made =
        opc_related_resize(out, learner->op, &(opc_size_place_t){.path = place->path, .dim = place->dim}, edit->value);
    resized = true;
  }
  if (made && edits->follow) {
    opc_sample_t known = learner->base;
    known.relations = learner->relations;
    made = opc_related_fit(out, &known, learner->op);
  } else if (made && resized) {
    made = opc_related_contents(out, &learner->base, learner->op, learner->relations);
  }
  for (size_t i = 0; i < edits->count && made; i++)
    if (edits->items[i].kind == LEARN_ELEMENT) made = set_element(learner, &edits->items[i], out);
  if (!made) opc_sample_clear(out);
  return made;
}

/* ---- edits ---- */

static void learner_tries_add(learn_edits_t *edits, learn_edit_t edit) {
  if (edits->count < LEARN_EDITS_MAX) edits->items[edits->count++] = edit;
}

void learn_resize(learn_edits_t *edits, size_t place, int64_t size) {
  learner_tries_add(edits, (learn_edit_t){.kind = LEARN_RESIZE, .index = place, .value = size});
}

void learn_element(learn_edits_t *edits, size_t integers, size_t element, int64_t value) {
  learner_tries_add(edits,
                    (learn_edit_t){.kind = LEARN_ELEMENT, .index = integers, .element = element, .value = value});
}

learn_edits_t learn_joint(const opc_learner_t *learner, uint32_t set, int64_t by) {
  learn_edits_t edits = {.count = 0};
  for (size_t i = 0; i < learner->place_count; i++)
    if (set >> i & 1) learn_resize(&edits, i, learner->places[i].size + by);
  return edits;
}

/* ---- relations ---- */

void learn_add(opc_learner_t *learner, opc_relation_t *relation) {
  if (opc_relations_add(learner->relations, relation, NULL) != OPC_OK) learner->failed = true;
}

void learn_add_place(opc_learner_t *learner, opc_relation_t *relation, size_t place, int64_t more) {
  const learn_place_t *at = &learner->places[place];
  if (opc_relation_add_place(relation, at->path, at->dim, more, NULL) != OPC_OK) learner->failed = true;
}
