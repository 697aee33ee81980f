/* class: custom classes, as used by TorchScript, torch.export, torch.save and AOTInductor. One case per class and
 * sample of its constructor (or of the operator that returns its objects), and one per method. */
#include <stdlib.h>
#include <string.h>

#include "checks/framework/check.h"
#include "checks/objects/class_object.h"
#include "checks/objects/class_state.h"

/* ---- the parts of the contract ---- */

typedef struct subject {
  opc_case_context_t *context;
  opc_class_made_t object;
  opc_class_state_t fresh, control; /* of two other objects made from the same arguments */
  opc_finding_t *finding;
  opc_text_t done; /* what was proven, for the pass */
} subject_t;

static int first_line(const opc_text_t *message) { return (int)strcspn(opc_text_c(message), "\n"); }

static void object_clear(opc_object_t **object) { opc_object_free(*object); }

/* Calls a method of the object; the outcome and the returns are in *out. */
static void ask_object(const subject_t *subject, const char *method, const opc_value_t *arguments, size_t count,
                       opc_call_t *out) {
  subject->context->announce(OPC_CALL_LABEL(METHOD, method));
  out->outcome = opc_object_call(subject->object.object, method, arguments, count, &out->returns, &out->return_count,
                                 &out->message);
}

/* 1 or 0; -1: it cannot be compared. */
static int equal(const subject_t *subject, const opc_object_t *other) {
  const opc_value_t argument = {.kind = OPC_VALUE_OBJECT, .handle = (void *)other};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  if (!opc_class_method(subject->context->op, "__eq__")) return -1;
  ask_object(subject, "__eq__", &argument, 1, &call);
  return call.outcome == OPC_CALL_RETURNED && call.return_count == 1 && call.returns[0].kind == OPC_VALUE_BOOL
             ? call.returns[0].boolean
             : -1;
}

/* Takes the other object's state and compares it with a fresh one's. */
static opc_status_t compare_state(subject_t *subject, const opc_object_t *other, const char *name, opc_rule_id_t rule,
                                  opc_class_state_t *state, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  size_t compared = 0;
  bool unequal = equal(subject, other) == 0;
  OPC_RETURN_IF_ERROR(opc_class_state_take(subject->context->op, other, subject->context->announce, state, error));
  if (opc_class_state_compare(&subject->fresh, &subject->control, state, name, &text, &compared) >= 0)
    opc_finding_fail(subject->finding, rule, "%s", opc_text_c(&text));
  else if (unequal) opc_finding_fail(subject->finding, rule, "by its own __eq__ the object does not equal %s", name);
  else if (compared == 0 && equal(subject, other) < 0)
    opc_text_addf(&subject->done, " (no method shows what it holds)");
  return OPC_OK;
}

static void check_equality(subject_t *subject) {
  int answer = equal(subject, subject->object.object);
  if (answer == 0)
    opc_finding_fail(subject->finding, OPC_RULE_class_not_equal_itself, "__eq__ of an object with itself is False");
  if (answer == 1) opc_text_add(&subject->done, ", equal to itself");
}

/* The pairs may be a single pair, without a tuple around it. */
static bool is_pairs(const opc_value_t *value) {
  bool good = value->kind == OPC_VALUE_LIST;
  for (size_t i = 0; good && i < value->list.count; i++) {
    const opc_value_t *pair = &value->list.items[i];
    good = pair->kind == OPC_VALUE_LIST && pair->list.count == 2 && pair->list.items[0].kind == OPC_VALUE_STRING;
  }
  return good;
}

static void check_flatten(subject_t *subject) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  char text[160] = "nothing";
  if (!opc_class_method(subject->context->op, "__obj_flatten__")) return;
  ask_object(subject, "__obj_flatten__", NULL, 0, &call);
  if (call.return_count > 0) opc_value_describe(&call.returns[0], text, sizeof text);
  if (call.outcome != OPC_CALL_RETURNED)
    opc_finding_fail(subject->finding, OPC_RULE_class_flatten_form, "__obj_flatten__ is refused: %.*s",
                     first_line(&call.message), opc_text_c(&call.message));
  else if (call.return_count != 1 || !is_pairs(&call.returns[0]))
    opc_finding_fail(subject->finding, OPC_RULE_class_flatten_form,
                     "__obj_flatten__ returns %s, not a tuple of (name, value) pairs", text);
  else opc_text_add(&subject->done, ", flattened");
}

