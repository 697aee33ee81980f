#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/schema/schema.h"

/* The parsed type as text, so that a row of the table is self-contained. */
static void say(opc_text_t *text, const opc_type_t *type) {
  static const char *const names[] = {"other",  "tensor",  "int",     "symint", "float",  "bool",     "complex",
                                      "scalar", "string",  "dtype",   "device", "layout", "format",   "generator",
                                      "stream", "storage", "dimname", "object", "any",    "optional", "list"};
  opc_text_add(text, names[type->kind]);
  if (type->class_name) opc_text_addf(text, " %s", type->class_name);
  if (type->fixed_length) opc_text_addf(text, " %lld", (long long)type->fixed_length);
  if (!type->element) return;
  opc_text_add(text, " of ");
  say(text, type->element);
}

static void test_types(void **state) {
  (void)state;
  static const struct {
    const char *text, *words;
    bool holds_tensor;
  } rows[] = {
      {"Tensor", "tensor", true},
      {"Tensor?", "optional of tensor", true},
      {"Tensor[]", "list of tensor", true},
      {"Tensor?[]", "list of optional of tensor", true},
      {"Tensor[]?", "optional of list of tensor", true},
      {"Tensor[][]", "list of list of tensor", true},
      {"int", "int", false},
      {"int[2]?", "optional of list 2 of int", false},
      {"SymInt[3]", "list 3 of symint", false},
      {"SymInt", "symint", false},
      {"float[]", "list of float", false},
      {"SymFloat", "float", false},
      {"SymBool", "bool", false},
      {"Scalar", "scalar", false},
      {"number", "scalar", false},
      {"complex", "complex", false},
      {"bool[3]", "list 3 of bool", false},
      {"str", "string", false},
      {"str[]?", "optional of list of string", false},
      {"ScalarType?", "optional of dtype", false},
      {"Device?", "optional of device", false},
      {"Layout", "layout", false},
      {"MemoryFormat", "format", false},
      {"Generator?", "optional of generator", false},
      {"Stream", "stream", false},
      {"Storage", "storage", false},
      {"Dimname[1]?", "optional of list 1 of dimname", false},
      {"__torch__.torch.classes.ns.Name", "object ns.Name", false},
      {"__torch__.torch.classes.ns.Name[]", "list of object ns.Name", false},
      {"__torch__.torch.classes.", "other", false},
      {"Dict(str, Tensor)", "other", false},
      {"Dict(str, Tensor[])[]", "list of other", false},
      {"(Tensor, Tensor?)", "other", false},
      {"(Tensor, Tensor)[]", "list of other", false},
      {"Future(Tensor)", "other", false},
      {"QScheme", "other", false},
      {"Any", "any", false},
      {"Any[]?", "optional of list of any", false},
      {"t[]", "list of other", false},
      {"NoneType", "other", false},
      {" Tensor ", "tensor", true},
      {"Tensor[", "other", false},
      {"Tensor[x]", "other", false},
      {"Tensor]", "other", false},
      {"", "other", false},
      {NULL, "other", false},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_type_t type;
    opc_text_t words = {0};
    assert_int_equal(opc_type_parse(rows[i].text, &type, NULL), OPC_OK);
    say(&words, &type);
    if (strcmp(opc_text_c(&words), rows[i].words) != 0) fail_msg("%s: %s", rows[i].text, opc_text_c(&words));
    assert_int_equal(opc_type_holds_tensor(&type), rows[i].holds_tensor);
    const bool open = strstr(rows[i].words, "any") || strstr(rows[i].words, "other");
    assert_int_equal(opc_type_may_hold_tensor(&type), rows[i].holds_tensor || open);
    opc_text_clear(&words);
    opc_type_clear(&type);
  }
}

