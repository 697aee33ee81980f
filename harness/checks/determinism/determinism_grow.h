/* Inside check determinism: makes a sample larger. libtorch splits work among threads from about 30,000 elements on,
 * and a race needs more than a few elements to show.
 *
 * A kernel that trusts its arguments (also a size passed as a number) may crash on a changed sample. So a subprocess
 * searches for what can grow; only growth known to be harmless is used. Ownership: opc_grown_clear. Threads: one. */
#pragma once

#include "checks/determinism/determinism_trial.h"

/* Every dimension of this size is multiplied, in every tensor: a batch, or a size that the tensors share. For size 1:
 * only the first dimension of the largest tensor. */
typedef struct opc_enlargement {
  int64_t size;
  int64_t factor; /* 0: nothing can grow */
} opc_enlargement_t;

/* *out: the growth at which the largest tensor has `numel` elements. *out_fewer, for many calls: the last fast step on
 * the way with at most `fewer` elements, or else the first fast step. Stops earlier if the operator refuses or a
 * further step would be too slow: an operator whose time grows with the cube of a size must not run for minutes. */
opc_status_t opc_enlargement_search(opc_case_context_t *context, const opc_sample_t *sample, int64_t numel,
                                    int64_t fewer, opc_enlargement_t *out, opc_enlargement_t *out_fewer,
                                    opc_error_t *error) OPC_CHECKED;

typedef struct opc_grown {
  opc_sample_t sample;
  int64_t numel; /* elements of its largest tensor */
  opc_replay_t values,
      other; /* the small sample's own values and, on request, others (opc_trial_other_values), repeated */
} opc_grown_t;

/* With growth->factor 0: the unmodified sample. Makes no call. */
opc_status_t opc_grown_make(opc_case_context_t *context, const opc_sample_t *sample, const opc_enlargement_t *growth,
                            bool others, opc_grown_t *out, opc_error_t *error) OPC_CHECKED;
void opc_grown_clear(opc_grown_t *grown);
/* *out gets "x = float32[93750, 3]", for messages; the finding gets the same text as its variant. */
void opc_grown_note(const opc_grown_t *grown, const opc_operator_t *op, opc_text_t *out, opc_finding_t *finding);
