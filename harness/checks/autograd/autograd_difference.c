#include "checks/autograd/autograd.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

/* Checked one by one if a direction that moves all of them does not decide. */
enum { ELEMENTS = 64, ELEMENTS_OF_NEIGHBOUR = 8 };

double opc_autograd_random(uint64_t seed, const char *stream, uint64_t index) {
  const uint64_t draw = opc_random_u64(seed, opc_random_stream(stream), index);
  return (0.5 + (double)(draw % 1024) / 1024.0) * (draw & 4096 ? -1.0 : 1.0);
}

opc_status_t opc_autograd_path_loss(double step, void *context, double *out, opc_error_t *error) {
  opc_autograd_path_t *path = context;
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  opc_autograd_forward_t how = {
      .direction = path->direction, .step = step, .label = {OPC_CALL_KIND_ON_OTHERS, "moved inputs"}};
  *out = NAN;
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(path->point, &how, &run, error));
  if (run.call.outcome == OPC_CALL_RETURNED && opc_autograd_run_fits(path->point, &run))
    OPC_RETURN_IF_ERROR(opc_autograd_run_loss(&run, path->point->weights, out, error));
  return OPC_OK;
}

/* Compares the slope along one direction with the gradient's. */
static opc_status_t compare_direction(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient,
                                      opc_gradient_verdict_t *out, opc_error_t *error) {
  const opc_autograd_part_t *part = &slopes->point->inputs.items[input];
  const double *direction = *slopes->direction;
  double scale = 0.0;
  opc_slope_t slope;
  out->analytic = 0.0;
  out->rounds = false;
  for (size_t k = part->first; k < part->first + part->count; k++) {
    if (direction[k] == 0.0) continue; /* an infinite gradient of other elements does not matter here */
    out->analytic += gradient[k] * direction[k];
    scale += fabs(gradient[k] * direction[k]);
  }
  OPC_RETURN_IF_ERROR(opc_slope_take(slopes->function, slopes->context, slopes->point->epsilon, &slope, error));
  out->numeric = slope.value;
  out->doubt = slope.doubt;
  out->agreement = opc_slope_compare(&slope, out->analytic, scale, slopes->point->epsilon);
  return OPC_OK;
}

/* Confirms a difference along the direction: it proves nothing if the function jumps there. Takes about sixty calls. */
static opc_status_t confirm_difference(const opc_autograd_slopes_t *slopes, opc_gradient_verdict_t *found,
                                       opc_error_t *error) {
  if (found->agreement != OPC_DIFFERS) return OPC_OK;
  OPC_RETURN_IF_ERROR(
      opc_slope_jumps(slopes->function, slopes->context, 1.0, 0, slopes->point->epsilon, &found->rounds, error));
  if (found->rounds) found->agreement = OPC_UNDECIDED;
  return OPC_OK;
}

static opc_status_t check_direction(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient,
                                    opc_gradient_verdict_t *out, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(compare_direction(slopes, input, gradient, out, error));
  return confirm_difference(slopes, out, error);
}

static size_t elements_most(const opc_autograd_slopes_t *slopes) {
  return slopes->point->context->rule->neighbours ? ELEMENTS_OF_NEIGHBOUR : ELEMENTS;
}

/* Elements of the result that are not finite get no weight. The gradient of what they depend on may not be finite even
 * so, because libtorch's own derivatives multiply zero by an infinite slope, too (a division by zero). */
static bool is_spread(const opc_autograd_point_t *point, double gradient) {
  return point->not_finite > 0 && !isfinite(gradient);
}

