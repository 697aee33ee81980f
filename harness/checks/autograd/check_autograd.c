/* autograd: whether the operator has a derivative where libtorch looks for one, and whether that derivative is
 * right. */
#include <stdlib.h>
#include <string.h>

#include "checks/autograd/autograd.h"
#include "memory/cpu_memory.h"

enum {
  NUMBERS_MAX = 1 << 18, /* of all inputs: with more, a call costs too much for what its slope shows */
  MESSAGE_SIZE = 300
};
static const double coarsest = 2e-7; /* units in the last place of float32: slopes of narrower results mean nothing */

/* ---- registration ---- */

typedef struct sample_facts {
  bool floating, asks; /* some tensor is floating or complex, but not float8; some tensor has requires_grad */
} sample_facts_t;

static sample_facts_t sample_facts(const opc_sample_t *sample) {
  sample_facts_t facts = {0};
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) {
    opc_dtype_class_t kind = opc_dtype_class(spec->dtype);
    facts.floating |= (kind == OPC_CLASS_FLOATING && !opc_dtype_is_float8(spec->dtype)) || kind == OPC_CLASS_COMPLEX;
    facts.asks |= spec->requires_grad;
  }
  return facts;
}

/* The first output that requires grad, preferably one with a derivative of the library's own; NULL: none does. */
static const opc_autograd_part_t *tracked_output(const opc_autograd_point_t *point) {
  const opc_autograd_part_t *found = NULL;
  for (size_t i = 0; i < point->outputs.count; i++) {
    const opc_autograd_part_t *part = &point->outputs.items[i];
    if (part->tracked && (!found || (part->graph & OPC_GRAPH_CUSTOM))) found = part;
  }
  return found;
}

/* No input gets a gradient: is there one on which the result depends smoothly? */
static opc_status_t check_no_gradients(opc_autograd_case_t *c, opc_error_t *error) {
  c->plain.values = calloc(c->point->inputs.numbers + 1, sizeof *c->plain.values);
  c->plain.undefined = calloc(c->point->inputs.count + 1, sizeof *c->plain.undefined);
  if (!c->plain.values || !c->plain.undefined) return opc_out_of_memory(error);
  for (size_t i = 0; i < c->point->inputs.count; i++) c->plain.undefined[i] = true;
  return opc_autograd_check_values(c, error);
}

static void case_clear(opc_autograd_case_t *c) { opc_autograd_gradient_clear(&c->plain); }

/* Nobody asked for gradients. In a library whose operators have derivatives, one that depends smoothly on its inputs
 * and has none was probably forgotten. */
static opc_status_t check_forgotten(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  const opc_autograd_others_t others = opc_autograd_others(context->op, context->device);
  OPC_SCOPED(opc_autograd_point_clear) opc_autograd_point_t point = {0};
  OPC_SCOPED(opc_finding_clear) opc_finding_t slope = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  OPC_SCOPED(case_clear) opc_autograd_case_t c = {.point = &point, .finding = &slope};
  bool usable = false;
  if (!context->unmodified || !others.expected) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_autograd_point_make(&point, context, OPC_AUTOGRAD_ALL, true, &usable, &message, error));
  if (!usable) {
    opc_autograd_point_clear(&point);
    OPC_RETURN_IF_ERROR(opc_autograd_point_make(&point, context, OPC_AUTOGRAD_ALL, false, &usable, &message, error));
  }
  if (!usable || point.inputs.numbers > NUMBERS_MAX || point.epsilon > coarsest) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_autograd_is_deterministic(&point, &c.deterministic, error));
  if (c.deterministic) OPC_RETURN_IF_ERROR(check_no_gradients(&c, error));
  if (slope.rule)
    opc_finding_fail(
        finding, OPC_RULE_autograd_not_registered,
        "%zu of the %zu other operators of this library have a derivative, and this one has none: no "
        "kernel at an Autograd key, and no output requires grad. Its result depends smoothly on its inputs",
        others.with, others.count);
  return OPC_OK;
}

