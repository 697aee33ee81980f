/* Integers that are data (bytes of an image, codes), unlike indices, which must be zeros and ones: other values for the
 * integer tensors of an accepted call. Small values cannot distinguish an index, length or count from data, as a wrong
 * index may still lie in some tensor. So a tensor first gets values far out of any range, positive, then negative. If
 * the operator stays within its memory, they are data, and the tensor gets a range of moderate values. Not for use
 * outside harness/search/engine.
 *
 * Ownership: the lists of candidates own what is added. Threads: one. */
#pragma once

#include "search/draft/search_inside.h"
#include "search/engine/search.h"

/* Adds the first tries: far values in all integer tensors that are read; if there are several, then in each alone. */
void opc_option_integers_begin(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out);
/* True if the sample has such far values: it is a probe, not an input. */
bool opc_option_integers_are_far(const opc_sample_t *sample);
/* Adds the tries that follow `far`; within: the operator stayed within its memory. Adds nothing at the end. */
void opc_option_integers_go_on(const opc_sample_t *far, bool within, opc_candidates_t *out);
