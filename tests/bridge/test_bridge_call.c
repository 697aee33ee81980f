/* Calling operators: every argument type in, every return type out, every way to fail told apart. */
#include <stdlib.h>
#include <string.h>

#include "bridge_test.h"

static int load(void **state) {
  (void)state;
  opc_error_t error = {0};
  if (opc_bridge_load(TEST_OPS, TEST_OPS, &error) == OPC_OK) return 0;
  print_error("%s\n", error.message);
  return -1;
}

/* ---- values ---- */

static opc_value_t integer(int64_t value) { return (opc_value_t){.kind = OPC_VALUE_INT, .integer = value}; }
static opc_value_t floating(double value) { return (opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = value}; }
static opc_value_t boolean(bool value) { return (opc_value_t){.kind = OPC_VALUE_BOOL, .boolean = value}; }
static opc_value_t string(char *value) { return (opc_value_t){.kind = OPC_VALUE_STRING, .string = value}; }
static opc_value_t dtype(opc_dtype_t value) { return (opc_value_t){.kind = OPC_VALUE_DTYPE, .dtype = value}; }
static opc_value_t complex_number(double re, double im) {
  return (opc_value_t){.kind = OPC_VALUE_COMPLEX, .complex = {re, im}};
}
static opc_value_t list(opc_value_t *items, size_t count) {
  return (opc_value_t){.kind = OPC_VALUE_LIST, .list = {items, count}};
}
static opc_value_t none(void) { return (opc_value_t){.kind = OPC_VALUE_NONE}; }
static opc_value_t tensor(opc_tensor_t *handle) { return (opc_value_t){.kind = OPC_VALUE_TENSOR, .handle = handle}; }

/* A float32 vector of ones. */
static opc_tensor_t *ones(int64_t count, opc_device_type_t device) {
  opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, 1, &count);
  opc_storage_t *storage = NULL;
  opc_tensor_t *out = NULL;
  const float one = 1;
  assert_non_null(spec);
  assert_ok(opc_storage_new((size_t)count * sizeof one, (opc_device_t){device, -1}, &storage, &error));
  if (device == OPC_DEVICE_CPU) {
    float values[16];
    for (int64_t i = 0; i < count; i++) values[i] = one;
    assert_ok(opc_storage_write(storage, values, (size_t)count * sizeof one, &error));
  }
  assert_ok(opc_tensor_new(spec, storage, &out, &error));
  opc_storage_free(storage);
  opc_tensor_spec_free(spec);
  return out;
}

/* ---- calls ---- */

typedef struct result {
  opc_call_outcome_t outcome;
  opc_value_t *returns;
  size_t count;
  opc_text_t message;
} result_t;

static result_t call(const char *name, const opc_value_t *arguments, const bool *absent, size_t count) {
  result_t result = {0};
  opc_op_handle_t *op = NULL;
  assert_ok(opc_op_find(name, &op, &error));
  result.outcome = opc_op_call(op, arguments, absent, count, &result.returns, &result.count, &result.message);
  opc_op_free(op);
  return result;
}

static void result_clear(result_t *result) {
  opc_returns_free(result->returns, result->count);
  opc_text_clear(&result->message);
}

static void assert_returns_text(const char *name, const opc_value_t *arguments, const bool *absent, size_t count,
                                const char *text) {
  result_t result = call(name, arguments, absent, count);
  if (result.outcome != OPC_CALL_RETURNED) fail_msg("%s: %s", name, opc_text_c(&result.message));
  assert_int_equal(result.count, 1);
  assert_int_equal(result.returns[0].kind, OPC_VALUE_STRING);
  assert_string_equal(result.returns[0].string, text);
  result_clear(&result);
}