static void report_unregistered(const opc_autograd_point_t *point, bool asks, opc_finding_t *finding) {
  const char *op = point->context->op->name;
  const opc_autograd_part_t *part = tracked_output(point);
  if (!point->outputs.count) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "no output is floating or complex: there is nothing to differentiate");
  } else if (part && (part->graph & OPC_GRAPH_CUSTOM)) {
    opc_finding_fail(
        finding, OPC_RULE_autograd_in_backend_kernel,
        "%s requires grad through a derivative that was made inside a backend kernel; %s has no kernel at an "
        "Autograd key for this device",
        part->path, op);
  } else if (part && asks) {
    opc_finding_fail(finding, OPC_RULE_autograd_in_backend_kernel,
                     "%s requires grad only because a backend kernel calls differentiable operators; %s has no kernel "
                     "at an Autograd key for this device",
                     part->path, op);
  } else if (part) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "no autograd is registered; %s is differentiable only because the kernel calls operators that "
                     "are. Give a sample with \"requires_grad\": true to get autograd.in_backend_kernel",
                     part->path);
  } else if (asks) {
    opc_finding_fail(finding, OPC_RULE_autograd_not_registered,
                     "the sample asks for gradients (requires_grad), but %s has none: no kernel at an Autograd key, "
                     "and no output requires grad",
                     op);
  } else {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "no autograd is registered: the operator is not differentiable. Give a sample with "
                     "\"requires_grad\": true to get autograd.not_registered");
  }
}

/* Without libtorch's fallback for operators that have no autograd kernel. */
static opc_status_t check_without_fallback(opc_case_context_t *context, bool asks, opc_finding_t *finding,
                                           opc_error_t *error) {
  OPC_SCOPED(opc_autograd_point_clear) opc_autograd_point_t point = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  bool usable = false;
  OPC_RETURN_IF_ERROR(opc_autograd_point_make(&point, context, OPC_AUTOGRAD_ALL, false, &usable, &message, error));
  if (!usable)
    return opc_finding_skip(finding, OPC_SKIP_REJECTED, "inputs that require grad are refused: %.*s", MESSAGE_SIZE,
                            opc_text_c(&message));
  if (!asks && point.outputs.count && !tracked_output(&point))
    OPC_RETURN_IF_ERROR(check_forgotten(context, finding, error));
  if (!finding->decided) report_unregistered(&point, asks, finding);
  return OPC_OK;
}

static opc_status_t check_unregistered(opc_case_context_t *context, bool asks, opc_finding_t *finding,
                                       opc_error_t *error) {
  const bool fallback = opc_autograd_fallback_set(false);
  const opc_status_t status = check_without_fallback(context, asks, finding, error);
  (void)opc_autograd_fallback_set(fallback);
  return status;
}

/* ---- gradients ---- */

static void report_throwing(opc_autograd_case_t *c, bool asks) {
  const char *text = opc_text_c(&c->plain.message);
  const bool meant = opc_autograd_is_refusal(&c->plain), mistaken = opc_message_is_mistake(text);
  opc_finding_fail(c->finding, OPC_RULE_autograd_backward_fails, "the output requires grad, but backward throws: %.*s",
                   opc_autograd_line(&c->plain), text);
  if ((asks && !meant) || mistaken) c->finding->severity = OPC_SEVERITY_ERROR;
}

static bool compares_values_only(const opc_autograd_case_t *c) {
  return c->point->context->rule && (c->point->context->rule->judge & OPC_JUDGE_VALUES);
}

/* False: nothing more can be checked for this derivative. */
static bool check_plain(opc_autograd_case_t *c) {
  const char *text = opc_text_c(&c->plain.message);
  const bool asks = sample_facts(c->point->context->sample).asks, values = compares_values_only(c);
  if (c->plain.outcome == OPC_CALL_RETURNED && c->plain.mutated)
    opc_finding_fail(c->finding, OPC_RULE_autograd_backward_mutates, "backward changes %s", c->plain.mutated);
  if (c->plain.outcome == OPC_CALL_RETURNED) return !c->plain.mutated;
  if (opc_torch_says(OPC_TORCH_GRADIENT_SHAPE, text))
    opc_finding_fail(c->finding, OPC_RULE_autograd_gradient_shape, "%.*s", opc_autograd_line(&c->plain), text);
  else if (!values && opc_autograd_saved_was_written(text))
    opc_finding_fail(c->finding, OPC_RULE_autograd_writes_saved_tensor,
                     "backward throws, because the operator wrote in place what its derivative needs: %.*s",
                     opc_autograd_line(&c->plain), text);
  else if (values || (opc_autograd_is_refusal(&c->plain) && !asks))
    opc_finding_skip(c->finding, OPC_SKIP_REJECTED, "backward refuses: %.*s", opc_autograd_line(&c->plain), text);
  else report_throwing(c, asks);
  return false;
}

