/* Tensors over storages: their bytes, their metadata, and that libtorch's own operators take them for what they are. */
#include <stdlib.h>

#include "bridge_test.h"

static int releases;
static void release(void *data, void *context) {
  assert_ptr_equal(data, context);
  releases++;
}

static opc_tensor_spec_t *spec_of(opc_dtype_t dtype, int ndim, const int64_t *sizes) {
  opc_tensor_spec_t *spec = opc_tensor_spec_new(dtype, ndim, sizes);
  assert_non_null(spec);
  return spec;
}

/* Takes the spec. The memory stays the caller's. */
static opc_tensor_t *tensor_over(opc_tensor_spec_t *spec, void *memory, size_t bytes) {
  opc_storage_t *storage = NULL;
  opc_tensor_t *tensor = NULL;
  assert_ok(opc_storage_from_memory(memory, bytes, release, memory, &storage, &error));
  assert_ok(opc_tensor_new(spec, storage, &tensor, &error));
  opc_storage_free(storage);
  opc_tensor_spec_free(spec);
  return tensor;
}

/* One tensor in, `count` further integers, one tensor out. */
static opc_tensor_t *apply(const char *name, opc_tensor_t *tensor, const opc_value_t *more, size_t more_count) {
  opc_value_t arguments[8] = {{.kind = OPC_VALUE_TENSOR, .handle = tensor}};
  bool absent[8] = {false};
  opc_op_handle_t *op = NULL;
  opc_operator_t described = {0};
  assert_ok(opc_bridge_describe(name, &described, &error));
  assert_in_range(described.argument_count, 1, 8);
  for (size_t i = 1; i < described.argument_count; i++) {
    if (i <= more_count) arguments[i] = more[i - 1];
    absent[i] = i > more_count;
  }
  opc_value_t *returns = NULL;
  size_t count = 0;
  opc_text_t message = {0};
  assert_ok(opc_op_find(name, &op, &error));
  if (opc_op_call(op, arguments, absent, described.argument_count, &returns, &count, &message) != OPC_CALL_RETURNED) {
    fail_msg("%s: %s", name, opc_text_c(&message));
  }
  assert_int_equal(count, 1);
  opc_tensor_t *out = opc_tensor_ref(returns[0].handle);
  opc_returns_free(returns, count);
  opc_text_clear(&message);
  opc_operator_clear(&described);
  opc_op_free(op);
  return out;
}

static void assert_logical(const opc_tensor_t *tensor, const void *expected, size_t size) {
  void *bytes = NULL;
  size_t got = 0;
  assert_ok(opc_tensor_logical_bytes(tensor, &bytes, &got, &error));
  assert_int_equal(got, size);
  assert_memory_equal(bytes, expected, size);
  free(bytes);
}

static void test_release_runs_once_at_the_end(void **state) {
  (void)state;
  float memory[6] = {0, 1, 2, 3, 4, 5};
  releases = 0;
  opc_tensor_t *tensor = tensor_over(spec_of(OPC_DTYPE_FLOAT32, 2, (int64_t[]){2, 3}), memory, sizeof memory);
  opc_tensor_t *view = apply("aten::t", tensor, NULL, 0);
  opc_tensor_free(tensor);
  assert_int_equal(releases, 0);
  opc_tensor_free(view);
  assert_int_equal(releases, 1);
}

static void test_strides_offset_and_gaps(void **state) {
  (void)state;
  float memory[12];
  for (int i = 0; i < 12; i++) memory[i] = (float)i;
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT32, 3, (int64_t[]){2, 2, 2});
  memcpy(spec->strides, (int64_t[]){1, 0, 4}, sizeof(int64_t) * 3);
  spec->storage_offset = 3;
  spec->storage_size = 12;
  opc_tensor_t *tensor = tensor_over(spec, memory, sizeof memory);
  opc_tensor_meta_t meta;
  opc_tensor_describe(tensor, &meta);
  assert_int_equal(meta.ndim, 3);
  assert_int_equal(meta.strides[2], 4);
  assert_int_equal(meta.storage_offset, 3);
  assert_int_equal(meta.numel, 8);
  assert_ptr_equal(meta.storage_data, memory);
  assert_int_equal(meta.storage_bytes, sizeof memory);
  assert_string_equal(meta.layout, "strided");
  assert_string_equal(meta.dtype_text, "Float");
  assert_int_equal(meta.dtype, OPC_DTYPE_FLOAT32);
  assert_false(meta.requires_grad || meta.has_grad_fn || meta.is_inference || meta.conj || meta.neg || meta.symbolic);

  const float expected[8] = {3, 7, 3, 7, 4, 8, 4, 8};
  assert_logical(tensor, expected, sizeof expected);
  /* libtorch sees the same elements, and that they are not contiguous. */
  opc_tensor_t *copy = apply("aten::contiguous", tensor, NULL, 0);
  opc_tensor_describe(copy, &meta);
  assert_ptr_not_equal(meta.storage_data, memory);
  assert_logical(copy, expected, sizeof expected);
  opc_tensor_free(copy);
  opc_tensor_free(tensor);
}

