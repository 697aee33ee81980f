#include "checks/autograd_difference.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

static const double COARSE = 1e-3; /* what is off by more needs no more evidence than two steps that agree */
enum {
  STEPS = 4,      /* each a quarter of the one before */
  ELEMENTS = 64,  /* looked at one by one, where a direction that moves all does not settle it */
  PIECES = 32     /* of the way on which jumps are looked for */
};

/* Of the input's largest value. In double precision 2e-3 down to 3e-5: the error of a difference is then far below a millionth. */
static double widest_step(double epsilon) { return 16.0 * pow(epsilon, 0.25); }

typedef struct difference {
  double central, gap, noise; /* gap: right slope less left slope */
} difference_t;

opc_status_t opc_slope_take(opc_autograd_function_t *function, void *context, double widest, double epsilon, opc_slope_t *out, opc_error_t *error) {
  difference_t taken[STEPS];
  double here = NAN, step = widest;
  *out = (opc_slope_t){.doubt = INFINITY, .flat = true};
  opc_status_t status = function(0.0, context, &here, error);
  for (int i = 0; status == OPC_OK && i < STEPS; i++, step /= 4.0) {
    double right = NAN, left = NAN;
    status = function(step, context, &right, error);
    if (status == OPC_OK) status = function(-step, context, &left, error);
    taken[i] = (difference_t){.central = (right - left) / (2.0 * step),
                              .gap = (right - 2.0 * here + left) / step,
                              .noise = epsilon * (fabs(here) + fabs(right)) / step};
    out->flat = out->flat && right == here && left == here;
  }
  for (int i = 1; status == OPC_OK && i < STEPS; i++) {
    const difference_t *wide = &taken[i - 1], *narrow = &taken[i];
    double kink = fabs(4.0 * narrow->gap - wide->gap) / 3.0; /* what the gap goes to when the step goes to 0 */
    double doubt = 2.0 * fabs(narrow->central - wide->central) + kink + 8.0 * narrow->noise;
    if (i > 1 && !(doubt <= out->spread)) out->spread = doubt;
    if (!(doubt < out->doubt)) continue; /* NaN is no slope */
    out->doubt = doubt;
    out->value = narrow->central;
  }
  return status;
}

opc_status_t opc_slope_jumps(opc_autograd_function_t *function, void *context, double far, double epsilon, bool *out, opc_error_t *error) {
  double first = NAN, last = NAN, sum = 0.0, amount = 0.0, piece = far / PIECES;
  double small = piece * fmax(1e-5, 10.0 * sqrt(epsilon)); /* far less than what an operator would round to on purpose */
  *out = false;
  opc_status_t status = function(0.0, context, &first, error);
  if (status == OPC_OK) status = function(far, context, &last, error);
  for (int i = 0; status == OPC_OK && i < PIECES; i++) {
    double right = NAN, left = NAN, middle = piece * (i + 0.5);
    status = function(middle + small, context, &right, error);
    if (status == OPC_OK) status = function(middle - small, context, &left, error);
    sum += (right - left) / (2.0 * small) * piece;
    amount += fabs((right - left) / (2.0 * small) * piece);
  }
  /* What a smooth function's midpoint sum is off by is far less; NaN says nothing. */
  *out = status == OPC_OK && fabs(last - first - sum) > 0.05 * (amount + fabs(last - first)) + 1e3 * epsilon * fabs(first);
  return status;
}

opc_agreement_t opc_slope_compare(const opc_slope_t *slope, double analytic, double scale, double epsilon) {
  double size = scale + fabs(slope->value), off = fabs(analytic - slope->value);
  if (isnan(analytic)) return slope->doubt <= 0.02 * fabs(slope->value) ? OPC_DIFFERS : OPC_UNDECIDED;
  if (!isfinite(slope->doubt) || !isfinite(analytic)) return OPC_UNDECIDED;
  if (slope->flat && analytic != 0.0) return OPC_DIFFERS; /* the caller finds out whether it rounds */
  if (off > 4.0 * slope->doubt + COARSE * size || off > 8.0 * fmax(slope->doubt, slope->spread) + sqrt(epsilon) * size) return OPC_DIFFERS;
  return slope->doubt <= 0.02 * size || off == 0.0 ? OPC_AGREES : OPC_UNDECIDED;
}

opc_status_t opc_autograd_path_loss(double step, void *context, double *out, opc_error_t *error) {
  opc_autograd_path_t *path = context;
  opc_autograd_run_t run = {0};
  opc_autograd_forward_t how = {.direction = path->direction, .step = step, .phase = "the operator on moved inputs"};
  *out = NAN;
  opc_status_t status = opc_autograd_forward_run(path->point, &how, &run, error);
  if (status == OPC_OK && run.call.outcome == OPC_CALL_RETURNED && opc_autograd_run_fits(path->point, &run))
    status = opc_autograd_run_loss(&run, path->point->weights, out, error);
  opc_autograd_run_clear(&run);
  return status;
}

