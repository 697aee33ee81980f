/* class: custom classes, as used by TorchScript, torch.export, torch.save and AOTInductor. One case per class and
 * sample of its constructor (or of the operator that returns its objects), and one per method. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/framework/outcome.h"
#include "checks/objects/class_state.h"
#include "memory/cpu_memory.h"
#include "model/value/simple_value.h"

/* An object, and the arguments from which it was made; it may hold them. */
typedef struct made {
  opc_call_t call;
  opc_object_t *object; /* NULL: call.outcome says why */
} made_t;

/* Arguments that a search found are placed as the search placed them, at the end of guarded memory: a constructor that
 * reads beyond them is noticed. An operator that returns the object has a case of its own for that. */
static opc_status_t make(opc_case_context_t *context, made_t *out, opc_error_t *error) {
  const bool constructed = opc_class_has_constructor(context->op),
             searched = constructed && context->sample->source == OPC_SAMPLE_SEARCHED;
  if (!constructed) context->announce(OPC_CALL_LABEL(OTHERWISE, "that returns the object"));
  const size_t alignment = searched ? opc_cpu_memory_align_arguments(1) : 0;
  opc_status_t status = opc_call_make(&out->call, context->op, context->sample, context->device, context->seed, error);
  if (searched) opc_cpu_memory_align_arguments(alignment);
  if (status != OPC_OK) return status;
  if (constructed) context->announce(OPC_CALL_LABEL(METHOD, "the constructor"));
  (void)opc_call_construct(&out->call, context->op, context->seed, &out->object);
  return OPC_OK;
}

static void made_clear(made_t *made) {
  opc_object_free(made->object);
  opc_call_clear(&made->call);
  *made = (made_t){0};
}

/* ---- the parts of the contract ---- */

typedef struct subject {
  opc_case_context_t *context;
  made_t object;
  opc_class_state_t fresh, control; /* of two other objects made from the same arguments */
  opc_finding_t *finding;
  opc_text_t done; /* what was proven, for the pass */
} subject_t;

static int first_line(const opc_text_t *message) { return (int)strcspn(opc_text_c(message), "\n"); }

/* 1 or 0; -1: it cannot be compared. */
static int equal(const subject_t *subject, const opc_object_t *other) {
  opc_value_t *returns = NULL, argument = {.kind = OPC_VALUE_OBJECT, .handle = (void *)other};
  size_t count = 0;
  if (!opc_class_method(subject->context->op, "__eq__")) return -1;
  subject->context->announce(OPC_CALL_LABEL(METHOD, "__eq__"));
  opc_call_outcome_t outcome = opc_object_call(subject->object.object, "__eq__", &argument, 1, &returns, &count, NULL);
  int answer =
      outcome == OPC_CALL_RETURNED && count == 1 && returns[0].kind == OPC_VALUE_BOOL ? returns[0].boolean : -1;
  opc_returns_free(returns, count);
  return answer;
}

/* Takes the other object's state and compares it with a fresh one's. */
static opc_status_t compare(subject_t *subject, const opc_object_t *other, const char *name, const char *rule,
                            opc_class_state_t *state, opc_error_t *error) {
  opc_text_t text = {0};
  size_t compared = 0;
  bool unequal = equal(subject, other) == 0;
  opc_status_t status = opc_class_state_take(subject->context->op, other, subject->context->announce, state, error);
  if (status == OPC_OK &&
      opc_class_state_compare(&subject->fresh, &subject->control, state, name, &text, &compared) >= 0)
    opc_finding_fail(subject->finding, rule, "%s", opc_text_c(&text));
  else if (status == OPC_OK && unequal)
    opc_finding_fail(subject->finding, rule, "by its own __eq__ the object does not equal %s", name);
  else if (compared == 0 && equal(subject, other) < 0)
    opc_text_addf(&subject->done, " (no method shows what it holds)");
  opc_text_clear(&text);
  return status;
}

