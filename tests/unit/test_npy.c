#include "temp_folder.h"

#include "model/value/value.h"

/* A .npy file of this version with this header text and data. */
static void write_npy(int version, const char *header, const void *data, size_t size) {
  unsigned char bytes[512] = "\x93NUMPY";
  size_t length = strlen(header), prefix = version > 1 ? 12 : 10;
  bytes[6] = (unsigned char)version;
  bytes[8] = (unsigned char)length;
  memcpy(bytes + prefix, header, length);
  if (size) memcpy(bytes + prefix + length, data, size);
  temp_write("x.npy", bytes, prefix + length + size);
}

static void test_orders_and_versions(void **state) {
  (void)state;
  static const int16_t c_order[] = {1, 2, 3, 4, 5, 6}, fortran_order[] = {1, 4, 2, 5, 3, 6};
  static const struct {
    int version;
    const char *header;
    const int16_t *data;
  } rows[] = {
      {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n", c_order},
      {2, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", fortran_order},
      {3, "{\"shape\":(2L,3L),\"fortran_order\":True,\"descr\":\"=i2\"}\n", fortran_order},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_npy_t npy;
    opc_error_t error = {0};
    void *data;
    write_npy(rows[i].version, rows[i].header, rows[i].data, 12);
    assert_ok(opc_npy_load(temp_path("x.npy"), &npy, &data, &error), error);
    assert_int_equal(npy.dtype, OPC_DTYPE_INT16);
    assert_int_equal(npy.ndim, 2);
    assert_int_equal(npy.sizes[1], 3);
    assert_memory_equal(data, c_order, 12);
    free(data);
  }
}

static void test_dtypes_and_shapes(void **state) {
  (void)state;
  static const struct {
    const char *header;
    opc_dtype_t dtype;
    int ndim;
    int64_t numel;
  } rows[] = {
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", OPC_DTYPE_BOOL, 1, 4},
      {"{'descr': '<f2', 'fortran_order': False, 'shape': (), }", OPC_DTYPE_FLOAT16, 0, 1},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }", OPC_DTYPE_FLOAT32, 2, 0},
      {"{'descr': '<c16', 'fortran_order': True, 'shape': (1,), }", OPC_DTYPE_COMPLEX128, 1, 1},
      {"{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }", OPC_DTYPE_UINT64, 1, 2},
  };
  const char data[16] = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_npy_t npy;
    opc_error_t error = {0};
    write_npy(1, rows[i].header, data, sizeof data);
    assert_ok(opc_npy_describe(temp_path("x.npy"), &npy, &error), error);
    assert_int_equal(npy.dtype, rows[i].dtype);
    assert_int_equal(npy.ndim, rows[i].ndim);
    assert_int_equal(npy.numel, rows[i].numel);
  }
}

static void check_mistake(const char *message) {
  opc_npy_t npy;
  opc_error_t error = {0};
  char expected[2048];
  assert_int_equal(opc_npy_describe(temp_path("x.npy"), &npy, &error), OPC_ERR_INPUT);
  snprintf(expected, sizeof expected, "%s: %s", temp_path("x.npy"), message);
  assert_string_equal(error.message, expected);
}

static void test_mistakes(void **state) {
  (void)state;
  static const struct {
    const char *header, *message;
  } rows[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }",
       "the file ends before its last element: 5 elements are declared, 4 are there"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }",
       "big-endian elements ('>f4'); save the array as little-endian"},
      {"{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }",
       "elements of type '<U3' have no place in a tensor; use b1, i1-i8, u1-u8, f2-f8, c8 or c16"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
       "elements of type '[('a', '<f4')], 'fortran_order' have no place in a tensor; use b1, i1-i8, u1-u8, f2-f8, c8 "
       "or c16"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (4,), }",
       "fortran_order in the header of the .npy file is neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4, }",
       "the shape in the header of the .npy file is malformed or has more than 16 dimensions"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
       "the shape in the header of the .npy file is malformed or has more than 16 dimensions"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }",
       "the shape in the header of the .npy file is malformed or has more than 16 dimensions"},
      {"{'descr': '<f4', 'fortran_order': False}", "the header of the .npy file lacks descr, fortran_order or shape"},
  };
  const char data[16] = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    write_npy(1, rows[i].header, data, sizeof data);
    check_mistake(rows[i].message);
  }
  temp_write("x.npy", "no array at all", 15);
  check_mistake("this is not an .npy file");
  temp_write("x.npy", "", 0);
  check_mistake("this is not an .npy file");
  write_npy(9, "{}", NULL, 0);
  check_mistake(".npy format 9.0 is not known, only 1 to 3");
  temp_write("x.npy", "\x93NUMPY\1\0\xff\0{", 11);
  check_mistake("the header of the .npy file is cut off or too long");
}

static void test_missing_file(void **state) {
  (void)state;
  opc_npy_t npy;
  void *data;
  assert_int_equal(opc_npy_load(temp_path("missing.npy"), &npy, &data, NULL), OPC_ERR_IO);
  assert_null(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orders_and_versions),
      cmocka_unit_test(test_dtypes_and_shapes),
      cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_missing_file),
  };
  return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
