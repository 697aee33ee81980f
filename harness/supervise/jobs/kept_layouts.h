/* Whether an operator follows the strides of its arguments. It does if it gave the same bits in check stride with gaps
 * between all elements of a sample (sliced), and between all rows (padded). If it then goes out of bounds in a third
 * layout, the layout is not to blame: an index is too large for the sizes, and in the other layouts it meets the next
 * row or a gap. Two layouts prove nothing of this kind. Kernels have separate code for channels_last, and some take an
 * expanded tensor for a dense one, because its stride of 0 is not above 1.
 *
 * Ownership: opc_kept_layouts_clear. Threads: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "result/case_result.h"

typedef struct opc_kept_layouts {
  uint64_t *passed; /* digests of device, sample and variant */
  size_t count;
} opc_kept_layouts_t;

/* Takes the result of a case into account; ignores other checks than stride, and other layouts. */
void opc_kept_layouts_note(opc_kept_layouts_t *kept, const opc_case_result_t *result);
/* True: the operator follows the strides of the case's sample, and the case has a third layout. */
bool opc_kept_layouts_has(const opc_kept_layouts_t *kept, const opc_case_id_t *id);
void opc_kept_layouts_clear(opc_kept_layouts_t *kept);
