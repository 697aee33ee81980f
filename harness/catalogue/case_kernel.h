/* Which kernel of an operator a case looks at. No libtorch.
 *
 * Threads, fork: constant tables. */
#pragma once

#include "model/case/case.h"
#include "model/schema/schema.h"

enum { OPC_CASE_KERNEL_KEYS = 4 };

typedef struct opc_case_kernel {
  const char *text;                       /* "Meta kernel": of the first key */
  const char *keys[OPC_CASE_KERNEL_KEYS]; /* dispatch keys: the first that the operator has a kernel for; then NULL */
} opc_case_kernel_t;

/* NULL: the case looks at the operator itself, its schema or its tags. */
const opc_case_kernel_t *opc_case_kernel_of(const opc_case_id_t *id);
/* The operator's kernel for it, no fallthrough. NULL: it has none. */
const opc_kernel_t *opc_case_kernel_find(const opc_case_id_t *id, const opc_operator_t *op);