static void test_contiguous_is_noticed(void **state) {
  (void)state;
  double memory[4] = {1, 2, 3, 4};
  opc_tensor_t *tensor = tensor_over(spec_of(OPC_DTYPE_FLOAT64, 2, (int64_t[]){2, 2}), memory, sizeof memory);
  opc_tensor_t *same = apply("aten::contiguous", tensor, NULL, 0);
  opc_tensor_meta_t left, right;
  opc_tensor_describe(tensor, &left);
  opc_tensor_describe(same, &right);
  assert_ptr_equal(left.impl, right.impl);
  opc_tensor_free(same);
  opc_tensor_free(tensor);
}

static void test_conj_and_neg(void **state) {
  (void)state;
  float memory[4] = {1, 2, 3, 4};
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_COMPLEX64, 1, (int64_t[]){2});
  spec->conj = true;
  opc_tensor_t *tensor = tensor_over(spec, memory, sizeof memory);
  const float conjugated[4] = {1, -2, 3, -4};
  assert_logical(tensor, conjugated, sizeof conjugated);
  opc_tensor_t *resolved = apply("aten::resolve_conj", tensor, NULL, 0);
  assert_logical(resolved, conjugated, sizeof conjugated);
  opc_tensor_meta_t meta;
  opc_tensor_describe(tensor, &meta);
  assert_true(meta.conj);
  opc_tensor_describe(resolved, &meta);
  assert_false(meta.conj);
  assert_true(((const float *)meta.storage_data)[1] == -2);
  opc_tensor_free(resolved);
  opc_tensor_free(tensor);

  static const struct {
    opc_dtype_t dtype;
    size_t size;
  } kinds[] = {{OPC_DTYPE_FLOAT32, 4}, {OPC_DTYPE_FLOAT64, 8},    {OPC_DTYPE_FLOAT16, 2}, {OPC_DTYPE_BFLOAT16, 2},
               {OPC_DTYPE_INT32, 4},   {OPC_DTYPE_INT16, 2},      {OPC_DTYPE_INT8, 1},    {OPC_DTYPE_COMPLEX64, 8},
               {OPC_DTYPE_INT64, 8},   {OPC_DTYPE_COMPLEX128, 16}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    unsigned char bytes[32] = {0, 0x3c, 1, 0x40, 2, 3, 4, 0x41, 5, 6, 7, 0x42, 8, 9, 10, 0x43};
    spec = spec_of(kinds[i].dtype, 1, (int64_t[]){2});
    spec->neg = true;
    tensor = tensor_over(spec, bytes, 2 * kinds[i].size);
    resolved = apply("aten::resolve_neg", tensor, NULL, 0);
    opc_tensor_describe(resolved, &meta);
    assert_false(meta.neg);
    assert_logical(tensor, meta.storage_data, 2 * kinds[i].size); /* ours against libtorch's */
    opc_tensor_free(resolved);
    opc_tensor_free(tensor);
  }
}

