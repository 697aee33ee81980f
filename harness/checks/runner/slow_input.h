/* Inputs that opcheck-c made larger than a searched sample, and that took long: every check would give them to the
 * operator again, although nobody vouches for such sizes.
 *
 * Ownership: what is known is shared by a process and all its children, so that a child that follows a crash knows it
 * too. Fork: call opc_slow_inputs_share before any. Threads: one. Several children may run cases of one operator
 * (supervise/jobs/parts.h): the last one that notes an input counts. */
#pragma once

#include "checks/framework/check.h"

typedef struct opc_slow_input {
  uint64_t sample;  /* digest of operator, device and sample */
  int64_t elements; /* of its tensors */
  double seconds;   /* of processor time; 0: there was no such input */
  size_t check;     /* index into opc_check_infos */
} opc_slow_input_t;

/* If memory runs out, nothing is left out. */
void opc_slow_inputs_share(void);
/* The input that took so long that the context's input would probably take too long as well, by their numbers of
 * elements. NULL: there is none, the context's input is the sample itself or smaller, somebody vouches for it, or
 * the operator is from Python or not called on the CPU. */
const opc_slow_input_t *opc_slow_input_find(const opc_case_context_t *context);
/* The case has taken these seconds of processor time. */
void opc_slow_input_note(const opc_case_context_t *context, size_t check, double seconds);
/* Elements of all tensors. */
int64_t opc_slow_input_elements(const opc_sample_t *sample);