/* The parts that some variants are for. */
typedef enum parts_wanted { ALL_PARTS, VALUES_ALONE, SECOND_ALONE, MEMORY_ALONE } parts_wanted_t;

static parts_wanted_t parts_wanted_of(const opc_autograd_case_t *c) {
  const char *variant = c->point->context->id.variant;
  /* Where many elements are zero, minima and comparisons have kinks that cancel each other: a slope proves nothing
   * about the gradient, and the gradient's own slope still shows whether it is derived. */
  if (strstr(variant, ".zero")) return SECOND_ALONE;
  /* Thousands of numbers have ties, at which there is no slope. */
  if (strncmp(variant, "all.long", strlen("all.long")) == 0) return MEMORY_ALONE;
  return compares_values_only(c) ? VALUES_ALONE : ALL_PARTS;
}

static bool is_part_wanted(parts_wanted_t wanted, opc_autograd_part_check_t *part) {
  return wanted == ALL_PARTS || (wanted == VALUES_ALONE && part == opc_autograd_check_values) ||
         (wanted == SECOND_ALONE && part == opc_autograd_check_second) ||
         (wanted == MEMORY_ALONE && part == opc_autograd_check_fresh);
}

/* With the plain gradient. */
static opc_status_t check_gradients(opc_autograd_case_t *c, opc_error_t *error) {
  static opc_autograd_part_check_t *const parts[] = {opc_autograd_check_fresh,
                                                     opc_autograd_check_again,
                                                     opc_autograd_check_values,
                                                     opc_autograd_check_alone,
                                                     opc_autograd_check_weights_layout,
                                                     opc_autograd_check_input_layout,
                                                     opc_autograd_check_saved,
                                                     opc_autograd_check_precision,
                                                     opc_autograd_check_dtypes,
                                                     opc_autograd_check_second,
                                                     opc_autograd_check_meta};
  const parts_wanted_t wanted = parts_wanted_of(c);
  if (c->plain.unreadable)
    return opc_finding_skip(c->finding, OPC_SKIP_NOT_APPLICABLE,
                            "backward runs, but its gradients are sparse and opcheck-c reads only dense ones");
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !opc_autograd_failed(c); i++)
    if (is_part_wanted(wanted, parts[i])) OPC_RETURN_IF_ERROR(parts[i](c, error));
  if (!c->finding->decided && wanted == SECOND_ALONE)
    return opc_finding_pass(c->finding, "the second derivatives are right where elements are zero");
  if (!c->finding->decided && wanted == MEMORY_ALONE)
    return opc_finding_pass(c->finding, "the gradients of %zu inputs do not depend on what new memory holds",
                            c->point->inputs.count);
  if (!c->finding->decided)
    opc_finding_pass(c->finding, "the gradients of %zu inputs are correct%s%s%s%.*s", c->point->inputs.count,
                     c->point->not_finite ? ", without the elements of the result that are not finite" : "",
                     c->grad_twice_refused ? "; a second order is refused" : "",
                     c->others_refused ? "; those of the others are refused: " : "", MESSAGE_SIZE,
                     c->others_refused ? c->others_refused : "");
  return OPC_OK;
}

/* The operator has autograd, but returned nothing that requires grad. */
static opc_status_t check_untracked(opc_autograd_case_t *c, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(check_no_gradients(c, error));
  if (!c->finding->decided)
    opc_finding_pass(c->finding, "no output requires grad, and none depends smoothly on an input");
  return OPC_OK;
}

