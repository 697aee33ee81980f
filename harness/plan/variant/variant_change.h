/* How far a variant departs from its sample: whether the sample's source also covers the variant.
 *
 * Threads: any. No libtorch. Cheap: compares descriptions, and the values of small integer tensors. */
#pragma once

#include "model/case/provenance.h"
#include "plan/variant/variant.h"

/* varied: the base with the variant, and with the case's dtype if it has one. Out of memory: ALONE. */
opc_input_change_t opc_variant_change(const opc_sample_t *base, const opc_operator_t *op, const opc_sample_t *varied,
                                      const char *variant);

/* True if some tensor has another number of dimensions, other than 0. Relations name dimensions by number, so they say
 * nothing about it. */
bool opc_variant_has_other_dimensions(const opc_sample_t *base, const opc_sample_t *varied);

/* True if integer arguments (not tensors) equal the base's: no relation has changed them. */
bool opc_variant_keeps_integers(const opc_sample_t *base, const opc_sample_t *varied);
