/* The same gradient, computed in another way. */
#include <stdlib.h>
#include <string.h>

#include "checks/autograd/autograd.h"
#include "memory/cpu_memory.h"

static void fail_differs(opc_autograd_case_t *c, opc_rule_id_t rule, const char *how, const double *got) {
  opc_gradient_place_t at;
  if (!opc_autograd_differ(c, got, c->plain.values, 0.0, &at)) return;
  opc_finding_fail(c->finding, rule, "the gradient of %s is %.9g %s, and %.9g before", at.text, at.left, how, at.right);
}

/* ---- again ---- */

/* PyTorch's convention for gradients that depend on the order in which threads add: the derivative refuses to run where
 * only deterministic algorithms are allowed. */
static opc_status_t refuses_determinism(opc_autograd_case_t *c, bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t gradient = {0};
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  backward.label = OPC_CALL_LABEL(BACKWARD, "with deterministic algorithms only");
  int64_t settings[OPC_SETTING_COUNT];
  opc_bridge_settings_read(settings);
  opc_bridge_deterministic_algorithms(true);
  const opc_status_t status = opc_autograd_both(c->point, &opc_autograd_forward_plain, &backward, &gradient, error);
  opc_bridge_settings_write(settings);
  OPC_RETURN_IF_ERROR(status);
  *out = gradient.outcome != OPC_CALL_RETURNED &&
         opc_torch_says(OPC_TORCH_REFUSES_DETERMINISM, opc_text_c(&gradient.message));
  return OPC_OK;
}

/* Other numbers, and NaN, which no product with zero hides. */
static const unsigned char fills[] = {OPC_PATTERN_SECOND, 0xff};

/* The gradient of a fresh graph while new memory holds `byte`. What lies around that memory is the same each time. */
static opc_status_t with_memory_of(opc_autograd_case_t *c, unsigned char byte, opc_autograd_gradient_t *out,
                                   opc_error_t *error) {
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  char how[64];
  snprintf(how, sizeof how, "a second time, with 0x%02x bytes in new memory", byte);
  backward.label = OPC_CALL_LABEL(BACKWARD, how);
  opc_poison_pattern(byte);
  opc_scratch_memory_fill(byte);
  opc_cpu_memory_fix_slack(true);
  if (opc_cpu_memory_guarded()) opc_cpu_memory_guard(OPC_GUARD_BEFORE);
  const opc_status_t status = opc_autograd_both(c->point, &opc_autograd_forward_plain, &backward, out, error);
  opc_poison_pattern(OPC_PATTERN_FIRST);
  opc_scratch_memory_plain();
  opc_cpu_memory_fix_slack(false);
  if (opc_cpu_memory_guarded()) opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  return status;
}

static bool gradients_are_same(const opc_autograd_case_t *c, const opc_autograd_gradient_t *left,
                               const opc_autograd_gradient_t *right) {
  opc_gradient_place_t at;
  if (left->outcome != right->outcome) return false;
  return left->outcome != OPC_CALL_RETURNED || !opc_autograd_differ(c, left->values, right->values, 0.0, &at);
}

/* True in *out: the gradient follows the byte that new memory holds, call after call. */
static opc_status_t follows_memory(opc_autograd_case_t *c, unsigned char byte, const opc_autograd_gradient_t *other,
                                   bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t other_again = {0}, plain_again = {0};
  OPC_RETURN_IF_ERROR(with_memory_of(c, byte, &other_again, error));
  OPC_RETURN_IF_ERROR(with_memory_of(c, OPC_PATTERN_FIRST, &plain_again, error));
  *out = gradients_are_same(c, other, &other_again) && gradients_are_same(c, &c->plain, &plain_again);
  return OPC_OK;
}

static opc_status_t report_memory_or_chance(opc_autograd_case_t *c, unsigned char byte,
                                            const opc_autograd_gradient_t *other, opc_error_t *error) {
  char how[64];
  bool follows = false;
  OPC_RETURN_IF_ERROR(follows_memory(c, byte, other, &follows, error));
  snprintf(how, sizeof how, "with 0x%02x bytes in new memory", byte);
  if (follows && other->outcome == OPC_CALL_RETURNED) {
    fail_differs(c, OPC_RULE_initialisation_gradient, how, other->values);
  } else if (follows) {
    opc_finding_fail(c->finding, OPC_RULE_initialisation_gradient, "backward returns, and %s throws: %.*s", how,
                     opc_autograd_line(other), opc_text_c(&other->message));
  } else if (other->outcome == OPC_CALL_RETURNED) {
    OPC_RETURN_IF_ERROR(refuses_determinism(c, &c->bits_vary, error));
    fail_differs(c, OPC_RULE_autograd_nondeterministic, "from a second call with the same arguments", other->values);
  }
  return OPC_OK;
}