static void test_autograd_views_and_resize(void **state) {
  (void)state;
  float memory[4] = {1, 2, 3, 4};
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT32, 2, (int64_t[]){2, 2});
  spec->requires_grad = true;
  opc_tensor_t *tensor = tensor_over(spec, memory, sizeof memory);
  opc_tensor_meta_t meta, base;
  opc_tensor_t *product = apply("aten::exp", tensor, NULL, 0);
  opc_tensor_describe(product, &meta);
  assert_true(meta.requires_grad && meta.has_grad_fn);
  opc_tensor_free(product);

  opc_bridge_grad_mode(false);
  product = apply("aten::exp", tensor, NULL, 0);
  opc_bridge_grad_mode(true);
  opc_tensor_describe(product, &meta);
  assert_false(meta.requires_grad || meta.has_grad_fn);
  opc_tensor_free(product);

  opc_value_t minus_one = {.kind = OPC_VALUE_INT, .integer = -1};
  opc_value_t shape = {.kind = OPC_VALUE_LIST, .list = {&minus_one, 1}};
  opc_tensor_t *view = apply("aten::view", tensor, &shape, 1);
  opc_tensor_describe(view, &meta);
  opc_tensor_describe(tensor, &base);
  assert_ptr_equal(meta.storage, base.storage);
  assert_true(meta.has_grad_fn && base.requires_grad && !base.has_grad_fn);
  opc_tensor_free(view);
  opc_tensor_free(tensor);

  releases = 0;
  tensor = tensor_over(spec_of(OPC_DTYPE_FLOAT32, 1, (int64_t[]){4}), memory, sizeof memory);
  opc_value_t nine = {.kind = OPC_VALUE_INT, .integer = 9};
  shape.list.items = &nine;
  opc_tensor_t *grown = apply("aten::resize_", tensor, &shape, 1);
  opc_tensor_describe(tensor, &meta);
  assert_int_equal(meta.numel, 9);
  assert_int_equal(meta.storage_bytes, 36);
  assert_int_equal(releases, 1); /* the caller's memory was left */
  assert_memory_equal(meta.storage_data, memory, sizeof memory);
  opc_tensor_free(grown);
  opc_tensor_free(tensor);
}

static void test_meta_and_empty(void **state) {
  (void)state;
  opc_storage_t *storage = NULL;
  opc_tensor_t *tensor = NULL;
  opc_tensor_meta_t meta;
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_INT64, 2, (int64_t[]){3, 4});
  assert_ok(opc_storage_new(96, (opc_device_t){OPC_DEVICE_META, -1}, &storage, &error));
  assert_null(opc_storage_data(storage));
  assert_ok(opc_tensor_new(spec, storage, &tensor, &error));
  opc_tensor_t *sum = apply("aten::neg", tensor, NULL, 0);
  opc_tensor_describe(sum, &meta);
  assert_int_equal(meta.device.type, OPC_DEVICE_META);
  assert_int_equal(meta.numel, 12);
  assert_null(meta.storage_data);
  void *bytes = NULL;
  size_t size = 0;
  assert_int_equal(opc_tensor_logical_bytes(sum, &bytes, &size, NULL), OPC_ERR_UNSUPPORTED);
  assert_null(bytes);
  opc_tensor_free(sum);
  opc_tensor_free(tensor);
  opc_storage_free(storage);
  opc_tensor_spec_free(spec);

  tensor = tensor_over(spec_of(OPC_DTYPE_FLOAT32, 2, (int64_t[]){0, 3}), NULL, 0);
  opc_tensor_describe(tensor, &meta);
  assert_int_equal(meta.numel, 0);
  assert_logical(tensor, "", 0);
  opc_tensor_free(tensor);
  opc_tensor_free(NULL);
  opc_tensor_describe(NULL, &meta);
  assert_false(meta.defined);
}

static void test_bounds_are_checked(void **state) {
  (void)state;
  char memory[8];
  opc_storage_t *storage = NULL;
  opc_tensor_t *tensor = NULL;
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT32, 1, (int64_t[]){3});
  assert_ok(opc_storage_from_memory(memory, sizeof memory, NULL, NULL, &storage, &error));
  assert_int_equal(opc_tensor_new(spec, storage, &tensor, NULL), OPC_ERR_INPUT);
  spec->sizes[0] = 2;
  spec->strides[0] = INT64_MAX;
  assert_int_equal(opc_tensor_new(spec, storage, &tensor, NULL), OPC_ERR_INPUT);
  spec->strides[0] = -1;
  assert_int_equal(opc_tensor_new(spec, storage, &tensor, NULL), OPC_ERR_INPUT);
  spec->strides[0] = 1;
  spec->dtype = OPC_DTYPE_INT32;
  spec->requires_grad = true;
  assert_int_equal(opc_tensor_new(spec, storage, &tensor, NULL), OPC_ERR_TORCH);
  assert_int_equal(opc_storage_write(storage, memory, 9, NULL), OPC_ERR_INPUT);
  assert_ptr_equal(opc_storage_data(storage), memory);
  opc_storage_free(storage);
  opc_tensor_spec_free(spec);
}

