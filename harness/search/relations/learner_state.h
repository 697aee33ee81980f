/* Internals of the learner. Its strategy is written as if each try were answered at once. A try with an unknown outcome
 * ends the run (`waiting`). Once the outcome is known, everything runs again from the start, with the outcomes so far.
 *
 * Ownership: relation_learner.c owns everything; paths are the learner's own strings. Threads: one. */
#pragma once

#include "search/relations/relation_learner.h"

enum { LEARN_PLACES_MAX = 32, LEARN_INTEGERS_MAX = 12, LEARN_EDITS_MAX = LEARN_PLACES_MAX + 4 };

/* A size that can change: of a tensor's dimension, or the value of an integer argument. */
typedef struct learn_place {
  char *path;
  int dim; /* OPC_PLACE_INTEGER */
  size_t argument;
  int64_t size;
  opc_learn_outcome_t larger, smaller; /* outcome of changing it alone by one */
  int group;                           /* group of equal sizes; -1: none */
} learn_place_t;

/* Integers that may depend on a size: a tensor's, or an integer argument. */
typedef struct learn_integers {
  char *path;
  size_t argument;
  bool plain;  /* an integer argument */
  bool random; /* differ in each sample: only a bound can be learned */
  int ndim;
  int64_t limit; /* the largest value of the dtype */
  opc_integers_t own;
} learn_integers_t;

typedef struct learn_edit {
  enum { LEARN_RESIZE, LEARN_ELEMENT } kind;
  size_t index; /* of the place, or of the integers */
  size_t element;
  int64_t value; /* the size, or the element */
} learn_edit_t;

typedef struct learn_edits {
  learn_edit_t items[LEARN_EDITS_MAX];
  size_t count;
  bool follow; /* other sizes are adapted to the known relations, as in a variant */
} learn_edits_t;

struct opc_learner {
  const opc_operator_t *op;
  opc_sample_t sample, base; /* sample: as given; base: with its random integers made explicit */
  bool *avoided,
      *left_out; /* avoided: arguments that are no longer tried; left_out: arguments with an unanswered question */
  bool *values_avoided; /* arguments whose values are no longer tried: a hang on values says nothing about sizes */
  bool *unknown;        /* arguments that the caller named as unknown */
  int hangs;

  learn_place_t places[LEARN_PLACES_MAX];
  size_t place_count;
  learn_integers_t integers[LEARN_INTEGERS_MAX];
  size_t integers_count;

  opc_learn_outcome_t answers[OPC_LEARNER_TRIES_MAX];
  size_t answered, asked;
  bool waiting, over, stopped, failed;
  learn_edits_t wanted;

  bool clean; /* the sample itself runs cleanly */
  opc_relations_t *relations;
  int groups;
};

/* The outcome of the base with these edits; integers are adapted to what is known so far. NONE: no outcome (yet).
 * learner_tries.c */
opc_learn_outcome_t learn_ask(opc_learner_t *learner, const learn_edits_t *edits);
bool learn_make(const opc_learner_t *learner, const learn_edits_t *edits, opc_sample_t *out);
void learn_resize(learn_edits_t *edits, size_t place, int64_t size);
void learn_element(learn_edits_t *edits, size_t integers, size_t element, int64_t value);
/* Changes all places of the set (one bit per place) by `by`. */
learn_edits_t learn_joint(const opc_learner_t *learner, uint32_t set, int64_t by);
void learn_add(opc_learner_t *learner, opc_relation_t *relation); /* moves the relation */
void learn_add_place(opc_learner_t *learner, opc_relation_t *relation, size_t place, int64_t more);

void learn_integers_all(opc_learner_t *learner); /* learner_integers.c */
void learn_sizes_all(opc_learner_t *learner);    /* learner_sizes.c */

/* True if it was tried and the outcome was not clean. */
static inline bool learn_is_broken(opc_learn_outcome_t outcome) {
  return outcome != OPC_LEARN_NONE && outcome != OPC_LEARN_CLEAN;
}
