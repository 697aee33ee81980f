#include "supervise/jobs/inputs_seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "base/text.h"
#include "plan/variant/variant.h"

enum {
  VALUES_KEPT = 16,  /* of a number or text argument */
  REFUSALS_KEPT = 8, /* different messages */
  REFUSAL_LENGTH = 160,
  MANY_ELEMENTS = 1024
};

/* Of one value: the best that an input with it came to. */
static const char *const outcome_names[] = {"refused", "crashed", "accepted"};
typedef enum outcome { REFUSED, CRASHED, ACCEPTED } outcome_t;

typedef struct seeing {
  json_t *arguments; /* borrowed */
  outcome_t outcome;
  bool failed; /* out of memory */
} seeing_t;

/* The object at a key, made if it is not there. Borrowed; NULL: out of memory. */
static json_t *object_in(json_t *parent, const char *key) {
  json_t *found = json_object_get(parent, key);
  if (found) return found;
  found = json_object();
  return json_object_set_new(parent, key, found) == 0 ? found : NULL;
}

static bool see_value(json_t *values, const char *value, outcome_t outcome) {
  const char *before = json_string_value(json_object_get(values, value));
  for (int better = outcome; before && better <= ACCEPTED; better++)
    if (strcmp(before, outcome_names[better]) == 0) return true;
  return json_object_set_new(values, value, json_string(outcome_names[outcome])) == 0;
}

/* Values of a property of an argument: "x", "dtypes", "float32". */
static void see_property(seeing_t *seeing, const char *argument, const char *property, const char *value) {
  json_t *properties = object_in(seeing->arguments, argument);
  json_t *values = properties ? object_in(properties, property) : NULL;
  if (!values || !see_value(values, value, seeing->outcome)) seeing->failed = true;
}

static const char *layout_of(const opc_tensor_spec_t *spec) {
  if (spec->conj || spec->neg) return spec->conj ? "conjugate" : "negative";
  for (int i = 0; i < spec->ndim; i++)
    if (spec->strides[i] == 0 && spec->sizes[i] > 1) return "expanded";
  if (!opc_tensor_spec_is_contiguous(spec)) return "strided";
  return spec->storage_offset ? "offset" : "contiguous";
}

static const char *elements_of(const opc_tensor_spec_t *spec) {
  const int64_t count = opc_tensor_spec_numel(spec);
  if (count < 2) return count == 0 ? "none" : "one";
  return count <= MANY_ELEMENTS ? "few" : "many";
}

/* A tensor in a list counts as the argument. */
static void inputs_seen_see_tensor(const char *path, opc_value_t *value, void *context) {
  const opc_tensor_spec_t *spec = value->tensor;
  char argument[128], dimensions[16];
  if (!spec) return;
  snprintf(argument, sizeof argument, "%.*s", (int)strcspn(path, "["), path);
  snprintf(dimensions, sizeof dimensions, "%d", spec->ndim);
  see_property(context, argument, "dimensions", dimensions);
  see_property(context, argument, "dtypes", opc_dtype_name(spec->dtype));
  see_property(context, argument, "layouts", layout_of(spec));
  see_property(context, argument, "elements", elements_of(spec));
}

/* Of numbers and texts only the first few different ones. A text may be cut within a character. */
static void see_plain_value(seeing_t *seeing, const char *argument, const opc_value_t *value) {
  OPC_SCOPED(opc_text_clear) opc_text_t shown = {0};
  char text[80];
  const json_t *known = json_object_get(json_object_get(seeing->arguments, argument), "values");
  opc_value_describe(value, text, sizeof text);
  opc_text_add_utf8(&shown, text, strlen(text));
  if (json_object_size(known) < VALUES_KEPT || json_object_get(known, opc_text_c(&shown)))
    see_property(seeing, argument, "values", opc_text_c(&shown));
}

static void see_argument(seeing_t *seeing, const opc_argument_t *argument, opc_value_t *value, bool absent) {
  const bool missing = absent || value->kind == OPC_VALUE_NONE;
  if (argument->type.kind == OPC_TYPE_OPTIONAL)
    see_property(seeing, argument->name, "presence", missing ? "left out" : "given");
  if (absent && argument->type.kind == OPC_TYPE_BOOL && argument->default_text)
    see_property(seeing, argument->name, "values", strcmp(argument->default_text, "True") == 0 ? "true" : "false");
  if (missing) return;
  if (value->kind == OPC_VALUE_BOOL || value->kind == OPC_VALUE_INT || value->kind == OPC_VALUE_FLOAT ||
      value->kind == OPC_VALUE_STRING)
    see_plain_value(seeing, argument->name, value);
  opc_value_visit_tensors(argument->name, value, inputs_seen_see_tensor, seeing);
}

