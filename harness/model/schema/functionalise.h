/* Whether torch.compile can functionalise an operator: replace mutation and aliasing by new values that are passed on.
 * The rule needs only the schema and the kernels, no call.
 *
 * Ownership: nothing is kept. Threads: any. */
#pragma once

#include "base/text.h"
#include "model/schema/schema.h"

typedef enum opc_functionalise {
  OPC_FUNCTIONALISE_FUNCTIONAL = 0, /* no alias annotation: nothing to replace */
  OPC_FUNCTIONALISE_AUTOMATIC,      /* auto_functionalized handles it */
  OPC_FUNCTIONALISE_OWN_KERNEL,     /* it has its own Functionalize kernel */
  OPC_FUNCTIONALISE_DECOMPOSED,     /* composite: torch.compile never sees it as an operator */
  OPC_FUNCTIONALISE_BUILT_IN,       /* libtorch's own operator, with its own rules */
  OPC_FUNCTIONALISE_REFUSED
} opc_functionalise_t;

/* *out_reason gets a sentence without a full stop, even if the operator is not refused. From
 * torch/_higher_order_ops/auto_functionalize.py (can_auto_functionalize) and the C++ fallback at key Functionalize,
 * which refuses every annotation that can_auto_functionalize does not accept. */
opc_functionalise_t opc_functionalise_rule(const opc_operator_t *op, opc_text_t *out_reason);
