/* Compares gradients with differences of the operator's own results, and with the gradients in double precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/autograd/autograd.h"

enum { MOVED_PATTERNS = 2, MOVED_FACTOR = 16, OWN_UNITS = 256, CANCELLED_UNITS = 64 };

bool opc_autograd_differ(const opc_autograd_case_t *c, const double *left, const double *right, double parts,
                         opc_gradient_place_t *out) {
  const opc_autograd_point_t *point = c->point;
  const double allowed = c->bits_vary ? fmax(parts, OPC_AUTOGRAD_SUMMED) : parts;
  double worst = 0.0;
  const opc_autograd_part_t *found = NULL;
  size_t number = 0;
  for (size_t i = 0; i < point->inputs.count; i++) {
    const opc_autograd_part_t *part = &point->inputs.items[i];
    double largest =
        1.0 / 256; /* where all are 0, what is left of terms as large as the incoming gradient, which is 1 */
    for (size_t k = part->first; k < part->first + part->count; k++)
      largest = fmax(largest, fmax(isfinite(right[k]) ? fabs(right[k]) : 0.0,
                                   isfinite(c->plain.values[k]) ? fabs(c->plain.values[k]) : 0.0));
    for (size_t k = part->first; k < part->first + part->count; k++) {
      if (left[k] == right[k] || (isnan(left[k]) && isnan(right[k]))) continue;
      double off = fabs(left[k] - right[k]);
      if (!isfinite(off)) off = INFINITY;
      if (off <= allowed * point->epsilon * largest || (found && off <= worst)) continue;
      worst = off;
      found = part;
      number = k;
    }
  }
  if (!found) return false;
  *out = (opc_gradient_place_t){.left = left[number], .right = right[number]};
  opc_autograd_place(found, number - found->first, out->text, sizeof out->text);
  return true;
}

bool opc_autograd_is_refusal(const opc_autograd_gradient_t *gradient) {
  static const char *const texts[] = {"mplement",  "upport",    "ifferentia",
                                      "erivative", "once_diff", "no autograd formula"};
  const char *text = opc_text_c(&gradient->message);
  if (gradient->outcome == OPC_CALL_NO_KERNEL) return true;
  if (opc_message_is_mistake(text)) return false;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strstr(text, texts[i])) return true;
  return false;
}

bool opc_autograd_saved_was_written(const char *message) {
  return strstr(message, "has been modified by an inplace operation");
}

int opc_autograd_line(const opc_autograd_gradient_t *gradient) {
  enum { LONGEST = 400 };
  size_t length = strcspn(opc_text_c(&gradient->message), "\n");
  return length < LONGEST ? (int)length : LONGEST;
}

opc_status_t opc_autograd_is_deterministic(opc_autograd_point_t *point, bool *out, opc_error_t *error) {
  opc_autograd_path_t path = {.point = point};
  double first = NAN, second = NAN;
  OPC_RETURN_IF_ERROR(opc_autograd_path_loss(0.0, &path, &first, error));
  OPC_RETURN_IF_ERROR(opc_autograd_path_loss(0.0, &path, &second, error));
  *out = first == second; /* NaN is not deterministic: an output cannot be read */
  return OPC_OK;
}

bool opc_autograd_failed(const opc_autograd_case_t *c) {
  return c->finding->rule && c->finding->severity == OPC_SEVERITY_ERROR;
}

/* ---- central differences ---- */

/* By convention, random numbers have gradient zero where the arguments of their distribution have none. */
static bool is_random_constant(const opc_autograd_case_t *c, const opc_autograd_part_t *part) {
  bool zero = opc_operator_has_tag(c->point->context->op, "nondeterministic_seeded");
  for (size_t k = part->first; k < part->first + part->count; k++) zero = zero && c->plain.values[k] == 0.0;
  return zero;
}

/* The gradient of a written argument is the incoming one, and no other argument has any: backward goes past the call.
 */
static bool goes_past_the_call(const opc_autograd_case_t *c) {
  const opc_autograd_point_t *point = c->point;
  for (size_t i = 0; i < point->inputs.count; i++) {
    const opc_autograd_part_t *input = &point->inputs.items[i];
    const double *incoming = NULL;
    for (size_t o = 0; input->written && o < point->outputs.count; o++)
      if (strcmp(point->outputs.items[o].path, input->path) == 0)
        incoming = point->weights + point->outputs.items[o].first;
    for (size_t k = 0; k < input->count; k++)
      if (c->plain.values[input->first + k] != (incoming ? incoming[k] : 0.0)) return false;
  }
  return true;
}

