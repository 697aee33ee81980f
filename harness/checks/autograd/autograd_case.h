/* What the parts of check autograd share: a point, the gradient that the operator gives there, and what is found.
 *
 * Each part looks at one promise, and makes the finding itself. A part that cannot be judged (the operator refuses, the
 * outputs change shape) says nothing. Ownership: check_autograd.c's. Threads: one. */
#ifndef OPC_CHECKS_AUTOGRAD_AUTOGRAD_CASE_H
#define OPC_CHECKS_AUTOGRAD_AUTOGRAD_CASE_H

#include "checks/autograd/autograd_point.h"

typedef struct opc_autograd_case {
  opc_autograd_point_t *point;
  opc_finding_t *finding;
  opc_autograd_gradient_t
      plain;   /* with all inputs asking, everything contiguous, in double precision where the operator takes it */
  bool steady; /* two equal calls give equal outputs: slopes can be taken */
  bool grad_twice_refused; /* the derivative says that it has none itself */
} opc_autograd_case_t;

/* One of check autograd's parts. */
typedef opc_status_t opc_autograd_part_check_t(opc_autograd_case_t *c, opc_error_t *error);

/* autograd_numeric.c */
opc_autograd_part_check_t opc_autograd_check_values;    /* against central differences */
opc_autograd_part_check_t opc_autograd_check_precision; /* the sample's own dtype against double precision */
opc_autograd_part_check_t opc_autograd_check_dtypes;    /* what dtype the gradients are made in */
opc_status_t opc_autograd_is_steady(opc_autograd_point_t *point, bool *out, opc_error_t *error) OPC_CHECKED;

/* autograd_again.c: the same gradient asked for in another way */
opc_autograd_part_check_t opc_autograd_check_repeat; /* a fresh graph; the same graph again */
opc_autograd_part_check_t opc_autograd_check_alone;  /* one input alone; one output alone */
opc_autograd_part_check_t opc_autograd_check_saved;  /* after a tensor was overwritten */

/* autograd_layout.c */
opc_autograd_part_check_t opc_autograd_check_weights_layout; /* incoming gradients: zero, strided, expanded */
opc_autograd_part_check_t opc_autograd_check_input_layout;

/* autograd_second.c */
opc_autograd_part_check_t opc_autograd_check_second;

/* Where the two vectors of gradients are farthest apart, by more than `parts` units of epsilon of the input's largest
 * gradient, in `right` or in the plain one: a derivative that cancels (a normalisation's, for equal weights) leaves
 * nothing but rounding. NaN equals NaN. false: nowhere. */
typedef struct opc_gradient_place {
  size_t input, number;
  double left, right;
} opc_gradient_place_t;
bool opc_autograd_differ(const opc_autograd_case_t *c, const double *left, const double *right, double parts,
                         opc_gradient_place_t *out);
/* A derivative that refuses: libtorch or the operator says that there is none. Everything else that it throws is a
 * mistake in it. */
bool opc_autograd_is_refusal(const opc_autograd_gradient_t *gradient);
/* An exception of the derivative, in one line for a message. */
int opc_autograd_line(const opc_autograd_gradient_t *gradient);

/* Something is wrong for sure, and what else could be seen would follow from it. */
bool opc_autograd_failed(const opc_autograd_case_t *c);

/* What most parts differentiate: everything, once. */
extern const opc_autograd_forward_t opc_autograd_forward_plain;
extern const opc_autograd_backward_t opc_autograd_backward_plain;

#endif