/* False: the finding says why there is no derivative. */
static bool is_differentiated(const opc_autograd_point_t *point, const opc_autograd_part_t *tracked,
                              opc_finding_t *finding) {
  const bool has_none = tracked && (tracked->graph & OPC_GRAPH_NOT_IMPLEMENTED);
  if (!point->outputs.count || !point->outputs.numbers)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "no output is floating or complex and has elements: there is nothing to differentiate");
  else if (has_none && sample_facts(point->context->sample).asks)
    opc_finding_fail(finding, OPC_RULE_autograd_backward_fails,
                     "the sample asks for gradients (requires_grad), but the operator's autograd kernel says that it "
                     "has no derivative");
  else if (has_none)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the operator's autograd kernel says that it has no derivative");
  else return true;
  return false;
}

/* False: the finding says why no slope is compared with a gradient. */
static bool has_slopes(const opc_autograd_point_t *point, opc_finding_t *finding) {
  if (point->inputs.numbers > NUMBERS_MAX)
    opc_finding_skip(finding, OPC_SKIP_BUDGET,
                     "%zu numbers are too many to differentiate by; a smaller sample shows as much",
                     point->inputs.numbers);
  else if (point->epsilon > coarsest)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "float64 and float32 are refused: slopes in a narrower dtype prove nothing");
  else if (!opc_autograd_has_weights(point))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "no element of the result is finite: there is no slope to compare gradients with");
  else return true;
  return false;
}

static opc_status_t report_varying(const opc_autograd_case_t *c) {
  return opc_finding_skip(c->finding, OPC_SKIP_NOT_APPLICABLE,
                          "the result differs from call to call with one seed: there is no slope to compare gradients "
                          "with");
}

/* Backward comes first: it may throw where no slope can be measured. */
static opc_status_t run_plain(opc_autograd_case_t *c, bool *out_goes_on, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_run_clear) opc_autograd_run_t run = {0};
  opc_autograd_backward_t backward = opc_autograd_backward_plain;
  backward.watch = true;
  *out_goes_on = false;
  OPC_RETURN_IF_ERROR(opc_autograd_forward_run(c->point, &opc_autograd_forward_plain, &run, error));
  if (run.call.outcome != OPC_CALL_RETURNED || !opc_autograd_run_fits(c->point, &run)) return report_varying(c);
  OPC_RETURN_IF_ERROR(opc_autograd_backward_run(c->point, &run, &backward, &c->plain, error));
  *out_goes_on = check_plain(c);
  return OPC_OK;
}

static opc_status_t check_point(opc_autograd_case_t *c, opc_error_t *error) {
  const opc_autograd_part_t *tracked = tracked_output(c->point);
  bool goes_on = true;
  if (!is_differentiated(c->point, tracked, c->finding)) return OPC_OK;
  if (tracked) OPC_RETURN_IF_ERROR(run_plain(c, &goes_on, error));
  if (!goes_on) return OPC_OK;
  if (!has_slopes(c->point, c->finding)) /* the gradient must still not depend on what new memory holds */
    return tracked && c->finding->reason == OPC_SKIP_NOT_APPLICABLE ? opc_autograd_check_fresh(c, error) : OPC_OK;
  OPC_RETURN_IF_ERROR(opc_autograd_is_deterministic(c->point, &c->deterministic, error));
  if (c->deterministic) return tracked ? check_gradients(c, error) : check_untracked(c, error);
  return report_varying(c);
}

static opc_status_t check_registered(opc_case_context_t *context, uint64_t marked, opc_finding_t *finding,
                                     opc_error_t *error) {
  OPC_SCOPED(opc_autograd_point_clear) opc_autograd_point_t point = {0};
  OPC_SCOPED(opc_autograd_choice_clear) opc_autograd_choice_t choice = {0};
  OPC_SCOPED(case_clear) opc_autograd_case_t c = {.point = &point, .finding = finding};
  OPC_RETURN_IF_ERROR(opc_autograd_choose(&point, context, marked, &choice, error));
  if (!choice.usable)
    return opc_finding_skip(finding, OPC_SKIP_REJECTED, "inputs that require grad are refused: %.*s", MESSAGE_SIZE,
                            opc_text_c(&choice.message));
  if (choice.others_refused) c.others_refused = opc_text_c(&choice.message);
  OPC_RETURN_IF_ERROR(check_point(&c, error));
  if (choice.others_throw && !finding->rule && !compares_values_only(&c))
    opc_finding_fail(finding, OPC_RULE_autograd_backward_fails,
                     "backward throws where inputs that the sample does not mark require grad, too: %.*s", MESSAGE_SIZE,
                     opc_text_c(&choice.message));
  return OPC_OK;
}