/* It writes its argument and has no derivative of its own: autograd promises nothing for that case. Python's custom_op
 * always registers a kernel at Autograd; without register_autograd, that makes no node of its own. Nor does
 * autogradNotImplementedFallback where the written argument is not returned. */
static bool promises_nothing(const opc_autograd_case_t *c) {
  const opc_operator_t *op = c->point->context->op;
  if (!opc_operator_is_mutable(op) || opc_autograd_has_own_node(c->point)) return false;
  return !opc_operator_has_formula(op) || op->in_python || goes_past_the_call(c);
}

static void report_slope(const opc_autograd_case_t *c, size_t input, const opc_gradient_verdict_t *verdict) {
  const opc_autograd_part_t *part = &c->point->inputs.items[input];
  char place[256];
  if (verdict->number == SIZE_MAX)
    snprintf(place, sizeof place, "%s along a direction that moves all its elements", part->path);
  else opc_autograd_place(part, verdict->number, place, sizeof place);
  if (c->plain.undefined[input] || is_random_constant(c, part))
    opc_finding_fail(
        c->finding, OPC_RULE_autograd_no_gradient,
        "backward gives no gradient for %s (it is %s), but the result depends on it: the slope in %s is %.9g",
        part->path, c->plain.undefined[input] ? "undefined" : "zero", place, verdict->numeric);
  else if (verdict->spread)
    opc_finding_fail(c->finding, OPC_RULE_autograd_not_finite,
                     "the gradient of %s is %.9g, because elements of the result are not finite; the others depend on "
                     "it, with a slope of %.9g (within %.1g)",
                     place, fabs(verdict->analytic), verdict->numeric, verdict->doubt);
  else
    opc_finding_fail(
        c->finding, promises_nothing(c) ? OPC_RULE_autograd_in_place : OPC_RULE_autograd_wrong_gradient,
        "the gradient of %s is %.9g; central differences of the operator's own results give %.9g (within %.1g)", place,
        isnan(verdict->analytic) ? fabs(verdict->analytic) : verdict->analytic, /* printed without a sign */
        verdict->numeric, verdict->doubt);
  opc_finding_evidence(c->finding, "gradient",
                       json_pack("{s:s, s:f, s:f, s:f}", "place", place, "analytic",
                                 isfinite(verdict->analytic) ? verdict->analytic : 0.0, "numeric", verdict->numeric,
                                 "doubt", verdict->doubt));
}

opc_status_t opc_autograd_check_values(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) double *direction = calloc(c->point->inputs.numbers + 1, sizeof *direction);
  if (!direction) return opc_out_of_memory(error);
  opc_autograd_path_t path = {.point = c->point, .direction = direction};
  opc_autograd_slopes_t slopes = {
      .point = c->point, .function = opc_autograd_path_loss, .context = &path, .direction = &direction};
  size_t agree = 0, rounds = 0;
  for (size_t i = 0; i < c->point->inputs.count; i++) {
    opc_gradient_verdict_t verdict = {0};
    OPC_RETURN_IF_ERROR(opc_autograd_check_input(&slopes, i, c->plain.values, &verdict, error));
    if (verdict.agreement == OPC_DIFFERS) report_slope(c, i, &verdict);
    agree += verdict.agreement == OPC_AGREES;
    rounds += verdict.rounds;
  }
  c->undecided = rounds > 0;
  if (!c->finding->rule && !agree)
    opc_finding_skip(
        c->finding, OPC_SKIP_NOT_APPLICABLE, "%s",
        rounds ? "the operator rounds: its slopes are 0, so its gradients are the author's choice"
               : "the operator has kinks or jumps at these arguments: there is no slope to compare gradients with");
  return OPC_OK;
}

/* ---- the sample's own dtype ---- */

static bool is_narrow(const opc_autograd_point_t *point) {
  for (size_t i = 0; i < point->inputs.count; i++)
    if (opc_dtype_digits(point->replay.tensor_args[point->inputs.items[i].tensor_arg].dtype) <
        opc_dtype_digits(point->inputs.items[i].meta.dtype))
      return true;
  return false;
}

/* How much each number of the gradient changes if the arguments move by one unit in the last place of their own
 * dtype. */