static const char operator_json[] =
    "{\"name\": \"ns::op.out\", \"schema\": \"ns::op.out(Tensor x, *, int[2] n=[1, 1], Tensor(a!) out) -> "
    "Tensor(a!)\", \"library\": "
    "\"lib.so\","
    " \"registered_at\": \"op.cpp:12\", \"dispatch_keys\": [\"CPU\", \"Meta\"], \"tags\": [\"pt2_compliant_tag\"], "
    "\"arguments\": ["
    "{\"name\": \"x\", \"type\": \"Tensor\", \"alias\": null, \"has_default\": false, \"default\": null, "
    "\"kwarg_only\": false},"
    "{\"name\": \"n\", \"type\": \"int[2]\", \"alias\": null, \"has_default\": true, \"default\": \"[1, 1]\", "
    "\"kwarg_only\": true},"
    "{\"name\": \"out\", \"type\": \"Tensor\", \"alias\": {\"before\": \"a\", \"after\": \"a\", \"write\": true}, "
    "\"has_default\": false,"
    " \"default\": null, \"kwarg_only\": true}], \"returns\": [{\"name\": \"\", \"type\": \"Tensor\","
    " \"alias\": {\"before\": \"a\", \"after\": \"a\", \"write\": true}, \"has_default\": false, \"default\": null, "
    "\"kwarg_only\": "
    "false}],"
    " \"is_vararg\": false, \"is_varret\": false, \"kernels\": ["
    "{\"key\": \"CPU\", \"registered_at\": \"op.cpp:20\", \"cpp_signature\": \"(Tensor _0) -> Tensor _0\", "
    "\"fallthrough\": false, \"code\": {\"module\": \"/lib/libops.so\", \"address\": \"0x1f0\", \"functor\": "
    "\"N2my1FE\"}},"
    "{\"key\": \"Meta\", \"registered_at\": \"op.py:3\", \"cpp_signature\": null, \"fallthrough\": false,"
    " \"code\": {\"function\": \"_\", \"file\": \"/src/op.py\", \"line\": 4}},"
    "{\"key\": \"ADInplaceOrView\", \"registered_at\": null, \"cpp_signature\": null, \"fallthrough\": true}],"
    " \"defined_here\": true, \"python_module\": \"ns.fakes\"}";

static void test_operator_json(void **state) {
  (void)state;
  opc_operator_t op;
  opc_error_t error = {0};
  json_t *json = json_loads(operator_json, 0, NULL);
  assert_non_null(json);
  assert_ok(opc_operator_from_json(json, &op, &error), error);
  json_t *again = opc_operator_to_json(&op);
  char *before = json_dumps(json, JSON_SORT_KEYS), *after = json_dumps(again, JSON_SORT_KEYS);
  assert_string_equal(before, after);
  free(before);
  free(after);
  json_decref(json);
  json_decref(again);

  assert_int_equal(opc_operator_argument(&op, "out"), 2);
  assert_int_equal(opc_operator_argument(&op, "self"), -1);
  assert_true(opc_operator_is_mutable(&op));
  assert_true(opc_operator_has_tag(&op, "pt2_compliant_tag"));
  assert_false(opc_operator_has_tag(&op, "core"));
  assert_non_null(opc_operator_kernel(&op, "CPU"));
  assert_true(opc_operator_kernel(&op, "ADInplaceOrView")->fallthrough);
  assert_null(opc_operator_kernel(&op, "CUDA"));
  assert_int_equal(opc_operator_kernel(&op, "CPU")->code.address, 0x1f0);
  assert_int_equal(opc_operator_kernel(&op, "Meta")->code.line, 4);
  assert_int_equal(op.arguments[1].type.kind, OPC_TYPE_LIST);
  opc_operator_clear(&op);
  opc_operator_clear(&op);
}

static void test_random(void **state) {
  (void)state;
  static char *tag[] = {"nondeterministic_seeded"};
  static const struct {
    char *argument;
    bool random;
  } rows[] = {{"seed", true}, {"philox_seed", true},  {"seed0", true},    {"seed_offset", true},
              {"x", false},   {"seeds_count", false}, {"linseed", false}, {"unseed", false}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_argument_t argument = {.name = rows[i].argument};
    const opc_operator_t op = {.arguments = &argument, .argument_count = 1};
    if (opc_operator_is_random(&op) != rows[i].random) fail_msg("%s", rows[i].argument);
  }
  const opc_operator_t tagged = {.tags = tag, .tag_count = 1};
  assert_true(opc_operator_is_random(&tagged));
}