static bool object_has_options(const opc_value_t *value) {
  bool has = false;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && !has && i < value->list.count; i++)
    has = object_has_options(&value->list.items[i]);
  if (value->kind != OPC_VALUE_OBJECT) return has;
  const char *operator_name = value->object.made_by;
  const size_t self = operator_name ? 0 : 1; /* an argument of constructors only */
  OPC_SCOPED(opc_operator_clear) opc_operator_t maker = {0};
  OPC_SCOPED(opc_scope_free) char *schema = operator_name ? NULL : opc_class_constructor(value->object.class_name);
  if (operator_name ? opc_bridge_describe(operator_name, &maker, NULL) != OPC_OK
                    : !schema || opc_schema_arguments(schema, &maker, NULL) != OPC_OK)
    return false;
  for (size_t i = 0; !has && i < value->object.init_count && i + self < maker.argument_count; i++)
    has = maker.arguments[i + self].has_default || object_has_options(&value->object.init[i]);
  return has;
}

/* An argument with a default is given, to this constructor or to that of an object which it gets. */
static bool gives_options(const opc_operator_t *op, const opc_sample_t *sample) {
  for (size_t i = 0; i < op->argument_count; i++)
    if (!sample->absent[i] && (op->arguments[i].has_default || object_has_options(&sample->arguments[i]))) return true;
  return false;
}

/* No object of any sample comes back from pickling, not even one that is made without options. Otherwise an argument
 * may be at fault, such as one that promises what another does not keep. */
static bool is_refused_for_all(subject_t *subject) {
  opc_case_context_t other = *subject->context;
  bool refused = true, plain = !gives_options(other.op, other.base);
  for (size_t i = 0; i < other.sample_count && refused; i++) {
    OPC_SCOPED(opc_class_made_clear) opc_class_made_t made = {0};
    OPC_SCOPED(object_clear) opc_object_t *back = NULL;
    other.sample = &other.samples[i];
    if (strcmp(other.sample->name, other.base->name) == 0) continue;
    if (opc_class_object_make(&other, &made, NULL) != OPC_OK || !made.object) continue;
    other.announce(OPC_CALL_LABEL(METHOD_OF_OTHERS, "__setstate__ of an object made from another sample"));
    refused = opc_object_round_trip(made.object, &back, NULL, NULL) != OPC_CALL_RETURNED;
    plain |= !gives_options(other.op, other.sample);
  }
  return refused && plain;
}

static opc_status_t check_pickle(subject_t *subject, opc_error_t *error) {
  const opc_operator_t *op = subject->context->op;
  bool get = opc_class_method(op, "__getstate__"), set = opc_class_method(op, "__setstate__"), pickled = false;
  OPC_SCOPED(object_clear) opc_object_t *other = NULL;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  OPC_SCOPED(opc_class_state_clear) opc_class_state_t state = {0};
  if (get != set)
    opc_finding_fail(subject->finding, OPC_RULE_class_pickle_incomplete, "the class has %s and no %s",
                     get ? "__getstate__" : "__setstate__", get ? "__setstate__" : "__getstate__");
  if (!get || !set) return OPC_OK;
  subject->context->announce(OPC_CALL_LABEL(PICKLE, ""));
  if (opc_object_round_trip(subject->object.object, &other, &pickled, &message) == OPC_CALL_RETURNED) {
    opc_text_add(&subject->done, ", pickled and unpickled");
    return compare_state(subject, other, "the unpickled one", OPC_RULE_class_pickle_differs, &state, error);
  }
  opc_finding_fail(subject->finding, OPC_RULE_class_pickle_refused, "%s: %.*s",
                   pickled ? "what was pickled cannot be unpickled" : "the object cannot be pickled",
                   first_line(&message), opc_text_c(&message));
  if (is_refused_for_all(subject)) opc_finding_evidence(subject->finding, "every_input", json_true());
  return OPC_OK;
}

