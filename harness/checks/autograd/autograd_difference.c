#include "checks/autograd/autograd_difference.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

/* Checked one by one if a direction that moves all of them does not decide. */
enum { ELEMENTS = 64, ELEMENTS_OF_NEIGHBOUR = 8 };

opc_status_t opc_autograd_path_loss(double step, void *context, double *out, opc_error_t *error) {
  opc_autograd_path_t *path = context;
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  opc_autograd_forward_t how = {
      .direction = path->direction, .step = step, .label = {OPC_CALL_KIND_ON_OTHERS, "moved inputs"}};
  *out = NAN;
  opc_status_t status = opc_autograd_forward_run(path->point, &how, &run, error);
  if (status == OPC_OK && run.call.outcome == OPC_CALL_RETURNED && opc_autograd_run_fits(path->point, &run))
    status = opc_autograd_run_loss(&run, path->point->weights, out, error);
  return status;
}

/* Compares the slope along one direction with the gradient's. */
static opc_status_t compare_direction(const opc_autograd_judge_t *judge, size_t input, const double *gradient,
                                      opc_gradient_verdict_t *out, opc_error_t *error) {
  const opc_autograd_part_t *part = &judge->point->inputs.items[input];
  const double *direction = *judge->direction;
  double scale = 0.0;
  opc_slope_t slope;
  out->analytic = 0.0;
  out->rounds = false;
  for (size_t k = part->first; k < part->first + part->count; k++) {
    if (direction[k] == 0.0) continue; /* an infinite gradient of other elements does not matter here */
    out->analytic += gradient[k] * direction[k];
    scale += fabs(gradient[k] * direction[k]);
  }
  opc_status_t status = opc_slope_take(judge->function, judge->context, judge->point->epsilon, &slope, error);
  if (status != OPC_OK) return status;
  out->numeric = slope.value;
  out->doubt = slope.doubt;
  out->agreement = opc_slope_compare(&slope, out->analytic, scale, judge->point->epsilon);
  return OPC_OK;
}

/* Confirms a difference along the direction: it proves nothing if the function jumps there. Takes about sixty calls. */
static opc_status_t settle_difference(const opc_autograd_judge_t *judge, opc_gradient_verdict_t *found,
                                      opc_error_t *error) {
  if (found->agreement != OPC_DIFFERS) return OPC_OK;
  opc_status_t status =
      opc_slope_jumps(judge->function, judge->context, 1.0, 0, judge->point->epsilon, &found->rounds, error);
  if (found->rounds) found->agreement = OPC_UNDECIDED;
  return status;
}

static opc_status_t judge_direction(const opc_autograd_judge_t *judge, size_t input, const double *gradient,
                                    opc_gradient_verdict_t *out, opc_error_t *error) {
  opc_status_t status = compare_direction(judge, input, gradient, out, error);
  return status == OPC_OK ? settle_difference(judge, out, error) : status;
}

static size_t elements_most(const opc_autograd_judge_t *judge) {
  return judge->point->context->rule->neighbours ? ELEMENTS_OF_NEIGHBOUR : ELEMENTS;
}

/* The i-th element of a part to check: all are checked, or a random choice. */
static size_t nth_number(const opc_autograd_part_t *part, size_t i, size_t most) {
  if (part->count <= most) return i;
  return (size_t)(opc_random_u64(0, opc_random_stream(part->path), i) % part->count);
}

static double off_by(const opc_gradient_verdict_t *verdict) {
  double off = fabs(verdict->analytic - verdict->numeric);
  return isnan(off) ? INFINITY : off;
}

/* The element that differs most; NULL: none differs. */
static opc_gradient_verdict_t *most_different(opc_gradient_verdict_t *verdicts, size_t count) {
  opc_gradient_verdict_t *worst = NULL;
  for (size_t i = 0; i < count; i++)
    if (verdicts[i].agreement == OPC_DIFFERS && (!worst || off_by(&verdicts[i]) > off_by(worst))) worst = &verdicts[i];
  return worst;
}

/* Of the elements that differ, only the one to report is confirmed. *out_overwritten: some element is overwritten, so a
 * direction that moves it proves nothing. */
static opc_status_t judge_elements(const opc_autograd_judge_t *judge, size_t input, const double *gradient,
                                   opc_gradient_verdict_t *out, bool *out_overwritten, opc_error_t *error) {
  const opc_autograd_part_t *part = &judge->point->inputs.items[input];
  const double unit = judge->point->scale[input];
  double *direction = *judge->direction + part->first;
  const size_t most = elements_most(judge);
  size_t looked = part->count < most ? part->count : most, decided = 0, rounds = 0;
  opc_gradient_verdict_t elements[ELEMENTS], *worst;
  opc_status_t status = OPC_OK;
  for (size_t i = 0; status == OPC_OK && i < looked; i++) {
    elements[i] = (opc_gradient_verdict_t){.number = nth_number(part, i, most)};
    direction[elements[i].number] = unit;
    status = compare_direction(judge, input, gradient, &elements[i], error);
    direction[elements[i].number] = 0.0;
  }
  bool found = false;
  while (status == OPC_OK && !found && (worst = most_different(elements, looked)) != NULL) {
    bool overwritten = false;
    direction[worst->number] = unit;
    status = settle_difference(judge, worst, error);
    if (status == OPC_OK && worst->agreement == OPC_DIFFERS)
      status = opc_autograd_is_overwritten(judge, input, worst->number, worst->analytic, &overwritten, error);
    direction[worst->number] = 0.0;
    if (overwritten) worst->agreement = OPC_AGREES;
    *out_overwritten = *out_overwritten || overwritten;
    found = worst->agreement == OPC_DIFFERS;
  }
  if (status != OPC_OK) return status;
  if (found) {
    *out = *worst;
    out->analytic /= unit;
    out->numeric /= unit;
    out->doubt /= unit;
    return OPC_OK;
  }
  for (size_t i = 0; i < looked; i++) {
    decided += elements[i].agreement == OPC_AGREES;
    rounds += elements[i].rounds;
  }
  out->agreement = decided ? OPC_AGREES : OPC_UNDECIDED;
  out->rounds = rounds > 0;
  return OPC_OK;
}

