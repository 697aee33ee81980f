/* Gradients through the bridge: asked for, undefined, refused, and made without a thread. */
#include <dirent.h>
#include <stdlib.h>

#include "bridge_test.h"

enum { COUNT = 3 };

static opc_tensor_t *vector(float first) {
  const int64_t size = COUNT;
  const float values[COUNT] = {first, first + 1, first + 2};
  opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, 1, &size);
  opc_storage_t *storage = NULL;
  opc_tensor_t *out = NULL;
  assert_non_null(spec);
  assert_ok(opc_storage_new(sizeof values, (opc_device_t){OPC_DEVICE_CPU, -1}, &storage, &error));
  assert_ok(opc_storage_write(storage, values, sizeof values, &error));
  assert_ok(opc_tensor_new(spec, storage, &out, &error));
  opc_storage_free(storage);
  opc_tensor_spec_free(spec);
  return out;
}

/* x * y for two vectors, and what it takes to differentiate it. */
typedef struct product {
  opc_tensor_t *x, *y, *x_leaf, *y_leaf, *weights;
  opc_value_t *returns;
  size_t count;
} product_t;

static product_t product(bool written) {
  product_t p = {.x = vector(1), .y = vector(5), .weights = vector(1)};
  opc_op_handle_t *op = NULL;
  opc_text_t message = {0};
  assert_ok(opc_autograd_track(p.x, written, &p.x_leaf, &error));
  assert_ok(opc_autograd_track(p.y, false, &p.y_leaf, &error));
  opc_value_t arguments[] = {{.kind = OPC_VALUE_TENSOR, .handle = p.x}, {.kind = OPC_VALUE_TENSOR, .handle = p.y}};
  assert_ok(opc_op_find(written ? "aten::mul_.Tensor" : "aten::mul.Tensor", &op, &error));
  if (opc_op_call(op, arguments, NULL, 2, &p.returns, &p.count, &message) != OPC_CALL_RETURNED)
    fail_msg("%s", opc_text_c(&message));
  opc_op_free(op);
  opc_text_clear(&message);
  return p;
}

static void product_clear(product_t *p) {
  opc_returns_free(p->returns, p->count);
  opc_tensor_t *tensors[] = {p->x, p->y, p->x_leaf, p->y_leaf, p->weights};
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) opc_tensor_free(tensors[i]);
}

static opc_call_outcome_t gradients(const product_t *p, opc_tensor_t *const inputs[], size_t count, opc_tensor_t **out,
                                    opc_text_t *message) {
  opc_tensor_t *output = p->returns[0].handle;
  opc_autograd_request_t request = {
      .outputs = &output, .weights = &p->weights, .output_count = 1, .inputs = inputs, .input_count = count};
  return opc_autograd_grad(&request, out, message);
}

static void assert_values(const opc_tensor_t *tensor, float first, float second, float third) {
  void *bytes = NULL;
  size_t size = 0;
  const float expected[COUNT] = {first, second, third};
  assert_non_null(tensor);
  assert_ok(opc_tensor_logical_bytes(tensor, &bytes, &size, &error));
  assert_int_equal(size, sizeof expected);
  assert_memory_equal(bytes, expected, size);
  free(bytes);
}

static size_t threads(void) {
  size_t count = 0;
  DIR *folder = opendir("/proc/self/task");
  assert_non_null(folder);
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

static void test_gradients(void **state) {
  (void)state;
  const size_t before = threads();
  product_t p = product(false);
  opc_tensor_t *unused = vector(9), *unused_leaf = NULL, *got[3];
  assert_ok(opc_autograd_track(unused, false, &unused_leaf, &error));
  opc_tensor_t *const inputs[] = {p.x_leaf, p.y_leaf, unused_leaf};
  assert_int_equal(gradients(&p, inputs, 3, got, NULL), OPC_CALL_RETURNED);
  assert_values(got[0], 5, 12, 21);
  assert_values(got[1], 1, 4, 9);
  assert_null(got[2]);
  assert_int_equal(threads(), before); /* a graph of the CPU's runs in the calling thread: a child may fork before it */
  opc_tensor_free(got[0]);
  opc_tensor_free(got[1]);
  opc_tensor_free(unused);
  opc_tensor_free(unused_leaf);
  product_clear(&p);
}

static void test_written_argument(void **state) {
  (void)state;
  product_t p = product(true);
  opc_tensor_t *got[1];
  opc_tensor_t *const inputs[] = {p.x_leaf};
  assert_int_equal(gradients(&p, inputs, 1, got, NULL), OPC_CALL_RETURNED);
  assert_values(got[0], 5, 12, 21);
  assert_values(p.x_leaf, 1, 2, 3);
  opc_tensor_free(got[0]);
  product_clear(&p);
}

static void test_overwritten_tensor_is_noticed(void **state) {
  (void)state;
  product_t p = product(false);
  opc_text_t message = {0};
  opc_tensor_t *got[1];
  opc_tensor_t *const inputs[] = {p.x_leaf};
  assert_ok(opc_tensor_overwrite(p.y, &error));
  assert_int_equal(gradients(&p, inputs, 1, got, &message), OPC_CALL_REJECTED);
  assert_non_null(strstr(opc_text_c(&message), "modified by an inplace operation"));
  opc_text_clear(&message);
  product_clear(&p);
}

static void test_raw_dtypes(void **state) {
  (void)state;
  product_t p = product(false);
  opc_tensor_t *output = p.returns[0].handle;
  opc_tensor_t *const inputs[] = {p.x_leaf, p.y_leaf};
  opc_autograd_request_t request = {
      .outputs = &output, .weights = &p.weights, .output_count = 1, .inputs = inputs, .input_count = 2};
  opc_dtype_t dtypes[2];
  assert_int_equal(opc_autograd_raw_dtypes(&request, dtypes, NULL), OPC_CALL_RETURNED);
  assert_int_equal(dtypes[0], OPC_DTYPE_FLOAT32);
  assert_int_equal(dtypes[1], OPC_DTYPE_FLOAT32);
  assert_int_equal(opc_autograd_graph(output), 0);
  product_clear(&p);
}

static void test_fallback_is_put_back(void **state) {
  (void)state;
  assert_true(opc_autograd_fallback_set(false)); /* as libtorch starts */
  assert_false(opc_autograd_fallback_set(true));
  assert_true(opc_autograd_fallback_set(true));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_written_argument),
                                     cmocka_unit_test(test_overwritten_tensor_is_noticed),
                                     cmocka_unit_test(test_raw_dtypes), cmocka_unit_test(test_fallback_is_put_back)};
  return cmocka_run_group_tests_name("bridge autograd", tests, NULL, NULL);
}