static void test_numbers(void **state) {
  (void)state;
  opc_value_t arguments[] = {integer(-3), integer(4), floating(0.5), boolean(true), complex_number(1, -2), integer(1)};
  assert_returns_text("bridge_test::numbers", arguments, NULL, 6, "-3 4 0.500000 1 1.000000 -2.000000 int");
  arguments[2] = integer(2); /* an integer is a float, and a complex number */
  arguments[4] = integer(3);
  arguments[5] = floating(1);
  assert_returns_text("bridge_test::numbers", arguments, NULL, 6, "-3 4 2.000000 1 3.000000 0.000000 float");
  arguments[5] = boolean(true);
  assert_returns_text("bridge_test::numbers", arguments, NULL, 6, "-3 4 2.000000 1 3.000000 0.000000 bool");
  arguments[5] = complex_number(0, 1);
  assert_returns_text("bridge_test::numbers", arguments, NULL, 6, "-3 4 2.000000 1 3.000000 0.000000 complex");
}

static void test_lists(void **state) {
  (void)state;
  opc_value_t ints[] = {integer(1), integer(2), integer(3)}, floats[] = {floating(0.5), integer(1)};
  opc_value_t bools[] = {boolean(true), boolean(false)};
  char a[] = "a", b[] = "b";
  opc_value_t strings[] = {string(a), string(b)};
  opc_value_t arguments[] = {list(ints, 3),  list(ints, 2),    list(ints, 1), list(floats, 2),
                             list(bools, 2), list(strings, 2), none()};
  bool absent[7] = {[6] = true};
  assert_returns_text("bridge_test::lists", arguments, absent, 7,
                      "[1,2,3][1,2][1] 0.500000 1.000000 true false a b none");

  /* One integer stands for a list of fixed length; empty lists; an optional list that is there. */
  opc_value_t other[] = {list(NULL, 0), integer(7),    list(NULL, 0), list(NULL, 0),
                         boolean(true), list(NULL, 0), integer(5)};
  assert_returns_text("bridge_test::lists", other, NULL, 7, "[][7,7][] true true [5,5]");
  other[6] = list(ints, 2);
  assert_returns_text("bridge_test::lists", other, NULL, 7, "[][7,7][] true true [1,2]");
}

static void test_names(void **state) {
  (void)state;
  char layout[] = "strided", format[] = "channels_last", text[] = "words";
  opc_value_t device = {.kind = OPC_VALUE_DEVICE, .device = {OPC_DEVICE_CUDA, 1}};
  opc_value_t generator = {.kind = OPC_VALUE_GENERATOR, .seed = 99};
  opc_value_t arguments[] = {
      dtype(OPC_DTYPE_BFLOAT16), device, string(layout), string(format), string(text), generator};
  assert_returns_text("bridge_test::names", arguments, NULL, 6, "BFloat16 cuda:1 0 2 words 99");
  const bool absent[6] = {[4] = true, [5] = true};
  assert_returns_text("bridge_test::names", arguments, absent, 6, "BFloat16 cuda:1 0 2 it's none");

  opc_value_t dtypes[] = {dtype(OPC_DTYPE_INT8), dtype(OPC_DTYPE_COMPLEX32)};
  opc_value_t dtype_list = list(dtypes, 2);
  assert_returns_text("bridge_test::dtypes", &dtype_list, NULL, 1, "Char ComplexHalf ");
}

static void test_tensor_lists_and_returns(void **state) {
  (void)state;
  opc_value_t all[] = {tensor(ones(2, OPC_DEVICE_CPU)), tensor(ones(3, OPC_DEVICE_CPU))};
  opc_value_t some[] = {none(), all[0], none()};
  opc_value_t arguments[] = {list(all, 2), list(some, 3)};
  result_t result = call("bridge_test::tensors", arguments, NULL, 2);
  if (result.outcome != OPC_CALL_RETURNED) fail_msg("%s", opc_text_c(&result.message));
  assert_int_equal(result.count, 3);

  opc_tensor_meta_t meta, first;
  opc_tensor_describe(result.returns[0].handle, &meta);
  assert_int_equal(meta.numel, 5);
  assert_int_equal(result.returns[1].kind, OPC_VALUE_LIST);
  assert_int_equal(result.returns[1].list.count, 2);
  opc_tensor_describe(result.returns[1].list.items[0].handle, &meta);
  opc_tensor_describe(all[0].handle, &first);
  assert_ptr_equal(meta.impl, first.impl); /* the very tensor that went in */
  assert_int_equal(result.returns[2].integer, 1);
  result_clear(&result);
  opc_handle_free(&arguments[0]);
}

