/* Whether an operator leaves its tensors on every input that it accepts. Then no argument is to blame, and the access
 * is an error even where nobody vouches for the input: at least five inputs of different sizes show it under check
 * memory, none is clean, and where there are tensors of integers the same input with zeros in them shows it too.
 *
 * Ownership: nothing is kept but numbers. Threads: one. */
#ifndef OPC_SUPERVISE_JOBS_EVERY_INPUT_H
#define OPC_SUPERVISE_JOBS_EVERY_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sample/sample.h"

enum { OPC_EVERY_INPUT_SIZES = 5 };

typedef struct opc_every_input {
  uint64_t sizes[OPC_EVERY_INPUT_SIZES]; /* digests of the sizes that showed it */
  size_t count;
  bool clean;                     /* an accepted input did not show it */
  bool integers, zeros, not_zero; /* an input had tensors of integers; with zeros in them it showed, or did not show */
} opc_every_input_t;

/* Takes a result of any case into account; those of other checks say nothing. */
void opc_every_input_note(opc_every_input_t *seen, const json_t *result, const opc_sample_set_t *samples,
                          const opc_operator_t *op);
bool opc_every_input_holds(const opc_every_input_t *seen);

#endif
