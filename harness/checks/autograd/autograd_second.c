/* Second order: the slope of a gradient, along the inputs and along the incoming gradient. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "checks/autograd/autograd_case.h"
#include "checks/autograd/autograd_difference.h"

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
  opc_status_t status = opc_autograd_both(point, &forward, &backward, &gradient, error);
  if (status == OPC_OK && gradient.outcome == OPC_CALL_RETURNED && !gradient.unreadable) {
    *out = 0.0;
    for (size_t k = 0; k < point->inputs.numbers; k++) *out += s->by[k] * gradient.values[k];
  }
  return status;
}

/* The second derivative as the engine computes it. */
typedef struct analytic {
  bool usable, refused, thrown, connected; /* connected: some first gradient has a graph */
  double inputs, inputs_scale, weights, weights_scale;
  char message[420];
} analytic_t;

static opc_status_t add_products(const opc_autograd_part_t *part, const opc_tensor_t *gradient, const double *direction,
                                 double *sum, double *scale, opc_error_t *error) {
  bool read = false;
  double *numbers = calloc(part->count + 1, sizeof *numbers);
  if (!numbers) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the gradients");
  opc_status_t status = gradient ? opc_autograd_numbers(gradient, numbers, part->count, &read, error) : OPC_OK;
  for (size_t k = 0; read && k < part->count; k++) {
    if (direction[part->first + k] == 0.0) continue;
    *sum += numbers[k] * direction[part->first + k];
    *scale += fabs(numbers[k] * direction[part->first + k]);
  }
  free(numbers);
  return status;
}

static opc_status_t second_backward(const second_t *s, opc_autograd_run_t *run, const opc_autograd_gradient_t *first,
                                    analytic_t *out, opc_error_t *error) {
  opc_autograd_point_t *point = s->c->point;
  size_t inputs = point->inputs.count, outputs = run->parts.count;
  opc_autograd_gradient_t text = {0}; /* for the text of a refusal */
  opc_tensor_t **asked = calloc(inputs + outputs + 1, sizeof *asked), **got = calloc(inputs + outputs + 1, sizeof *got);
  opc_tensor_t **by = calloc(inputs + 1, sizeof *by);
  opc_status_t status =
      asked && got && by ? OPC_OK : opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the gradients");
  for (size_t i = 0; status == OPC_OK && i < inputs; i++) {
    opc_tensor_meta_t meta;
    asked[i] = run->leaves[i];
    if (!first->tensors[i]) continue;
    opc_tensor_describe(first->tensors[i], &meta);
    out->connected = out->connected || meta.requires_grad;
    out->refused = out->refused || (opc_autograd_graph(first->tensors[i]) & OPC_GRAPH_NOT_IMPLEMENTED);
    status = opc_autograd_tensor(&point->inputs.items[i], s->by + point->inputs.items[i].first, OPC_WEIGHTS_PLAIN,
                                 &by[i], error);
  }
  for (size_t i = 0; status == OPC_OK && i < outputs; i++) asked[inputs + i] = first->weights[i];
  if (status == OPC_OK && out->connected && !out->refused) {
    opc_autograd_request_t request = {.outputs = first->tensors,
                                      .weights = by,
                                      .output_count = inputs,
                                      .inputs = asked,
                                      .input_count = inputs + outputs,
                                      .retain_graph = true};
    point->context->announce(OPC_CALL_LABEL(BACKWARD, "the second one"));
    opc_bridge_seed(opc_autograd_backward_seed(opc_autograd_backward_seed(point->context->seed)));
    text.outcome = opc_autograd_grad(&request, got, &text.message);
    out->thrown = text.outcome != OPC_CALL_RETURNED;
    out->refused = out->thrown && opc_autograd_is_refusal(&text);
    snprintf(out->message, sizeof out->message, "%.*s", opc_autograd_line(&text), opc_text_c(&text.message));
  }
  for (size_t i = 0; status == OPC_OK && i < inputs; i++)
    status = add_products(&point->inputs.items[i], got[i], s->direction, &out->inputs, &out->inputs_scale, error);
  for (size_t i = 0; status == OPC_OK && i < outputs; i++)
    status = add_products(&point->outputs.items[i], got[inputs + i], s->weights_direction, &out->weights,
                          &out->weights_scale, error);
  for (size_t i = 0; got && i < inputs + outputs; i++) opc_tensor_free(got[i]);
  for (size_t i = 0; by && i < inputs; i++) opc_tensor_free(by[i]);
  free(asked);
  free(got);
  free(by);
  opc_text_clear(&text.message);
  return status;
}

static opc_status_t take_analytic(const second_t *s, analytic_t *out, opc_error_t *error) {
  opc_autograd_point_t *point = s->c->point;
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t first = {0};
  opc_autograd_backward_t backward = {.retain_graph = true,
                                      .create_graph = true,
                                      .track_weights = true,
                                      .label = {OPC_CALL_KIND_BACKWARD, "to be differentiated itself"}};
  opc_status_t status = opc_autograd_forward_run(point, &opc_autograd_forward_plain, &run, error);
  if (status == OPC_OK && run.call.outcome == OPC_CALL_RETURNED && opc_autograd_run_fits(point, &run)) {
    status = opc_autograd_backward_run(point, &run, &backward, &first, error);
    out->thrown = first.outcome != OPC_CALL_RETURNED;
    out->refused = out->thrown; /* the gradient came back without a graph: this is a refusal, whatever its text */
    out->usable = status == OPC_OK;
    if (status == OPC_OK && !out->thrown) status = second_backward(s, &run, &first, out, error);
  }
  return status;
}