/* A direction that moves all elements of the part. */
static void draw_direction(const opc_autograd_judge_t *judge, size_t input) {
  const opc_autograd_part_t *part = &judge->point->inputs.items[input];
  for (size_t k = part->first; k < part->first + part->count; k++) {
    uint64_t draw = opc_random_u64(judge->point->context->seed, opc_random_stream("direction"), k);
    (*judge->direction)[k] =
        judge->point->scale[input] * (0.5 + (double)(draw % 1024) / 1024.0) * (draw & 4096 ? -1.0 : 1.0);
  }
}

/* ---- arguments treated as symmetric ---- */

static bool holds_matrices(const opc_autograd_part_t *part) {
  int ndim = part->meta.ndim;
  return ndim >= 2 && ndim <= OPC_MAX_DIMS && part->meta.sizes[ndim - 1] == part->meta.sizes[ndim - 2] &&
         part->meta.sizes[ndim - 1] > 1;
}

/* Calls `change` on each pair of mirrored elements, once per side of the diagonal, and on the diagonal. `here` is in
 * row i and column j. */
typedef void change_t(double *here, double *there, size_t i, size_t j, size_t width);

static void for_each_place(const opc_autograd_part_t *part, double *direction, change_t *change) {
  size_t side = (size_t)part->meta.sizes[part->meta.ndim - 1], width = part->count / (size_t)part->meta.numel;
  for (double *matrix = direction; matrix < direction + part->count; matrix += side * side * width)
    for (size_t i = 0; i < side; i++)
      for (size_t j = 0; j < side; j++)
        change(matrix + (i * side + j) * width, matrix + (j * side + i) * width, i, j, width);
}

static void keep_upper(double *here, double *there, size_t i, size_t j, size_t width) {
  (void)there;
  if (i >= j) memset(here, 0, width * sizeof *here);
}

static void keep_lower(double *here, double *there, size_t i, size_t j, size_t width) {
  (void)there;
  if (i <= j) memset(here, 0, width * sizeof *here);
}

static void mirror(double *here, double *there, size_t i, size_t j, size_t width) {
  if (i > j) here[0] = there[0];
  if (width == 2 && i >= j) here[1] = i > j ? -there[1] : 0.0;
}

void opc_autograd_make_symmetric(const opc_autograd_part_t *part, double *direction) {
  for_each_place(part, direction, mirror);
}

/* An operator that reads one triangle of a symmetric matrix (a Cholesky or an eigenvalue decomposition) returns the
 * gradient among symmetric matrices, by PyTorch's convention. It is right if it agrees along symmetric directions. */
static opc_status_t judge_symmetric(const opc_autograd_judge_t *judge, size_t input, const double *gradient,
                                    opc_error_t *error) {
  static change_t *const triangles[] = {keep_upper, keep_lower};
  opc_autograd_part_t *part = &judge->point->inputs.items[input];
  double *direction = *judge->direction + part->first;
  opc_status_t status = OPC_OK;
  bool ignores = false;
  for (size_t i = 0; status == OPC_OK && !ignores && i < sizeof triangles / sizeof *triangles; i++) {
    opc_slope_t slope;
    draw_direction(judge, input);
    for_each_place(part, direction, triangles[i]);
    status = opc_slope_take(judge->function, judge->context, judge->point->epsilon, &slope, error);
    ignores = slope.flat;
  }
  if (status == OPC_OK && ignores) {
    opc_gradient_verdict_t verdict = {0};
    draw_direction(judge, input);
    opc_autograd_make_symmetric(part, direction);
    status = judge_direction(judge, input, gradient, &verdict, error);
    part->symmetric = status == OPC_OK && verdict.agreement == OPC_AGREES;
  }
  memset(direction, 0, part->count * sizeof *direction);
  return status;
}

opc_status_t opc_autograd_judge_input(const opc_autograd_judge_t *judge, size_t input, const double *gradient,
                                      opc_gradient_verdict_t *out, opc_error_t *error) {
  const opc_autograd_part_t *part = &judge->point->inputs.items[input];
  opc_gradient_verdict_t whole = {.number = SIZE_MAX};
  *out = whole;
  if (!part->count) return OPC_OK;
  draw_direction(judge, input);
  opc_status_t status = judge_direction(judge, input, gradient, &whole, error);
  memset(*judge->direction + part->first, 0, part->count * sizeof **judge->direction);
  *out = whole;
  if (status != OPC_OK || whole.agreement == OPC_AGREES) return status;

  /* Before the test for rounding, because an eigenvector also jumps to its negative somewhere. */
  if (holds_matrices(part)) status = judge_symmetric(judge, input, gradient, error);
  if (part->symmetric) *out = (opc_gradient_verdict_t){.agreement = OPC_AGREES, .number = SIZE_MAX};
  if (status != OPC_OK || part->symmetric || whole.rounds) return status;
  opc_gradient_verdict_t elements = whole;
  bool overwritten = false;
  status = judge_elements(judge, input, gradient, &elements, &overwritten, error);
  const bool all_seen = part->count <= elements_most(judge);
  if (elements.agreement == OPC_DIFFERS || all_seen || overwritten || whole.agreement == OPC_UNDECIDED) *out = elements;
  return status;
}