/* A deep copy shares no memory with the original. */
static opc_status_t check_shares(subject_t *subject, const opc_class_state_t *copy, opc_error_t *error) {
  OPC_SCOPED(opc_class_state_clear) opc_class_state_t own = {0};
  OPC_RETURN_IF_ERROR(
      opc_class_state_take(subject->context->op, subject->object.object, subject->context->announce, &own, error));
  const int shared = opc_class_state_shared(&own, &subject->control, copy);
  if (shared >= 0)
    opc_finding_fail(subject->finding, OPC_RULE_class_copy_shares,
                     "%s() of the copy and of the original return tensors that share storage",
                     own.views[shared].method);
  return OPC_OK;
}

/* A memo gets its default, or None. */
static opc_status_t check_copy(subject_t *subject, const char *method, bool deep, opc_error_t *error) {
  const opc_value_t none = {.kind = OPC_VALUE_NONE};
  OPC_SCOPED(opc_operator_clear) opc_operator_t schema = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_class_state_clear) opc_class_state_t state = {0};
  const opc_method_t *found = opc_class_method(subject->context->op, method);
  if (!found || !found->schema || opc_schema_arguments(found->schema, &schema, NULL) != OPC_OK) return OPC_OK;
  ask_object(subject, method, &none, schema.argument_count == 2 && !schema.arguments[1].has_default, &call);
  if (call.outcome == OPC_CALL_UNCONVERTIBLE) return OPC_OK; /* it requires arguments that the harness cannot make */
  if (call.outcome != OPC_CALL_RETURNED)
    return opc_finding_fail(subject->finding, OPC_RULE_class_copy_differs, "%s is refused: %.*s", method,
                            first_line(&call.message), opc_text_c(&call.message));
  if (call.return_count != 1 || call.returns[0].kind != OPC_VALUE_OBJECT)
    return opc_finding_fail(subject->finding, OPC_RULE_class_copy_differs, "%s returns no object", method);
  opc_text_addf(&subject->done, ", copied by %s", method);
  OPC_RETURN_IF_ERROR(
      compare_state(subject, call.returns[0].handle, "the copy", OPC_RULE_class_copy_differs, &state, error));
  return deep ? check_shares(subject, &state, error) : OPC_OK;
}

static opc_status_t take_fresh(opc_case_context_t *context, opc_class_state_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_class_made_clear) opc_class_made_t made = {0};
  OPC_RETURN_IF_ERROR(opc_class_object_make(context, &made, error));
  if (!made.object)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED,
                         "the constructor accepts the same arguments once but not again: %s",
                         opc_text_c(&made.call.message));
  return opc_class_state_take(context->op, made.object, context->announce, out, error);
}

static void class_subject_clear(subject_t *subject) {
  opc_class_state_clear(&subject->fresh);
  opc_class_state_clear(&subject->control);
  opc_text_clear(&subject->done);
  opc_class_made_clear(&subject->object);
}

static opc_status_t check_whole(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(class_subject_clear) subject_t subject = {.context = context, .finding = finding};
  OPC_RETURN_IF_ERROR(opc_class_object_make(context, &subject.object, error));
  if (opc_finding_from_outcome(context, &subject.object.call, finding)) return OPC_OK;
  if (context->base->expect.rejects)
    return opc_finding_fail(finding, OPC_RULE_sample_accepted,
                            "the constructor accepts sample %s, which its file expects it to refuse",
                            context->base->name);
  OPC_RETURN_IF_ERROR(take_fresh(context, &subject.fresh, error));
  OPC_RETURN_IF_ERROR(take_fresh(context, &subject.control, error));
  opc_text_add(&subject.done, opc_class_has_constructor(context->op) ? "constructed" : "returned by an operator");
  check_equality(&subject);
  check_flatten(&subject);
  OPC_RETURN_IF_ERROR(check_pickle(&subject, error));
  OPC_RETURN_IF_ERROR(check_copy(&subject, "__copy__", false, error));
  OPC_RETURN_IF_ERROR(check_copy(&subject, "__deepcopy__", true, error));
  if (!finding->decided) opc_finding_pass(finding, "%s", opc_text_c(&subject.done));
  return OPC_OK;
}

/* ---- one method ---- */

static opc_status_t check_method(opc_case_context_t *context, const opc_method_t *method, opc_finding_t *finding,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_class_method_clear) opc_class_method_t schema = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  char text[160] = "nothing";
  OPC_RETURN_IF_ERROR(opc_class_method_read(method, &schema, error));
  OPC_RETURN_IF_ERROR(opc_class_method_call(context, NULL, &schema.op, &call, error));
  if (opc_finding_from_outcome(context, &call, finding)) return OPC_OK;
  if (call.return_count) opc_value_describe(&call.returns[0], text, sizeof text);
  return opc_finding_pass(finding, "%s returns %s", method->name, text);
}

