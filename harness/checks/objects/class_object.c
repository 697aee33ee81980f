#include "checks/objects/class_object.h"

#include <stdlib.h>
#include <string.h>

#include "memory/cpu_memory.h"
#include "search/draft/search_inside.h"

/* Arguments that a search found are placed as the search placed them, at the end of guarded memory: a constructor that
 * reads beyond them is noticed. An operator that returns the object has a case of its own for that. */
opc_status_t opc_class_object_make(opc_case_context_t *context, opc_class_made_t *out, opc_error_t *error) {
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

void opc_class_made_clear(opc_class_made_t *made) {
  opc_object_free(made->object);
  opc_call_clear(&made->call);
  *made = (opc_class_made_t){0};
}

/* ---- its methods ---- */

/* Of the class itself: another object made like this one. */
static json_t *another(const opc_case_context_t *context, const char *name) {
  const opc_sample_t *sample = context->sample;
  if (!opc_class_has_constructor(context->op)) return opc_value_to_json(&sample->arguments[0]);
  json_t *init = json_array();
  for (size_t i = 0; i < sample->argument_count && !sample->absent[i]; i++)
    json_array_append_new(init, opc_value_to_json(&sample->arguments[i]));
  return json_pack("{s:{s:s, s:o}}", "object", "class", name, "init", init);
}

static char *class_constructor_schema(const char *class_name, const void *context) {
  (void)context;
  return opc_class_constructor(class_name);
}

static json_t *argument_value(const opc_case_context_t *context, const opc_type_t *type, int round) {
  static const opc_simple_classes_t classes = {.constructor = class_constructor_schema};
  OPC_SCOPED(opc_scope_free) char *name = opc_class_name_of(context->op);
  if (!name || type->kind != OPC_TYPE_OBJECT || !type->class_name || strcmp(type->class_name, name) != 0)
    return opc_simple_value(type, round, &classes);
  return another(context, name);
}

/* The method's arguments in this round, without self. OPC_ERR_UNSUPPORTED: some type has no value. */
static opc_status_t method_sample(const opc_case_context_t *context, const opc_operator_t *method, int round,
                                  opc_sample_t *out, opc_error_t *error) {
  json_auto_t *args = json_array();
  for (size_t i = 0; i < method->argument_count; i++) {
    json_t *value = argument_value(context, &method->arguments[i].type, round);
    if (!value)
      return opc_error_set(error, OPC_ERR_UNSUPPORTED, "there is no simple value for its argument %s, %s",
                           method->arguments[i].name, method->arguments[i].type_text);
    json_array_append_new(args, value);
  }
  json_auto_t *text = json_pack("{s:s, s:O}", "operator", method->name, "args", args);
  return opc_sample_from_json(text, method, NULL, out, NULL, 0, error);
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

static opc_status_t call_on(opc_case_context_t *context, const opc_object_t *object, const opc_operator_t *method,
                            const opc_sample_t *sample, opc_call_t *call, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_call_make(call, method, sample, context->device, context->seed, error));
  say_method(context, method, call);
  call->outcome = opc_object_call(object, method->name, call->arguments, call->argument_count, &call->returns,
                                  &call->return_count, &call->message);
  opc_call_clear_arguments(call);
  return OPC_OK;
}

/* object NULL: on another one */
static opc_status_t call_on_sample(opc_case_context_t *context, const opc_object_t *object,
                                   const opc_operator_t *method, const opc_sample_t *sample, opc_call_t *call,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_class_made_clear) opc_class_made_t made = {0};
  opc_call_clear(call);
  if (object) return call_on(context, object, method, sample, call, error);
  OPC_RETURN_IF_ERROR(opc_class_object_make(context, &made, error));
  if (!made.object)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "the constructor refuses these arguments: %s",
                         opc_text_c(&made.call.message));
  return call_on(context, made.object, method, sample, call, error);
}

/* ---- what a message asks for ---- */

static void candidates_clear(opc_candidates_t *list) { opc_candidates_clear(list); }

