#include "checks/autograd/autograd_slope.h"

#include <math.h>
#include <stdlib.h>

static const double COARSE = 1e-3; /* for larger errors, two steps that agree are enough evidence */
enum {
  STEPS = 4,           /* each a quarter of the previous one */
  PIECES = 32,         /* into which the path is divided to look for jumps */
  POLE_TIMES = 16,     /* what is larger than the usual value by this factor is near a pole */
  ROUNDED_UNITS = 4096 /* what rounding leaves in a gradient whose terms cancel; the terms may be some hundreds */
};

/* Relative to the input's largest value. In double precision 2e-3 down to 3e-5: the error of a difference is then far
 * below a millionth. */
static double widest_step(double epsilon) { return 16.0 * pow(epsilon, 0.25); }

typedef struct difference {
  double central, gap, noise; /* gap: right slope minus left slope */
} difference_t;

opc_status_t opc_slope_take(opc_autograd_function_t *function, void *context, double epsilon, opc_slope_t *out,
                            opc_error_t *error) {
  difference_t taken[STEPS];
  double here = NAN, step = widest_step(epsilon);
  *out = (opc_slope_t){.doubt = INFINITY, .flat = true};
  OPC_RETURN_IF_ERROR(function(0.0, context, &here, error));
  for (int i = 0; i < STEPS; i++, step /= 4.0) {
    double right = NAN, left = NAN;
    OPC_RETURN_IF_ERROR(function(step, context, &right, error));
    OPC_RETURN_IF_ERROR(function(-step, context, &left, error));
    taken[i] = (difference_t){.central = (right - left) / (2.0 * step),
                              .gap = (right - 2.0 * here + left) / step,
                              .noise = epsilon * (fabs(here) + fabs(right)) / step};
    out->flat = out->flat && right == here && left == here;
  }
  for (int i = 1; i < STEPS; i++) {
    const difference_t *wide = &taken[i - 1], *narrow = &taken[i];
    double kink = fabs(4.0 * narrow->gap - wide->gap) / 3.0; /* the limit of the gap as the step goes to 0 */
    double doubt = 2.0 * fabs(narrow->central - wide->central) + kink + 8.0 * narrow->noise;
    if (i > 1 && !(doubt <= out->spread)) out->spread = doubt;
    if (!(doubt < out->doubt)) continue; /* NaN is no slope */
    out->doubt = doubt;
    out->value = narrow->central;
  }
  return OPC_OK;
}

/* ---- jumps ---- */

typedef struct path {
  double change, sum; /* last value minus first; the same as a sum of slopes */
  double amount;      /* sum of the slopes' absolute values */
  double first;
  double sizes[PIECES]; /* absolute values on the way */
} path_t;

static opc_status_t path_take(opc_autograd_function_t *function, void *context, double far, double epsilon, path_t *out,
                              opc_error_t *error) {
  const double piece = far / PIECES;
  const double small =
      piece * fmax(1e-5, 10.0 * sqrt(epsilon)); /* far less than an operator would round to on purpose */
  double last = NAN;
  *out = (path_t){.first = NAN};
  OPC_RETURN_IF_ERROR(function(0.0, context, &out->first, error));
  OPC_RETURN_IF_ERROR(function(far, context, &last, error));
  out->change = last - out->first;
  for (int i = 0; i < PIECES; i++) {
    double right = NAN, left = NAN, middle = piece * (i + 0.5);
    OPC_RETURN_IF_ERROR(function(middle + small, context, &right, error));
    OPC_RETURN_IF_ERROR(function(middle - small, context, &left, error));
    out->sizes[i] = fabs(right);
    out->sum += (right - left) / (2.0 * small) * piece;
    out->amount += fabs((right - left) / (2.0 * small) * piece);
  }
  return OPC_OK;
}

static int compare_sizes(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The function has no value somewhere, or becomes many times as large as it usually is, and its slopes say so too.
 * Where an operator rounds, the slopes do not. */
static bool reaches_pole(path_t *path) {
  if (!isfinite(path->change) || !isfinite(path->amount)) return true;
  qsort(path->sizes, PIECES, sizeof *path->sizes, compare_sizes);
  const double largest = path->sizes[PIECES - 1], usual = path->sizes[PIECES / 2];
  return largest > POLE_TIMES * usual && path->amount > largest / 2;
}

opc_status_t opc_slope_jumps(opc_autograd_function_t *function, void *context, double far, int halvings, double epsilon,
                             bool *out, opc_error_t *error) {
  path_t path;
  *out = false;
  OPC_RETURN_IF_ERROR(path_take(function, context, far, epsilon, &path, error));
  for (int i = 0; i < halvings && reaches_pole(&path); i++, far /= 2)
    OPC_RETURN_IF_ERROR(path_take(function, context, far / 2, epsilon, &path, error));
  /* The midpoint sum of a smooth function is off by far less; NaN decides nothing. */
  *out = fabs(path.change - path.sum) > 0.05 * (path.amount + fabs(path.change)) + 1e3 * epsilon * fabs(path.first);
  return OPC_OK;
}

opc_agreement_t opc_slope_compare(const opc_slope_t *slope, double analytic, double scale, double epsilon) {
  double size = scale + fabs(slope->value), off = fabs(analytic - slope->value);
  if (isnan(analytic)) return slope->doubt <= 0.02 * fabs(slope->value) ? OPC_DIFFERS : OPC_UNDECIDED;
  if (!isfinite(slope->doubt) || !isfinite(analytic)) return OPC_UNDECIDED;
  /* The caller checks whether the function rounds. */
  if (slope->flat && off > fmax(slope->doubt, ROUNDED_UNITS * epsilon)) return OPC_DIFFERS;
  if (slope->flat) return off == 0.0 ? OPC_AGREES : OPC_UNDECIDED;
  if (off > 4.0 * slope->doubt + COARSE * size || off > 8.0 * fmax(slope->doubt, slope->spread) + sqrt(epsilon) * size)
    return OPC_DIFFERS;
  return slope->doubt <= 0.02 * size || off == 0.0 ? OPC_AGREES : OPC_UNDECIDED;
}