static void test_return_kinds(void **state) {
  (void)state;
  opc_value_t x = tensor(ones(2, OPC_DEVICE_CPU));
  result_t result = call("bridge_test::everything", &x, NULL, 1);
  assert_int_equal(result.outcome, OPC_CALL_RETURNED);
  assert_int_equal(result.count, 6);
  assert_int_equal(result.returns[0].kind, OPC_VALUE_NONE); /* an undefined tensor */
  assert_int_equal(result.returns[1].integer, 7);
  assert_true(result.returns[2].kind == OPC_VALUE_FLOAT && result.returns[2].floating == 0.5);
  assert_true(result.returns[3].kind == OPC_VALUE_BOOL && result.returns[3].boolean);
  assert_string_equal(result.returns[4].string, "words");
  assert_int_equal(result.returns[5].device.type, OPC_DEVICE_CPU);
  result_clear(&result);

  result = call("bridge_test::dictionary", &x, NULL, 1);
  assert_int_equal(result.outcome, OPC_CALL_RETURNED);
  assert_int_equal(result.returns[0].kind, OPC_VALUE_LIST);
  assert_string_equal(result.returns[0].list.items[0].string, "x");
  assert_int_equal(result.returns[0].list.items[1].kind, OPC_VALUE_TENSOR);
  result_clear(&result);
  opc_handle_free(&x);
}

static void test_objects(void **state) {
  (void)state;
  opc_value_t start = integer(41), self = {.kind = OPC_VALUE_OBJECT};
  opc_text_t message = {0};
  opc_object_t *object = NULL;
  assert_int_equal(opc_object_new("bridge_test.Counter", &start, NULL, 1, &object, &message), OPC_CALL_RETURNED);
  self.handle = object;
  result_t result = call("bridge_test::next", &self, NULL, 1);
  assert_int_equal(result.outcome, OPC_CALL_RETURNED);
  assert_int_equal(result.returns[0].kind, OPC_VALUE_OBJECT);
  assert_string_equal(result.returns[0].object.class_name, "bridge_test.Counter");
  result_t counted = call("bridge_test::count", &result.returns[0], NULL, 1);
  assert_int_equal(counted.returns[0].integer, 42);
  result_clear(&counted);
  result_clear(&result);
  opc_object_free(object);

  start = integer(-1);
  assert_int_equal(opc_object_new("bridge_test.Counter", &start, NULL, 1, &object, &message), OPC_CALL_REJECTED);
  assert_non_null(strstr(opc_text_c(&message), "negative start"));
  assert_int_equal(opc_object_new("bridge_test.Counter", NULL, NULL, 0, &object, &message), OPC_CALL_UNCONVERTIBLE);
  assert_int_equal(opc_object_new("bridge_test.Nobody", NULL, NULL, 0, &object, &message), OPC_CALL_UNCONVERTIBLE);
  assert_null(object);
  opc_text_clear(&message);
}

static void assert_outcome(const char *name, const opc_value_t *arguments, size_t count, opc_call_outcome_t outcome,
                           const char *text) {
  result_t result = call(name, arguments, NULL, count);
  if (result.outcome != outcome || strstr(opc_text_c(&result.message), text) == NULL) {
    fail_msg("%s: outcome %d and not %d: %s", name, (int)result.outcome, (int)outcome, opc_text_c(&result.message));
  }
  assert_null(result.returns);
  assert_null(strstr(opc_text_c(&result.message), "frame #"));
  result_clear(&result);
}

