/* Gradients for strided and expanded inputs, and from incoming gradients that are strided, expanded, zero or negated.
 */
#include <math.h>
#include <stdlib.h>

#include "checks/autograd/autograd.h"
#include "checks/compare/compare.h"

enum { ORDER = 1 << 16 /* units of epsilon allowed for another order of summing */ };

/* ---- incoming gradients ---- */

/* Compares the gradient from weights in that layout with the gradient from the same weights, contiguous. */
static opc_status_t check_weights_in(opc_autograd_case_t *c, opc_weights_layout_t layout, const double *weights,
                                     const double *expected, const char *which, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t other = {0};
  opc_autograd_backward_t backward = {.layout = layout, .weights = weights};
  opc_gradient_place_t at;
  char detail[160];
  snprintf(detail, sizeof detail, "from %s gradient", which);
  backward.label = OPC_CALL_LABEL(BACKWARD, detail);
  OPC_RETURN_IF_ERROR(opc_autograd_both(c->point, &opc_autograd_forward_plain, &backward, &other, error));
  if (other.outcome != OPC_CALL_RETURNED && other.outcome != OPC_CALL_UNCONVERTIBLE) {
    opc_finding_fail(c->finding, OPC_RULE_autograd_grad_layout,
                     "backward throws for %s incoming gradient, but not for a contiguous one: %.*s", which,
                     opc_autograd_line(&other), opc_text_c(&other.message));
  } else if (other.outcome == OPC_CALL_RETURNED && opc_autograd_differ(c, other.values, expected, ORDER, &at)) {
    opc_finding_fail(
        c->finding, OPC_RULE_autograd_grad_layout,
        "the gradient of %s is %.9g from %s incoming gradient, and %.9g from a contiguous one with the same values",
        at.text, at.left, which, at.right);
  }
  return OPC_OK;
}

static opc_status_t check_expanded(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t plain = {0};
  OPC_SCOPED(opc_scope_free) double *weights = calloc(c->point->outputs.numbers + 1, sizeof *weights);
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  if (!weights) return opc_out_of_memory(error);
  for (size_t i = 0; i < c->point->outputs.numbers; i++) weights[i] = 1.25;
  backward.weights = weights;
  OPC_RETURN_IF_ERROR(opc_autograd_both(c->point, &opc_autograd_forward_plain, &backward, &plain, error));
  if (plain.outcome != OPC_CALL_RETURNED) return OPC_OK;
  return check_weights_in(c, OPC_WEIGHTS_EXPANDED, weights, plain.values, "an expanded (all strides 0)", error);
}

/* A backward is linear in the incoming gradient. */
static opc_status_t check_zero(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t got = {0};
  OPC_SCOPED(opc_scope_free) double *weights = calloc(c->point->outputs.numbers + 1, sizeof *weights);
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  char place[256];
  if (!weights) return opc_out_of_memory(error);
  backward.weights = weights;
  backward.label = OPC_CALL_LABEL(BACKWARD, "from a gradient of zeros");
  OPC_RETURN_IF_ERROR(opc_autograd_both(c->point, &opc_autograd_forward_plain, &backward, &got, error));
  if (got.outcome != OPC_CALL_RETURNED) return OPC_OK;
  for (size_t i = 0; i < c->point->inputs.count; i++) {
    const opc_autograd_part_t *part = &c->point->inputs.items[i];
    for (size_t k = 0; k < part->count && !opc_autograd_failed(c); k++) {
      double value = got.values[part->first + k];
      if (value == 0.0 || value != value) continue; /* 0 times an infinite slope is rightly NaN */
      opc_autograd_place(part, k, place, sizeof place);
      opc_finding_fail(c->finding, OPC_RULE_autograd_wrong_gradient,
                       "the gradient of %s is %.9g although the incoming gradient is zero everywhere", place, value);
    }
  }
  return OPC_OK;
}

/* A backward that is linear in the incoming gradient gives the negative of its gradient from the negative of the
 * weights. */