/* One direction: its slope against the gradient's. *out_rounds: they differ, and the function jumps. */
static opc_status_t judge_direction(const opc_autograd_judge_t *judge, size_t input, const double *gradient, opc_gradient_verdict_t *out,
                                    opc_error_t *error) {
  const opc_autograd_part_t *part = &judge->point->inputs.items[input];
  const double *direction = *judge->direction;
  double scale = 0.0, step = widest_step(judge->point->epsilon);
  opc_slope_t slope;
  out->analytic = 0.0;
  out->rounds = false;
  for (size_t k = part->first; k < part->first + part->count; k++) {
    if (direction[k] == 0.0) continue; /* a gradient that is infinite elsewhere says nothing here */
    out->analytic += gradient[k] * direction[k];
    scale += fabs(gradient[k] * direction[k]);
  }
  opc_status_t status = opc_slope_take(judge->function, judge->context, step, judge->point->epsilon, &slope, error);
  if (status != OPC_OK) return status;
  out->numeric = slope.value;
  out->doubt = slope.doubt;
  out->agreement = opc_slope_compare(&slope, out->analytic, scale, judge->point->epsilon);
  if (out->agreement != OPC_DIFFERS) return OPC_OK;
  status = opc_slope_jumps(judge->function, judge->context, 1.0, judge->point->epsilon, &out->rounds, error);
  if (out->rounds) out->agreement = OPC_UNDECIDED;
  return status;
}

/* The i-th of `of` elements of a part that are looked at: all, or such as lie anywhere. */
static size_t nth_number(const opc_autograd_part_t *part, size_t i) {
  if (part->count <= ELEMENTS) return i;
  return (size_t)(opc_random_u64(0, opc_random_stream(part->path), i) % part->count);
}

static opc_status_t judge_elements(const opc_autograd_judge_t *judge, size_t input, const double *gradient, opc_gradient_verdict_t *out,
                                   opc_error_t *error) {
  const opc_autograd_part_t *part = &judge->point->inputs.items[input];
  size_t looked = part->count < ELEMENTS ? part->count : ELEMENTS, decided = 0, rounds = 0;
  double worst = -1.0;
  opc_status_t status = OPC_OK;
  opc_gradient_verdict_t found = *out;
  found.agreement = OPC_AGREES;
  for (size_t i = 0; status == OPC_OK && i < looked; i++) {
    size_t number = nth_number(part, i);
    opc_gradient_verdict_t one = {0};
    (*judge->direction)[part->first + number] = judge->point->scale[input];
    status = judge_direction(judge, input, gradient, &one, error);
    (*judge->direction)[part->first + number] = 0.0;
    if (status != OPC_OK) break;
    decided += one.agreement == OPC_AGREES;
    rounds += one.rounds;
    double off = fabs(one.analytic - one.numeric);
    if (one.agreement != OPC_DIFFERS || off <= worst) continue;
    worst = isnan(off) ? INFINITY : off;
    found = one;
    found.number = number;
    double unit = judge->point->scale[input];
    found.analytic /= unit;
    found.numeric /= unit;
    found.doubt /= unit;
  }
  found.rounds = rounds > 0;
  if (found.agreement == OPC_AGREES && !decided) found.agreement = OPC_UNDECIDED;
  *out = found;
  return status;
}

opc_status_t opc_autograd_judge_input(const opc_autograd_judge_t *judge, size_t input, const double *gradient, opc_gradient_verdict_t *out,
                                      opc_error_t *error) {
  const opc_autograd_part_t *part = &judge->point->inputs.items[input];
  double *direction = *judge->direction;
  opc_gradient_verdict_t whole = {.number = SIZE_MAX};
  *out = whole;
  if (!part->count) return OPC_OK;
  for (size_t k = part->first; k < part->first + part->count; k++) {
    uint64_t draw = opc_random_u64(judge->point->context->seed, opc_random_stream("direction"), k);
    direction[k] = judge->point->scale[input] * (0.5 + (double)(draw % 1024) / 1024.0) * (draw & 4096 ? -1.0 : 1.0);
  }
  opc_status_t status = judge_direction(judge, input, gradient, &whole, error);
  memset(direction + part->first, 0, part->count * sizeof *direction);
  *out = whole;
  if (status != OPC_OK || whole.agreement == OPC_AGREES || whole.rounds) return status;

  opc_gradient_verdict_t elements = whole;
  status = judge_elements(judge, input, gradient, &elements, error);
  bool all_seen = part->count <= ELEMENTS;
  if (elements.agreement == OPC_DIFFERS || all_seen || whole.agreement == OPC_UNDECIDED) *out = elements;
  return status;
}
