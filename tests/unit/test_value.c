/* Values and tensor specs: copies, geometry, visits, descriptions. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/value/value.h"

#define SIZES(...) \
  (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

static void test_geometry(void **state) {
  (void)state;
  static const struct {
    int ndim;
    int64_t sizes[3], strides[3], offset, numel, needed;
    bool contiguous;
  } rows[] = {
      {0, {0}, {0}, 0, 1, 1, true},
      {0, {0}, {0}, 4, 1, 5, true},
      {1, {5}, {1}, 0, 5, 5, true},
      {1, {5}, {2}, 0, 5, 9, false},
      {1, {5}, {0}, 0, 5, 1, false},
      {2, {2, 3}, {3, 1}, 0, 6, 6, true},
      {2, {2, 3}, {1, 2}, 0, 6, 6, false},
      {2, {2, 3}, {3, 1}, 2, 6, 8, true},
      {2, {1, 3}, {77, 1}, 0, 3, 3, true}, /* the stride of a dimension of size 1 does not matter */
      {3, {2, 0, 3}, {9, 9, 9}, 7, 0, 0, true},
      {2, {INT64_C(1) << 40, INT64_C(1) << 40}, {INT64_C(1) << 40, 1}, 0, INT64_MAX, INT64_MAX, false},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, rows[i].ndim, rows[i].sizes);
    assert_non_null(spec);
    assert_int_equal(spec->storage_size, rows[i].numel);
    memcpy(spec->strides, rows[i].strides, sizeof rows[i].strides);
    spec->storage_offset = rows[i].offset;
    assert_int_equal(opc_tensor_spec_numel(spec), rows[i].numel);
    assert_int_equal(opc_tensor_spec_needed(spec), rows[i].needed);
    if (rows[i].numel < INT64_MAX) assert_int_equal(opc_tensor_spec_is_contiguous(spec), rows[i].contiguous);
    opc_tensor_spec_free(spec);
  }
  opc_tensor_spec_t *empty = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, SIZES(2, 0, 3));
  assert_int_equal(empty->strides[0], 3); /* as in libtorch: a size of 0 counts as 1 */
  assert_int_equal(empty->strides[1], 3);
  opc_tensor_spec_free(empty);
  assert_null(opc_tensor_spec_new(OPC_DTYPE_FLOAT32, OPC_MAX_DIMS + 1, NULL));
}

static opc_value_t tensor(int ndim, const int64_t *sizes) {
  return (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, ndim, sizes)};
}

static opc_value_t list_of(size_t count, const opc_value_t *items) {
  opc_value_t list = {.kind = OPC_VALUE_LIST};
  list.list.items = calloc(count + 1, sizeof *list.list.items);
  list.list.count = count;
  memcpy(list.list.items, items, count * sizeof *items);
  return list;
}

static void test_copy_is_deep(void **state) {
  (void)state;
  opc_value_t first = tensor(SIZES(2)), copy;
  opc_error_t error = {0};
  int handle;
  first.handle = &handle;
  first.tensor->storage = opc_string_copy("s");
  first.tensor->stream = opc_string_copy("x");
  first.tensor->fill.kind = OPC_FILL_VALUES;
  first.tensor->fill.values = calloc(2, sizeof(opc_number_t));
  first.tensor->fill.value_count = 2;
  opc_value_t object = {.kind = OPC_VALUE_OBJECT};
  object.object.class_name = opc_string_copy("ns.Name");
  opc_value_t list =
      list_of(3, (opc_value_t[]){first, object, {.kind = OPC_VALUE_STRING, .string = opc_string_copy("word")}});
  assert_ok(opc_value_copy(&list, &copy, &error), error);
  opc_value_clear(&list);
  assert_int_equal(list.kind, OPC_VALUE_NONE);
  assert_null(copy.list.items[0].handle);
  assert_string_equal(copy.list.items[0].tensor->storage, "s");
  assert_int_equal(copy.list.items[0].tensor->fill.value_count, 2);
  assert_string_equal(copy.list.items[1].object.class_name, "ns.Name");
  assert_string_equal(copy.list.items[2].string, "word");
  opc_value_clear(&copy);
  opc_value_clear(NULL);
}

