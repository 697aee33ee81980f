/* Inside check determinism: changes something in a sample that an operator may keep between calls, or refuse.
 *
 * The changed sample need not be valid: the calls are made in a subprocess. Ownership: the caller clears the sample.
 * Threads: any. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_CHANGE_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_CHANGE_H

#include "model/sample/sample.h"

typedef enum opc_change_state {
  OPC_CHANGE_MADE = 0,
  OPC_CHANGE_NOT_HERE /* the sample has nothing that this change applies to */,
  OPC_CHANGES_OVER
} opc_change_state_t;

/* From this change on, shapes do not fit: a kernel that trusts them may crash. */
extern const size_t opc_change_first_misfit;

/* The number-th change, from 0: dtypes, sizes, numbers and flags, then shapes that do not fit. `what` gets its
 * description. */
opc_change_state_t opc_change_make(const opc_operator_t *op, const opc_sample_t *sample, size_t number,
                                   opc_sample_t *out, char *what, size_t size);
/* Changes floating-point numbers and inverts every flag, or does one of the two. */
opc_change_state_t opc_change_options(const opc_operator_t *op, const opc_sample_t *sample, opc_sample_t *out,
                                      char *what, size_t size);

#endif
