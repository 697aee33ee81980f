/* Compares gradients with slopes of the operator's own results (checks/autograd/autograd_slope.h). Ownership: nothing.
 * Threads: one. */
#pragma once

#include "checks/autograd/autograd_point.h"
#include "checks/autograd/autograd_slope.h"

/* The loss of a point along a direction, computed by running the operator; context of an opc_autograd_function_t. */
typedef struct opc_autograd_path {
  opc_autograd_point_t *point;
  const double *direction; /* one value per number of the inputs */
} opc_autograd_path_t;
opc_status_t opc_autograd_path_loss(double step, void *path, double *out, opc_error_t *error) OPC_CHECKED;

/* The verdict on a gradient, for one input. */
typedef struct opc_gradient_verdict {
  opc_agreement_t agreement;
  bool rounds;   /* undecided because the operator rounds */
  size_t number; /* in the input: the number that differs most; SIZE_MAX: along a direction that moves all of them */
  double analytic, numeric, doubt;
} opc_gradient_verdict_t;

/* Checks `gradient`, which has one value per number of the inputs, for one input. `function` computes a path's loss;
 * `context` is the path, whose `direction` is set here. */
typedef struct opc_autograd_slopes {
  opc_autograd_point_t *point;
  opc_autograd_function_t *function;
  void *context;
  double **direction; /* the context's: one value per number of the inputs, zeroed between uses */
} opc_autograd_slopes_t;
/* Sets `symmetric` in the point's input if the operator treats it as symmetric. */
opc_status_t opc_autograd_check_input(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient,
                                      opc_gradient_verdict_t *out, opc_error_t *error) OPC_CHECKED;
/* autograd_overwritten.c: the element along slopes->direction never reaches the result, whatever its value, because
 * other elements have the same index in an index tensor as large as the input. Once these get another index, the result
 * depends on the element as its gradient says. The order of such writes is unspecified, and PyTorch gives all these
 * elements a gradient (scatter, unpooling); that is not a bug. */
opc_status_t opc_autograd_is_overwritten(const opc_autograd_slopes_t *slopes, size_t input, size_t number,
                                         double analytic, bool *out, opc_error_t *error) OPC_CHECKED;
/* A random number of either sign whose absolute value is at least 0.5 and less than 1.5. */
double opc_autograd_random(uint64_t seed, const char *stream, uint64_t index);
/* Makes the matrices in the input's part of a direction symmetric, or Hermitian if they are complex. */
void opc_autograd_make_symmetric(const opc_autograd_part_t *part, double *direction);