/* The input of a case; OPC_ERR_NOT_FOUND: a sample or variant that this side does not know. */
static opc_status_t input_of(const opc_case_id_t *id, const opc_sample_set_t *samples, const opc_operator_t *op,
                             opc_sample_t *out, opc_error_t *error) {
  const char *variant = opc_variant_facts(id->variant).families ? id->variant : "plain"; /* a class, and its methods */
  for (size_t i = 0; i < samples->count; i++) {
    if (strcmp(samples->samples[i].name, id->sample) != 0) continue;
    OPC_RETURN_IF_ERROR(opc_variant_apply(&samples->samples[i], op, variant, out, error));
    if (id->dtype[0]) (void)opc_sample_cast(out, opc_dtype_find(id->dtype));
    return OPC_OK;
  }
  return opc_error_set(error, OPC_ERR_NOT_FOUND, "no sample %s", id->sample);
}

/* Counts the first line of a message, by its beginning. */
static bool see_refusal(json_t *record, const char *message) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  json_t *refusals = object_in(record, "refusals");
  size_t length = strcspn(message, "\n");
  const bool cut = length > REFUSAL_LENGTH;
  if (cut) length = REFUSAL_LENGTH;
  while (cut && length > 0 && (message[length] & 0xc0) == 0x80) length--; /* not in the middle of a UTF-8 character */
  opc_text_add_utf8(&line, message, length);
  opc_text_add(&line, cut ? "…" : "");
  const json_t *known = json_object_get(refusals, opc_text_c(&line));
  if (!known && json_object_size(refusals) >= REFUSALS_KEPT) return refusals;
  return json_object_set_new(refusals, opc_text_c(&line), json_integer(json_integer_value(known) + 1)) == 0;
}

/* Whether the operator was called with the input, and what it did. */
static bool outcome_of(const opc_case_result_t *result, bool crashed, outcome_t *out) {
  if (result->id.sample[0] == '\0' || result->provenance.source == OPC_SOURCE_NONE) return false;
  if (result->verdict == OPC_VERDICT_SKIP && result->reason != OPC_SKIP_REJECTED) return false;
  *out = crashed ? CRASHED : result->verdict == OPC_VERDICT_SKIP ? REFUSED : ACCEPTED;
  return true;
}

static bool see_method(json_t *record, const opc_case_id_t *id, outcome_t outcome) {
  char method[sizeof id->variant];
  if (!opc_string_ends(id->variant, ".called")) return true;
  snprintf(method, sizeof method, "%.*s", (int)strcspn(id->variant, "."), id->variant);
  json_t *methods = object_in(record, "methods");
  return methods && see_value(methods, method, outcome);
}

static bool inputs_seen_see(opc_inputs_seen_t *seen, const opc_case_result_t *result, outcome_t outcome,
                            opc_sample_t *input, const opc_operator_t *op) {
  json_t *record = seen->record, *counts = object_in(record, "inputs"), *devices = object_in(record, "devices");
  seeing_t seeing = {.arguments = object_in(record, "arguments"), .outcome = outcome};
  const char *name = outcome_names[outcome];
  if (!counts || !devices || !seeing.arguments || !see_value(devices, result->id.device, outcome) ||
      json_object_set_new(counts, name, json_integer(json_integer_value(json_object_get(counts, name)) + 1)) != 0 ||
      !see_method(record, &result->id, outcome) || (outcome == REFUSED && !see_refusal(record, result->message)))
    return false;
  for (size_t i = 0; i < input->argument_count; i++)
    see_argument(&seeing, &op->arguments[i], &input->arguments[i], input->absent[i]);
  return !seeing.failed;
}

opc_status_t opc_inputs_seen_note(opc_inputs_seen_t *seen, const opc_case_result_t *result, bool crashed,
                                  const opc_sample_set_t *samples, const opc_operator_t *op, opc_error_t *error) {
  const opc_case_id_t *id = &result->id;
  char key[OPC_CASE_ID_SIZE];
  outcome_t outcome;
  bool added;
  OPC_SCOPED(opc_sample_clear) opc_sample_t input = {0};
  if (!outcome_of(result, crashed, &outcome)) return OPC_OK;
  const int length =
      snprintf(key, sizeof key, "%d/%s/%s/%s/%s", outcome, id->device, id->dtype, id->sample, id->variant);
  OPC_RETURN_IF_ERROR(opc_hash_set_add(&seen->inputs, key,
                                       (size_t)length < sizeof key ? (size_t)length : sizeof key - 1, &added, error));
  if (!added) return OPC_OK;
  const opc_status_t made = input_of(id, samples, op, &input, error);
  if (made != OPC_OK) return made == OPC_ERR_MEMORY ? made : OPC_OK;
  if (!seen->record) seen->record = json_object();
  return seen->record && inputs_seen_see(seen, result, outcome, &input, op) ? OPC_OK : opc_out_of_memory(error);
}

json_t *opc_inputs_seen_record(const opc_inputs_seen_t *seen, const opc_operator_t *op) {
  json_t *record = seen->record ? json_pack("{s:s, s:s}", "t", "coverage", "operator", op->name) : NULL;
  if (record && json_object_update(record, seen->record) == 0) return record;
  json_decref(record);
  return NULL;
}

void opc_inputs_seen_clear(opc_inputs_seen_t *seen) {
  opc_hash_set_clear(&seen->inputs);
  json_decref(seen->record);
  *seen = (opc_inputs_seen_t){0};
}