static opc_status_t measure_moves(opc_autograd_case_t *c, double *moves, opc_error_t *error) {
  for (int pattern = 1; pattern <= MOVED_PATTERNS; pattern++) {
    OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t moved = {0};
    c->point->replay.pattern = pattern;
    const opc_status_t status =
        opc_autograd_both(c->point, &opc_autograd_forward_plain, &opc_autograd_backward_plain, &moved, error);
    c->point->replay.pattern = 0;
    OPC_RETURN_IF_ERROR(status);
    for (size_t i = 0; moved.values && i < c->point->inputs.count; i++) {
      const opc_autograd_part_t *part = &c->point->inputs.items[i];
      for (size_t k = part->first; k < part->first + part->count; k++)
        moves[i] = fmax(moves[i], fabs(moved.values[k] - c->plain.values[k]));
    }
  }
  return OPC_OK;
}

static double largest_weight(const opc_autograd_point_t *point) {
  double largest = 0.0;
  for (size_t k = 0; k < point->outputs.numbers; k++) largest = fmax(largest, fabs(point->weights[k]));
  return largest;
}

static const double of_nothing = 1e-3; /* of a weight, where the gradient is 0 throughout: all of it is rounding */

/* The number that exceeds its bound most; false: none does. largest_output: a gradient may be the difference of numbers
 * of the size of output * weight / input, of which only their rounding is left. */
static bool exceeds_bound(const opc_autograd_case_t *c, size_t input, const double *own, double moved,
                          double largest_output, opc_gradient_place_t *out) {
  const opc_autograd_part_t *part = &c->point->inputs.items[input];
  opc_dtype_t dtype = c->point->replay.tensor_args[part->tensor_arg].dtype;
  double largest = 0.0, worst = 0.0;
  size_t number = 0;
  for (size_t k = part->first; k < part->first + part->count; k++)
    if (isfinite(c->plain.values[k])) largest = fmax(largest, fabs(c->plain.values[k]));
  double terms =
      c->point->scale[input] > 0.0 ? largest_output * largest_weight(c->point) / c->point->scale[input] : 0.0;
  double allow = MOVED_FACTOR * moved + opc_dtype_ulp(dtype, 0.0) +
                 opc_dtype_ulp(dtype, 1.0) * (OWN_UNITS * largest + CANCELLED_UNITS * terms);
  if (largest == 0.0) allow = fmax(allow, of_nothing * largest_weight(c->point));
  for (size_t k = part->first; k < part->first + part->count; k++) {
    double exact = c->plain.values[k], off = fabs(own[k] - exact);
    if (!isfinite(exact) || fabs(exact) > 1e-3 * opc_dtype_max(dtype) || off <= allow)
      continue; /* overflow there may give infinity */
    if (isnan(off)) off = INFINITY;
    if (off <= worst) continue;
    worst = off;
    number = k;
  }
  if (worst == 0.0) return false;
  *out = (opc_gradient_place_t){.left = own[number], .right = c->plain.values[number]};
  opc_autograd_place(part, number - part->first, out->text, sizeof out->text);
  return true;
}

/* The numbers of all outputs of a sample. *out false: they cannot be read, or the outputs have other shapes. */
static opc_status_t output_numbers(opc_autograd_point_t *point, const opc_sample_t *sample, double *numbers, bool *out,
                                   opc_error_t *error) {
  const opc_autograd_forward_t forward = {.sample = sample, .label = {OPC_CALL_KIND_OTHERWISE, "in its own dtype"}};
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(point, &forward, &run, error));
  *out = run.call.outcome == OPC_CALL_RETURNED && opc_autograd_run_fits(point, &run);
  for (size_t k = 0; *out && k < run.parts.count; k++) {
    const opc_autograd_part_t *part = &run.parts.items[k];
    OPC_RETURN_IF_ERROR(opc_autograd_numbers(run.outputs[k], numbers + part->first, part->count, out, error));
  }
  return OPC_OK;
}

/* Random numbers differ between dtypes, and so do rounded indices: the gradients then belong to another function. */
static opc_status_t same_result(opc_autograd_case_t *c, const opc_sample_t *own, bool *out, double *out_largest,
                                opc_error_t *error) {
  const size_t count = c->point->outputs.numbers;
  OPC_SCOPED(opc_scope_free) double *numbers = calloc(2 * count + 1, sizeof *numbers);
  bool wide_read = false, own_read = false;
  double largest = 0.0, off = 0.0;
  if (!numbers) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(output_numbers(c->point, NULL, numbers, &wide_read, error));
  OPC_RETURN_IF_ERROR(output_numbers(c->point, own, numbers + count, &own_read, error));
  for (size_t k = 0; wide_read && own_read && k < count; k++) {
    if (!isfinite(numbers[k])) continue; /* it has no weight */
    largest = fmax(largest, fabs(numbers[k]));
    off = fmax(off, fabs(numbers[k] - numbers[k + count]));
    if (!isfinite(numbers[k + count])) off = INFINITY;
  }
  *out = wide_read && own_read && off <= 0.02 * largest;
  *out_largest = largest;
  return OPC_OK;
}