static void test_failures_are_told_apart(void **state) {
  (void)state;
  static const struct {
    opc_call_outcome_t outcome;
    const char *text;
  } expected[] = {{OPC_CALL_REJECTED, "no thank you"},  {OPC_CALL_REJECTED, "not implemented for 'Half'"},
                  {OPC_CALL_OUT_OF_MEMORY, "all gone"}, {OPC_CALL_OUT_OF_MEMORY, "bad_alloc"},
                  {OPC_CALL_INTERNAL_ASSERT, "oh"},     {OPC_CALL_REJECTED, "std::out_of_range: far out"},
                  {OPC_CALL_FOREIGN_EXCEPTION, "int"},  {OPC_CALL_OUT_OF_MEMORY, "allocate"}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const opc_value_t how = integer((int64_t)i);
    assert_outcome("bridge_test::throws", &how, 1, expected[i].outcome, expected[i].text);
  }
}

static void test_missing_kernels(void **state) {
  (void)state;
  opc_value_t meta = tensor(ones(2, OPC_DEVICE_META)), cpu = tensor(ones(2, OPC_DEVICE_CPU));
  assert_outcome("bridge_test::cpu_only.overload", &meta, 1, OPC_CALL_NO_KERNEL, "Meta");
  assert_outcome("bridge_test::in_python", &meta, 1, OPC_CALL_FAKE_IN_PYTHON, "some.module");
  const opc_value_t arguments[] = {list(NULL, 0), none(), cpu, integer(1)};
  assert_outcome("bridge_test::aliases", arguments, 4, OPC_CALL_NO_KERNEL, "aliases");
  result_t result = call("bridge_test::twice", &meta, NULL, 1);
  assert_int_equal(result.outcome, OPC_CALL_RETURNED);
  result_clear(&result);
  opc_handle_free(&meta);
  opc_handle_free(&cpu);
}

static void test_unconvertible(void **state) {
  (void)state;
  const opc_value_t number = integer(1), nothing = none(), hollow = tensor(NULL);
  assert_outcome("bridge_test::twice", &number, 1, OPC_CALL_UNCONVERTIBLE,
                 "argument x: an integer was given where the schema says Tensor");
  assert_outcome("bridge_test::twice", &nothing, 1, OPC_CALL_UNCONVERTIBLE, "argument x: nothing");
  assert_outcome("bridge_test::twice", &hollow, 1, OPC_CALL_UNCONVERTIBLE, "never made");
  assert_outcome("bridge_test::twice", NULL, 0, OPC_CALL_UNCONVERTIBLE, "0 arguments were given, the schema has 1");
  const bool absent = true;
  result_t result = call("bridge_test::twice", &number, &absent, 1);
  assert_int_equal(result.outcome, OPC_CALL_UNCONVERTIBLE);
  assert_non_null(strstr(opc_text_c(&result.message), "has no default"));
  result_clear(&result);
  opc_op_handle_t *op = NULL;
  opc_error_t error = {0};
  assert_int_equal(opc_op_find("bridge_test::dangling", &op, &error), OPC_ERR_NOT_FOUND);
}

static void test_mutation_is_seen_in_the_storage(void **state) {
  (void)state;
  opc_value_t arguments[] = {tensor(ones(2, OPC_DEVICE_CPU)), none()};
  const bool absent[] = {false, true};
  opc_tensor_meta_t before, after;
  opc_tensor_describe(arguments[0].handle, &before);
  result_t result = call("bridge_test::fill_", arguments, absent, 2);
  assert_int_equal(result.outcome, OPC_CALL_RETURNED);
  assert_int_equal(result.count, 0);
  opc_tensor_describe(arguments[0].handle, &after);
  assert_true(after.version > before.version);
  assert_true(((const float *)after.storage_data)[1] == 1.5F);
  result_clear(&result);
  opc_handle_free(&arguments[0]);
}