static void note_path(const char *path, opc_value_t *value, void *context) {
  (void)value;
  opc_text_addf(context, "%s ", path);
}

static void test_visit(void **state) {
  (void)state;
  opc_text_t seen = {0};
  opc_value_t object = {.kind = OPC_VALUE_OBJECT};
  object.object.init = calloc(1, sizeof(opc_value_t));
  object.object.init[0] = tensor(SIZES(1));
  object.object.init_count = 1;
  opc_value_t inner = list_of(2, (opc_value_t[]){{.kind = OPC_VALUE_NONE}, tensor(SIZES(1))});
  opc_value_t list =
      list_of(4, (opc_value_t[]){tensor(SIZES(1)), inner, {.kind = OPC_VALUE_INT, .integer = 3}, object});
  opc_value_visit_tensors("xs", &list, note_path, &seen);
  assert_string_equal(opc_text_c(&seen), "xs[0] xs[1][1] xs[3].init[0] ");
  opc_text_clear(&seen);
  opc_value_clear(&list);
}

static void check_description(opc_value_t value, const char *expected) {
  char text[128];
  opc_value_describe(&value, text, sizeof text);
  assert_string_equal(text, expected);
  opc_value_clear(&value);
}

static void test_describe(void **state) {
  (void)state;
  opc_value_t strided = tensor(SIZES(2, 3)), placed = tensor(0, NULL);
  strided.tensor->strides[0] = 1;
  strided.tensor->strides[1] = 2;
  placed.tensor->device = (opc_device_t){OPC_DEVICE_META, -1};
  placed.tensor->device_given = placed.tensor->requires_grad = true;
  placed.tensor->storage_offset = 3;
  check_description(strided, "float32[2, 3] strides [1, 2]");
  check_description(placed, "float32[] offset 3 on meta requires_grad");
  check_description(list_of(2, (opc_value_t[]){{.kind = OPC_VALUE_INT, .integer = 1}, {.kind = OPC_VALUE_NONE}}),
                    "[1, None]");
  check_description((opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = 0.1}, "0.1");
  check_description((opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = -INFINITY}, "-inf");
  check_description((opc_value_t){.kind = OPC_VALUE_COMPLEX, .complex = {1, -2}}, "(1-2j)");
  check_description((opc_value_t){.kind = OPC_VALUE_BOOL, .boolean = true}, "true");
  check_description((opc_value_t){.kind = OPC_VALUE_DTYPE, .dtype = OPC_DTYPE_BFLOAT16}, "bfloat16");
  check_description((opc_value_t){.kind = OPC_VALUE_DEVICE, .device = {OPC_DEVICE_CUDA, 1}}, "cuda:1");
  check_description((opc_value_t){.kind = OPC_VALUE_GENERATOR, .seed = 7}, "generator 7");
  check_description((opc_value_t){.kind = OPC_VALUE_STRING, .string = opc_string_copy("mean")}, "\"mean\"");
  check_description((opc_value_t){.kind = OPC_VALUE_OPAQUE, .string = opc_string_copy("Future")}, "Future");
  check_description((opc_value_t){.kind = OPC_VALUE_TENSOR}, "a tensor"); /* one that the bridge made */
  opc_value_t object = {.kind = OPC_VALUE_OBJECT};
  object.object.class_name = opc_string_copy("ns.Name");
  check_description(object, "ns.Name()");

  char small[12];
  opc_value_t word = {.kind = OPC_VALUE_STRING, .string = opc_string_copy("a long word that is cut")};
  opc_value_describe(&word, small, sizeof small);
  assert_string_equal(small, "\"a long ...");
  opc_value_describe(&word, small, 0);
  opc_value_clear(&word);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_geometry),
      cmocka_unit_test(test_copy_is_deep),
      cmocka_unit_test(test_visit),
      cmocka_unit_test(test_describe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