static void check_equality(subject_t *subject) {
  int answer = equal(subject, subject->object.object);
  if (answer == 0)
    opc_finding_fail(subject->finding, "class.not_equal_itself", "__eq__ of an object with itself is False");
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
  opc_value_t *returns = NULL;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  char text[160] = "nothing";
  size_t count = 0;
  if (!opc_class_method(subject->context->op, "__obj_flatten__")) return;
  subject->context->announce(OPC_CALL_LABEL(METHOD, "__obj_flatten__"));
  opc_call_outcome_t outcome =
      opc_object_call(subject->object.object, "__obj_flatten__", NULL, 0, &returns, &count, &message);
  if (count > 0) opc_value_describe(&returns[0], text, sizeof text);
  if (outcome != OPC_CALL_RETURNED)
    opc_finding_fail(subject->finding, "class.flatten_form", "__obj_flatten__ is refused: %.*s", first_line(&message),
                     opc_text_c(&message));
  else if (count != 1 || !is_pairs(&returns[0]))
    opc_finding_fail(subject->finding, "class.flatten_form",
                     "__obj_flatten__ returns %s, not a tuple of (name, value) pairs", text);
  else opc_text_add(&subject->done, ", flattened");
  opc_returns_free(returns, count);
}

static char *constructor_of(const char *class_name, const void *context) {
  (void)context;
  return opc_class_constructor(class_name);
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
    made_t made = {0};
    opc_object_t *back = NULL;
    other.sample = &other.samples[i];
    if (strcmp(other.sample->name, other.base->name) == 0) continue;
    const bool has_object = make(&other, &made, NULL) == OPC_OK && made.object;
    if (has_object)
      other.announce(OPC_CALL_LABEL(METHOD_OF_OTHERS, "__setstate__ of an object made from another sample"));
    if (has_object) refused = opc_object_round_trip(made.object, &back, NULL, NULL) != OPC_CALL_RETURNED;
    plain |= has_object && !gives_options(other.op, other.sample);
    opc_object_free(back);
    made_clear(&made);
  }
  return refused && plain;
}

static opc_status_t check_pickle(subject_t *subject, opc_error_t *error) {
  const opc_operator_t *op = subject->context->op;
  bool get = opc_class_method(op, "__getstate__") != NULL, set = opc_class_method(op, "__setstate__") != NULL,
       pickled = false;
  opc_object_t *other = NULL;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  opc_class_state_t state = {0};
  opc_status_t status = OPC_OK;
  if (get != set) {
    opc_finding_fail(subject->finding, "class.pickle_incomplete", "the class has %s and no %s",
                     get ? "__getstate__" : "__setstate__", get ? "__setstate__" : "__getstate__");
  } else if (get) {
    subject->context->announce(OPC_CALL_LABEL(PICKLE, ""));
    if (opc_object_round_trip(subject->object.object, &other, &pickled, &message) != OPC_CALL_RETURNED) {
      opc_finding_fail(subject->finding, "class.pickle_refused", "%s: %.*s",
                       pickled ? "what was pickled cannot be unpickled" : "the object cannot be pickled",
                       first_line(&message), opc_text_c(&message));
      if (is_refused_for_all(subject)) opc_finding_evidence(subject->finding, "every_input", json_true());
    } else {
      opc_text_add(&subject->done, ", pickled and unpickled");
      status = compare(subject, other, "the unpickled one", "class.pickle_differs", &state, error);
    }
  }
  opc_class_state_clear(&state);
  opc_object_free(other);
  return status;
}

/* A memo gets its default, or None. */
static opc_status_t check_copy(subject_t *subject, const char *method, bool deep, opc_error_t *error) {
  opc_value_t *returns = NULL, none = {.kind = OPC_VALUE_NONE};
  size_t count = 0;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  opc_class_state_t state = {0};
  opc_operator_t schema = {0};
  const opc_method_t *found = opc_class_method(subject->context->op, method);
  if (!found || !found->schema || opc_schema_arguments(found->schema, &schema, NULL) != OPC_OK) return OPC_OK;
  bool memo = schema.argument_count == 2 && !schema.arguments[1].has_default;
  opc_operator_clear(&schema);
  subject->context->announce(OPC_CALL_LABEL(METHOD, method));
  opc_status_t status = OPC_OK;
  opc_call_outcome_t outcome = opc_object_call(subject->object.object, method, &none, memo, &returns, &count, &message);
  if (outcome == OPC_CALL_UNCONVERTIBLE) goto release; /* it requires arguments that the harness cannot make */
  if (outcome != OPC_CALL_RETURNED) {
    opc_finding_fail(subject->finding, "class.copy_differs", "%s is refused: %.*s", method, first_line(&message),
                     opc_text_c(&message));
  } else if (count != 1 || returns[0].kind != OPC_VALUE_OBJECT) {
    opc_finding_fail(subject->finding, "class.copy_differs", "%s returns no object", method);
  } else {
    opc_text_addf(&subject->done, ", copied by %s", method);
    status = compare(subject, returns[0].handle, "the copy", "class.copy_differs", &state, error);
    OPC_SCOPED(opc_class_state_clear) opc_class_state_t own = {0};
    if (status == OPC_OK && deep)
      status =
          opc_class_state_take(subject->context->op, subject->object.object, subject->context->announce, &own, error);
    int shared = status == OPC_OK && deep ? opc_class_state_shared(&own, &subject->control, &state) : -1;
    if (shared >= 0)
      opc_finding_fail(subject->finding, "class.copy_shares",
                       "%s() of the copy and of the original return tensors that share storage",
                       own.views[shared].method);
  }

release:
  opc_class_state_clear(&state);
  opc_returns_free(returns, count);
  return status;
}