static opc_status_t check_negated(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t got = {0};
  OPC_SCOPED(opc_scope_free) double *weights = calloc(c->point->outputs.numbers + 1, sizeof *weights);
  OPC_SCOPED(opc_scope_free) double *expected = calloc(c->point->inputs.numbers + 1, sizeof *expected);
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  opc_gradient_place_t at;
  if (!weights || !expected) return opc_out_of_memory(error);
  for (size_t i = 0; i < c->point->outputs.numbers; i++) weights[i] = -c->point->weights[i];
  for (size_t i = 0; i < c->point->inputs.numbers; i++) expected[i] = -c->plain.values[i];
  backward.weights = weights;
  backward.label = OPC_CALL_LABEL(BACKWARD, "from the negative gradient");
  OPC_RETURN_IF_ERROR(opc_autograd_both(c->point, &opc_autograd_forward_plain, &backward, &got, error));
  if (got.outcome != OPC_CALL_RETURNED || !opc_autograd_differ(c, got.values, expected, ORDER, &at)) return OPC_OK;
  return opc_finding_fail(
      c->finding, OPC_RULE_autograd_wrong_gradient,
      "the gradient of %s is %.9g, and %.9g from the negative incoming gradient: only its sign may change", at.text,
      -at.right, at.left);
}

opc_status_t opc_autograd_check_weights_layout(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(check_weights_in(c, OPC_WEIGHTS_STRIDED, NULL, c->plain.values, "a strided", error));
  if (!opc_autograd_failed(c)) OPC_RETURN_IF_ERROR(check_expanded(c, error));
  if (!opc_autograd_failed(c)) OPC_RETURN_IF_ERROR(check_zero(c, error));
  if (!opc_autograd_failed(c)) OPC_RETURN_IF_ERROR(check_negated(c, error));
  return OPC_OK;
}

/* ---- inputs ---- */

/* Computes the gradients of a sample and its loss (NaN: none). There is no outcome to compare if the forward call goes
 * out of bounds: check memory reports that for its own variant with this layout. */
static opc_status_t gradient_of(opc_autograd_case_t *c, const opc_sample_t *sample, opc_replay_t *replay,
                                opc_call_label_t forward_label, const char *detail, opc_autograd_gradient_t *gradient,
                                double *out_loss, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  opc_autograd_forward_t forward = {.sample = sample, .replay = replay, .track = true, .label = forward_label};
  const size_t invalid = opc_accesses_count(OPC_ACCESSES_INVALID);
  opc_autograd_backward_t backward = {.label = {OPC_CALL_KIND_BACKWARD, detail}};
  *gradient = (opc_autograd_gradient_t){.outcome = OPC_CALL_UNCONVERTIBLE};
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(c->point, &forward, &run, error));
  if (invalid == 0 && opc_accesses_count(OPC_ACCESSES_INVALID) > 0) {
    opc_guard_accesses_reset();
    return OPC_OK;
  }
  if (run.call.outcome != OPC_CALL_RETURNED || !opc_autograd_run_fits(c->point, &run)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_autograd_run_loss(&run, c->point->weights, out_loss, error));
  return opc_autograd_backward_run(c->point, &run, &backward, gradient, error);
}

/* True in *out: the layout of the inputs is part of the input, as for at::as_strided. All values become different,
 * which shows where each one is read; equal ones could be read anywhere. */
static opc_status_t is_as_strided_like(opc_autograd_case_t *c, const opc_sample_t *sample, opc_replay_t *replay,
                                       bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const opc_again_t again = {.context = c->point->context,
                             .sample = sample,
                             .replay = replay,
                             .label = {OPC_CALL_KIND_ON_OTHERS, "inputs in another layout"}};
  *out = false;
  for (size_t i = 0; i < replay->count; i++) {
    const struct opc_replay_tensor_arg *arg = &replay->tensor_args[i];
    const size_t size = opc_dtype_size(arg->dtype);
    for (int64_t k = 0; opc_dtype_is_inexact(arg->dtype) && k < arg->numel; k++)
      opc_number_store((opc_number_t){.kind = OPC_NUMBER_INT, .i = k + 1}, arg->dtype,
                       (char *)arg->bytes + (size_t)k * size);
  }
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  if (call.outcome == OPC_CALL_RETURNED) OPC_RETURN_IF_ERROR(opc_call_is_as_strided_like(&call, out, error));
  return OPC_OK;
}

/* Check stride reports a forward that is wrong for the layout. */
static bool forward_agrees(double left, double right) {
  return fabs(left - right) <= 1e-6 * (fabs(left) + fabs(right));
}

