/* Variants that preserve the known relations between a sample's arguments: sizes that must agree change together, and
 * integers that depend on a size change with it.
 *
 * Ownership: samples are the caller's, changed in place. False: impossible or out of memory; the sample may then be
 * partly changed. Threads: no shared state. No libtorch. */
#pragma once

#include "model/sample/relations.h"

/* Changes the size of a place, and nothing else. */
bool opc_related_resize(opc_sample_t *sample, const opc_operator_t *op, const opc_size_place_t *place, int64_t size);
/* Fills an integer tensor with these values. */
bool opc_related_fill(opc_tensor_spec_t *spec, const int64_t *values, size_t count);
/* Adapts the integers of resized tensors to those of the base (ascending ones keep first and last), and to the
 * relations: none exceeds its bound, sums are kept. */
bool opc_related_contents(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op,
                          const opc_relations_t *relations);
/* Some sizes in `changed` differ from the base's: adapts the sizes that relations tie to them, then the integers. Also
 * false if the relations do not hold in the end. */
bool opc_related_fit(opc_sample_t *changed, const opc_sample_t *base, const opc_operator_t *op);
/* True if the arguments of the two differ. */
bool opc_related_differs(const opc_sample_t *left, const opc_sample_t *right, const opc_operator_t *op);
