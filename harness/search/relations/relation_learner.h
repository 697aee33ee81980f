/* Learns the relations between a sample's arguments by trying. Starting from a sample that runs cleanly, it makes one
 * change and checks the outcome. A change that is not clean alone, but clean together with others, is a relation.
 *
 * - First integers, at the sample's sizes. An element is raised to the existing sizes until a call is not clean; the
 *   size whose growth makes it clean is its bound. Two elements are swapped (do they ascend?). One unit is added, or
 *   moved from one element to another (do they sum to a size?).
 * - Then sizes: each one larger and one smaller alone, with integers adapted to what is known. If that is not clean, it
 *   is tried together with equal sizes, and with those larger by one (offsets of B + 1). The smallest joint change that
 *   is clean in both directions is a relation. A size that can neither grow nor shrink is fixed, or a multiple.
 * - "Clean" is the result of a call in guarded memory: nothing out of bounds, no result that depends on uninitialised
 *   memory, no exception, no timeout. A rejection also indicates a relation: one that the operator checks.
 * Sizes 0 and 1 say nothing (they broadcast, loops end at once): less is learned then. Order and number of tries depend
 * only on the sample and the outcomes. Nothing is executed here; the caller runs the tries.
 *
 * Ownership: opc_learner_free; the sample is copied, the operator must outlive the learner. Threads: one learner, one
 * thread. Errors: only out of memory. No libtorch. */
#pragma once

#include "model/sample/relations.h"

enum {
  OPC_LEARNER_TRIES_MAX = 96, /* per sample */
  OPC_LEARNER_HANGS_MAX = 2   /* afterwards nothing more is tried */
};

/* Outcome of a try. */
typedef enum opc_learn_outcome {
  OPC_LEARN_NONE = 0, /* it was not run */
  OPC_LEARN_CLEAN,
  OPC_LEARN_REFUSED, /* the operator threw an exception of its own */
  OPC_LEARN_READ,    /* out of bounds */
  OPC_LEARN_WROTE,
  OPC_LEARN_POISON, /* the result depends on uninitialised memory */
  OPC_LEARN_THREW,
  OPC_LEARN_CRASHED,
  OPC_LEARN_HUNG
} opc_learn_outcome_t;

typedef struct opc_learner opc_learner_t;

/* False: there is nothing to learn (one tensor of one dimension, no integers), or the arguments are too large. */
bool opc_learner_is_worth_it(const opc_operator_t *op, const opc_sample_t *sample);
/* seed: the run's, for random integers. unknown: flags of arguments that must not be tried, by index; NULL: none. */
opc_status_t opc_learner_new(const opc_operator_t *op, const opc_sample_t *sample, uint64_t seed, const bool *unknown,
                             opc_learner_t **out, opc_error_t *error) OPC_CHECKED;
void opc_learner_free(opc_learner_t *learner);
/* The next try; the caller clears it and reports its outcome. False: finished (or out of memory). */
bool opc_learner_next(opc_learner_t *learner, opc_sample_t *out);
void opc_learner_tell(opc_learner_t *learner, opc_learn_outcome_t outcome);

/* Ends the tries: arguments with open questions become UNKNOWN. */
void opc_learner_stop(opc_learner_t *learner);
size_t opc_learner_tries(const opc_learner_t *learner);
/* Marks the arguments on which a try hung; op->argument_count entries. */
void opc_learner_hung(const opc_learner_t *learner, bool *arguments);
/* The learned relations, for the sample; NULL: none, because the sample itself is not clean. */
opc_status_t opc_learner_take(opc_learner_t *learner, opc_relations_t **out, opc_error_t *error) OPC_CHECKED;

/* The relations learned from one sample, as far as they hold for another one of the same operator whose tensors have
 * the same ranks. NULL: they do not hold, or the tensors differ. */
opc_status_t opc_relations_transfer(const opc_operator_t *op, const opc_sample_t *from, const opc_sample_t *to,
                                    opc_relations_t **out, opc_error_t *error) OPC_CHECKED;
