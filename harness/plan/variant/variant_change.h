/* How far a variant goes away from its sample: whether who vouches for the sample vouches for the variant, too.
 *
 * Threads: any. No libtorch. Cheap: descriptions are compared, and the values of small tensors of integers. */
#ifndef OPC_PLAN_VARIANT_VARIANT_CHANGE_H
#define OPC_PLAN_VARIANT_VARIANT_CHANGE_H

#include "model/case/standing.h"
#include "plan/variant/variant.h"

/* varied: the base with the variant, and with another dtype where the case has one. Out of memory: ALONE. */
opc_input_change_t opc_variant_change(const opc_sample_t *base, const opc_operator_t *op, const opc_sample_t *varied,
                                      const char *variant);

/* The integers that are no tensors are the base's: no relation has changed them. */
bool opc_variant_keeps_integers(const opc_sample_t *base, const opc_sample_t *varied);

#endif