/* The numbers of a part to check: all of them, or a random choice; of a `spread` gradient, or of any other. */
static size_t choose_numbers(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient, bool spread,
                             size_t *out) {
  const opc_autograd_part_t *part = &slopes->point->inputs.items[input];
  const size_t most = elements_most(slopes), tries = part->count < most || spread ? part->count : most;
  size_t count = 0;
  for (size_t i = 0; i < tries && count < most; i++) {
    const size_t number =
        part->count <= most || spread ? i : (size_t)(opc_random_u64(0, opc_random_stream(part->path), i) % part->count);
    if (!slopes->point->still[part->first + number] &&
        is_spread(slopes->point, gradient[part->first + number]) == spread)
      out[count++] = number;
  }
  return count;
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

/* Confirms the difference of an element; there is none if the element is overwritten. */
static opc_status_t confirm_element(const opc_autograd_slopes_t *slopes, size_t input, opc_gradient_verdict_t *element,
                                    bool *out_overwritten, opc_error_t *error) {
  bool overwritten = false;
  OPC_RETURN_IF_ERROR(confirm_difference(slopes, element, error));
  if (element->agreement != OPC_DIFFERS) return OPC_OK;
  OPC_RETURN_IF_ERROR(
      opc_autograd_is_overwritten(slopes, input, element->number, element->analytic, &overwritten, error));
  if (overwritten) element->agreement = OPC_AGREES;
  *out_overwritten = *out_overwritten || overwritten;
  return OPC_OK;
}

/* Of the elements that differ, only the one to report is confirmed. *out_overwritten: some element is overwritten, so a
 * direction that moves it proves nothing. */
static opc_status_t check_elements(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient,
                                   bool spread, opc_gradient_verdict_t *out, bool *out_overwritten,
                                   opc_error_t *error) {
  const opc_autograd_part_t *part = &slopes->point->inputs.items[input];
  const double unit = slopes->point->scale[input];
  double *direction = *slopes->direction + part->first;
  size_t numbers[ELEMENTS], decided = 0, rounds = 0;
  const size_t looked = choose_numbers(slopes, input, gradient, spread, numbers);
  opc_gradient_verdict_t elements[ELEMENTS], *worst;
  for (size_t i = 0; i < looked; i++) {
    elements[i] = (opc_gradient_verdict_t){.number = numbers[i], .spread = spread};
    direction[elements[i].number] = unit;
    const opc_status_t status = compare_direction(slopes, input, gradient, &elements[i], error);
    direction[elements[i].number] = 0.0;
    OPC_RETURN_IF_ERROR(status);
  }
  while ((worst = most_different(elements, looked))) {
    direction[worst->number] = unit;
    const opc_status_t status = confirm_element(slopes, input, worst, out_overwritten, error);
    direction[worst->number] = 0.0;
    OPC_RETURN_IF_ERROR(status);
    if (worst->agreement != OPC_DIFFERS) continue;
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

/* A direction that moves all elements of the part, except those whose gradient is spread. False: it moves none. */
static bool draw_direction(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient) {
  const opc_autograd_point_t *point = slopes->point;
  const opc_autograd_part_t *part = &point->inputs.items[input];
  bool moves = false;
  for (size_t k = part->first; k < part->first + part->count; k++) {
    if (point->still[k] || is_spread(point, gradient[k])) continue;
    (*slopes->direction)[k] = point->scale[input] * opc_autograd_random(point->context->seed, "direction", k);
    moves = true;
  }
  return moves;
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

static void clear_direction(const opc_autograd_slopes_t *slopes, const opc_autograd_part_t *part) {
  memset(*slopes->direction + part->first, 0, part->count * sizeof **slopes->direction);
}

/* An operator that reads one triangle of a symmetric matrix (a Cholesky or an eigenvalue decomposition) returns the
 * gradient among symmetric matrices, by PyTorch's convention. It is right if it agrees along symmetric directions. */
static opc_status_t check_symmetric(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient,
                                    opc_error_t *error) {
  static change_t *const triangles[] = {keep_upper, keep_lower};
  opc_autograd_part_t *part = &slopes->point->inputs.items[input];
  double *direction = *slopes->direction + part->first;
  opc_gradient_verdict_t verdict = {0};
  bool ignores = false;
  for (size_t i = 0; !ignores && i < sizeof triangles / sizeof *triangles; i++) {
    opc_slope_t slope;
    (void)draw_direction(slopes, input, gradient);
    for_each_place(part, direction, triangles[i]);
    OPC_RETURN_IF_ERROR(opc_slope_take(slopes->function, slopes->context, slopes->point->epsilon, &slope, error));
    ignores = slope.flat;
  }
  if (!ignores) return OPC_OK;
  (void)draw_direction(slopes, input, gradient);
  opc_autograd_make_symmetric(part, direction);
  OPC_RETURN_IF_ERROR(check_direction(slopes, input, gradient, &verdict, error));
  part->symmetric = verdict.agreement == OPC_AGREES;
  return OPC_OK;
}

/* Of all elements but those whose gradient is spread. */
static opc_status_t check_usual(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient,
                                opc_gradient_verdict_t *out, opc_error_t *error) {
  const opc_autograd_part_t *part = &slopes->point->inputs.items[input];
  opc_gradient_verdict_t whole = {.number = SIZE_MAX};
  *out = (opc_gradient_verdict_t){.agreement = OPC_UNDECIDED, .number = SIZE_MAX};
  if (!draw_direction(slopes, input, gradient)) return OPC_OK;
  opc_status_t status = check_direction(slopes, input, gradient, &whole, error);
  clear_direction(slopes, part);
  OPC_RETURN_IF_ERROR(status);
  *out = whole;
  if (whole.agreement == OPC_AGREES) return OPC_OK;

  /* Before the test for rounding, because an eigenvector also jumps to its negative somewhere. */
  if (holds_matrices(part)) {
    status = check_symmetric(slopes, input, gradient, error);
    clear_direction(slopes, part);
    OPC_RETURN_IF_ERROR(status);
  }
  if (part->symmetric) *out = (opc_gradient_verdict_t){.agreement = OPC_AGREES, .number = SIZE_MAX};
  if (part->symmetric || whole.rounds) return OPC_OK;
  opc_gradient_verdict_t elements = whole;
  bool overwritten = false;
  OPC_RETURN_IF_ERROR(check_elements(slopes, input, gradient, false, &elements, &overwritten, error));
  const bool all_seen = part->count <= elements_most(slopes);
  if (elements.agreement == OPC_DIFFERS || all_seen || overwritten || whole.agreement == OPC_UNDECIDED) *out = elements;
  return OPC_OK;
}

opc_status_t opc_autograd_check_input(const opc_autograd_slopes_t *slopes, size_t input, const double *gradient,
                                      opc_gradient_verdict_t *out, opc_error_t *error) {
  const opc_autograd_part_t *part = &slopes->point->inputs.items[input];
  opc_gradient_verdict_t spread = {0};
  bool overwritten = false;
  *out = (opc_gradient_verdict_t){.number = SIZE_MAX};
  if (!part->count) return OPC_OK;
  OPC_RETURN_IF_ERROR(check_usual(slopes, input, gradient, out, error));
  if (out->agreement == OPC_DIFFERS || slopes->point->not_finite == 0) return OPC_OK;
  OPC_RETURN_IF_ERROR(check_elements(slopes, input, gradient, true, &spread, &overwritten, error));
  if (spread.agreement == OPC_DIFFERS && spread.numeric != 0.0) *out = spread;
  return OPC_OK;
}
