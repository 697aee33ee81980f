/* Second order: the slope of a gradient, along the inputs and along the incoming gradient. */
#include <math.h>
#include <stdlib.h>

#include "bridge/api/autograd_graph.h"
#include "checks/autograd/autograd.h"

enum { HALVINGS = 10 }; /* of a step that reaches a pole */

/* The weighted sum of the first gradients, with inputs and weights moved: the number that the second backward
 * differentiates. */
typedef struct second {
  opc_autograd_case_t *c;
  double *by;                /* weights of the first gradients */
  double *direction;         /* one per number of the inputs */
  double *weights_direction; /* one per number of the outputs */
  double *weights;           /* scratch */
} second_t;

static opc_status_t dotted(double step, void *context, double *out, opc_error_t *error) {
  second_t *s = context;
  opc_autograd_point_t *point = s->c->point;
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t gradient = {0};
  opc_autograd_forward_t forward = opc_autograd_forward_plain;
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  forward.direction = s->direction;
  forward.step = step;
  backward.weights = s->weights;
  for (size_t k = 0; k < point->outputs.numbers; k++)
    s->weights[k] = point->weights[k] + step * s->weights_direction[k];
  *out = NAN;
  OPC_RETURN_IF_ERROR(opc_autograd_both(point, &forward, &backward, &gradient, error));
  if (gradient.outcome == OPC_CALL_RETURNED && !gradient.unreadable) {
    *out = 0.0;
    for (size_t k = 0; k < point->inputs.numbers; k++)
      if (s->by[k] != 0.0) *out += s->by[k] * gradient.values[k];
  }
  return OPC_OK;
}

/* The second derivative as the engine computes it. */
typedef struct analytic {
  bool usable, refused, thrown;
  bool connected; /* some first gradient has a graph */
  bool dropped;   /* and part of it is an operator without a derivative, where libtorch's fallback goes on without */
  double inputs, inputs_scale, weights, weights_scale;
  char message[420];
} analytic_t;

static opc_status_t add_products(const opc_autograd_part_t *part, const opc_tensor_t *gradient, const double *direction,
                                 double *sum, double *scale, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) double *numbers = calloc(part->count + 1, sizeof *numbers);
  bool read = false;
  if (!numbers) return opc_out_of_memory(error);
  if (gradient) OPC_RETURN_IF_ERROR(opc_autograd_numbers(gradient, numbers, part->count, &read, error));
  for (size_t k = 0; read && k < part->count; k++) {
    if (direction[part->first + k] == 0.0) continue;
    *sum += numbers[k] * direction[part->first + k];
    *scale += fabs(numbers[k] * direction[part->first + k]);
  }
  return OPC_OK;
}

/* The derivatives of the first gradients, weighted: by the inputs, then by the incoming gradients. */
static void grad_again(const second_t *s, const opc_autograd_request_t *request, opc_autograd_tensors_t *got,
                       analytic_t *out) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t text = {0}; /* for the text of a refusal */
  const opc_case_context_t *context = s->c->point->context;
  context->announce(OPC_CALL_LABEL(BACKWARD, "the second one"));
  opc_bridge_seed(opc_autograd_backward_seed(opc_autograd_backward_seed(context->seed)));
  text.outcome = opc_autograd_grad(request, got->items, &text.message);
  out->thrown = text.outcome != OPC_CALL_RETURNED;
  out->refused = out->thrown && opc_autograd_is_refusal(&text);
  snprintf(out->message, sizeof out->message, "%.*s", opc_autograd_line(&text), opc_text_c(&text.message));
}

