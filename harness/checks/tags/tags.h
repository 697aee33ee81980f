/* The parts of check tags: one function per promise, each for a call that returned. Tags are identified by name: their
 * numbers differ between versions of libtorch, and some versions lack some tags.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/framework/check.h"

typedef struct opc_tag_case {
  opc_case_context_t *context;
  const opc_call_t *call;     /* with the case's own arguments and snapshots; it returned */
  const opc_result_t *result; /* its results, including mutable arguments */
  opc_finding_t *finding;
} opc_tag_case_t;

/* *out_tested false: these arguments could not show anything. */
typedef opc_status_t opc_tag_test_t(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error);
opc_tag_test_t opc_tag_pointwise;    /* shapes broadcast; an output element depends only on its input elements */
opc_tag_test_t opc_tag_view_copy;    /* the copy contains nothing that is not in the argument */
opc_tag_test_t opc_tag_flexible;     /* no layout is refused */
opc_tag_test_t opc_tag_contiguous;   /* contiguous arguments are not refused */
opc_tag_test_t opc_tag_stride_order; /* no layout with the sample's order of strides is refused */
opc_tag_test_t opc_tag_reduction;    /* sizes are the argument's, 1, or dropped */
opc_tag_test_t opc_tag_inplace_view; /* data stay unchanged */
opc_tag_test_t opc_tag_returned;     /* a return declared to be an argument is that argument */
opc_tag_test_t opc_tag_out;          /* an out argument is written, and its old contents do not matter */
/* Without the tags that declare it, no shape and no number may depend on values if a Meta kernel accepts the call. */
opc_tag_test_t opc_tag_missing;

/* Other values for the arguments: same shapes, as valid as the sample's. */
typedef enum opc_other_values {
  OPC_OTHER_SEED = 0,
  OPC_OTHER_ZEROS,
  OPC_OTHER_NEGATED,
  OPC_OTHER_REVERSED,
  OPC_OTHER_FIRST_ROW, /* all rows equal the first: an operator that removes duplicates returns fewer */
  OPC_OTHER_TIMES_64,
  OPC_OTHER_COUNT
} opc_other_values_t;
/* Runs the operator on a sample with such values, like opc_again_run. */
opc_status_t opc_other_values_run(opc_case_context_t *context, const opc_sample_t *sample, opc_other_values_t how,
                                  opc_result_t *out, opc_call_outcome_t *out_outcome, opc_error_t *error) OPC_CHECKED;
/* What in a result depends on values. */
typedef struct opc_dependence {
  bool shape, number;
  char path[96];   /* of the first output that does */
  opc_text_t text; /* "[2, 3] and [4, 3]" */
} opc_dependence_t;
void opc_dependence_clear(opc_dependence_t *dependence);
void opc_dependence_compare(const opc_result_t *left, const opc_result_t *right, opc_dependence_t *dependence);

/* The shape of tensors broadcast together. */
typedef struct opc_tag_shape {
  int ndim;
  int64_t sizes[OPC_MAX_DIMS];
} opc_tag_shape_t;
/* False: this tensor does not broadcast with the others. */
bool opc_tag_broadcast(opc_tag_shape_t *shape, const opc_tensor_meta_t *meta);

/* True in *out: the result differs each time, for reasons unrelated to tags. */
opc_status_t opc_tag_is_nondeterministic(const opc_tag_case_t *tagged, bool *out, opc_error_t *error) OPC_CHECKED;
