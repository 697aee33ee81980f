/* Slopes by central differences, and what they say about a gradient. No libtorch.
 *
 * A slope is taken at four step sizes. How far they are apart is its error; what the slopes to the left and to the
 * right differ by when the step goes to zero is a kink, a jump or a tie. A gradient is called wrong only where the
 * function is smooth and the difference is larger than both. Source: Nocedal and Wright, Numerical Optimization,
 * ch. 8.1; Ridders 1982 for the extrapolation. Ownership: nothing. Threads: one. */
#ifndef OPC_CHECKS_AUTOGRAD_AUTOGRAD_SLOPE_H
#define OPC_CHECKS_AUTOGRAD_AUTOGRAD_SLOPE_H

#include <stdbool.h>

#include "base/status.h"

/* A function of one number: the loss along a direction. NaN: no value there. */
typedef opc_status_t opc_autograd_function_t(double step, void *context, double *out, opc_error_t *error);

typedef struct opc_slope {
  double value, doubt; /* doubt: what the value may be off by, kinks included; infinite where there is no slope */
  double spread; /* the largest doubt of the narrower steps: what a slope that is noise shows, however well two of them
                    agree by chance */
  bool flat;     /* the function did not change at all */
} opc_slope_t;

/* epsilon: of the dtype that the function is computed in. Steps are relative to 1. */
opc_status_t opc_slope_take(opc_autograd_function_t *function, void *context, double epsilon, opc_slope_t *out,
                            opc_error_t *error) OPC_CHECKED;
/* The function jumps somewhere on the way to `far`: what it gains is not the sum of its slopes. An operator that rounds
 * has the slope 0 almost everywhere, and by design often another gradient (a straight-through estimate). False where
 * that cannot be told. */
opc_status_t opc_slope_jumps(opc_autograd_function_t *function, void *context, double far, double epsilon, bool *out,
                             opc_error_t *error) OPC_CHECKED;

typedef enum opc_agreement { OPC_AGREES = 0, OPC_DIFFERS, OPC_UNDECIDED } opc_agreement_t;
/* scale: the sum of |gradient * direction|, what rounding in the gradient is relative to. */
opc_agreement_t opc_slope_compare(const opc_slope_t *slope, double analytic, double scale, double epsilon);

#endif
