#include "model/sample/sample.h"

#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "model/value/value_read.h"

/* The path must name a tensor of the sample: "x", or "tensors[1]". */
static opc_status_t check_tensor_path(opc_json_reader_t *reader, const char *path, const opc_operator_t *op,
                                      const opc_sample_t *sample) {
  OPC_SCOPED(opc_scope_free) char *name = strndup(path, strcspn(path, "["));
  if (!name) return opc_out_of_memory(reader->error);
  int index = opc_operator_argument(op, name);
  if (index < 0) {
    OPC_SCOPED(opc_text_clear) opc_text_t all = {0};
    for (size_t i = 0; i < op->argument_count; i++) opc_text_addf(&all, "%s%s", i ? ", " : "", op->arguments[i].name);
    opc_status_t status =
        opc_json_fail(reader, "%s has no argument \"%.60s\" (it has: %s)", op->name, path, opc_text_c(&all));
    return status;
  }
  const opc_value_t *value = &sample->arguments[index];
  const char *rest = strchr(path, '['), *argument = op->arguments[index].name;
  if (!opc_type_may_hold_tensor(&op->arguments[index].type))
    return opc_json_fail(reader, "%s is not a tensor (the schema says %s)", argument, op->arguments[index].type_text);
  for (; rest && *rest; rest++) {
    char *end;
    unsigned long long at = strtoull(rest + 1, &end, 10);
    if (*rest != '[' || end == rest + 1 || *end != ']')
      return opc_json_fail(reader, "\"%.60s\" is not a path like \"x\" or \"tensors[1]\"", path);
    if (value->kind != OPC_VALUE_LIST)
      return opc_json_fail(reader, "%s is not a list: name it without an index", argument);
    if (at >= value->list.count)
      return opc_json_fail(reader, "%.60s is beyond the %zu item%s of the list", path, value->list.count,
                           value->list.count == 1 ? "" : "s");
    value = &value->list.items[at];
    rest = end;
  }
  if (value->kind == OPC_VALUE_LIST)
    return opc_json_fail(reader, "%.60s is a list: name one of its tensors, such as %.60s[0]", path, path);
  if (value->kind != OPC_VALUE_TENSOR) return opc_json_fail(reader, "this sample gives no tensor for %.60s", path);
  return OPC_OK;
}

/* Bits are compared per tensor: an output that is a list has no bits of its own. */
static opc_status_t check_tensor_output(opc_json_reader_t *reader, const opc_operator_t *op, size_t output) {
  if (output >= op->return_count) return OPC_OK; /* of a variadic return: the number is unknown before the call */
  if (opc_type_given(&op->returns[output].type)->kind == OPC_TYPE_TENSOR) return OPC_OK;
  return opc_json_fail(reader, "output %zu is not a single tensor (the schema says %s)", output,
                       op->returns[output].type_text);
}

static opc_status_t read_same_bits(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                   opc_sample_t *sample) {
  opc_expect_t *expect = &sample->expect;
  const size_t count = json_array_size(json);
  if (!json_is_array(json)) return opc_json_fail(reader, "expected a list of pairs [output, \"argument\"]");
  if (count == 0) return OPC_OK;
  expect->same_bits = calloc(count, sizeof *expect->same_bits);
  if (!expect->same_bits) return opc_out_of_memory(reader->error);
  expect->same_bits_count = count;
  for (size_t i = 0; i < count; i++) {
    const json_t *pair = json_array_get(json, i);
    const char *path = NULL;
    int64_t output = 0;
    size_t before = opc_json_enter_index(reader, i);
    if (json_array_size(pair) != 2) return opc_json_fail(reader, "expected a pair [output, \"argument\"]");
    size_t inside = opc_json_enter_index(reader, 0);
    OPC_RETURN_IF_ERROR(opc_json_read_integer(reader, json_array_get(pair, 0), 0, &output));
    if ((uint64_t)output >= op->return_count && !op->is_varret)
      return opc_json_fail(reader, "there is no output %lld: %s returns %zu, counted from 0", (long long)output,
                           op->name, op->return_count);
    OPC_RETURN_IF_ERROR(check_tensor_output(reader, op, (size_t)output));
    opc_json_leave(reader, inside);
    opc_json_enter_index(reader, 1);
    OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json_array_get(pair, 1), &path));
    OPC_RETURN_IF_ERROR(check_tensor_path(reader, path, op, sample));
    expect->same_bits[i].output = (size_t)output;
    OPC_RETURN_IF_ERROR(opc_string_copy_to(path, &expect->same_bits[i].argument, reader->error));
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