/* The search for arguments that a method accepts: the last rejected ones, why, and how many calls are left. */
typedef struct asking {
  opc_sample_t sample;
  opc_text_t message;
  int left;
} asking_t;

static void asking_clear(asking_t *asking) {
  opc_sample_clear(&asking->sample);
  opc_text_clear(&asking->message);
}

/* Tries what the message asks for. *call changes only if the method returns. *out_other: a try got another message,
 * from which to go on. */
static opc_status_t call_repaired(opc_case_context_t *context, const opc_object_t *object, const opc_operator_t *method,
                                  asking_t *asking, opc_call_t *call, bool *out_other, opc_error_t *error) {
  OPC_SCOPED(candidates_clear) opc_candidates_t tries = {0};
  opc_rng_t rng = {.seed = context->seed};
  *out_other = false;
  opc_repair_message(method, &asking->sample, opc_text_c(&asking->message), &rng, &tries);
  for (size_t i = 0; i < tries.count && !*out_other && asking->left-- > 0; i++) {
    OPC_SCOPED(opc_call_clear) opc_call_t attempt = {0};
    const opc_status_t status = call_on_sample(context, object, method, &tries.items[i].sample, &attempt, error);
    if (status == OPC_ERR_MEMORY) return status;
    if (status != OPC_OK) continue; /* such arguments cannot be made */
    if (attempt.outcome == OPC_CALL_RETURNED) {
      opc_call_clear(call);
      OPC_MOVE(call, attempt);
      return OPC_OK;
    }
    *out_other =
        attempt.outcome == OPC_CALL_REJECTED && strcmp(opc_text_c(&asking->message), opc_text_c(&attempt.message)) != 0;
    if (!*out_other) continue;
    opc_text_reset(&asking->message);
    opc_text_add(&asking->message, opc_text_c(&attempt.message));
    opc_sample_clear(&asking->sample);
    OPC_MOVE(&asking->sample, tries.items[i].sample);
  }
  return OPC_OK;
}

opc_status_t opc_class_method_call(opc_case_context_t *context, const opc_object_t *object,
                                   const opc_operator_t *method, opc_call_t *call, opc_error_t *error) {
  enum { REPAIRED_CALLS = 16 };
  OPC_SCOPED(asking_clear) asking_t asking = {.left = REPAIRED_CALLS};
  bool goes_on = true;
  for (int round = 0; round < OPC_SIMPLE_ROUNDS; round++) {
    opc_sample_clear(&asking.sample);
    OPC_RETURN_IF_ERROR(method_sample(context, method, round, &asking.sample, error));
    OPC_RETURN_IF_ERROR(call_on_sample(context, object, method, &asking.sample, call, error));
    if (call->outcome != OPC_CALL_REJECTED) return OPC_OK;
  }
  opc_text_add(&asking.message, opc_text_c(&call->message));
  while (goes_on && asking.left > 0 && call->outcome == OPC_CALL_REJECTED)
    OPC_RETURN_IF_ERROR(call_repaired(context, object, method, &asking, call, &goes_on, error));
  return OPC_OK;
}

void opc_class_method_clear(opc_class_method_t *method) {
  method->op.argument_count = method->all;
  opc_operator_clear(&method->op);
}

opc_status_t opc_class_method_read(const opc_method_t *method, opc_class_method_t *out, opc_error_t *error) {
  const opc_status_t status = opc_schema_arguments(method->schema ? method->schema : "", &out->op, error);
  out->all = out->op.argument_count;
  if (status != OPC_OK || out->all == 0) return status;
  out->op.name = strdup(method->name);
  if (!out->op.name) return opc_out_of_memory(error);
  opc_argument_t self = out->op.arguments[0];
  memmove(&out->op.arguments[0], &out->op.arguments[1], (out->all - 1) * sizeof self);
  out->op.arguments[--out->op.argument_count] = self; /* beyond the count: cleared with the rest */
  return OPC_OK;
}
