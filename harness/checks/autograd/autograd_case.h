/* Shared by the parts of check autograd: a point, the gradient that the operator gives there, and the finding.
 *
 * Each part checks one promise and sets the finding itself. A part that cannot decide (the operator refuses, the
 * outputs change shape) reports nothing. Ownership: check_autograd.c owns everything. Threads: one. */
#pragma once

#include "checks/autograd/autograd_point.h"

typedef struct opc_autograd_case {
  opc_autograd_point_t *point;
  opc_finding_t *finding;
  opc_autograd_gradient_t
      plain; /* all inputs require grad, everything contiguous, in double precision if the operator accepts it */
  bool deterministic;      /* two equal calls give equal outputs, so slopes can be measured */
  bool grad_twice_refused; /* double backward is refused */
  bool undecided;          /* of some input, because the function jumps on a way as long as the input itself */
  bool bits_vary; /* the derivative says that its bits differ from call to call; they may, as a sum in another order */
} opc_autograd_case_t;

/* Units of epsilon by which the order of summing may change sums of gradients. */
enum { OPC_AUTOGRAD_SUMMED = 1 << 20 };

/* One of check autograd's parts. */
typedef opc_status_t opc_autograd_part_check_t(opc_autograd_case_t *c, opc_error_t *error);

/* autograd_numeric.c */
opc_autograd_part_check_t opc_autograd_check_values;    /* against central differences */
opc_autograd_part_check_t opc_autograd_check_precision; /* the sample's own dtype against double precision */
opc_autograd_part_check_t opc_autograd_check_dtypes;    /* the dtype in which the gradients are computed */
opc_status_t opc_autograd_is_deterministic(opc_autograd_point_t *point, bool *out, opc_error_t *error) OPC_CHECKED;

/* autograd_again.c: the same gradient, computed in another way */
opc_autograd_part_check_t opc_autograd_check_repeat; /* a fresh graph; the same graph again */
opc_autograd_part_check_t opc_autograd_check_alone;  /* one input alone; one output alone */
opc_autograd_part_check_t opc_autograd_check_saved;  /* after a tensor was overwritten in place */

/* autograd_layout.c */
opc_autograd_part_check_t opc_autograd_check_weights_layout; /* incoming gradients: zero, strided, expanded */
opc_autograd_part_check_t opc_autograd_check_input_layout;

/* autograd_second.c */
opc_autograd_part_check_t opc_autograd_check_second;

/* autograd_meta.c: on tensors without data, as torch.compile traces it */
opc_autograd_part_check_t opc_autograd_check_meta;

/* Finds where the two gradient vectors differ most. The difference must exceed `parts` units of epsilon of the input's
 * largest gradient, in `right` or in the plain gradient: a derivative that cancels (of a normalisation, for equal
 * weights) leaves only rounding errors. NaN equals NaN. False: they do not differ. */
typedef struct opc_gradient_place {
  char text[256]; /* opc_autograd_place */
  double left, right;
} opc_gradient_place_t;
bool opc_autograd_differ(const opc_autograd_case_t *c, const double *left, const double *right, double parts,
                         opc_gradient_place_t *out);
/* True: libtorch or the operator says that there is no derivative. Any other exception of the backward is a bug in
 * it. */
bool opc_autograd_is_refusal(const opc_autograd_gradient_t *gradient);
/* Length of the first line of the backward's exception, at most 400: for "%.*s" in a message. */
int opc_autograd_line(const opc_autograd_gradient_t *gradient);

/* A certain error was found; further findings would only follow from it. */
bool opc_autograd_failed(const opc_autograd_case_t *c);

/* autograd_registered.c: whether operators have a derivative where libtorch looks for one */

/* Whether a call with tensors of the device reaches a registered derivative: first the device's own Autograd key, then
 * the alias keys, as in c10's OperatorEntry::computeDispatchTableEntry. */
bool opc_autograd_is_registered(const opc_operator_t *op, opc_device_t device);

/* Of the library's other operators: those that take and return tensors, without those that compute gradients. */
typedef struct opc_autograd_others {
  size_t count, with; /* with: they have a derivative */
  bool expected; /* this one is such an operator itself, writes no argument, and at least half of the others have one */
} opc_autograd_others_t;
opc_autograd_others_t opc_autograd_others(const opc_operator_t *op, opc_device_t device);