static opc_status_t use_method(opc_case_context_t *context, const opc_object_t *object, const opc_method_t *method,
                               bool *out_accepted, opc_error_t *error) {
  OPC_SCOPED(opc_class_method_clear) opc_class_method_t schema = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  *out_accepted = false;
  OPC_RETURN_IF_ERROR(opc_class_method_read(method, &schema, error));
  OPC_RETURN_IF_ERROR(opc_class_method_call(context, object, &schema.op, &call, error));
  *out_accepted = call.outcome == OPC_CALL_RETURNED;
  return OPC_OK;
}

/* One accepted call of each method that takes arguments, always the same calls. */
static opc_status_t use_methods(opc_case_context_t *context, const opc_object_t *object, size_t *out_calls,
                                opc_error_t *error) {
  *out_calls = 0;
  for (size_t i = 0; i < context->op->method_count; i++) {
    bool accepted;
    if (!opc_method_takes_arguments(&context->op->methods[i])) continue;
    const opc_status_t status = use_method(context, object, &context->op->methods[i], &accepted, error);
    if (status != OPC_ERR_UNSUPPORTED) OPC_RETURN_IF_ERROR(status); /* otherwise that method is left out */
    *out_calls += accepted;
  }
  return OPC_OK;
}

/* Two objects on which only the same calls were made, one that is pickled after them, and what that one becomes. */
enum { USED = 3 };
typedef struct used {
  opc_class_made_t made[USED];
  opc_object_t *unpickled;
  opc_class_state_t states[USED];
} used_t;

static void report_used(opc_class_state_t states[USED], size_t calls, opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  size_t compared = 0;
  if (opc_class_state_compare(&states[0], &states[1], &states[2], "the unpickled one", &text, &compared) >= 0)
    opc_finding_fail(finding, OPC_RULE_class_pickle_forgets_changes, "after calls of its methods (%zu): %s", calls,
                     opc_text_c(&text));
  else if (compared)
    opc_finding_pass(finding, "after calls of its methods (%zu) %zu others return the same before and after pickling",
                     calls, compared);
  else opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no method shows what it holds");
}

static void used_clear(used_t *used) {
  for (int i = 0; i < USED; i++) opc_class_state_clear(&used->states[i]);
  opc_object_free(used->unpickled);
  for (int i = 0; i < USED; i++) opc_class_made_clear(&used->made[i]);
}

static opc_status_t check_used(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(used_clear) used_t used = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  size_t calls = 0;
  bool pickled = false;
  for (int i = 0; i < USED; i++) {
    opc_class_made_t *made = &used.made[i];
    OPC_RETURN_IF_ERROR(opc_class_object_make(context, made, error));
    if (!made->object)
      return opc_finding_skip(finding, OPC_SKIP_REJECTED, "the constructor refuses these arguments: %.*s",
                              first_line(&made->call.message), opc_text_c(&made->call.message));
    OPC_RETURN_IF_ERROR(use_methods(context, made->object, &calls, error));
  }
  context->announce(OPC_CALL_LABEL(PICKLE, ""));
  if (!calls)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                            "no method accepts the simple arguments that it was given");
  if (opc_object_round_trip(used.made[2].object, &used.unpickled, &pickled, &message) != OPC_CALL_RETURNED)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it is not pickled after such calls: %.*s",
                            first_line(&message), opc_text_c(&message));
  const opc_object_t *objects[USED] = {used.made[0].object, used.made[1].object, used.unpickled};
  for (int i = 0; i < USED; i++)
    OPC_RETURN_IF_ERROR(opc_class_state_take(context->op, objects[i], context->announce, &used.states[i], error));
  report_used(used.states, calls, finding);
  return OPC_OK;
}

static opc_status_t class_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  if (context->variant.families & OPC_VARIANT_USED) return check_used(context, finding, error);
  if (!context->method) return check_whole(context, finding, error);
  const opc_status_t status = check_method(context, context->method, finding, error);
  if (status != OPC_ERR_UNSUPPORTED) return status;
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", error->message);
}

const opc_check_t opc_check_class = {.name = "class", .run = class_run};