static opc_status_t take_fresh(opc_case_context_t *context, opc_class_state_t *out, opc_error_t *error) {
  made_t made = {0};
  opc_status_t status = make(context, &made, error);
  if (status == OPC_OK && !made.object)
    status =
        opc_error_set(error, OPC_ERR_UNSUPPORTED, "the constructor accepts the same arguments once but not again: %s",
                      opc_text_c(&made.call.message));
  if (status == OPC_OK) status = opc_class_state_take(context->op, made.object, context->announce, out, error);
  made_clear(&made);
  return status;
}

static void run_whole(opc_case_context_t *context, opc_finding_t *finding) {
  opc_error_t error = {0};
  subject_t subject = {.context = context, .finding = finding};
  opc_status_t status = make(context, &subject.object, &error);
  if (status != OPC_OK || opc_finding_from_outcome(context, &subject.object.call, finding)) goto release;
  if (context->base->expect.rejects) {
    opc_finding_fail(finding, "sample.accepted",
                     "the constructor accepts sample %s, which its file expects it to refuse", context->base->name);
    goto release;
  }
  status = take_fresh(context, &subject.fresh, &error);
  if (status == OPC_OK) status = take_fresh(context, &subject.control, &error);
  if (status != OPC_OK) goto release;
  opc_text_add(&subject.done, opc_class_has_constructor(context->op) ? "constructed" : "returned by an operator");
  check_equality(&subject);
  check_flatten(&subject);
  status = check_pickle(&subject, &error);
  if (status == OPC_OK) status = check_copy(&subject, "__copy__", false, &error);
  if (status == OPC_OK) status = check_copy(&subject, "__deepcopy__", true, &error);
  if (status == OPC_OK && !finding->decided) opc_finding_pass(finding, "%s", opc_text_c(&subject.done));

release:
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
  opc_class_state_clear(&subject.fresh);
  opc_class_state_clear(&subject.control);
  opc_text_clear(&subject.done);
  made_clear(&subject.object);
}

/* ---- one method ---- */

/* Of the class itself: another object made like this one. */
static json_t *another(const opc_case_context_t *context, const char *name) {
  const opc_sample_t *sample = context->sample;
  if (!opc_class_has_constructor(context->op)) return opc_value_to_json(&sample->arguments[0]);
  json_t *init = json_array();
  for (size_t i = 0; i < sample->argument_count && !sample->absent[i]; i++)
    json_array_append_new(init, opc_value_to_json(&sample->arguments[i]));
  return json_pack("{s:{s:s, s:o}}", "object", "class", name, "init", init);
}

static json_t *argument_value(const opc_case_context_t *context, const opc_type_t *type, int round) {
  static const opc_simple_classes_t classes = {.constructor = constructor_of};
  OPC_SCOPED(opc_scope_free) char *name = opc_class_name_of(context->op);
  if (!name || type->kind != OPC_TYPE_OBJECT || !type->class_name || strcmp(type->class_name, name) != 0)
    return opc_simple_value(type, round, &classes);
  return another(context, name);
}