static bool state_is(const void *bytes, size_t size) {
  void *now = NULL;
  size_t now_size = 0;
  assert_ok(opc_bridge_generator_state((opc_device_t){OPC_DEVICE_CPU, -1}, &now, &now_size, &error));
  bool same = now_size == size && memcmp(now, bytes, size) == 0;
  free(now);
  return same;
}

static void test_random_numbers_move_the_generator(void **state) {
  (void)state;
  void *seeded = NULL;
  size_t size = 0;
  opc_value_t argument = tensor(ones(4, OPC_DEVICE_CPU));
  opc_bridge_seed(5);
  assert_ok(opc_bridge_generator_state((opc_device_t){OPC_DEVICE_CPU, -1}, &seeded, &size, &error));
  result_t result = call("bridge_test::twice", &argument, NULL, 1);
  assert_int_equal(result.outcome, OPC_CALL_RETURNED);
  assert_true(state_is(seeded, size));
  result_clear(&result);
  const opc_value_t range[] = {argument, floating(0), floating(1), none()};
  result = call("aten::uniform", range, NULL, 4);
  assert_int_equal(result.outcome, OPC_CALL_RETURNED);
  assert_false(state_is(seeded, size));
  opc_bridge_seed(5);
  assert_true(state_is(seeded, size));
  free(seeded);
  seeded = NULL;
  opc_error_t why = {0};
  assert_int_equal(opc_bridge_generator_state((opc_device_t){OPC_DEVICE_META, -1}, &seeded, &size, &why),
                   OPC_ERR_UNSUPPORTED);
  result_clear(&result);
  opc_handle_free(&argument);
}

static void test_default_dtype_is_what_new_tensors_have(void **state) {
  (void)state;
  const opc_dtype_t dtypes[] = {OPC_DTYPE_FLOAT64, OPC_DTYPE_FLOAT32};
  for (size_t i = 0; i < 2; i++) {
    opc_value_t sizes[] = {integer(2)};
    const opc_value_t arguments[] = {list(sizes, 1), none(), none(), none(), none()};
    opc_tensor_meta_t meta;
    opc_bridge_default_dtype(dtypes[i]);
    result_t result = call("aten::ones", arguments, NULL, 5);
    assert_int_equal(result.outcome, OPC_CALL_RETURNED);
    opc_tensor_describe(result.returns[0].handle, &meta);
    assert_int_equal(meta.dtype, dtypes[i]);
    result_clear(&result);
  }
}

/* ---- transforms ---- */

static opc_tensor_t *copy_of(opc_tensor_t *tensor_, double factor) {
  opc_value_t arguments[] = {tensor(tensor_), floating(factor)};
  result_t result = call("aten::mul.Scalar", arguments, NULL, 2);
  assert_int_equal(result.outcome, OPC_CALL_RETURNED);
  opc_tensor_t *out = result.returns[0].handle;
  result.returns[0].handle = NULL;
  result_clear(&result);
  return out;
}

static void assert_all(const opc_value_t *value, size_t count, float wanted) {
  void *bytes = NULL;
  size_t size = 0;
  assert_ok(opc_tensor_logical_bytes(value->handle, &bytes, &size, &error));
  assert_int_equal(size, count * sizeof wanted);
  for (size_t i = 0; i < count; i++) assert_float_equal(((float *)bytes)[i], wanted, 0);
  free(bytes);
}