opc_status_t opc_autograd_check_precision(opc_autograd_case_t *c, opc_error_t *error) {
  opc_case_context_t *context = c->point->context;
  bool same = false;
  double largest_output = 0.0;
  OPC_SCOPED(opc_sample_clear) opc_sample_t own = {0};
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t gradient = {0};
  opc_autograd_forward_t forward = opc_autograd_forward_plain;
  opc_gradient_place_t at;
  OPC_SCOPED(opc_scope_free) double *moves = calloc(c->point->inputs.count + 1, sizeof *moves);
  if (!moves) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->sample, &own, error));
  if (!is_narrow(c->point)) return OPC_OK;
  opc_sample_make_contiguous(&own);
  opc_autograd_forget_grad(&own);
  forward.sample = &own;
  forward.label = OPC_CALL_LABEL(OTHERWISE, "in its own dtype, with inputs that require grad");
  OPC_RETURN_IF_ERROR(same_result(c, &own, &same, &largest_output, error));
  if (!same) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_autograd_both(c->point, &forward, &opc_autograd_backward_plain, &gradient, error));
  if (gradient.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(measure_moves(c, moves, error));
  for (size_t i = 0; i < c->point->inputs.count && !opc_autograd_failed(c); i++) {
    const opc_autograd_part_t *part = &c->point->inputs.items[i];
    if (gradient.undefined[i] != c->plain.undefined[i] ||
        !exceeds_bound(c, i, gradient.values, moves[i], largest_output, &at))
      continue;
    opc_finding_fail(c->finding, OPC_RULE_autograd_precision,
                     "in %s the gradient of %s is %.9g, and %.9g in %s, for the same values",
                     opc_dtype_name(c->point->replay.tensor_args[part->tensor_arg].dtype), at.text, at.left, at.right,
                     opc_dtype_name(part->meta.dtype));
  }
  return OPC_OK;
}

/* An output has that dtype, because the caller asked for it, and so has its incoming gradient. */
static bool comes_in(const opc_autograd_point_t *point, opc_dtype_t dtype) {
  for (size_t i = 0; i < point->outputs.count; i++)
    if (point->outputs.items[i].meta.dtype == dtype) return true;
  return false;
}

opc_status_t opc_autograd_check_dtypes(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t gradient = {0}; /* for its weights */
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  OPC_SCOPED(opc_scope_free) opc_dtype_t *dtypes = calloc(c->point->inputs.count + 1, sizeof *dtypes);
  if (!dtypes) return opc_out_of_memory(error);
  backward.retain_graph = true;
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(c->point, &opc_autograd_forward_plain, &run, error));
  if (run.call.outcome != OPC_CALL_RETURNED || !opc_autograd_run_fits(c->point, &run)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_autograd_backward_run(c->point, &run, &backward, &gradient, error));
  if (gradient.outcome != OPC_CALL_RETURNED) return OPC_OK;
  opc_autograd_request_t request = {.outputs = run.outputs,
                                    .weights = gradient.weights.items,
                                    .output_count = run.parts.count,
                                    .inputs = run.leaves,
                                    .input_count = run.leaf_count};
  c->point->context->announce(OPC_CALL_LABEL(BACKWARD, "called by itself"));
  if (opc_autograd_raw_dtypes(&request, dtypes, NULL) != OPC_CALL_RETURNED) return OPC_OK;
  for (size_t i = 0; i < c->point->inputs.count && !opc_autograd_failed(c); i++) {
    const opc_autograd_part_t *part = &c->point->inputs.items[i];
    if (dtypes[i] == OPC_DTYPE_OTHER || opc_dtype_class(dtypes[i]) != opc_dtype_class(part->meta.dtype) ||
        opc_dtype_digits(dtypes[i]) >= opc_dtype_digits(part->meta.dtype) || comes_in(c->point, dtypes[i]))
      continue;
    opc_finding_fail(c->finding, OPC_RULE_autograd_gradient_dtype,
                     "backward computes the gradient of %s, which is %s, in %s; the engine then converts it, but the "
                     "digits are lost",
                     part->path, opc_dtype_name(part->meta.dtype), opc_dtype_name(dtypes[i]));
  }
  return OPC_OK;
}