/* The method's arguments in this round, without self. OPC_ERR_UNSUPPORTED: some type has no value. */
static opc_status_t method_sample(const opc_case_context_t *context, const opc_operator_t *method, int round,
                                  opc_sample_t *out, opc_error_t *error) {
  json_t *args = json_array();
  opc_status_t status = OPC_OK;
  for (size_t i = 0; status == OPC_OK && i < method->argument_count; i++) {
    json_t *value = argument_value(context, &method->arguments[i].type, round);
    if (!value)
      status = opc_error_set(error, OPC_ERR_UNSUPPORTED, "there is no simple value for its argument %s, %s",
                             method->arguments[i].name, method->arguments[i].type_text);
    else json_array_append_new(args, value);
  }
  json_t *text = json_pack("{s:s, s:o}", "operator", method->name, "args", args);
  if (status == OPC_OK) status = opc_sample_from_json(text, method, NULL, out, NULL, 0, error);
  json_decref(text);
  return status;
}

/* With the arguments: nobody vouches for them, and a crash report has no other place for them. */
static void say_method(const opc_case_context_t *context, const opc_operator_t *method, const opc_call_t *call) {
  char detail[160], value[64];
  OPC_SCOPED(opc_text_clear) opc_text_t arguments = {0};
  for (size_t i = 0; i < call->argument_count; i++) {
    opc_value_describe(&call->arguments[i], value, sizeof value);
    opc_text_addf(&arguments, "%s%s", i ? ", " : "", value);
  }
  snprintf(detail, sizeof detail, "%.60s called with %.70s", method->name, opc_text_c(&arguments));
  context->announce(call->argument_count ? OPC_CALL_LABEL(METHOD_OF_OTHERS, detail)
                                         : OPC_CALL_LABEL(METHOD, method->name));
}

static opc_status_t call_method(opc_case_context_t *context, const opc_object_t *object, const opc_operator_t *method,
                                int round, opc_call_t *call, opc_error_t *error) {
  opc_sample_t sample = {0};
  opc_status_t status = method_sample(context, method, round, &sample, error);
  if (status == OPC_OK) status = opc_call_make(call, method, &sample, context->device, context->seed, error);
  if (status == OPC_OK) {
    say_method(context, method, call);
    call->outcome = opc_object_call(object, method->name, call->arguments, call->argument_count, &call->returns,
                                    &call->return_count, &call->message);
  }
  opc_call_clear_arguments(call);
  opc_sample_clear(&sample);
  return status;
}

static opc_status_t try_method(opc_case_context_t *context, const opc_operator_t *method, int round, opc_call_t *call,
                               opc_error_t *error) {
  made_t made = {0};
  opc_status_t status = make(context, &made, error);
  if (status == OPC_OK && !made.object)
    status = opc_error_set(error, OPC_ERR_UNSUPPORTED, "the constructor refuses these arguments: %s",
                           opc_text_c(&made.call.message));
  if (status == OPC_OK) status = call_method(context, made.object, method, round, call, error);
  made_clear(&made);
  return status;
}

/* The schema without self, under the method's name. */
static opc_status_t method_read(const opc_method_t *method, opc_operator_t *out, opc_error_t *error) {
  opc_status_t status = opc_schema_arguments(method->schema ? method->schema : "", out, error);
  if (status != OPC_OK || out->argument_count == 0) return status;
  out->name = strdup(method->name);
  if (!out->name) return opc_out_of_memory(error);
  opc_argument_t self = out->arguments[0];
  memmove(&out->arguments[0], &out->arguments[1], (out->argument_count - 1) * sizeof *out->arguments);
  out->arguments[out->argument_count - 1] = self; /* beyond the count: cleared with the rest */
  return OPC_OK;
}

static void run_method(opc_case_context_t *context, const opc_method_t *method, opc_finding_t *finding) {
  opc_error_t error = {0};
  OPC_SCOPED(opc_operator_clear) opc_operator_t schema = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  char text[160] = "nothing";
  opc_status_t status = method_read(method, &schema, &error);
  size_t all = schema.argument_count;
  if (all) schema.argument_count--;
  for (int round = 0; status == OPC_OK && round < OPC_SIMPLE_ROUNDS; round++) {
    opc_call_clear(&call);
    status = try_method(context, &schema, round, &call, &error);
    if (status == OPC_OK && call.outcome != OPC_CALL_REJECTED) break;
  }
  if (status == OPC_ERR_UNSUPPORTED) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", error.message);
  } else if (status != OPC_OK) {
    opc_finding_from_error(context, &error, finding);
  } else if (!opc_finding_from_outcome(context, &call, finding)) {
    if (call.return_count) opc_value_describe(&call.returns[0], text, sizeof text);
    opc_finding_pass(finding, "%s returns %s", method->name, text);
  }
  schema.argument_count = all;
}