static opc_status_t second_backward(const second_t *s, opc_autograd_run_t *run, const opc_autograd_gradient_t *first,
                                    analytic_t *out, opc_error_t *error) {
  const opc_autograd_point_t *point = s->c->point;
  const size_t inputs = point->inputs.count, outputs = run->parts.count;
  OPC_SCOPED(opc_scope_free) opc_tensor_t **asked = calloc(inputs + outputs + 1, sizeof *asked);
  OPC_SCOPED(opc_autograd_tensors_clear) opc_autograd_tensors_t by = {0}, got = {0};
  if (!asked) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_autograd_tensors_make(&by, inputs, error));
  OPC_RETURN_IF_ERROR(opc_autograd_tensors_make(&got, inputs + outputs, error));
  for (size_t i = 0; i < inputs; i++) {
    const opc_autograd_part_t *part = &point->inputs.items[i];
    const opc_tensor_t *gradient = first->tensors.items[i];
    opc_tensor_meta_t meta;
    asked[i] = run->leaves[i];
    if (!gradient) continue;
    opc_tensor_describe(gradient, &meta);
    out->connected = out->connected || meta.requires_grad;
    out->refused = out->refused || (opc_autograd_graph(gradient) & OPC_GRAPH_NOT_IMPLEMENTED);
    out->dropped = out->dropped || opc_autograd_falls_back(gradient);
    OPC_RETURN_IF_ERROR(opc_autograd_tensor(part, s->by + part->first, OPC_WEIGHTS_PLAIN, &by.items[i], error));
  }
  for (size_t i = 0; i < outputs; i++) asked[inputs + i] = first->weights.items[i];
  const opc_autograd_request_t request = {.outputs = first->tensors.items,
                                          .weights = by.items,
                                          .output_count = inputs,
                                          .inputs = asked,
                                          .input_count = inputs + outputs,
                                          .retain_graph = true};
  if (out->connected && !out->refused) grad_again(s, &request, &got, out);
  for (size_t i = 0; i < inputs; i++)
    OPC_RETURN_IF_ERROR(
        add_products(&point->inputs.items[i], got.items[i], s->direction, &out->inputs, &out->inputs_scale, error));
  for (size_t i = 0; i < outputs; i++)
    OPC_RETURN_IF_ERROR(add_products(&point->outputs.items[i], got.items[inputs + i], s->weights_direction,
                                     &out->weights, &out->weights_scale, error));
  return OPC_OK;
}

static opc_status_t take_analytic(const second_t *s, analytic_t *out, opc_error_t *error) {
  opc_autograd_point_t *point = s->c->point;
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t first = {0};
  opc_autograd_backward_t backward = {.retain_graph = true,
                                      .create_graph = true,
                                      .track_weights = true,
                                      .label = {OPC_CALL_KIND_BACKWARD, "to be differentiated itself"}};
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(point, &opc_autograd_forward_plain, &run, error));
  if (run.call.outcome != OPC_CALL_RETURNED || !opc_autograd_run_fits(point, &run)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_autograd_backward_run(point, &run, &backward, &first, error));
  out->usable = true;
  out->thrown = first.outcome != OPC_CALL_RETURNED;
  out->refused = out->thrown; /* the gradient came back without a graph: this is a refusal, whatever its text */
  return out->thrown ? OPC_OK : second_backward(s, &run, &first, out, error);
}

static void fill_random(double *numbers, size_t count, const char *stream, uint64_t seed, double scale) {
  for (size_t k = 0; k < count; k++) numbers[k] = scale * opc_autograd_random(seed, stream, k);
}

/* Measures the slope along the directions of `s`. *out_differs: it is certain that `value`, a sum of products of size
 * `scale`, is another. */
static opc_status_t measure_second(second_t *s, double value, double scale, opc_slope_t *slope, bool *out_differs,
                                   opc_error_t *error) {
  const opc_autograd_point_t *point = s->c->point;
  bool jumps = false;
  *out_differs = false;
  OPC_RETURN_IF_ERROR(opc_slope_take(dotted, s, point->epsilon, slope, error));
  /* Gradients are sums of numbers of about the weights' size, which is 1: what is smaller than their rounding is
   * rounding. */
  const bool noise = fabs(value) <= point->epsilon && fabs(slope->value) <= point->epsilon;
  /* libtorch's own derivatives of abs and angle have none at 0, and where an element of the result is not finite, zero
   * times an infinite slope is not a number. */
  const bool foreign = !isfinite(value) && (point->not_finite > 0 || !opc_autograd_has_own_node(point));
  if (noise || foreign || opc_slope_compare(slope, value, scale, point->epsilon) != OPC_DIFFERS) return OPC_OK;
  /* Where no slope was found for the first gradients, what they are derived from may jump too. */
  const int halvings = s->c->undecided ? 0 : HALVINGS;
  OPC_RETURN_IF_ERROR(opc_slope_jumps(dotted, s, 1.0, halvings, point->epsilon, &jumps, error));
  *out_differs = !jumps;
  return OPC_OK;
}

/* Where nothing is left, it is as if the gradients had no graph; a part that is left is a wrong number. */
static opc_status_t report_dropped(opc_finding_t *finding, const char *along, double value, const opc_slope_t *slope) {
  opc_finding_fail(finding, OPC_RULE_autograd_second_order_dropped,
                   "backward calls an operator without a derivative, and libtorch goes on without it: the second "
                   "derivative along a random direction of %s is %.9g; central differences of the first gradients give "
                   "%.9g (within %.1g)",
                   along, value, slope->value, slope->doubt);
  if (value != 0.0) finding->severity = OPC_SEVERITY_ERROR;
  return OPC_OK;
}

