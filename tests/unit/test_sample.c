/* Samples: conversion by the schema's types, names, copies, conversion to JSON and back. */
#include "plan_fixture.h"

#include <math.h>
#include <string.h>

#include "model/sample/relations.h"
#include "model/sample/sample.h"

static const fixture_argument_t arguments[] = {
    {"x", "Tensor", NULL, false},
    {"mask", "Tensor?", "None", false},
    {"tensors", "Tensor?[]", "[]", false},
    {"n", "int[2]", "[1, 1]", false},
    {"scale", "float", "1.0", false},
    {"alpha", "Scalar", "1", true},
    {"flag", "bool", "False", true},
    {"dtype", "ScalarType?", "None", true},
    {"device", "Device?", "None", true},
    {"layout", "Layout?", "None", true},
    {"format", "MemoryFormat?", "None", true},
    {"generator", "Generator?", "None", true},
    {"mode", "str", "\"mean\"", true},
    {"z", "complex", "0", true},
    {"obj", "__torch__.torch.classes.ns.Name?", "None", true},
    {"any", "Any", "None", true},
    {"sizes", "SymInt[]?", "None", true},
    {"dims", "int[1]?", "None", true},
};
static const fixture_argument_t returns[] = {
    {"", "Tensor", NULL, false}, {"", "Tensor[]", NULL, false}, {"", "Scalar", NULL, false}};

static opc_operator_t op;

static int make_operator(void **state) {
  (void)state;
  op = fixture_operator("ns::op.all", "ns::op.all(…)", arguments, COUNT(arguments), returns, COUNT(returns));
  return 0;
}

static int clear_operator(void **state) {
  (void)state;
  opc_operator_clear(&op);
  return 0;
}

static opc_sample_t read_sample(const char *text) {
  opc_sample_t sample;
  opc_error_t error = {0};
  json_error_t syntax;
  char field[64];
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &syntax);
  if (!json) fail_msg("%s", syntax.text);
  assert_ok(opc_sample_from_json(json, &op, NULL, &sample, field, sizeof field, &error), error);
  assert_string_equal(field, "");
  json_decref(json);
  return sample;
}

#define X "{\"tensor\": {\"shape\": [2]}}"
#define WITH(kwargs) "{\"operator\": \"ns::op.all\", \"args\": [" X "], \"kwargs\": {" kwargs "}}"

/* The argument's description, or "absent". */
static void check_argument(const char *json, const char *name, opc_value_kind_t kind, const char *expected) {
  opc_sample_t sample = read_sample(json);
  int index = opc_operator_argument(&op, name);
  char text[128] = "absent";
  assert_true(index >= 0);
  if (!sample.absent[index]) {
    assert_int_equal(sample.arguments[index].kind, kind);
    opc_value_describe(&sample.arguments[index], text, sizeof text);
  }
  assert_string_equal(text, expected);
  opc_sample_clear(&sample);
}

