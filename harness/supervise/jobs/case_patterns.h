/* What the results of an operator's cases show together, and none of them alone.
 *
 * Threads: one. */
#pragma once

#include "model/sample/sample.h"
#include "result/case_result.h"

/* Whether an operator goes out of bounds on every input that it accepts. Then no argument is to blame, and the access
 * is an error even if nobody vouches for the input. Requires that under check memory at least five inputs of
 * different sizes show it and none is clean. If there are integer tensors, the same input with zeros in them must
 * show it too.
 *
 * Ownership: keeps only numbers. */

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

/* Whether an operator follows the strides of its arguments. It does if it gave the same bits in check stride with
 * gaps between all elements of a sample (sliced), and between all rows (padded). If it then goes out of bounds in a
 * third layout, the layout is not to blame: an index is too large for the sizes, and in the other layouts it meets
 * the next row or a gap. Two layouts prove nothing of this kind. Kernels have separate code for channels_last, and
 * some take an expanded tensor for a dense one, because its stride of 0 is not above 1.
 *
 * Ownership: opc_kept_layouts_clear. */

typedef struct opc_kept_layouts {
  uint64_t *passed; /* digests of device, sample and variant */
  size_t count;
} opc_kept_layouts_t;

/* Takes the result of a case into account; ignores other checks than stride, and other layouts. */
void opc_kept_layouts_note(opc_kept_layouts_t *kept, const opc_case_result_t *result);
/* True: the operator follows the strides of the case's sample, and the case has a third layout. */
bool opc_kept_layouts_has(const opc_kept_layouts_t *kept, const opc_case_id_t *id);
void opc_kept_layouts_clear(opc_kept_layouts_t *kept);
