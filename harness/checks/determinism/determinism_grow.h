/* Inside of check determinism: a sample made larger. libtorch divides work among threads from some 30,000 elements on;
 * a race wants more than a few elements to show.
 *
 * A kernel that trusts its arguments (a size that is given as a number, too) may crash on a sample that was changed. So
 * a subprocess searches for what can grow: growth that is used is known to be harmless. Ownership: opc_grown_clear.
 * Threads: one. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_GROW_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_GROW_H

#include "checks/determinism/determinism_trial.h"

/* Every dimension of one size is multiplied, in every tensor: a batch, or what all tensors have in common. Of size 1
 * only the first one of the largest tensor. */
typedef struct opc_enlargement {
  int64_t size;
  int64_t factor; /* 0: nothing can grow */
} opc_enlargement_t;

/* The growth at which the largest tensor has `numel` elements, and the one on the way that has the `fewer` elements, or
 * that after which calls begin to take long: with it many are made. Stops before that where the operator refuses, or
 * takes long enough for one more step to be costly: what grows with the cube of a size must not run for minutes. */
opc_status_t opc_enlargement_search(opc_case_context_t *context, const opc_sample_t *sample, int64_t numel,
                                    int64_t fewer, opc_enlargement_t *out, opc_enlargement_t *out_fewer,
                                    opc_error_t *error) OPC_CHECKED;

typedef struct opc_grown {
  opc_sample_t sample;
  int64_t numel;              /* of its largest tensor */
  opc_replay_t values, other; /* the small sample's own values, and where they are wanted others
                                 (opc_trial_other_values), again and again */
} opc_grown_t;

/* With growth->factor 0 the sample as it is. Calls nothing. */
opc_status_t opc_grown_make(opc_case_context_t *context, const opc_sample_t *sample, const opc_enlargement_t *growth,
                            bool others, opc_grown_t *out, opc_error_t *error) OPC_CHECKED;
void opc_grown_clear(opc_grown_t *grown);
/* "x = float32[93750, 3]", for messages; the finding gets it as the variant that it is about. */
void opc_grown_note(const opc_grown_t *grown, const opc_operator_t *op, opc_text_t *out, opc_finding_t *finding);

#endif