static void test_conversion(void **state) {
  (void)state;
  static const struct {
    const char *json, *name;
    opc_value_kind_t kind;
    const char *expected;
  } rows[] = {
      {WITH(""), "x", OPC_VALUE_TENSOR, "float32[2]"},
      {WITH(""), "n", OPC_VALUE_NONE, "absent"},
      {WITH("\"mask\": null"), "mask", OPC_VALUE_NONE, "None"},
      {WITH("\"mask\": {\"tensor\": {\"shape\": [], \"dtype\": \"bool\"}}"), "mask", OPC_VALUE_TENSOR, "bool[]"},
      {WITH("\"tensors\": [null, " X "]"), "tensors", OPC_VALUE_LIST, "[None, float32[2]]"},
      {WITH("\"tensors\": []"), "tensors", OPC_VALUE_LIST, "[]"},
      {WITH("\"n\": 3"), "n", OPC_VALUE_LIST, "[3, 3]"},
      {WITH("\"n\": [3, 4]"), "n", OPC_VALUE_LIST, "[3, 4]"},
      {WITH("\"n\": []"), "n", OPC_VALUE_LIST, "[]"},
      {WITH("\"dims\": [0, 2]"), "dims", OPC_VALUE_LIST, "[0, 2]"},
      {WITH("\"dims\": 2"), "dims", OPC_VALUE_LIST, "[2]"},
      {WITH("\"scale\": 2"), "scale", OPC_VALUE_FLOAT, "2.0"},
      {WITH("\"scale\": \"-inf\""), "scale", OPC_VALUE_FLOAT, "-inf"},
      {WITH("\"scale\": \"nan\""), "scale", OPC_VALUE_FLOAT, "nan"},
      {WITH("\"scale\": {\"bits\": \"0x3ff0000000000000\"}"), "scale", OPC_VALUE_FLOAT, "1.0"},
      {WITH("\"alpha\": 2"), "alpha", OPC_VALUE_INT, "2"},
      {WITH("\"alpha\": 2.0"), "alpha", OPC_VALUE_FLOAT, "2.0"},
      {WITH("\"alpha\": true"), "alpha", OPC_VALUE_BOOL, "true"},
      {WITH("\"alpha\": {\"complex\": [1, \"inf\"]}"), "alpha", OPC_VALUE_COMPLEX, "(1+infj)"},
      {WITH("\"z\": 2"), "z", OPC_VALUE_INT, "2"},
      {WITH("\"flag\": true"), "flag", OPC_VALUE_BOOL, "true"},
      {WITH("\"dtype\": \"half\""), "dtype", OPC_VALUE_DTYPE, "float16"},
      {WITH("\"dtype\": {\"dtype\": \"float64\"}"), "dtype", OPC_VALUE_DTYPE, "float64"},
      {WITH("\"device\": \"cuda:1\""), "device", OPC_VALUE_DEVICE, "cuda:1"},
      {WITH("\"device\": {\"device\": \"cpu\"}"), "device", OPC_VALUE_DEVICE, "cpu"},
      {WITH("\"layout\": \"strided\""), "layout", OPC_VALUE_STRING, "\"strided\""},
      {WITH("\"format\": \"channels_last\""), "format", OPC_VALUE_STRING, "\"channels_last\""},
      {WITH("\"generator\": {\"generator\": 7}"), "generator", OPC_VALUE_GENERATOR, "generator 7"},
      {WITH("\"mode\": \"nan\""), "mode", OPC_VALUE_STRING, "\"nan\""}, /* text, not a number: the type decides */
      {WITH("\"obj\": {\"object\": {\"class\": \"ns.Name\", \"init\": [3, 1.5, \"a\", [true, null]]}}"), "obj",
       OPC_VALUE_OBJECT, "ns.Name(3, 1.5, \"a\", [true, None])"},
      {WITH("\"obj\": {\"object\": {\"class\": \"ns.Name\"}}"), "obj", OPC_VALUE_OBJECT, "ns.Name()"},
      {WITH("\"any\": [1, {\"tensor\": {\"shape\": [1]}}]"), "any", OPC_VALUE_LIST, "[1, float32[1]]"},
      {WITH("\"any\": \"word\""), "any", OPC_VALUE_STRING, "\"word\""},
      {WITH("\"sizes\": [9223372036854775807]"), "sizes", OPC_VALUE_LIST, "[9223372036854775807]"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) check_argument(rows[i].json, rows[i].name, rows[i].kind, rows[i].expected);
}

static const char everything[] =
    "{\"operator\": \"ns::op.all\", \"name\": \"every field\", \"source\": \"recorded\", \"args\": ["
    "{\"tensor\": {\"shape\": [2, 3], \"dtype\": \"complex64\", \"strides\": [1, 2], \"storage_offset\": 1, "
    "\"storage_size\": 9, "
    "\"storage\": \"s\","
    " \"identity\": \"i\", \"fill\": {\"values\": [1, 2.5, -0.0, \"nan\", {\"bits\": \"0x7fc00001\"}, {\"complex\": "
    "[1.0, \"-inf\"]}]},"
    " \"special\": \"nan\", \"rounded_to\": \"float16\", \"filled_as\": \"complex128\", \"stream\": \"y\", \"device\": "
    "\"cuda:1\","
    " \"requires_grad\": true, \"conj\": true, \"neg\": true}},"
    " null, [null, {\"tensor\": {\"shape\": [], \"dtype\": \"int8\", \"fill\": {\"full\": -3}}}], [5, 6], {\"bits\": "
    "\"0x7ff8000000000001\"}],"
    " \"kwargs\": {\"alpha\": {\"complex\": [1.0, 2.0]}, \"flag\": true, \"dtype\": {\"dtype\": \"int8\"}, \"device\": "
    "{\"device\": "
    "\"meta\"},"
    " \"layout\": \"strided\", \"format\": \"preserve_format\", \"generator\": {\"generator\": 7}, \"mode\": \"sum\", "
    "\"z\": 1.5,"
    " \"obj\": {\"object\": {\"class\": \"ns.Name\", \"init\": [{\"tensor\": {\"shape\": [3], \"fill\": {\"range\": "
    "[0, 4]}}}]}},"
    " \"any\": {\"tensor\": {\"shape\": [1], \"fill\": \"arange\"}}, \"sizes\": [1]},"
    " \"expect\": {\"same_bits\": [[0, \"x\"], [0, \"tensors[1]\"]], \"outputs\": ["
    "{\"tensor\": {\"shape\": [1], \"fill\": {\"values\": [0.1]}}}, [], 3], \"tolerance\": {\"float16\": 0.001, "
    "\"float32\": 0.0}, \"reference\": \"aten::softmax.int\", \"arguments\": {\"self\": \"x\", \"dim\": -1, \"dtype\": "
    "null}, \"batch_invariant\": true}, \"words\": {\"mode\": [\"nearest\", \"up\"]}}";

static void test_round_trip(void **state) {
  (void)state;
  opc_sample_t sample = read_sample(everything), copy;
  opc_error_t error = {0};
  json_t *before = json_loads(everything, 0, NULL);
  assert_ok(opc_sample_copy(&sample, &copy, &error), error);
  opc_sample_clear(&sample);
  json_t *after = opc_sample_to_json(&copy, &op);
  char *left = json_dumps(before, JSON_SORT_KEYS), *right = json_dumps(after, JSON_SORT_KEYS);
  assert_string_equal(left, right);
  assert_int_equal(copy.source, OPC_SAMPLE_RECORDED);
  assert_true(copy.expect.tolerance[OPC_DTYPE_FLOAT64] < 0);
  free(left);
  free(right);
  json_decref(before);
  json_decref(after);
  opc_sample_clear(&copy);
}

static void test_values_at_paths(void **state) {
  (void)state;
  opc_sample_t sample = read_sample(WITH("\"tensors\": [null, " X "], \"obj\": {\"object\": {\"class\": \"ns.Name\", "
                                         "\"init\": [3, [1.5, " X "]]}}"));
  static const char *const tensors[] = {"x", "tensors[1]", "obj.init[1][1]"},
                           *const nothing[] = {
                               "y",           "x[0]",      "tensors[2]",     "tensors[1", "tensors.init[1]",
                               "obj.init[2]", "obj.other", "obj.init[1][2]", "obj[1]"};
  for (size_t i = 0; i < COUNT(tensors); i++) {
    const opc_value_t *value = opc_sample_value(&sample, &op, tensors[i]);
    if (!value || value->kind != OPC_VALUE_TENSOR) fail_msg("%s", tensors[i]);
  }
  for (size_t i = 0; i < COUNT(nothing); i++)
    if (opc_sample_value(&sample, &op, nothing[i])) fail_msg("%s", nothing[i]);
  assert_int_equal(opc_sample_value(&sample, &op, "obj.init[0]")->integer, 3);
  opc_sample_clear(&sample);
}

static void test_defaults_are_left_out(void **state) {
  (void)state;
  opc_sample_t sample = read_sample(
      "{\"operator\": \"ns::op.all\", \"args\": [{\"tensor\": {\"shape\": [2, 3], \"strides\": [3, 1], \"fill\": "
      "\"normal\","
      " \"storage_offset\": 0, \"storage_size\": 6, \"conj\": false}}], \"expect\": {\"rejects\": true}}");
  json_t *json = opc_sample_to_json(&sample, &op);
  char *text = json_dumps(json, JSON_SORT_KEYS);
  char expected[256];
  snprintf(expected, sizeof expected,
           "{\"args\": [{\"tensor\": {\"shape\": [2, 3]}}], \"expect\": {\"rejects\": true}, \"name\": \"%s\", "
           "\"operator\": \"ns::op.all\"}",
           sample.name);
  assert_string_equal(text, expected);
  free(text);
  json_decref(json);
  opc_sample_clear(&sample);
}

/* The digest is part of case ids that users store: it may change only with the arguments. */
static void test_names(void **state) {
  (void)state;
  static const char *const same[] = {
      "{\"operator\": \"ns::op.all\", \"args\": [" X "]}",
      "{\"operator\": \"ns::op.all\", \"args\": [{\"tensor\": {\"fill\": \"normal\", \"strides\": [1], \"shape\": "
      "[2]}}]}",
      "{\"operator\": \"ns::op.all\", \"kwargs\": {\"x\": " X
      "}, \"source\": \"searched\", \"expect\": {\"tolerance\": {\"float32\": 1}}}",
  };
  opc_sample_t first = read_sample(same[0]);
  assert_int_equal(strlen(first.name), 10);
  assert_int_equal(strspn(first.name + 2, "0123456789abcdef"), 8);
  assert_memory_equal(first.name, "s-", 2);
  for (size_t i = 1; i < COUNT(same); i++) {
    opc_sample_t other = read_sample(same[i]);
    assert_string_equal(other.name, first.name);
    opc_sample_clear(&other);
  }
  opc_sample_t other = read_sample(WITH("\"flag\": false"));
  assert_string_not_equal(other.name, first.name);
  opc_sample_clear(&other);
  assert_string_equal(first.name, "s-5f3ce37f");
  opc_sample_clear(&first);
}

/* torch has several names for a dtype; a tolerance applies to the dtype, under any name. */
static void test_tolerance_by_other_names(void **state) {
  (void)state;
  opc_sample_t sample = read_sample("{\"operator\": \"ns::op.all\", \"args\": [" X
                                    "], \"expect\": {\"tolerance\": {\"float\": 1, \"half\": 0.5}}}");
  for (int dtype = 0; dtype < OPC_DTYPE_COUNT; dtype++) {
    double wanted = dtype == OPC_DTYPE_FLOAT32 ? 1.0 : dtype == OPC_DTYPE_FLOAT16 ? 0.5 : -1.0;
    assert_true(sample.expect.tolerance[dtype] >= wanted && sample.expect.tolerance[dtype] <= wanted);
  }
  opc_sample_clear(&sample);
}

static void test_init(void **state) {
  (void)state;
  opc_sample_t sample;
  opc_error_t error = {0};
  assert_ok(opc_sample_init(&sample, &op, &error), error);
  assert_int_equal(sample.argument_count, COUNT(arguments));
  assert_false(sample.absent[0]);
  assert_true(sample.absent[1]);
  assert_int_equal(sample.source, OPC_SAMPLE_NONE);
  assert_false(sample.expect.has_tolerance);
  opc_sample_clear(&sample);
  opc_sample_clear(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_conversion),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_values_at_paths),
      cmocka_unit_test(test_defaults_are_left_out),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_init),
      cmocka_unit_test(test_tolerance_by_other_names),
  };
  return cmocka_run_group_tests(tests, make_operator, clear_operator);
}
