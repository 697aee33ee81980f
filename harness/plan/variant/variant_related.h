/* Variants that keep what is known of a sample's arguments: sizes that have to agree follow one another, and integers
 * that say something about a size follow it.
 *
 * Ownership: samples are the caller's, changed in place. False: it cannot be done, or memory ran out; the sample is
 * changed in part then. Threads: none shared. No libtorch. */
#ifndef OPC_PLAN_VARIANT_VARIANT_RELATED_H
#define OPC_PLAN_VARIANT_VARIANT_RELATED_H

#include "model/sample/relations.h"

/* Gives a place another size, and nothing else. */
bool opc_related_resize(opc_sample_t *sample, const opc_operator_t *op, const opc_size_place_t *place, int64_t size);
/* Gives integers a tensor of integers. */
bool opc_related_fill(opc_tensor_spec_t *spec, const int64_t *values, size_t count);
/* The integers of resized tensors follow those of the base (first and last stay, where they ascend), and the relations:
 * none beyond its bound, the same sum. */
bool opc_related_contents(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op,
                          const opc_relations_t *relations);
/* Some sizes of `changed` are others than the base's: those that the base's relations tie to them follow, then the
 * integers. False as well where the relations do not hold in the end. */
bool opc_related_fit(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op);
/* The arguments of the two are not the same. */
bool opc_related_differs(const opc_sample_t *left, const opc_sample_t *right, const opc_operator_t *op);

#endif
