/* What a sample's arguments have to do with each other, found out by trying. From a sample that runs cleanly one thing
 * is changed, and the outcome looked at; a change that is not clean alone and clean together with others is a relation.
 *
 * - Integers first, at the sizes that the sample has: an element is raised to the sizes that there are until a call is
 *   not clean, and the size whose growth makes it clean bounds it. Two elements are swapped (they ascend?). One unit is
 *   added, and moved from one element to another (they sum to a size?).
 * - Then sizes: each one larger and one smaller alone, the integers following what is known of them. What is not clean
 *   is tried together with the equal sizes, and those one larger (offsets of B + 1); the smallest joint change that is
 *   clean in both directions is a relation. A size that neither grows nor shrinks is fixed, or a multiple.
 * - "Clean" is what a call in guarded memory says: nothing out of bounds, nothing that memory without values decides,
 *   nothing thrown, in time. A refusal alone is a relation as well: one that the operator checks.
 * A size of 0 or 1 tells nothing (it broadcasts, loops end at once): less is learned then. The order and the number of
 * tries follow from the sample and the outcomes alone. Nothing is run here; the caller runs what it is given.
 *
 * Ownership: opc_learner_free; operator and sample are copied or outlive it (the operator). Threads: one learner, one
 * thread. Errors: memory alone. No libtorch. */
#ifndef OPC_SEARCH_RELATIONS_RELATION_LEARNER_H
#define OPC_SEARCH_RELATIONS_RELATION_LEARNER_H

#include "model/sample/relations.h"

enum {
  OPC_LEARNER_TRIES_MAX = 96, /* a sample */
  OPC_LEARNER_HANGS_MAX = 2   /* then nothing more is tried */
};

/* What came of a try. */
typedef enum opc_learn_outcome {
  OPC_LEARN_NONE = 0, /* it was not made */
  OPC_LEARN_CLEAN,
  OPC_LEARN_REFUSED, /* an exception of the operator's own */
  OPC_LEARN_READ,    /* out of bounds */
  OPC_LEARN_WROTE,
  OPC_LEARN_POISON, /* the result depends on memory that nothing initialised */
  OPC_LEARN_THREW,
  OPC_LEARN_CRASHED,
  OPC_LEARN_HUNG
} opc_learn_outcome_t;

typedef struct opc_learner opc_learner_t;

/* False: there is nothing to learn of such arguments (one tensor of one dimension, no integers), or they are too large.
 */
bool opc_learner_is_worth_it(const opc_operator_t *op, const opc_sample_t *sample);
/* seed: of the run, for random integers. unknown: arguments that are not to be tried, by index; NULL: none. */
opc_status_t opc_learner_new(const opc_operator_t *op, const opc_sample_t *sample, uint64_t seed, const bool *unknown,
                             opc_learner_t **out, opc_error_t *error) OPC_CHECKED;
void opc_learner_free(opc_learner_t *learner);
/* The next try; the caller clears it and tells its outcome. False: it is over (or memory ran out). */
bool opc_learner_next(opc_learner_t *learner, opc_sample_t *out);
void opc_learner_tell(opc_learner_t *learner, opc_learn_outcome_t outcome);

/* No further tries: of arguments that there are questions left about nothing is known. */
void opc_learner_stop(opc_learner_t *learner);
size_t opc_learner_tries(const opc_learner_t *learner);
/* Marks the arguments on which a try hung; op->argument_count entries. */
void opc_learner_hung(const opc_learner_t *learner, bool *arguments);
/* What was learned, for the sample; NULL: nothing, for it is not clean itself. */
opc_status_t opc_learner_take(opc_learner_t *learner, opc_relations_t **out, opc_error_t *error) OPC_CHECKED;

/* What was learned of one sample as far as it holds for another one of the same operator with tensors of as many
 * dimensions; NULL where it does not hold, or the tensors are others. */
opc_status_t opc_relations_transfer(const opc_operator_t *op, const opc_sample_t *from, const opc_sample_t *to,
                                    opc_relations_t **out, opc_error_t *error) OPC_CHECKED;

#endif
