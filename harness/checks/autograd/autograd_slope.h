/* Slopes by central differences, and what they say about a gradient. No libtorch.
 *
 * A slope is measured with four step sizes; their spread is its error. If the slopes to the left and to the right still
 * differ as the step goes to zero, there is a kink, a jump or a tie. A gradient is reported as wrong only where the
 * function is smooth and the difference is larger than both. Source: Nocedal and Wright, Numerical Optimization, ch.
 * 8.1; Ridders 1982 for the extrapolation. Ownership: nothing. Threads: one. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

/* A function of one number: the loss along a direction. NaN: no value there. */
typedef opc_status_t opc_autograd_function_t(double step, void *context, double *out, opc_error_t *error);

typedef struct opc_slope {
  double value, doubt; /* doubt: bound on the error of `value`, kinks included; infinite if there is no slope */
  double spread; /* the largest doubt of the smaller steps: reveals a slope that is noise, even if two steps agree by
                    chance */
  bool flat;     /* the function did not change at all */
} opc_slope_t;

/* epsilon: of the dtype that the function is computed in. Steps are relative to 1. */
opc_status_t opc_slope_take(opc_autograd_function_t *function, void *context, double epsilon, opc_slope_t *out,
                            opc_error_t *error) OPC_CHECKED;
/* The function jumps somewhere on the way to `far`: its change is not the sum of its slopes. An operator that rounds
 * has slope 0 almost everywhere, and often another gradient by design (a straight-through estimator). The way is
 * halved up to `halvings` times as long as it reaches a pole, which is no jump. *out is false if this cannot be
 * determined. */
opc_status_t opc_slope_jumps(opc_autograd_function_t *function, void *context, double far, int halvings, double epsilon,
                             bool *out, opc_error_t *error) OPC_CHECKED;

typedef enum opc_agreement { OPC_AGREES = 0, OPC_DIFFERS, OPC_UNDECIDED } opc_agreement_t;
/* scale: the sum of |gradient * direction|; rounding errors of the gradient are relative to it. */
opc_agreement_t opc_slope_compare(const opc_slope_t *slope, double analytic, double scale, double epsilon);