static void test_vmap_calls_with_a_batch_and_gives_its_slices(void **state) {
  (void)state;
  enum { SLICES = 3, LENGTH = 4 };
  opc_value_t slices[SLICES][3], *returns[SLICES];
  const opc_value_t *arguments[SLICES];
  opc_text_t message = {0};
  opc_op_handle_t *op = NULL;
  opc_tensor_t *weight = ones(LENGTH, OPC_DEVICE_CPU);
  size_t count = 0;
  int64_t back = 0;
  for (size_t i = 0; i < SLICES; i++) {
    slices[i][0] = tensor(copy_of(weight, (double)i));
    slices[i][1] = tensor(weight);
    slices[i][2] = integer(2);
    arguments[i] = slices[i];
  }
  assert_ok(opc_op_find("aten::add.Tensor", &op, &error));
  for (int dim = 0; dim < 2; dim++) {
    const int dims[] = {dim, OPC_NOT_BATCHED};
    assert_int_equal(opc_op_call_vmap(op, arguments, SLICES, NULL, 3, dims, 2, returns, &count, &back, &message),
                     OPC_CALL_RETURNED);
    assert_int_equal(count, 1);
    assert_int_equal(back, SLICES);
    for (size_t i = 0; i < SLICES; i++) {
      assert_all(&returns[i][0], LENGTH, (float)i + 2);
      opc_returns_free(returns[i], count);
    }
  }
  opc_op_free(op);

  /* What throws under vmap leaves nothing behind: a plain call works afterwards. */
  const int first[] = {0};
  assert_ok(opc_op_find("aten::nonzero", &op, &error));
  assert_int_equal(opc_op_call_vmap(op, arguments, SLICES, NULL, 1, first, 1, returns, &count, &back, &message),
                   OPC_CALL_REJECTED);
  assert_non_null(strstr(opc_text_c(&message), "vmap"));
  assert_null(returns[0]);
  result_t plain = call("aten::nonzero", slices[1], NULL, 1);
  assert_int_equal(plain.outcome, OPC_CALL_RETURNED);
  result_clear(&plain);
  opc_op_free(op);
  for (size_t i = 0; i < SLICES; i++) opc_handle_free(&slices[i][0]);
  opc_tensor_free(weight);
  opc_text_clear(&message);
}

static void test_autocast_is_on_during_the_call(void **state) {
  (void)state;
  opc_value_t arguments[] = {tensor(ones(4, OPC_DEVICE_CPU)), tensor(ones(4, OPC_DEVICE_CPU))}, *returns = NULL;
  opc_text_t message = {0};
  opc_op_handle_t *op = NULL;
  opc_tensor_meta_t meta;
  size_t count = 0;
  const opc_dtype_t dtypes[] = {OPC_DTYPE_BFLOAT16, OPC_DTYPE_FLOAT16};
  assert_ok(opc_op_find("aten::matmul", &op, &error));
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(opc_op_call_autocast(op, arguments, NULL, 2, dtypes[i], &returns, &count, &message),
                     OPC_CALL_RETURNED);
    opc_tensor_describe(returns[0].handle, &meta);
    assert_int_equal(meta.dtype, dtypes[i]);
    opc_returns_free(returns, count);
  }
  opc_op_free(op);
  result_t plain = call("aten::matmul", arguments, NULL, 2);
  opc_tensor_describe(plain.returns[0].handle, &meta);
  assert_int_equal(meta.dtype, OPC_DTYPE_FLOAT32);
  result_clear(&plain);
  opc_handle_free(&arguments[0]);
  opc_handle_free(&arguments[1]);
  opc_text_clear(&message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_tensor_lists_and_returns),
      cmocka_unit_test(test_return_kinds),
      cmocka_unit_test(test_objects),
      cmocka_unit_test(test_failures_are_told_apart),
      cmocka_unit_test(test_missing_kernels),
      cmocka_unit_test(test_unconvertible),
      cmocka_unit_test(test_mutation_is_seen_in_the_storage),
      cmocka_unit_test(test_random_numbers_move_the_generator),
      cmocka_unit_test(test_default_dtype_is_what_new_tensors_have),
      cmocka_unit_test(test_vmap_calls_with_a_batch_and_gives_its_slices),
      cmocka_unit_test(test_autocast_is_on_during_the_call),
  };
  return cmocka_run_group_tests(tests, load, NULL);
}