opc_status_t opc_autograd_check_fresh(opc_autograd_case_t *c, opc_error_t *error) {
  for (size_t i = 0; i < sizeof fills; i++) {
    OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t other = {0};
    OPC_RETURN_IF_ERROR(with_memory_of(c, fills[i], &other, error));
    if (!gradients_are_same(c, &c->plain, &other)) return report_memory_or_chance(c, fills[i], &other, error);
  }
  return OPC_OK;
}

opc_status_t opc_autograd_check_again(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t first = {0}, second = {0};
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(c->point, &opc_autograd_forward_plain, &run, error));
  if (run.call.outcome != OPC_CALL_RETURNED || !opc_autograd_run_fits(c->point, &run)) return OPC_OK;
  backward.retain_graph = true;
  OPC_RETURN_IF_ERROR(opc_autograd_backward_run(c->point, &run, &backward, &first, error));
  if (first.outcome != OPC_CALL_RETURNED) return OPC_OK;
  backward.label = OPC_CALL_LABEL(BACKWARD, "a second time on the same graph");
  OPC_RETURN_IF_ERROR(opc_autograd_backward_run(c->point, &run, &backward, &second, error));
  if (second.outcome != OPC_CALL_RETURNED)
    opc_finding_fail(c->finding, OPC_RULE_autograd_backward_twice,
                     "a second backward through a retained graph throws: %.*s", opc_autograd_line(&second),
                     opc_text_c(&second.message));
  else
    fail_differs(c, OPC_RULE_autograd_backward_twice, "from a second backward through the same retained graph",
                 second.values);
  return OPC_OK;
}

/* ---- one alone ---- */

