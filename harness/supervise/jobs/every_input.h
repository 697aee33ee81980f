/* Whether an operator goes out of bounds on every input that it accepts. Then no argument is to blame, and the access
 * is an error even if nobody vouches for the input. Requires that under check memory at least five inputs of different
 * sizes show it and none is clean. If there are integer tensors, the same input with zeros in them must show it too.
 *
 * Ownership: keeps only numbers. Threads: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sample/sample.h"
#include "result/case_result.h"

enum { OPC_EVERY_INPUT_SIZES = 5 };

typedef struct opc_every_input {
  uint64_t sizes[OPC_EVERY_INPUT_SIZES]; /* digests of the sizes that showed it */
  size_t count;
  bool clean;                     /* an accepted input did not show it */
  bool integers, zeros, not_zero; /* integers: an input had integer tensors; zeros, not_zero: with zeros in them it
                                     showed, or did not show */
} opc_every_input_t;

/* Takes the result of a case into account; ignores other checks than memory. */
void opc_every_input_note(opc_every_input_t *seen, const opc_case_result_t *result, const opc_sample_set_t *samples,
                          const opc_operator_t *op);
bool opc_every_input_holds(const opc_every_input_t *seen);
