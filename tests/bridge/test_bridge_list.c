/* What a library registered, as opc_bridge_list and opc_bridge_describe tell it. */
#include <stdlib.h>

#include "bridge_test.h"

enum { MAX_OPERATORS = 64 };

typedef struct listing {
  json_t *operators[MAX_OPERATORS];
  size_t count;
  json_t *classes[4];
  size_t class_count;
} listing_t;

static listing_t listed;

static void note_operator(const opc_operator_t *op, void *context) {
  listing_t *listing = context;
  assert_in_range(listing->count, 0, MAX_OPERATORS - 1);
  listing->operators[listing->count++] = opc_operator_to_json(op);
}

static void note_class(const opc_class_t *class_, void *context) {
  listing_t *listing = context;
  assert_in_range(listing->class_count, 0, 3);
  listing->classes[listing->class_count++] = opc_class_to_json(class_);
}

static int load(void **state) {
  (void)state;
  opc_error_t error = {0};
  if (opc_bridge_load(TEST_OPS, TEST_OPS, &error) != OPC_OK ||
      opc_bridge_list(note_operator, note_class, &listed, &error) != OPC_OK) {
    print_error("%s\n", error.message);
    return -1;
  }
  return 0;
}

static int unload(void **state) {
  (void)state;
  for (size_t i = 0; i < listed.count; i++) json_decref(listed.operators[i]);
  for (size_t i = 0; i < listed.class_count; i++) json_decref(listed.classes[i]);
  return 0;
}

/* The operator of that name, back from JSON; cleared by the caller. */
static opc_operator_t find(const char *name) {
  opc_operator_t op = {0};
  for (size_t i = 0; i < listed.count; i++) {
    if (strcmp(json_string_value(json_object_get(listed.operators[i], "name")), name) != 0) continue;
    opc_error_t error = {0};
    if (opc_operator_from_json(listed.operators[i], &op, &error) != OPC_OK) fail_msg("%s", error.message);
    return op;
  }
  fail_msg("%s is not listed", name);
  return op;
}

static void test_every_way_of_registering_is_seen(void **state) {
  (void)state;
  static const char *const expected[] = {"bridge_test::twice",
                                         "bridge_test::cpu_only.overload",
                                         "bridge_test::numbers",
                                         "bridge_test::lists",
                                         "bridge_test::names",
                                         "bridge_test::dtypes",
                                         "bridge_test::tensors",
                                         "bridge_test::everything",
                                         "bridge_test::dictionary",
                                         "bridge_test::throws",
                                         "bridge_test::count",
                                         "bridge_test::next",
                                         "bridge_test::fill_",
                                         "bridge_test::aliases",
                                         "bridge_test::long_numbers",
                                         "bridge_test::in_python",
                                         "bridge_test::fragment",
                                         "bridge_test::dangling",
                                         "aten::sinh",
                                         "bridge_test::legacy"};
  assert_int_equal(listed.count, sizeof expected / sizeof *expected);
  for (size_t i = 0; i < listed.count; i++) {
    assert_string_equal(json_string_value(json_object_get(listed.operators[i], "name")), expected[i]);
  }
}

static void test_definition(void **state) {
  (void)state;
  opc_operator_t op = find("bridge_test::twice");
  assert_string_equal(op.schema, "bridge_test::twice(Tensor x) -> Tensor");
  assert_string_equal(op.library, TEST_OPS);
  assert_true(op.defined_here);
  assert_null(op.python_module);
  assert_non_null(strstr(op.registered_at, "bridge_ops.cpp:"));
  assert_null(strstr(op.registered_at, "registered at"));
  assert_int_equal(op.tag_count, 2);
  assert_true(opc_operator_has_tag(&op, "pt2_compliant_tag"));
  assert_true(opc_operator_has_tag(&op, "pointwise"));
  opc_operator_clear(&op);
}

static void test_kernels(void **state) {
  (void)state;
  opc_operator_t op = find("bridge_test::twice");
  assert_int_equal(op.kernel_count, 3);
  const opc_kernel_t *cpu = opc_operator_kernel(&op, "CPU");
  assert_non_null(cpu);
  assert_string_equal(cpu->cpp_signature, "(Tensor _0) -> Tensor _0");
  assert_non_null(strstr(cpu->registered_at, "bridge_ops.cpp:"));
  assert_false(cpu->fallthrough);
  assert_non_null(opc_operator_kernel(&op, "Meta"));
  const opc_kernel_t *autograd = opc_operator_kernel(&op, "AutogradCPU");
  assert_non_null(autograd);
  assert_true(autograd->fallthrough);
  assert_null(autograd->cpp_signature);
  opc_operator_clear(&op);

  op = find("bridge_test::numbers");
  assert_int_equal(op.kernel_count, 1);
  assert_non_null(opc_operator_kernel(&op, "CompositeImplicitAutograd"));
  assert_string_equal(op.kernels[0].cpp_signature,
                      "(int _0, SymInt _1, float _2, bool _3, complex _4, Scalar _5) -> str _0");
  opc_operator_clear(&op);
}

