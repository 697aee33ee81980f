/* Integers that are data, bytes of an image or codes, and not only the zeros and ones that indices have to be: other
 * values for the tensors of integers of a call that was accepted. What is an index, a length or a count is not to be
 * told from data by small values: one that is wrong may well lie in some tensor. So a tensor is given values first that
 * lie far outside whatever there could be, positive and then negative ones; an operator that stays within its memory
 * with those takes them for data, and gets a range of middling ones. Not for use outside harness/search/engine.
 *
 * Ownership: the lists of candidates own what is added. Threads: one. */
#ifndef OPC_SEARCH_ENGINE_SEARCH_OPTION_INTEGERS_H
#define OPC_SEARCH_ENGINE_SEARCH_OPTION_INTEGERS_H

#include "search/draft/search_inside.h"
#include "search/engine/search.h"

/* Adds the first tries: all tensors of integers that are read with values far away, then, of several, each alone. */
void opc_option_integers_begin(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out);
/* Whether such values are in it: it is there to ask, and is no input. */
bool opc_option_integers_are_far(const opc_sample_t *sample);
/* Adds what is to be tried after `far`, with which the operator stayed within its memory or did not; nothing where that
 * is all. */
void opc_option_integers_go_on(const opc_sample_t *far, bool within, opc_candidates_t *out);

#endif