/* ---- complex numbers, for samples with real ones ---- */

static void negate_imaginary(const opc_autograd_parts_t *parts, double *numbers) {
  for (size_t i = 0; i < parts->count; i++)
    for (size_t k = 1; opc_autograd_width(parts->items[i].meta.dtype) == 2 && k < parts->items[i].count; k += 2)
      numbers[parts->items[i].first + k] *= -1.0;
}

/* The operator need not support complex numbers, and it may drop parts of them (a matrix's other triangle, an imaginary
 * part taken as 0). But a gradient that is right except for a conj() is still a bug. */
static opc_status_t check_conjugate(opc_autograd_case_t *c, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_finding_clear) opc_finding_t as_is = {0}, conjugate = {0};
  opc_autograd_case_t own = *c; /* its gradient stays c's */
  own.finding = &as_is;
  OPC_RETURN_IF_ERROR(opc_autograd_check_values(&own, error));
  bool wrong = as_is.rule == OPC_RULE_autograd_wrong_gradient;
  if (wrong) {
    negate_imaginary(&own.point->inputs, own.plain.values);
    own.finding = &conjugate;
    OPC_RETURN_IF_ERROR(opc_autograd_check_values(&own, error));
  }
  if (wrong && !conjugate.rule)
    opc_finding_fail(finding, OPC_RULE_autograd_wrong_gradient,
                     "%s; the conjugate of backward's gradient agrees with them", opc_text_c(&as_is.message));
  else if (as_is.rule)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "for complex numbers, which are not in the sample: %s",
                     opc_text_c(&as_is.message));
  return OPC_OK;
}

/* Values only: a backward that throws, and whatever does not depend on the numbers, belong to the sample's own case.
 * The weights are real, so a missing conj() gives the gradient's conjugate. */
static opc_status_t check_complex(opc_case_context_t *context, uint64_t marked, opc_finding_t *finding,
                                  opc_error_t *error) {
  OPC_SCOPED(opc_autograd_point_clear) opc_autograd_point_t point = {0};
  OPC_SCOPED(opc_autograd_choice_clear) opc_autograd_choice_t choice = {0};
  OPC_SCOPED(case_clear) opc_autograd_case_t c = {.point = &point, .finding = finding};
  OPC_RETURN_IF_ERROR(opc_autograd_choose(&point, context, marked, &choice, error));
  if (!choice.usable || !tracked_output(&point))
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no output for complex numbers requires grad");

  for (size_t i = 0; i < point.outputs.count; i++)
    for (size_t k = 1; opc_autograd_width(point.outputs.items[i].meta.dtype) == 2 && k < point.outputs.items[i].count;
         k += 2)
      point.weights[point.outputs.items[i].first + k] = 0.0;
  if (point.inputs.numbers <= NUMBERS_MAX)
    OPC_RETURN_IF_ERROR(opc_autograd_is_deterministic(&point, &c.deterministic, error));
  if (c.deterministic)
    OPC_RETURN_IF_ERROR(
        opc_autograd_both(&point, &opc_autograd_forward_plain, &opc_autograd_backward_plain, &c.plain, error));
  if (!c.deterministic || c.plain.outcome != OPC_CALL_RETURNED || c.plain.unreadable)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                            "no gradients for complex numbers could be compared: %.*s",
                            c.deterministic ? opc_autograd_line(&c.plain) : MESSAGE_SIZE,
                            c.deterministic ? opc_text_c(&c.plain.message) : "the result differs from call to call");
  OPC_RETURN_IF_ERROR(opc_autograd_check_fresh(&c, error));
  if (!opc_autograd_failed(&c)) OPC_RETURN_IF_ERROR(opc_autograd_check_again(&c, error));
  if (!opc_autograd_failed(&c)) OPC_RETURN_IF_ERROR(check_conjugate(&c, finding, error));
  if (!finding->decided)
    opc_finding_pass(finding, "the gradients of %zu complex inputs are correct", point.inputs.count);
  return OPC_OK;
}

