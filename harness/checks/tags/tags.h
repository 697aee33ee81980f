/* What check tags is made of: a function a promise, each given a call that returned. Tags are known by name: their
 * numbers differ between versions of libtorch, and some versions lack some of them.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_TAGS_TAGS_H
#define OPC_CHECKS_TAGS_TAGS_H

#include "checks/framework/case_run.h"

typedef struct opc_tag_case {
  opc_case_context_t *context;
  const opc_call_t *call;     /* of the case's own arguments, with snapshots; it returned */
  const opc_result_t *result; /* what it gave, mutable arguments too */
  opc_finding_t *finding;
} opc_tag_case_t;

/* False in *out_tested: these arguments could not show anything. */
typedef opc_status_t opc_tag_test_t(const opc_tag_case_t *tagged, bool *out_tested, opc_error_t *error);
opc_tag_test_t opc_tag_pointwise;    /* shapes broadcast; an element follows its own elements alone */
opc_tag_test_t opc_tag_view_copy;    /* nothing is in the copy that was not in the argument */
opc_tag_test_t opc_tag_flexible;     /* no layout is refused */
opc_tag_test_t opc_tag_contiguous;   /* what is contiguous is not refused */
opc_tag_test_t opc_tag_stride_order; /* no layout with the sample's order of strides is refused */
opc_tag_test_t opc_tag_reduction;    /* sizes are the argument's, 1, or left out */
opc_tag_test_t opc_tag_inplace_view; /* data stay as they are */
opc_tag_test_t opc_tag_returned;     /* a return that is declared to be an argument is that argument */
opc_tag_test_t opc_tag_out;          /* an out argument is written, and what it held has no say */
/* Without the tags that say so, no shape and no number may follow values where a Meta kernel has an answer. */
opc_tag_test_t opc_tag_missing;

/* Other values in the arguments: of the same shapes, and as valid as the sample's. */
typedef enum opc_other_values {
  OPC_OTHER_SEED = 0,
  OPC_OTHER_ZEROS,
  OPC_OTHER_NEGATED,
  OPC_OTHER_REVERSED,
  OPC_OTHER_COUNT
} opc_other_values_t;
/* Runs the operator on a sample with them, as opc_again_run. */
opc_status_t opc_other_values_run(opc_case_context_t *context, const opc_sample_t *sample, opc_other_values_t how,
                                  opc_result_t *out, opc_call_outcome_t *out_outcome, opc_error_t *error) OPC_CHECKED;
/* What of a result depends on values. */
typedef struct opc_follows {
  bool shape, number;
  char path[96];   /* of the first that does */
  opc_text_t text; /* "[2, 3] and [4, 3]" */
} opc_follows_t;
void opc_follows_compare(const opc_result_t *left, const opc_result_t *right, opc_follows_t *follows);

/* The result is another one each time, for reasons that are not a tag's. */
opc_status_t opc_tag_is_nondeterministic(const opc_tag_case_t *tagged, bool *out, opc_error_t *error) OPC_CHECKED;

#endif