/* Along the inputs, then along the incoming gradient; the other direction is zero. */
static opc_status_t compare_second(const second_t *s, const analytic_t *analytic, bool along_inputs,
                                   opc_error_t *error) {
  const opc_autograd_point_t *point = s->c->point;
  const size_t numbers = along_inputs ? point->outputs.numbers : point->inputs.numbers;
  OPC_SCOPED(opc_scope_free) double *zeros = calloc(numbers + 1, sizeof *zeros);
  const double value = along_inputs ? analytic->inputs : analytic->weights,
               scale = along_inputs ? analytic->inputs_scale : analytic->weights_scale;
  const char *along = along_inputs ? "the inputs" : "the incoming gradient";
  second_t one = *s;
  opc_slope_t slope;
  bool differs = false;
  if (!zeros) return opc_out_of_memory(error);
  *(along_inputs ? &one.weights_direction : &one.direction) = zeros;
  OPC_RETURN_IF_ERROR(measure_second(&one, value, scale, &slope, &differs, error));
  if (!differs) return OPC_OK;
  if (analytic->dropped) return report_dropped(s->c->finding, along, value, &slope);
  if (!analytic->connected)
    return opc_finding_fail(s->c->finding, OPC_RULE_autograd_second_order_dropped,
                            "with create_graph the gradients have no graph, but they depend on %s: their slope along "
                            "a random direction is %.9g",
                            along, slope.value);
  return opc_finding_fail(
      s->c->finding, OPC_RULE_autograd_second_order,
      "the second derivative along a random direction of %s is %.9g; central differences of the first "
      "gradients give %.9g (within %.1g)",
      along, value, slope.value, slope.doubt);
}

static void second_clear(second_t *s) {
  free(s->by);
  free(s->direction);
  free(s->weights_direction);
  free(s->weights);
}

static opc_status_t second_make(second_t *s, opc_autograd_case_t *c, opc_error_t *error) {
  const opc_autograd_point_t *point = c->point;
  *s = (second_t){.c = c,
                  .by = calloc(point->inputs.numbers + 1, sizeof *s->by),
                  .direction = calloc(point->inputs.numbers + 1, sizeof *s->direction),
                  .weights_direction = calloc(point->outputs.numbers + 1, sizeof *s->weights_direction),
                  .weights = calloc(point->outputs.numbers + 1, sizeof *s->weights)};
  if (!s->by || !s->direction || !s->weights_direction || !s->weights) return opc_out_of_memory(error);
  fill_random(s->by, point->inputs.numbers, "second", point->context->seed, 1.0);
  for (size_t i = 0; i < point->inputs.count; i++) {
    const opc_autograd_part_t *part = &point->inputs.items[i];
    if (!c->plain.undefined[i])
      fill_random(s->direction + part->first, part->count, part->path, point->context->seed, point->scale[i]);
    if (part->symmetric) opc_autograd_make_symmetric(part, s->direction + part->first);
    for (size_t k = part->first; k < part->first + part->count; k++) {
      const bool still = point->still[k] || (point->not_finite > 0 && !isfinite(c->plain.values[k]));
      if (still) s->direction[k] = 0.0;
      if (still || c->plain.undefined[i]) s->by[k] = 0.0;
    }
  }
  for (size_t i = 0; i < point->outputs.count; i++) {
    const opc_autograd_part_t *part = &point->outputs.items[i];
    if (part->tracked)
      fill_random(s->weights_direction + part->first, part->count, part->path, point->context->seed, 1.0);
    for (size_t k = part->first; k < part->first + part->count; k++)
      if (point->weights[k] == 0.0) s->weights_direction[k] = 0.0;
  }
  return OPC_OK;
}

opc_status_t opc_autograd_check_second(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_SCOPED(second_clear) second_t s = {0};
  analytic_t analytic = {0};
  OPC_RETURN_IF_ERROR(second_make(&s, c, error));
  OPC_RETURN_IF_ERROR(take_analytic(&s, &analytic, error));
  c->grad_twice_refused = analytic.refused;
  if (!analytic.usable || analytic.refused) return OPC_OK;
  if (analytic.thrown)
    return opc_finding_fail(c->finding, OPC_RULE_autograd_second_order,
                            "the gradients have a graph, but a second backward through it throws: %s",
                            analytic.message);
  OPC_RETURN_IF_ERROR(compare_second(&s, &analytic, true, error));
  return c->finding->rule == OPC_RULE_autograd_second_order_dropped || opc_autograd_failed(c)
             ? OPC_OK
             : compare_second(&s, &analytic, false, error);
}