static void test_sparse_is_described(void **state) {
  (void)state;
  float memory[4] = {0, 2, 0, 4};
  opc_tensor_t *tensor = tensor_over(spec_of(OPC_DTYPE_FLOAT32, 2, (int64_t[]){2, 2}), memory, sizeof memory);
  opc_tensor_t *sparse = apply("aten::to_sparse", tensor, NULL, 0);
  opc_tensor_meta_t meta;
  opc_tensor_describe(sparse, &meta);
  assert_string_equal(meta.layout, "sparse_coo");
  assert_int_equal(meta.sizes[1], 2);
  assert_null(meta.storage);
  const void *bytes = NULL;
  void *owned = NULL;
  size_t size = 0;
  assert_int_equal(opc_tensor_storage_bytes(sparse, &bytes, &size, &owned, NULL), OPC_ERR_UNSUPPORTED);
  opc_tensor_free(sparse);
  opc_tensor_free(tensor);
}

static size_t allocations, frees;
static void *counted_allocate(size_t bytes, void *context) {
  assert_int_equal(*(int *)context, 7);
  if (bytes > (size_t)1 << 30) return NULL;
  allocations++;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
static void counted_release(void *data, void *context) {
  assert_int_equal(*(int *)context, 7);
  frees++;
  free(data);
}

static void test_seed_and_allocator(void **state) {
  (void)state;
  float memory[4] = {0};
  opc_tensor_t *tensor = tensor_over(spec_of(OPC_DTYPE_FLOAT32, 1, (int64_t[]){4}), memory, sizeof memory);
  float first[4], second[4];
  opc_tensor_meta_t meta;
  for (int round = 0; round < 2; round++) {
    opc_bridge_seed(123);
    opc_tensor_t *random = apply("aten::rand_like", tensor, NULL, 0);
    opc_tensor_describe(random, &meta);
    memcpy(round == 0 ? first : second, meta.storage_data, sizeof first);
    opc_tensor_free(random);
  }
  assert_memory_equal(first, second, sizeof first);

  static int context = 7;
  static const opc_cpu_allocator_t allocator = {counted_allocate, counted_release, &context};
  opc_bridge_set_allocator(&allocator); /* for the life of the process: the last test */
  opc_tensor_t *made = apply("aten::exp", tensor, NULL, 0);
  assert_int_equal(allocations, 1);
  opc_tensor_free(made);
  assert_int_equal(frees, 1);

  opc_value_t size = {.kind = OPC_VALUE_INT, .integer = INT64_C(1) << 40};
  opc_value_t arguments[] = {{.kind = OPC_VALUE_LIST, .list = {&size, 1}}, {0}, {0}, {0}, {0}, {0}};
  const bool absent[] = {false, true, true, true, true, true};
  opc_op_handle_t *op = NULL;
  opc_value_t *returns = NULL;
  size_t count = 0;
  opc_text_t message = {0};
  assert_ok(opc_op_find("aten::empty.memory_format", &op, &error));
  assert_int_equal(opc_op_call(op, arguments, absent, 6, &returns, &count, &message), OPC_CALL_OUT_OF_MEMORY);
  opc_text_clear(&message);
  opc_op_free(op);
  opc_tensor_free(tensor);
}

static void test_state(void **state) {
  (void)state;
  opc_bridge_threads(1);
  assert_true(opc_bridge_device_available((opc_device_t){OPC_DEVICE_CPU, -1}));
  assert_true(opc_bridge_device_available((opc_device_t){OPC_DEVICE_META, -1}));
  assert_false(opc_bridge_device_available((opc_device_t){OPC_DEVICE_OTHER, -1}));
  assert_int_equal(opc_bridge_cuda_devices(), 0); /* libtorch_cuda is not loaded here */
  assert_false(opc_bridge_cuda_initialised());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_release_runs_once_at_the_end),
      cmocka_unit_test(test_strides_offset_and_gaps),
      cmocka_unit_test(test_contiguous_is_noticed),
      cmocka_unit_test(test_conj_and_neg),
      cmocka_unit_test(test_autograd_views_and_resize),
      cmocka_unit_test(test_meta_and_empty),
      cmocka_unit_test(test_bounds_are_checked),
      cmocka_unit_test(test_sparse_is_described),
      cmocka_unit_test(test_state),
      cmocka_unit_test(test_seed_and_allocator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