static void fill_random(double *numbers, size_t count, const char *stream, uint64_t seed, double scale) {
  for (size_t k = 0; k < count; k++) {
    uint64_t draw = opc_random_u64(seed, opc_random_stream(stream), k);
    numbers[k] = scale * (0.5 + (double)(draw % 1024) / 1024.0) * (draw & 4096 ? -1.0 : 1.0);
  }
}

/* Along the inputs, then along the incoming gradient; the other direction is zero. */
static opc_status_t compare(second_t *s, const analytic_t *analytic, bool along_inputs, opc_error_t *error) {
  opc_autograd_point_t *point = s->c->point;
  double **still = along_inputs ? &s->weights_direction : &s->direction, *moving = *still;
  double *zeros = calloc((along_inputs ? point->outputs.numbers : point->inputs.numbers) + 1, sizeof *zeros);
  double value = along_inputs ? analytic->inputs : analytic->weights,
         scale = along_inputs ? analytic->inputs_scale : analytic->weights_scale;
  const char *along = along_inputs ? "the inputs" : "the incoming gradient";
  opc_slope_t slope;
  bool jumps = false;
  if (!zeros) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the gradients");
  *still = zeros;
  opc_status_t status = opc_slope_take(dotted, s, point->epsilon, &slope, error);
  /* Gradients are sums of numbers of about the weights' size, which is 1: what is smaller than their rounding is
   * rounding. */
  const bool noise = fabs(value) <= point->epsilon && fabs(slope.value) <= point->epsilon;
  /* libtorch's own derivatives of abs and angle have none at 0. */
  const bool foreign = !isfinite(value) && !opc_autograd_has_own_node(point);
  bool differs =
      status == OPC_OK && !noise && !foreign && opc_slope_compare(&slope, value, scale, point->epsilon) == OPC_DIFFERS;
  /* Where the first gradients could not be judged, what they are derived from may jump too. */
  const int halvings = s->c->undecided ? 0 : HALVINGS;
  if (differs) status = opc_slope_jumps(dotted, s, 1.0, halvings, point->epsilon, &jumps, error);
  *still = moving;
  free(zeros);
  if (status != OPC_OK || !differs || jumps) return status;
  if (!analytic->connected)
    opc_finding_fail(s->c->finding, "autograd.second_order_dropped",
                     "with create_graph the gradients have no graph, but they depend on %s: their slope along "
                     "a random direction is %.9g",
                     along, slope.value);
  else
    opc_finding_fail(s->c->finding, "autograd.second_order",
                     "the second derivative along a random direction of %s is %.9g; central differences of the first "
                     "gradients give %.9g (within %.1g)",
                     along, value, slope.value, slope.doubt);
  return status;
}

opc_status_t opc_autograd_check_second(opc_autograd_case_t *c, opc_error_t *error) {
  const opc_autograd_point_t *point = c->point;
  analytic_t analytic = {0};
  second_t s = {.c = c};
  opc_status_t status = OPC_OK;
  s.by = calloc(point->inputs.numbers + 1, sizeof *s.by);
  s.direction = calloc(point->inputs.numbers + 1, sizeof *s.direction);
  s.weights_direction = calloc(point->outputs.numbers + 1, sizeof *s.weights_direction);
  s.weights = calloc(point->outputs.numbers + 1, sizeof *s.weights);
  if (!s.by || !s.direction || !s.weights_direction || !s.weights)
    status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the gradients");
  if (status != OPC_OK) goto release;
  fill_random(s.by, point->inputs.numbers, "second", point->context->seed, 1.0);
  for (size_t i = 0; i < point->inputs.count; i++) {
    const opc_autograd_part_t *part = &point->inputs.items[i];
    if (!c->plain.undefined[i])
      fill_random(s.direction + part->first, part->count, part->path, point->context->seed, point->scale[i]);
    if (part->symmetric) opc_autograd_make_symmetric(part, s.direction + part->first);
    for (size_t k = part->first; c->plain.undefined[i] && k < part->first + part->count; k++) s.by[k] = 0.0;
  }
  for (size_t i = 0; i < point->outputs.count; i++) {
    const opc_autograd_part_t *part = &point->outputs.items[i];
    if (part->tracked)
      fill_random(s.weights_direction + part->first, part->count, part->path, point->context->seed, 1.0);
  }
  status = take_analytic(&s, &analytic, error);
  c->grad_twice_refused = analytic.refused;
  if (status != OPC_OK || !analytic.usable || analytic.refused) goto release;
  if (analytic.thrown) {
    opc_finding_fail(c->finding, "autograd.second_order",
                     "the gradients have a graph, but a second backward through it throws: %s", analytic.message);
    goto release;
  }
  status = compare(&s, &analytic, true, error);
  if (status == OPC_OK && !opc_autograd_failed(c)) status = compare(&s, &analytic, false, error);

release:
  free(s.by);
  free(s.direction);
  free(s.weights_direction);
  free(s.weights);
  return status;
}
