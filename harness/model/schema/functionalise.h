/* Whether torch.compile can functionalise an operator: replace what is written, or shared, by values that are passed
 * on. The rule needs the schema and the kernels alone. No call.
 *
 * Ownership: nothing is kept. Threads: any. */
#ifndef OPC_MODEL_SCHEMA_FUNCTIONALISE_H
#define OPC_MODEL_SCHEMA_FUNCTIONALISE_H

#include "base/text.h"
#include "model/schema/schema.h"

typedef enum opc_functionalise {
  OPC_FUNCTIONALISE_FUNCTIONAL = 0, /* there is nothing to replace: no alias annotation */
  OPC_FUNCTIONALISE_AUTOMATIC,      /* auto_functionalized takes it */
  OPC_FUNCTIONALISE_OWN_KERNEL,     /* it brings a kernel at Functionalize */
  OPC_FUNCTIONALISE_DECOMPOSED,     /* composite: never seen as an operator */
  OPC_FUNCTIONALISE_BUILT_IN,       /* libtorch's own, which has rules of its own */
  OPC_FUNCTIONALISE_REFUSED
} opc_functionalise_t;

/* *out_reason gets a sentence without a full stop, also where it is not refused. From
 * torch/_higher_order_ops/auto_functionalize.py (can_auto_functionalize) and the C++ fallback at key Functionalize,
 * which refuses each annotation that the first does not take. */
opc_functionalise_t opc_functionalise_rule(const opc_operator_t *op, opc_text_t *out_reason);

#endif
