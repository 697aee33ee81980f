#include "model/sample/tried.h"

#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"

enum { LARGEST = 1 << 18 }; /* elements of an output that is kept */

static const char *const names[] = {
#define X(constant, text) text,
    OPC_TRY_OUTCOMES(X)
#undef X
};

const char *opc_try_outcome_name(opc_try_outcome_t outcome) { return names[outcome]; }

bool opc_try_outcome_find(const char *name, opc_try_outcome_t *out) {
  for (size_t i = 0; i < OPC_TRY_OUTCOME_COUNT; i++) {
    if (strcmp(names[i], name) != 0) continue;
    *out = (opc_try_outcome_t)i;
    return true;
  }
  return false;
}

/* ---- tensors ---- */

/* Elements of a tensor of these sizes. */
static int64_t tried_numel_of(const json_t *shape) {
  int64_t numel = 1;
  for (size_t i = 0; i < json_array_size(shape); i++)
    if (__builtin_mul_overflow(numel, (int64_t)json_integer_value(json_array_get(shape, i)), &numel)) return INT64_MAX;
  return numel;
}

static bool tried_read_values(const json_t *list, opc_fill_t *out) {
  const size_t count = json_array_size(list);
  out->values = calloc(count, sizeof *out->values);
  if (!out->values) return false;
  out->kind = OPC_FILL_VALUES;
  out->value_count = count;
  for (size_t i = 0; i < count; i++) {
    const json_t *value = json_array_get(list, i);
    if (json_is_integer(value)) out->values[i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = json_integer_value(value)};
    else out->values[i] = (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = json_number_value(value)};
  }
  return true;
}

/* A tensor with all its values, or only with its sizes; NULL: no sample holds it. */
static opc_tensor_spec_t *tried_read_tensor(const json_t *json) {
  const json_t *shape = json_object_get(json, "shape"), *values = json_object_get(json, "values");
  const char *name = opc_json_text_of(json, "dtype");
  const opc_dtype_t dtype = name ? opc_dtype_find(name) : OPC_DTYPE_OTHER;
  const size_t ndim = json_array_size(shape), count = json_array_size(values);
  int64_t sizes[OPC_MAX_DIMS];
  if (dtype == OPC_DTYPE_OTHER || ndim > OPC_MAX_DIMS || tried_numel_of(shape) > LARGEST) return NULL;
  for (size_t i = 0; i < ndim; i++) {
    sizes[i] = json_integer_value(json_array_get(shape, i));
    if (sizes[i] < 1) return NULL;
  }
  opc_tensor_spec_t *spec = opc_tensor_spec_new(dtype, (int)ndim, sizes);
  if (!spec) return NULL;
  spec->dtype_given = true;
  if (count == 0 || (count == (size_t)tried_numel_of(shape) && tried_read_values(values, &spec->fill))) return spec;
  opc_tensor_spec_free(spec);
  return NULL;
}

static opc_status_t tried_read_outputs(const json_t *returns, opc_tried_t *out, opc_error_t *error) {
  out->outputs = calloc(json_array_size(returns) + 1, sizeof *out->outputs);
  if (!out->outputs) return opc_out_of_memory(error);
  for (size_t i = 0; i < json_array_size(returns); i++) {
    const json_t *json = json_array_get(returns, i);
    opc_tensor_spec_t *spec = tried_read_tensor(json);
    if (spec) out->outputs[out->output_count++] = (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec};
    const int64_t numel = json_is_object(json) ? tried_numel_of(json_object_get(json, "shape")) : 0;
    if (numel > out->output_numel) out->output_numel = numel;
  }
  return OPC_OK;
}

static opc_status_t read_changed(const json_t *mutated, opc_tried_t *out, opc_error_t *error) {
  out->changed = calloc(json_array_size(mutated) + 1, sizeof *out->changed);
  if (!out->changed) return opc_out_of_memory(error);
  for (size_t i = 0; i < json_array_size(mutated); i++) {
    const char *path = json_string_value(json_array_get(mutated, i));
    if (path) out->changed[out->changed_count++] = path;
  }
  return OPC_OK;
}

/* ---- the message ---- */

static opc_try_access_t read_access(const json_t *json) {
  if (!json) return (opc_try_access_t){0};
  const char *argument = opc_json_text_of(json, "argument"), *place = opc_json_text_of(json, "place");
  return (opc_try_access_t){.argument = argument ? argument : "",
                            .place = place ? place : "",
                            .beyond = json_integer_value(json_object_get(json, "beyond")),
                            .write = json_is_true(json_object_get(json, "write"))};
}

opc_status_t opc_tried_read(const json_t *message, opc_tried_t *out, opc_error_t *error) {
  const char *type = opc_json_text_of(message, "t"), *name = opc_json_text_of(message, "outcome"),
             *text = opc_json_text_of(message, "message"), *digest = opc_json_text_of(message, "digest");
  *out = (opc_tried_t){.outcome = OPC_TRY_UNCONVERTIBLE, .message = text ? text : ""};
  if (type && strcmp(type, "refused") == 0) return OPC_OK;
  opc_try_outcome_t outcome = OPC_TRY_OUTCOME_COUNT;
  if (!name || !opc_try_outcome_find(name, &outcome) || outcome == OPC_TRY_CRASHED || outcome == OPC_TRY_TIMEOUT)
    return opc_error_set(error, OPC_ERR_PROTOCOL, "a try ended with the outcome '%.40s', which nobody knows",
                         name ? name : "");
  out->outcome = outcome;
  out->site = opc_json_text_of(message, "site");
  out->seconds = json_number_value(json_object_get(message, "seconds"));
  out->cpu_seconds = json_number_value(json_object_get(message, "cpu_seconds"));
  out->digest = digest ? strtoull(digest, NULL, 16) : 0;
  out->steady = json_is_true(json_object_get(message, "steady"));
  out->effect = json_is_true(json_object_get(message, "effect"));
  out->depends_on_values = json_is_true(json_object_get(message, "depends_on_values"));
  out->access = read_access(json_object_get(message, "access"));
  out->refused_on_meta = opc_json_text_of(message, "refused_on_meta");
  OPC_RETURN_IF_ERROR(tried_read_outputs(json_object_get(message, "returns"), out, error));
  return read_changed(json_object_get(message, "mutated"), out, error);
}

void opc_tried_clear(opc_tried_t *tried) {
  for (size_t i = 0; i < tried->output_count; i++) opc_value_clear(&tried->outputs[i]);
  free(tried->outputs);
  free(tried->changed);
  *tried = (opc_tried_t){0};
}
