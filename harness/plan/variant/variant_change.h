/* How far a variant goes away from its sample: whether who vouches for the sample vouches for the variant, too.
 *
 * Threads: any. No libtorch. Cheap: descriptions are compared, and the values of small tensors of integers. */
#ifndef OPC_PLAN_VARIANT_VARIANT_CHANGE_H
#define OPC_PLAN_VARIANT_VARIANT_CHANGE_H

#include "plan/variant/variant.h"

typedef enum opc_input_change {
  OPC_INPUT_SAME_VALUES = 0, /* values, sizes and dtypes are the sample's: another layout, offset or lazy bit */
  OPC_INPUT_RELATED,         /* others, but what is known about the sample's arguments holds */
  OPC_INPUT_ALONE            /* nothing is known to hold */
} opc_input_change_t;

/* varied: the base with the variant, and with another dtype where the case has one. Out of memory: ALONE. */
opc_input_change_t opc_variant_change(const opc_sample_t *base, const opc_operator_t *op, const opc_sample_t *varied,
                                      const char *variant);
/* "same_values", "related", "alone". */
const char *opc_input_change_name(opc_input_change_t change);

#endif
