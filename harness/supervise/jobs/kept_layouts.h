/* Whether an operator follows the strides of its arguments: for a sample, with gaps between all elements (sliced) and
 * between all rows (padded), it gave the same bits in check stride. Then an access out of bounds in a third layout is
 * not the layout's: an index is too large for the sizes, and elsewhere it meets the next row or a gap. Two layouts
 * prove nothing of this kind, because kernels have code of their own for them: channels_last, and expanded, whose
 * stride of 0 is at most 1.
 *
 * Ownership: opc_kept_layouts_clear. Threads: one. */
#ifndef OPC_SUPERVISE_JOBS_KEPT_LAYOUTS_H
#define OPC_SUPERVISE_JOBS_KEPT_LAYOUTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/case/case.h"

typedef struct opc_kept_layouts {
  uint64_t *passed; /* digests of device, sample and variant */
  size_t count;
} opc_kept_layouts_t;

/* Takes the result of a case into account; ignores other checks than stride, and other layouts. */
void opc_kept_layouts_note(opc_kept_layouts_t *kept, const json_t *result);
/* True: the operator follows the strides of the case's sample, and the case has a third layout. */
bool opc_kept_layouts_has(const opc_kept_layouts_t *kept, const opc_case_id_t *id);
void opc_kept_layouts_clear(opc_kept_layouts_t *kept);

#endif