/* ---- a used object ---- */

/* One accepted call of each method that takes arguments, always the same calls. */
static opc_status_t use(opc_case_context_t *context, const opc_object_t *object, size_t *out_calls,
                        opc_error_t *error) {
  opc_status_t status = OPC_OK;
  *out_calls = 0;
  for (size_t i = 0; status == OPC_OK && i < context->op->method_count; i++) {
    OPC_SCOPED(opc_operator_clear) opc_operator_t schema = {0};
    opc_call_t call = {0};
    if (!opc_method_takes_arguments(&context->op->methods[i])) continue;
    status = method_read(&context->op->methods[i], &schema, error);
    size_t all = schema.argument_count;
    if (all) schema.argument_count--;
    for (int round = 0; status == OPC_OK && round < OPC_SIMPLE_ROUNDS; round++) {
      opc_call_clear(&call);
      status = call_method(context, object, &schema, round, &call, error);
      if (status == OPC_OK && call.outcome != OPC_CALL_REJECTED) break;
    }
    *out_calls += status == OPC_OK && call.outcome == OPC_CALL_RETURNED;
    if (status == OPC_ERR_UNSUPPORTED) status = OPC_OK; /* skips that method */
    schema.argument_count = all;
    opc_call_clear(&call);
  }
  return status;
}

static void report_used(opc_class_state_t states[3], size_t calls, opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  size_t compared = 0;
  if (opc_class_state_compare(&states[0], &states[1], &states[2], "the unpickled one", &text, &compared) >= 0)
    opc_finding_fail(finding, "class.pickle_forgets_changes", "after calls of its methods (%zu): %s", calls,
                     opc_text_c(&text));
  else if (compared)
    opc_finding_pass(finding, "after calls of its methods (%zu) %zu others return the same before and after pickling",
                     calls, compared);
  else opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no method shows what it holds");
}

/* Compares two objects on which only the same calls were made; one was pickled and unpickled after them. */
static void run_used(opc_case_context_t *context, opc_finding_t *finding) {
  made_t made[3] = {0};
  opc_class_state_t states[3] = {0};
  opc_object_t *other = NULL;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  opc_error_t error = {0};
  opc_status_t status = OPC_OK;
  size_t calls = 0;
  bool pickled = false;
  for (int i = 0; status == OPC_OK && i < 3; i++) {
    status = make(context, &made[i], &error);
    if (status == OPC_OK && !made[i].object) {
      opc_finding_skip(finding, OPC_SKIP_REJECTED, "the constructor refuses these arguments: %.*s",
                       first_line(&made[i].call.message), opc_text_c(&made[i].call.message));
      goto release;
    }
    if (status == OPC_OK) status = use(context, made[i].object, &calls, &error);
  }
  if (status != OPC_OK) goto release;
  context->announce(OPC_CALL_LABEL(PICKLE, ""));
  if (!calls) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no method accepts the simple arguments that it was given");
  } else if (opc_object_round_trip(made[2].object, &other, &pickled, &message) != OPC_CALL_RETURNED) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it is not pickled after such calls: %.*s", first_line(&message),
                     opc_text_c(&message));
  } else {
    const opc_object_t *objects[] = {made[0].object, made[1].object, other};
    for (int i = 0; status == OPC_OK && i < 3; i++)
      status = opc_class_state_take(context->op, objects[i], context->announce, &states[i], &error);
    if (status == OPC_OK) report_used(states, calls, finding);
  }

release:
  if (status != OPC_OK) opc_finding_from_error(context, &error, finding);
  for (int i = 0; i < 3; i++) opc_class_state_clear(&states[i]);
  opc_object_free(other);
  for (int i = 0; i < 3; i++) made_clear(&made[i]);
}

static void run(opc_case_context_t *context, opc_finding_t *finding) {
  if (context->variant.families & OPC_VARIANT_USED) run_used(context, finding);
  else if (context->method) run_method(context, context->method, finding);
  else run_whole(context, finding);
}

const opc_check_t opc_check_class = {.name = "class", .run = run};
