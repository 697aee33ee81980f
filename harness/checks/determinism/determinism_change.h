/* Inside check determinism: changes something in a sample that an operator may keep between calls, or refuse.
 *
 * The changed sample need not be valid: the calls are made in a subprocess. Ownership: the caller clears the sample.
 * Threads: any. */
#pragma once

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
/* What a result may be kept under without being part of the key. */
typedef enum opc_turn {
  OPC_TURN_OPTIONS = 0, /* other floating-point numbers and every flag inverted, or one of the two */
  OPC_TURN_DTYPE,       /* float64 in place of another floating dtype, float32 in place of float64 */
  OPC_TURNS
} opc_turn_t;
opc_change_state_t opc_change_turn(const opc_operator_t *op, const opc_sample_t *sample, opc_turn_t turn,
                                   opc_sample_t *out, char *what, size_t size);