/* ---- empty inputs ---- */

static opc_status_t backward_of(opc_case_context_t *context, const opc_sample_t *sample, opc_call_label_t label,
                                opc_autograd_gradient_t *gradient, opc_error_t *error) {
  opc_case_context_t own = *context;
  OPC_SCOPED(opc_autograd_point_clear) opc_autograd_point_t point = {0};
  opc_autograd_backward_t backward = {.label = label};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  bool usable = false;
  own.sample = sample;
  *gradient = (opc_autograd_gradient_t){.outcome = OPC_CALL_UNCONVERTIBLE};
  OPC_RETURN_IF_ERROR(opc_autograd_point_make(&point, &own, OPC_AUTOGRAD_ALL, false, &usable, &message, error));
  if (usable) OPC_RETURN_IF_ERROR(opc_autograd_both(&point, &opc_autograd_forward_plain, &backward, gradient, error));
  return OPC_OK;
}

/* A backward that throws for the sample too was reported there. */
static opc_status_t check_empty(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_autograd_gradient_clear) opc_autograd_gradient_t empty = {0}, full = {0};
  OPC_RETURN_IF_ERROR(
      backward_of(context, context->sample, OPC_CALL_LABEL(BACKWARD, "for empty inputs"), &empty, error));
  if (empty.outcome == OPC_CALL_RETURNED) opc_finding_pass(finding, "backward works for empty inputs");
  if (opc_autograd_is_refusal(&empty))
    opc_finding_skip(finding, OPC_SKIP_REJECTED, "backward refuses: %.*s", opc_autograd_line(&empty),
                     opc_text_c(&empty.message));
  if (empty.outcome == OPC_CALL_RETURNED || empty.outcome == OPC_CALL_UNCONVERTIBLE || opc_autograd_is_refusal(&empty))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(backward_of(context, context->base, OPC_CALL_LABEL(BACKWARD, ""), &full, error));
  if (full.outcome == OPC_CALL_RETURNED)
    opc_finding_fail(finding, OPC_RULE_autograd_empty,
                     "with dimension 0 of every input empty, the operator returns but its backward throws: %.*s",
                     opc_autograd_line(&empty), opc_text_c(&empty.message));
  return OPC_OK;
}

static opc_status_t check_derivative(opc_case_context_t *context, uint64_t marked, opc_finding_t *finding,
                                     opc_error_t *error) {
  const bool registered = opc_autograd_is_registered(context->op, context->device);
  const bool complex = context->id.dtype[0], empty = context->variant.families & OPC_VARIANT_EMPTY;
  if (registered) opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  if (!registered && (complex || empty)) return OPC_OK;
  if (!registered) return check_unregistered(context, sample_facts(context->base).asks, finding, error);
  if (complex) return check_complex(context, marked, finding, error);
  return empty ? check_empty(context, finding, error) : check_registered(context, marked, finding, error);
}

/* The tensor arguments that the sample wants gradients for. */
static uint64_t marked_of(const opc_call_t *call) {
  uint64_t marked = 0;
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (call->tensor_args[i].before.requires_grad) marked |= opc_autograd_bit(i);
  return marked;
}

static opc_status_t run_autograd(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  if (!sample_facts(context->sample).floating)
    return opc_finding_skip(
        finding, OPC_SKIP_NOT_APPLICABLE,
        "no argument is floating or complex (float8 has no slopes): there is nothing to differentiate by");
  /* A plain call first: it reports if the sample is refused. */
  return opc_case_call(context, false, &call, finding) ? check_derivative(context, marked_of(&call), finding, error)
                                                       : OPC_OK;
}

const opc_check_t opc_check_autograd = {.name = "autograd", .run = run_autograd};