static opc_status_t expect_json_read_outputs(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                             opc_sample_t *sample) {
  opc_expect_t *expect = &sample->expect;
  const opc_type_t any = {0};
  const size_t count = json_array_size(json);
  if (!json_is_array(json)) return opc_json_fail(reader, "expected a list with a value for each output");
  if (op->is_varret ? count < op->return_count : count != op->return_count)
    return opc_json_fail(reader, "%zu value%s for the %zu output%s of %s", count, count == 1 ? "" : "s",
                         op->return_count, op->return_count == 1 ? "" : "s", op->name);
  if (count == 0) return OPC_OK;
  expect->outputs = calloc(count, sizeof *expect->outputs);
  if (!expect->outputs) return opc_out_of_memory(reader->error);
  expect->output_count = count;
  for (size_t i = 0; i < count; i++) {
    const opc_argument_t *output = i < op->return_count ? &op->returns[i] : NULL;
    OPC_JSON_ITEM(reader, i,
                  opc_value_read(reader, json_array_get(json, i), output ? &output->type : &any,
                                 output ? output->type_text : "any", &expect->outputs[i]));
  }
  return OPC_OK;
}

static opc_status_t read_tolerance(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                   opc_sample_t *sample) {
  opc_expect_t *expect = &sample->expect;
  (void)op;
  if (!json_is_object(json)) return opc_json_fail(reader, "expected an object like {\"float32\": 1e-6}");
  for (void *at = json_object_iter((json_t *)(uintptr_t)json); at;
       at = json_object_iter_next((json_t *)(uintptr_t)json, at)) {
    const json_t *value = json_object_iter_value(at);
    opc_dtype_t dtype = OPC_DTYPE_OTHER;
    size_t before = opc_json_enter(reader, json_object_iter_key(at));
    json_auto_t *key = json_string(json_object_iter_key(at));
    if (!key) return opc_out_of_memory(reader->error);
    OPC_RETURN_IF_ERROR(opc_dtype_read(reader, key, &dtype));
    if (expect->tolerance[dtype] >= 0.0)
      return opc_json_fail(reader, "%s has a tolerance here already, under another of its names",
                           opc_dtype_name(dtype));
    if (!json_is_number(value) || json_number_value(value) < 0.0)
      return opc_json_fail(
          reader, "expected a number that is not negative, relative to the largest absolute value of the reference");
    expect->tolerance[dtype] = json_number_value(value);
    expect->has_tolerance = true;
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

static opc_status_t read_reference(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                   opc_sample_t *sample) {
  const char *name = NULL;
  OPC_RETURN_IF_ERROR(opc_json_read_string(reader, json, &name));
  if (!strstr(name, "::"))
    return opc_json_fail(reader, "\"%.60s\" is no operator: expected a name like \"aten::softmax.int\"", name);
  if (strcmp(name, op->name) == 0) return opc_json_fail(reader, "%s cannot be its own reference", op->name);
  return opc_string_copy_to(name, &sample->expect.reference, reader->error);
}

/* A string names one of the operator's arguments; everything else is a value. */
static opc_status_t expect_json_read_argument(opc_json_reader_t *reader, const char *name, const json_t *json,
                                              const opc_operator_t *op, struct opc_reference_argument *out) {
  const opc_type_t any = {0};
  OPC_RETURN_IF_ERROR(opc_string_copy_to(name, &out->name, reader->error));
  if (!json_is_string(json)) return opc_value_read(reader, json, &any, "any", &out->value);
  const char *from = json_string_value(json);
  if (opc_operator_argument(op, from) < 0)
    return opc_json_fail(reader, "%s has no argument \"%.60s\"; a number, true, false or null is a value itself",
                         op->name, from);
  return opc_string_copy_to(from, &out->from, reader->error);
}

static opc_status_t expect_json_read_arguments(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                               opc_sample_t *sample) {
  opc_expect_t *expect = &sample->expect;
  const char *name;
  json_t *value;
  if (!json_is_object(json)) return opc_json_fail(reader, "expected an object like {\"self\": \"x\", \"dim\": 1}");
  if (!expect->reference) return opc_json_fail(reader, "these are the arguments of a reference, and none is given");
  if (json_object_size(json) == 0) return OPC_OK;
  expect->reference_arguments = calloc(json_object_size(json), sizeof *expect->reference_arguments);
  if (!expect->reference_arguments) return opc_out_of_memory(reader->error);
  json_object_foreach((json_t *)(uintptr_t)json, name, value) {
    OPC_JSON_MEMBER(reader, name,
                    expect_json_read_argument(reader, name, value, op,
                                              &expect->reference_arguments[expect->reference_argument_count++]));
  }
  return OPC_OK;
}

static opc_status_t read_batch_invariant(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                         opc_sample_t *sample) {
  OPC_RETURN_IF_ERROR(opc_json_read_boolean(reader, json, &sample->expect.batch_invariant));
  if (!sample->expect.batch_invariant || opc_sample_tensor(sample, 0)) return OPC_OK;
  return opc_json_fail(reader, "this sample of %s has no tensor, and so no batch", op->name);
}

/* Read last: no other expectation is allowed for a rejected call. */
static opc_status_t read_rejects(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                                 opc_sample_t *sample) {
  opc_expect_t *expect = &sample->expect;
  OPC_RETURN_IF_ERROR(opc_json_read_boolean(reader, json, &expect->rejects));
  if (!expect->rejects ||
      (!expect->same_bits_count && !expect->output_count && !expect->reference && !expect->batch_invariant))
    return OPC_OK;
  return opc_json_fail(reader,
                       "%s returns nothing when it rejects the sample: same_bits, outputs, batch_invariant and a "
                       "reference cannot be given too",
                       op->name);
}

opc_status_t opc_expect_read(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                             opc_sample_t *sample) {
  static const char *const fields[] = {"same_bits", "outputs",         "tolerance", "reference",
                                       "arguments", "batch_invariant", "rejects",   NULL};
  typedef opc_status_t read_t(opc_json_reader_t *, const json_t *, const opc_operator_t *, opc_sample_t *);
  static read_t *const readers[] = {read_same_bits, expect_json_read_outputs,   read_tolerance,
                                    read_reference, expect_json_read_arguments, read_batch_invariant,
                                    read_rejects};
  char there[64];
  if (!json_is_object(json))
    return opc_json_fail(reader, "expected an object, not %s", opc_json_what(json, there, sizeof there));
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, fields));
  for (size_t i = 0; fields[i]; i++) {
    const json_t *inner = json_object_get(json, fields[i]);
    if (!inner) continue;
    OPC_JSON_MEMBER(reader, fields[i], readers[i](reader, inner, op, sample));
  }
  return OPC_OK;
}

