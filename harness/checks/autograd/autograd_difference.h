/* Gradients against the slopes of the operator's own results (checks/autograd/autograd_slope.h). Ownership: nothing.
 * Threads: one. */
#ifndef OPC_CHECKS_AUTOGRAD_AUTOGRAD_DIFFERENCE_H
#define OPC_CHECKS_AUTOGRAD_AUTOGRAD_DIFFERENCE_H

#include "checks/autograd/autograd_point.h"
#include "checks/autograd/autograd_slope.h"

/* The loss of a point along a direction, by running the operator: an opc_autograd_function_t's context. */
typedef struct opc_autograd_path {
  opc_autograd_point_t *point;
  const double *direction; /* one a number of the inputs */
} opc_autograd_path_t;
opc_status_t opc_autograd_path_loss(double step, void *path, double *out, opc_error_t *error) OPC_CHECKED;

/* What a gradient came to for one input. */
typedef struct opc_gradient_verdict {
  opc_agreement_t agreement;
  bool rounds;   /* undecided because the operator rounds */
  size_t number; /* of the input; the one that differs most. SIZE_MAX: along a direction that moves all */
  double analytic, numeric, doubt;
} opc_gradient_verdict_t;

/* Judges gradient, one number each of the inputs, for one input. `function` makes a path's loss; `path` is its context,
 * in which `direction` is set here. */
typedef struct opc_autograd_judge {
  opc_autograd_point_t *point;
  opc_autograd_function_t *function;
  void *context;
  double **direction; /* of the context: room for the inputs' numbers, zeroed between uses */
} opc_autograd_judge_t;
/* Notes in the point's input where it is taken for symmetric. */
opc_status_t opc_autograd_judge_input(const opc_autograd_judge_t *judge, size_t input, const double *gradient,
                                      opc_gradient_verdict_t *out, opc_error_t *error) OPC_CHECKED;
/* autograd_overwritten.c: an element of the input, along which judge->direction points, that no value makes matter,
 * because others have its index in a tensor of indices as large as the input: once these have another index, the result
 * follows it as its gradient says. Which of them is written last is no promise, and the gradient that PyTorch gives all
 * of them (a scatter's, an unpooling's) is no mistake. */
opc_status_t opc_autograd_is_overwritten(const opc_autograd_judge_t *judge, size_t input, size_t number,
                                         double analytic, bool *out, opc_error_t *error) OPC_CHECKED;
/* Makes the matrices of an input's part of a direction symmetric; hermitian, if they are complex. */
void opc_autograd_make_symmetric(const opc_autograd_part_t *part, double *direction);

#endif