static void test_dangling_and_foreign_kernels(void **state) {
  (void)state;
  opc_operator_t op = find("bridge_test::dangling");
  assert_null(op.schema);
  assert_null(op.registered_at);
  assert_false(op.defined_here);
  assert_int_equal(op.argument_count, 0);
  assert_non_null(opc_operator_kernel(&op, "CPU"));
  opc_operator_clear(&op);

  op = find("aten::sinh");
  assert_false(op.defined_here);
  assert_string_equal(op.schema, "aten::sinh(Tensor self) -> Tensor");
  assert_string_equal(op.library, TEST_OPS);
  assert_non_null(opc_operator_kernel(&op, "PrivateUse1"));
  opc_operator_clear(&op);

  op = find("bridge_test::in_python");
  assert_string_equal(op.python_module, "some.module");
  opc_operator_clear(&op);
}

static void assert_type(const opc_operator_t *op, size_t index, const char *text, opc_type_kind_t kind,
                        opc_type_kind_t element) {
  assert_string_equal(op->arguments[index].type_text, text);
  assert_int_equal(op->arguments[index].type.kind, kind);
  if (op->arguments[index].type.element != NULL) assert_int_equal(op->arguments[index].type.element->kind, element);
}

static void test_types(void **state) {
  (void)state;
  opc_operator_t op = find("bridge_test::numbers");
  assert_type(&op, 0, "int", OPC_TYPE_INT, OPC_TYPE_OTHER);
  assert_type(&op, 1, "SymInt", OPC_TYPE_SYMINT, OPC_TYPE_OTHER);
  assert_type(&op, 2, "float", OPC_TYPE_FLOAT, OPC_TYPE_OTHER);
  assert_type(&op, 3, "bool", OPC_TYPE_BOOL, OPC_TYPE_OTHER);
  assert_type(&op, 4, "complex", OPC_TYPE_COMPLEX, OPC_TYPE_OTHER);
  assert_type(&op, 5, "Scalar", OPC_TYPE_SCALAR, OPC_TYPE_OTHER);
  opc_operator_clear(&op);

  op = find("bridge_test::lists");
  assert_type(&op, 0, "int[]", OPC_TYPE_LIST, OPC_TYPE_INT);
  assert_type(&op, 1, "int[2]", OPC_TYPE_LIST, OPC_TYPE_INT);
  assert_int_equal(op.arguments[1].type.fixed_length, 2);
  assert_type(&op, 2, "SymInt[]", OPC_TYPE_LIST, OPC_TYPE_SYMINT);
  assert_type(&op, 3, "float[]", OPC_TYPE_LIST, OPC_TYPE_FLOAT);
  assert_type(&op, 4, "bool[2]", OPC_TYPE_LIST, OPC_TYPE_BOOL);
  assert_type(&op, 5, "str[]", OPC_TYPE_LIST, OPC_TYPE_STRING);
  assert_type(&op, 6, "int[2]?", OPC_TYPE_OPTIONAL, OPC_TYPE_LIST);
  assert_string_equal(op.arguments[6].default_text, "None");
  opc_operator_clear(&op);

  op = find("bridge_test::names");
  assert_type(&op, 0, "ScalarType", OPC_TYPE_DTYPE, OPC_TYPE_OTHER);
  assert_type(&op, 1, "Device", OPC_TYPE_DEVICE, OPC_TYPE_OTHER);
  assert_type(&op, 2, "Layout", OPC_TYPE_LAYOUT, OPC_TYPE_OTHER);
  assert_type(&op, 3, "MemoryFormat", OPC_TYPE_MEMORY_FORMAT, OPC_TYPE_OTHER);
  assert_type(&op, 4, "str", OPC_TYPE_STRING, OPC_TYPE_OTHER);
  assert_string_equal(op.arguments[4].default_text, "\"it\\'s\"");
  assert_type(&op, 5, "Generator?", OPC_TYPE_OPTIONAL, OPC_TYPE_GENERATOR);
  assert_true(op.arguments[5].kwarg_only);
  assert_false(op.arguments[4].kwarg_only);
  opc_operator_clear(&op);

  op = find("bridge_test::tensors");
  assert_type(&op, 0, "Tensor[]", OPC_TYPE_LIST, OPC_TYPE_TENSOR);
  assert_type(&op, 1, "Tensor?[]", OPC_TYPE_LIST, OPC_TYPE_OPTIONAL);
  assert_int_equal(op.return_count, 3);
  assert_string_equal(op.returns[1].type_text, "Tensor[]");
  opc_operator_clear(&op);

  op = find("bridge_test::count");
  assert_type(&op, 0, "__torch__.torch.classes.bridge_test.Counter", OPC_TYPE_OBJECT, OPC_TYPE_OTHER);
  assert_string_equal(op.arguments[0].type.class_name, "bridge_test.Counter");
  opc_operator_clear(&op);
}