json_t *opc_expect_to_json(const opc_expect_t *expect) {
  if (!expect->same_bits_count && !expect->outputs && !expect->has_tolerance && !expect->reference &&
      !expect->rejects && !expect->batch_invariant)
    return json_null();
  json_t *json = json_object();
  if (expect->same_bits_count) {
    json_t *list = json_array();
    for (size_t i = 0; i < expect->same_bits_count; i++) {
      json_t *pair = json_array();
      opc_json_append(&pair, json_integer((json_int_t)expect->same_bits[i].output));
      opc_json_append(&pair, opc_json_text(expect->same_bits[i].argument));
      opc_json_append(&list, pair);
    }
    opc_json_put(&json, "same_bits", list);
  }
  if (expect->outputs) {
    json_t *list = json_array();
    for (size_t i = 0; i < expect->output_count; i++) opc_json_append(&list, opc_value_to_json(&expect->outputs[i]));
    opc_json_put(&json, "outputs", list);
  }
  if (expect->has_tolerance) {
    json_t *tolerance = json_object();
    for (int i = 0; i < OPC_DTYPE_COUNT; i++)
      if (expect->tolerance[i] >= 0.0)
        opc_json_put(&tolerance, opc_dtype_name((opc_dtype_t)i), json_real(expect->tolerance[i]));
    opc_json_put(&json, "tolerance", tolerance);
  }
  if (expect->reference) opc_json_put(&json, "reference", opc_json_text(expect->reference));
  if (expect->reference_argument_count) {
    json_t *arguments = json_object();
    for (size_t i = 0; i < expect->reference_argument_count; i++) {
      const struct opc_reference_argument *one = &expect->reference_arguments[i];
      opc_json_put(&arguments, one->name, one->from ? opc_json_text(one->from) : opc_value_to_json(&one->value));
    }
    opc_json_put(&json, "arguments", arguments);
  }
  if (expect->batch_invariant) opc_json_put(&json, "batch_invariant", json_true());
  if (expect->rejects) opc_json_put(&json, "rejects", json_true());
  return json;
}