static const char *const layouts[] = {"all.transposed", "all.sliced", "all.expanded0"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* Elements that share one place in memory get the sum of their gradients: how it is split between them has no
 * effect. */
static void add_up_expanded(const opc_autograd_point_t *point, const opc_call_t *call, double *values) {
  for (size_t i = 0; i < point->inputs.count; i++) {
    const opc_autograd_part_t *part = &point->inputs.items[i];
    const opc_tensor_meta_t *meta = &call->tensor_args[part->tensor_arg].before;
    size_t width = meta->numel ? part->count / (size_t)meta->numel : 0;
    for (size_t k = 0; k < part->count; k++) {
      int64_t first = 0, step = 1;
      for (int64_t d = meta->ndim - 1, rest = (int64_t)(k / width); d >= 0;
           rest /= meta->sizes[d], step *= meta->sizes[d], d--)
        if (meta->strides[d] != 0) first += rest % meta->sizes[d] * step;
      size_t to = (size_t)first * width + k % width;
      if (to == k) continue;
      values[part->first + to] += values[part->first + k];
      values[part->first + k] = 0.0;
    }
  }
}

static opc_status_t check_inputs_in(opc_autograd_case_t *c, const char *variant, opc_error_t *error) {
  opc_case_context_t *context = c->point->context;
  OPC_SCOPED(opc_sample_clear) opc_sample_t laid = {0}, dense = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t replay = {0};
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t left = {0}, right = {0};
  opc_gradient_place_t at;
  char detail[160];
  const char *layout = variant + sizeof "all." - 1;
  double loss_left = 0.0, loss_right = 0.0;
  bool as_strided = false;
  if (opc_variant_apply(&c->point->sample, context->op, variant, &laid, NULL) != OPC_OK) return OPC_OK;
  snprintf(detail, sizeof detail, "for inputs that are %s", layout);
  OPC_RETURN_IF_ERROR(opc_sample_copy(&laid, &dense, error));
  opc_sample_make_contiguous(&dense);
  OPC_RETURN_IF_ERROR(opc_call_make(&call, context->op, &laid, context->device, context->seed, error));
  OPC_RETURN_IF_ERROR(opc_replay_take(&replay, &call, error));
  OPC_RETURN_IF_ERROR(gradient_of(c, &dense, &replay, OPC_CALL_LABEL(ON_OTHERS, "other values that require grad"), "",
                                  &right, &loss_right, error));
  if (right.outcome != OPC_CALL_RETURNED) return OPC_OK;
  const size_t invalid = opc_accesses_count(OPC_ACCESSES_INVALID);
  OPC_RETURN_IF_ERROR(
      gradient_of(c, &laid, &replay, OPC_CALL_LABEL(ON_LAYOUT, layout), detail, &left, &loss_left, error));
  if (opc_accesses_count(OPC_ACCESSES_INVALID) > invalid) opc_finding_note_variant(c->finding, variant);
  if (left.outcome == OPC_CALL_UNCONVERTIBLE) return OPC_OK;
  if (left.outcome != OPC_CALL_RETURNED) {
    opc_finding_note_variant(c->finding, variant);
    return opc_finding_fail(c->finding, OPC_RULE_autograd_input_layout,
                            "backward throws for inputs that are %s, but not for contiguous ones: %.*s", layout,
                            opc_autograd_line(&left), opc_text_c(&left.message));
  }
  add_up_expanded(c->point, &call, left.values);
  add_up_expanded(c->point, &call, right.values);
  if (!opc_autograd_differ(c, left.values, right.values, ORDER, &at) || !forward_agrees(loss_left, loss_right))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(is_as_strided_like(c, &laid, &replay, &as_strided, error));
  if (as_strided) return OPC_OK;
  opc_finding_note_variant(c->finding, variant);
  return opc_finding_fail(
      c->finding, OPC_RULE_autograd_input_layout,
      "the gradient of %s is %.9g when the inputs are %s, and %.9g when they are contiguous, with the same values",
      at.text, at.left, layout, at.right);
}

opc_status_t opc_autograd_check_input_layout(opc_autograd_case_t *c, opc_error_t *error) {
  for (size_t i = 0; i < LAYOUTS && !opc_autograd_failed(c); i++)
    OPC_RETURN_IF_ERROR(check_inputs_in(c, layouts[i], error));
  return OPC_OK;
}