static void test_dangling_operator_json(void **state) {
  (void)state;
  opc_operator_t op = {.name = (char *)(uintptr_t) "ns::op", .library = (char *)(uintptr_t) "/tmp/\xff.so"}, back;
  opc_error_t error = {0};
  json_t *json = opc_operator_to_json(&op);
  assert_non_null(json); /* a path that is not UTF-8 does not end a report */
  assert_true(json_is_null(json_object_get(json, "schema")));
  assert_string_equal(json_string_value(json_object_get(json, "library")), "/tmp/\\xFF.so");
  assert_ok(opc_operator_from_json(json, &back, &error), error);
  assert_null(back.schema);
  assert_int_equal(back.argument_count, 0);
  opc_operator_clear(&back);
  json_decref(json);
}

static void test_malformed_json(void **state) {
  (void)state;
  static const struct {
    const char *json, *message;
  } rows[] = {
      {"{}", "name: expected a string, not nothing"},
      {"[]", "name: expected a string, not nothing"},
      {"{\"name\": 3}", "name: expected a string, not 3"},
      {"{\"name\": \"a\", \"arguments\": {}}", "arguments: expected a list"},
      {"{\"name\": \"a\", \"arguments\": [{\"name\": \"x\"}]}", "arguments[0].type: expected a string, not nothing"},
      {"{\"name\": \"a\", \"arguments\": [{\"name\": \"x\", \"type\": \"int\", \"alias\": {\"write\": 1}}]}",
       "arguments[0].alias.write: expected true or false, not 1"},
      {"{\"name\": \"a\", \"kernels\": [{\"key\": \"CPU\"}, 3]}", "kernels[1].key: expected a string, not nothing"},
      {"{\"name\": \"a\", \"tags\": [\"x\", null]}", "tags[1]: expected a string, not null"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_operator_t op;
    opc_error_t error = {0};
    json_t *json = json_loads(rows[i].json, 0, NULL);
    assert_int_equal(opc_operator_from_json(json, &op, &error), OPC_ERR_INPUT);
    assert_string_equal(error.message, rows[i].message);
    assert_null(op.name);
    json_decref(json);
  }
}

static void test_arguments_of_a_text(void **state) {
  (void)state;
  opc_operator_t method;
  opc_error_t error = {0};
  assert_ok(
      opc_schema_arguments(
          "f(__torch__.torch.classes.ns.C self, str? a=\"x, )\", Dict(str, int[2]) b, *, int[2] c=[1, 2]) -> Tensor _0",
          &method, &error),
      error);
  assert_int_equal(method.argument_count, 4);
  assert_string_equal(method.arguments[0].type.class_name, "ns.C");
  assert_string_equal(method.arguments[1].default_text, "\"x, )\"");
  assert_string_equal(method.arguments[1].name, "a");
  assert_int_equal(method.arguments[1].type.kind, OPC_TYPE_OPTIONAL);
  assert_string_equal(method.arguments[2].type_text, "Dict(str, int[2])");
  assert_false(method.arguments[2].has_default);
  assert_true(method.arguments[3].kwarg_only);
  assert_int_equal(method.arguments[3].type.fixed_length, 2);
  opc_operator_clear(&method);
  assert_ok(opc_schema_arguments("f() -> ()", &method, &error), error);
  assert_int_equal(method.argument_count, 0);
  opc_operator_clear(&method);
  assert_int_equal(opc_schema_arguments("f", &method, &error), OPC_ERR_UNSUPPORTED);
}

static void test_class_json(void **state) {
  (void)state;
  opc_class_t class_;
  opc_error_t error = {0};
  json_t *json = json_loads(
      "{\"name\": \"ns.Name\", \"library\": \"lib.so\", \"methods\": [{\"name\": \"forward\", \"schema\": null}]}", 0,
      NULL);
  assert_ok(opc_class_from_json(json, &class_, &error), error);
  assert_int_equal(class_.method_count, 1);
  json_t *again = opc_class_to_json(&class_);
  assert_true(json_equal(json, again));
  json_decref(json);
  json_decref(again);
  opc_class_clear(&class_);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_operator_json),
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_dangling_operator_json),
      cmocka_unit_test(test_malformed_json),
      cmocka_unit_test(test_class_json),
      cmocka_unit_test(test_arguments_of_a_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
