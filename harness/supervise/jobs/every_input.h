/* Whether an operator breaks a rule on every input that it accepts. Then no argument is to blame, and the finding is an
 * error even if nobody vouches for the input.
 *
 * Access out of bounds: under check memory at least five inputs of different sizes must show it and none may be clean.
 * If there are integer tensors, the same input with zeros in them must show it too.
 * A Meta kernel that gives another shape or dtype (meta.shape, meta.dtype): at least three unmodified inputs must show
 * it, and none may not.
 *
 * Ownership: keeps only numbers. Threads: one. */
#ifndef OPC_SUPERVISE_JOBS_EVERY_INPUT_H
#define OPC_SUPERVISE_JOBS_EVERY_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sample/sample.h"

enum { OPC_EVERY_INPUT_SIZES = 5, OPC_EVERY_INPUT_META = 3 };

typedef struct opc_every_input {
  uint64_t sizes[OPC_EVERY_INPUT_SIZES]; /* digests of the sizes that showed it */
  size_t count;
  bool clean;                     /* an accepted input did not show it */
  bool integers, zeros, not_zero; /* integers: an input had integer tensors; zeros, not_zero: with zeros in them it
                                     showed, or did not show */
  size_t meta_inputs, meta_shape, meta_dtype; /* unmodified inputs under check meta, and how many broke the rule */
} opc_every_input_t;

/* Takes the result of a case into account; ignores other checks than memory and meta. */
void opc_every_input_note(opc_every_input_t *seen, const json_t *result, const opc_sample_set_t *samples,
                          const opc_operator_t *op);
/* For a finding of this rule. */
bool opc_every_input_holds(const opc_every_input_t *seen, const char *rule);

#endif