static opc_status_t one_input(opc_autograd_case_t *c, size_t input, opc_error_t *error) {
  const opc_autograd_part_t *part = &c->point->inputs.items[input];
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t alone = {0};
  opc_autograd_forward_t forward = opc_autograd_forward_plain;
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  opc_gradient_place_t at;
  char how[160];
  OPC_SCOPED(opc_scope_free) bool *only = calloc(c->point->inputs.count + 1, sizeof *only);
  OPC_SCOPED(opc_scope_free) double *expected = calloc(c->point->inputs.numbers + 1, sizeof *expected);
  OPC_RETURN_IF_ERROR(only && expected ? OPC_OK
                                       : opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the gradients"));
  only[input] = true;
  memcpy(expected + part->first, c->plain.values + part->first, part->count * sizeof *expected);
  forward.only = only;
  snprintf(how, sizeof how, "with only %.60s requiring grad", part->path);
  backward.label = OPC_CALL_LABEL(BACKWARD, how);
  OPC_RETURN_IF_ERROR(opc_autograd_both(c->point, &forward, &backward, &alone, error));
  if (alone.outcome == OPC_CALL_UNCONVERTIBLE) return OPC_OK;
  if (alone.outcome != OPC_CALL_RETURNED) {
    opc_finding_fail(c->finding, OPC_RULE_autograd_ignores_needs_grad, "it throws when only %s requires grad: %.*s",
                     part->path, opc_autograd_line(&alone), opc_text_c(&alone.message));
  } else if (opc_autograd_differ(c, alone.values, expected, OPC_AUTOGRAD_SUMMED, &at)) {
    opc_finding_fail(c->finding, OPC_RULE_autograd_ignores_needs_grad,
                     "the gradient of %s is %.9g when only %s requires grad, and %.9g when all do%s", at.text, at.left,
                     part->path, at.right, alone.undefined[input] ? "; it is undefined" : "");
  }

  return OPC_OK;
}

static size_t tracked_outputs(const opc_autograd_point_t *point) {
  size_t count = 0;
  for (size_t i = 0; i < point->outputs.count; i++) count += point->outputs.items[i].tracked;
  return count;
}

/* The gradients of the single outputs add up to the gradient of all. */
static opc_status_t each_output(opc_autograd_case_t *c, opc_error_t *error) {
  const opc_autograd_parts_t *outputs = &c->point->outputs;
  opc_gradient_place_t at;
  char how[160];
  bool complete = true;
  OPC_SCOPED(opc_scope_free) bool *chosen = calloc(outputs->count + 1, sizeof *chosen);
  OPC_SCOPED(opc_scope_free) double *sum = calloc(c->point->inputs.numbers + 1, sizeof *sum);
  if (!chosen || !sum) return opc_out_of_memory(error);
  for (size_t i = 0; i < outputs->count && !opc_autograd_failed(c); i++) {
    OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t one = {0};
    opc_autograd_backward_t backward = opc_autograd_backward_plain;
    if (!outputs->items[i].tracked) continue;
    chosen[i] = true;
    snprintf(how, sizeof how, "with a gradient for %.60s alone", outputs->items[i].path);
    backward.outputs = chosen;
    backward.label = OPC_CALL_LABEL(BACKWARD, how);
    OPC_RETURN_IF_ERROR(opc_autograd_both(c->point, &opc_autograd_forward_plain, &backward, &one, error));
    chosen[i] = false;
    if (one.outcome != OPC_CALL_RETURNED && one.outcome != OPC_CALL_UNCONVERTIBLE)
      opc_finding_fail(c->finding, OPC_RULE_autograd_undefined_gradient,
                       "backward throws when only %s has a gradient: %.*s", outputs->items[i].path,
                       opc_autograd_line(&one), opc_text_c(&one.message));
    complete = complete && one.outcome == OPC_CALL_RETURNED;
    for (size_t k = 0; one.values && k < c->point->inputs.numbers; k++) sum[k] += one.values[k];
  }
  if (!complete || opc_autograd_failed(c) || !opc_autograd_differ(c, sum, c->plain.values, OPC_AUTOGRAD_SUMMED, &at))
    return OPC_OK;
  return opc_finding_fail(c->finding, OPC_RULE_autograd_undefined_gradient,
                          "the gradients of %s from each output alone, the others undefined, add up to %.9g; from all "
                          "outputs together it is %.9g",
                          at.text, at.left, at.right);
}

opc_status_t opc_autograd_check_alone(opc_autograd_case_t *c, opc_error_t *error) {
  for (size_t i = 0; c->point->inputs.count > 1 && i < c->point->inputs.count && !opc_autograd_failed(c); i++)
    OPC_RETURN_IF_ERROR(one_input(c, i, error));
  if (!opc_autograd_failed(c) && tracked_outputs(c->point) > 1) OPC_RETURN_IF_ERROR(each_output(c, error));
  return OPC_OK;
}

/* ---- overwritten ---- */

/* `index` counts the inputs, then the outputs. */
static opc_status_t overwritten(opc_autograd_case_t *c, size_t index, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t after = {0};
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  opc_gradient_place_t at;
  bool input = index < c->point->inputs.count;
  const opc_autograd_part_t *part =
      input ? &c->point->inputs.items[index] : &c->point->outputs.items[index - c->point->inputs.count];
  char how[160];
  opc_error_t refused = {0};
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(c->point, &opc_autograd_forward_plain, &run, error));
  if (run.call.outcome != OPC_CALL_RETURNED || !opc_autograd_run_fits(c->point, &run)) return OPC_OK;
  opc_tensor_t *target =
      input ? run.call.tensor_args[part->tensor_arg].tensor : run.outputs[index - c->point->inputs.count];
  if (opc_tensor_overwrite(target, &refused) != OPC_OK)
    return OPC_OK; /* libtorch itself does not allow a write to this tensor */
  snprintf(how, sizeof how, "after %.60s was written in place", part->path);
  backward.label = OPC_CALL_LABEL(BACKWARD, how);
  OPC_RETURN_IF_ERROR(opc_autograd_backward_run(c->point, &run, &backward, &after, error));
  if (after.outcome == OPC_CALL_RETURNED &&
      opc_autograd_differ(c, after.values, c->plain.values, OPC_AUTOGRAD_SUMMED, &at)) {
    opc_finding_fail(c->finding, OPC_RULE_autograd_saved_tensor_mutated,
                     "%s %s was written in place between forward and backward, but backward did not throw: the "
                     "gradient of %s is %.9g, and %.9g without the write",
                     input ? "argument" : "output", part->path, at.text, at.left, at.right);
  }
  return OPC_OK;
}

opc_status_t opc_autograd_check_saved(opc_autograd_case_t *c, opc_error_t *error) {
  size_t inputs = c->point->inputs.count;
  for (size_t i = 0; i < inputs + c->point->outputs.count && !opc_autograd_failed(c); i++)
    if (i >= inputs || !c->point->inputs.items[i].written) OPC_RETURN_IF_ERROR(overwritten(c, i, error));
  return OPC_OK;
}