static void test_aliases(void **state) {
  (void)state;
  opc_operator_t op = find("bridge_test::aliases");
  assert_string_equal(
      op.schema,
      "bridge_test::aliases(Tensor(a!)[] list, Tensor(b)? maybe, Tensor(c -> *) x, int[2] pair=1) -> Tensor(b)");
  assert_type(&op, 0, "Tensor[]", OPC_TYPE_LIST, OPC_TYPE_TENSOR);
  assert_true(op.arguments[0].alias.present);
  assert_true(op.arguments[0].alias.is_write);
  assert_string_equal(op.arguments[0].alias.before, "a");
  assert_type(&op, 1, "Tensor?", OPC_TYPE_OPTIONAL, OPC_TYPE_TENSOR);
  assert_true(op.arguments[1].alias.present);
  assert_false(op.arguments[1].alias.is_write);
  assert_string_equal(op.arguments[2].alias.before, "c");
  assert_string_equal(op.arguments[2].alias.after, "*");
  assert_string_equal(op.arguments[3].type_text, "int[2]");
  assert_string_equal(op.arguments[3].default_text, "1");
  assert_false(op.arguments[3].alias.present);
  assert_string_equal(op.returns[0].alias.before, "b");
  assert_string_equal(op.returns[0].type_text, "Tensor");
  opc_operator_clear(&op);

  op = find("bridge_test::long_numbers");
  assert_string_equal(op.schema,
                      "bridge_test::long_numbers(Tensor x, float eps=1e-06, float share=0.1, str "
                      "word=\"0.10000000000000001\") -> Tensor");
  assert_string_equal(op.arguments[1].default_text, "1e-06");
  opc_operator_clear(&op);

  op = find("bridge_test::fill_");
  assert_string_equal(op.arguments[1].default_text, "1.5");
  opc_operator_clear(&op);
}

static void test_classes(void **state) {
  (void)state;
  assert_int_equal(listed.class_count, 1);
  opc_class_t class_ = {0};
  assert_ok(opc_class_from_json(listed.classes[0], &class_, &error));
  assert_string_equal(class_.name, "bridge_test.Counter");
  assert_string_equal(class_.library, TEST_OPS);
  assert_int_equal(class_.method_count, 2);
  assert_string_equal(class_.methods[0].name, "__init__");
  assert_string_equal(class_.methods[1].name, "value");
  assert_non_null(strstr(class_.methods[1].schema, "-> int"));
  opc_class_clear(&class_);
}

static void test_describe_any_operator(void **state) {
  (void)state;
  opc_operator_t op = {0};
  assert_ok(opc_bridge_describe("aten::add.Tensor", &op, &error));
  assert_string_equal(op.schema, "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  assert_null(op.library);
  assert_false(op.defined_here);
  assert_non_null(opc_operator_kernel(&op, "CompositeExplicitAutogradNonFunctional"));
  opc_operator_clear(&op);

  opc_error_t error = {0};
  assert_int_equal(opc_bridge_describe("no::such", &op, &error), OPC_ERR_NOT_FOUND);
  assert_non_null(strstr(error.message, "no::such"));
}

static void test_versions(void **state) {
  (void)state;
  assert_true(strchr(opc_bridge_torch_version(), '.') != NULL);
  assert_non_null(opc_bridge_cuda_version());
  print_message("libtorch %s, CUDA %s\n", opc_bridge_torch_version(), opc_bridge_cuda_version());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_way_of_registering_is_seen),
      cmocka_unit_test(test_definition),
      cmocka_unit_test(test_kernels),
      cmocka_unit_test(test_dangling_and_foreign_kernels),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_aliases),
      cmocka_unit_test(test_classes),
      cmocka_unit_test(test_describe_any_operator),
      cmocka_unit_test(test_versions),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
