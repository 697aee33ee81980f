/* Logical values of tensor specs, and their positions in a storage. */
#include "unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "model/sample/sample.h"
#include "model/value/value.h"

static opc_tensor_spec_t *spec_of(opc_dtype_t dtype, int64_t count) { return opc_tensor_spec_new(dtype, 1, &count); }

/* Logical values of a spec as doubles; the caller frees them. */
static double *filled(const opc_tensor_spec_t *spec, const char *path, uint64_t seed) {
  const size_t count = (size_t)opc_tensor_spec_numel(spec), size = opc_dtype_size(spec->dtype);
  char *bytes = malloc(count * size + 1);
  double *values = calloc(count + 1, sizeof *values);
  opc_error_t error = {0};
  assert_ok(opc_fill_logical(spec, path, seed, bytes, &error), error);
  for (size_t i = 0; i < count; i++) values[i] = opc_number_load_double(spec->dtype, bytes + i * size);
  free(bytes);
  return values;
}

static void test_kinds(void **state) {
  (void)state;
  static const struct {
    opc_fill_kind_t kind;
    opc_dtype_t dtype;
    double lowest, highest;
    bool varies, integral;
  } rows[] = {
      {OPC_FILL_NORMAL, OPC_DTYPE_FLOAT32, -6, 6, true, false},
      {OPC_FILL_NORMAL, OPC_DTYPE_COMPLEX64, -6, 6, true, false},
      {OPC_FILL_NORMAL, OPC_DTYPE_INT8, -4, 4, true, true},
      {OPC_FILL_NORMAL, OPC_DTYPE_UINT64, 0, 8, true, true},
      {OPC_FILL_NORMAL, OPC_DTYPE_BOOL, 0, 1, true, true},
      {OPC_FILL_UNIFORM, OPC_DTYPE_FLOAT64, 0, 0.9999999, true, false},
      {OPC_FILL_UNIFORM, OPC_DTYPE_BFLOAT16, 0, 0.9999999, true, false},
      {OPC_FILL_UNIFORM, OPC_DTYPE_INT32, 0, 1, true, true},
      {OPC_FILL_UNIFORM, OPC_DTYPE_BOOL, 0, 1, true, true},
      {OPC_FILL_ZEROS, OPC_DTYPE_FLOAT16, 0, 0, false, true},
      {OPC_FILL_ONES, OPC_DTYPE_COMPLEX128, 1, 1, false, true},
      {OPC_FILL_FULL, OPC_DTYPE_INT16, 7, 7, false, true},
      {OPC_FILL_RANGE, OPC_DTYPE_INT64, 10, 12, true, true},
      {OPC_FILL_RANGE, OPC_DTYPE_FLOAT32, 10, 12, true, true},
      {OPC_FILL_ARANGE, OPC_DTYPE_INT32, 0, 999, true, true},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_tensor_spec_t *spec = spec_of(rows[i].dtype, 1000);
    spec->fill = (opc_fill_t){.kind = rows[i].kind, .lo = 10, .hi = 13, .value = {.kind = OPC_NUMBER_INT, .i = 7}};
    double *values = filled(spec, "x", 1), *again = filled(spec, "x", 1), *other = filled(spec, "y", 1),
           lowest = INFINITY, highest = -INFINITY;
    bool differs = false;
    for (size_t j = 0; j < 1000; j++) {
      lowest = fmin(lowest, values[j]);
      highest = fmax(highest, values[j]);
      differs |= values[j] != other[j];
      assert_true(values[j] == again[j]);
      if (rows[i].integral) assert_true(values[j] == floor(values[j]));
    }
    assert_true(lowest >= rows[i].lowest && highest <= rows[i].highest);
    assert_int_equal(lowest < highest, rows[i].varies);
    assert_int_equal(differs,
                     rows[i].varies && rows[i].kind != OPC_FILL_ARANGE); /* another argument has its own stream */
    if (rows[i].integral) assert_true(lowest == rows[i].lowest && highest == rows[i].highest);
    opc_tensor_spec_free(spec);
    free(values);
    free(again);
    free(other);
  }
}

static void test_stream_and_seed(void **state) {
  (void)state;
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT32, 8), *renamed = opc_tensor_spec_copy(spec);
  renamed->stream = opc_string_copy("x");
  double *x = filled(spec, "x", 1), *moved = filled(renamed, "elsewhere[3]", 1), *seeded = filled(spec, "x", 2);
  for (size_t i = 0; i < 8; i++) {
    assert_true(x[i] == moved[i]);
    assert_true(x[i] != seeded[i]);
  }
  opc_tensor_spec_free(spec);
  opc_tensor_spec_free(renamed);
  free(x);
  free(moved);
  free(seeded);
}

/* A cast variant and the float64 reference of the dtype check rely on this. */
static void test_filled_as_and_rounded_to(void **state) {
  (void)state;
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT32, 200);
  double *floats = filled(spec, "x", 3);
  spec->fill.filled_as = OPC_DTYPE_FLOAT32;
  spec->dtype = OPC_DTYPE_FLOAT64;
  double *wide = filled(spec, "x", 3);
  spec->dtype = OPC_DTYPE_FLOAT16;
  double *half = filled(spec, "x", 3);
  spec->dtype = OPC_DTYPE_FLOAT64;
  spec->fill.rounded_to = OPC_DTYPE_FLOAT16;
  double *reference = filled(spec, "x", 3);
  spec->fill.rounded_to = OPC_DTYPE_OTHER;
  spec->dtype = OPC_DTYPE_INT32;
  double *integers = filled(spec, "x", 3);
  spec->dtype = OPC_DTYPE_FLOAT64;
  spec->fill.rounded_to = OPC_DTYPE_INT32;
  double *integer_reference = filled(spec, "x", 3);
  spec->fill.rounded_to = OPC_DTYPE_OTHER;
  spec->dtype = OPC_DTYPE_UINT8;
  double *bytes = filled(spec, "x", 3);
  spec->dtype = OPC_DTYPE_BOOL;
  double *flags = filled(spec, "x", 3);
  spec->dtype = OPC_DTYPE_COMPLEX64;
  double *complex_numbers = filled(spec, "x", 3);
  for (size_t i = 0; i < 200; i++) {
    assert_true(floats[i] == wide[i]);
    assert_true(half[i] == reference[i]);
    assert_true(fabs(half[i] - floats[i]) <= opc_dtype_ulp(OPC_DTYPE_FLOAT16, floats[i]));
    assert_true(integers[i] == trunc(4 * floats[i]));
    assert_true(integers[i] == integer_reference[i]);
    assert_true(bytes[i] == fabs(integers[i]));
    assert_true(flags[i] == (floats[i] > 0));
    assert_true(complex_numbers[i] == floats[i]);
  }
  double *all[] = {floats, wide, half, reference, integers, integer_reference, bytes, flags, complex_numbers};
  for (size_t i = 0; i < COUNT(all); i++) free(all[i]);
  opc_tensor_spec_free(spec);
}

static void test_complex_parts_are_independent(void **state) {
  (void)state;
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_COMPLEX128, 2000);
  double *parts = malloc(4000 * sizeof *parts), product = 0;
  assert_int_equal(opc_fill_logical(spec, "x", 0, parts, NULL), OPC_OK);
  for (size_t i = 0; i < 2000; i++) product += parts[2 * i] * parts[2 * i + 1];
  assert_true(fabs(product / 2000) < 0.1);
  free(parts);
  opc_tensor_spec_free(spec);
}

static void test_repeated_elements_agree(void **state) {
  (void)state;
  const int64_t sizes[] = {3, 4};
  opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, 2, sizes);
  double *plain = filled(spec, "x", 0);
  spec->strides[0] = 0;
  spec->strides[1] = 1;
  double *expanded = filled(spec, "x", 0);
  for (size_t i = 0; i < 12; i++) assert_true(expanded[i] == plain[i % 4]);
  free(plain);
  free(expanded);
  opc_tensor_spec_free(spec);
}

static void test_values(void **state) {
  (void)state;
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT32, 3);
  opc_error_t error = {0};
  float out[3];
  uint32_t bits;
  spec->fill.kind = OPC_FILL_VALUES;
  spec->fill.value_count = 3;
  spec->fill.values = calloc(3, sizeof(opc_number_t));
  spec->fill.values[0] = (opc_number_t){.kind = OPC_NUMBER_BITS, .bits = 0x7fc00001};
  spec->fill.values[1] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = -3};
  spec->fill.values[2] = (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = 0.1};
  assert_int_equal(opc_fill_logical(spec, "x", 0, out, &error), OPC_OK);
  memcpy(&bits, out, sizeof bits);
  assert_int_equal(bits, 0x7fc00001);
  assert_true(out[1] == -3.0f && out[2] == 0.1f);
  spec->sizes[0] = 4;
  assert_int_equal(opc_fill_logical(spec, "x", 0, out, &error), OPC_ERR_INPUT);
  assert_string_equal(error.message, "x: 3 values for 4 elements");
  spec->dtype = OPC_DTYPE_OTHER;
  assert_int_equal(opc_fill_logical(spec, "x", 0, out, &error), OPC_ERR_UNSUPPORTED);
  opc_tensor_spec_free(spec);
}

static void test_changed(void **state) {
  (void)state;
  static const struct {
    opc_special_t special;
    float expected[3];
  } rows[] = {{OPC_SPECIAL_NEGATED, {-1.5F, 0.25F, -2.0F}},
              {OPC_SPECIAL_TIES, {1.0F, -1.0F, 2.0F}},
              {OPC_SPECIAL_ONES, {1.0F, -0.25F, 2.0F}},
              {OPC_SPECIAL_EIGHTHS, {1.5F, -0.25F, 2.0F}},
              {OPC_SPECIAL_TIMES_64, {96.0F, -16.0F, 128.0F}},
              {OPC_SPECIAL_OVER_64, {1.5F / 64, -0.25F / 64, 2.0F / 64}},
              {OPC_SPECIAL_GRADED, {1.5F, -0.25F / 1024, 2.0F / 1024 / 1024}},
              {OPC_SPECIAL_ONE_ZERO, {1.5F, 0.0F, 2.0F}}};
  opc_number_t numbers[] = {{.kind = OPC_NUMBER_FLOAT, .f = 1.5},
                            {.kind = OPC_NUMBER_FLOAT, .f = -0.25},
                            {.kind = OPC_NUMBER_FLOAT, .f = 2.0}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    float out[3];
    opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT32, 3);
    spec->fill.kind = OPC_FILL_VALUES;
    spec->fill.values = numbers;
    spec->fill.value_count = COUNT(numbers);
    spec->fill.special = rows[i].special;
    assert_int_equal(opc_fill_logical(spec, "x", 0, out, NULL), OPC_OK);
    assert_memory_equal(out, rows[i].expected, sizeof out);
    assert_false(opc_special_exists(rows[i].special, OPC_DTYPE_INT64));
    spec->fill.values = NULL;
    spec->fill.kind = OPC_FILL_ZEROS;
    opc_tensor_spec_free(spec);
  }
}

static void test_changed_rows(void **state) {
  (void)state;
  static const struct {
    opc_special_t special;
    float expected[6];
  } rows[] = {{OPC_SPECIAL_ZERO_ROW, {0.3F, 1.3F, 0, 0, 4.3F, 5.3F}},
              {OPC_SPECIAL_EIGHTHS, {0.25F, 1.25F, 2.25F, 3.25F, 4.25F, 5.25F}},
              {OPC_SPECIAL_GRADED, {0.3F, 1.3F, 2.3F / 1024, 3.3F / 1024, 4.3F / 1024 / 1024, 5.3F / 1024 / 1024}}};
  const int64_t sizes[] = {3, 2};
  opc_number_t numbers[6];
  for (int i = 0; i < 6; i++) numbers[i] = (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = i + 0.3};
  for (size_t i = 0; i < COUNT(rows); i++) {
    float out[6];
    opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, 2, sizes);
    spec->fill = (opc_fill_t){.kind = OPC_FILL_VALUES, .values = numbers, .value_count = 6, .special = rows[i].special};
    assert_int_equal(opc_fill_logical(spec, "x", 0, out, NULL), OPC_OK);
    assert_memory_equal(out, rows[i].expected, sizeof out);
    spec->fill = (opc_fill_t){.kind = OPC_FILL_ZEROS};
    opc_tensor_spec_free(spec);
  }
}

/* Numbers that are rounded to a narrow dtype are still of it when they are changed. */
static void test_changed_numbers_are_of_the_narrow_dtype(void **state) {
  (void)state;
  opc_number_t number = {.kind = OPC_NUMBER_FLOAT, .f = 2000};
  double out;
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT64, 1);
  spec->fill = (opc_fill_t){.kind = OPC_FILL_VALUES,
                            .values = &number,
                            .value_count = 1,
                            .rounded_to = OPC_DTYPE_FLOAT16,
                            .special = OPC_SPECIAL_TIMES_64};
  assert_int_equal(opc_fill_logical(spec, "x", 0, &out, NULL), OPC_OK);
  assert_true(isinf(out)); /* 128,000 is more than float16 has */
  spec->fill = (opc_fill_t){.kind = OPC_FILL_ZEROS};
  opc_tensor_spec_free(spec);
}

static void test_special(void **state) {
  (void)state;
  static const struct {
    opc_special_t special;
    opc_dtype_t dtype;
    uint64_t first, second; /* bits of elements 0 and 3; element 1 keeps the fill */
  } rows[] = {
      {OPC_SPECIAL_NAN, OPC_DTYPE_FLOAT32, 0x7fc00001, 0x7fc00001},
      {OPC_SPECIAL_NAN, OPC_DTYPE_BFLOAT16, 0x7fc1, 0x7fc1},
      {OPC_SPECIAL_NAN, OPC_DTYPE_FLOAT64, 0x7ff8000000000001, 0x7ff8000000000001},
      {OPC_SPECIAL_NEGATIVE_ZERO, OPC_DTYPE_FLOAT16, 0x8000, 0x8000},
      {OPC_SPECIAL_INFINITY, OPC_DTYPE_FLOAT32, 0x7f800000, 0xff800000},
      {OPC_SPECIAL_DENORMAL, OPC_DTYPE_FLOAT16, 0x0001, 0x8001},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_FLOAT32, 0x7f7fffff, 0xff7fffff},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_INT8, 0x80, 0x7f},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_UINT16, 0x0000, 0xffff},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_INT64, 0x8000000000000000, 0x7fffffffffffffff},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_BOOL, 1, 1}, /* this dtype has none */
      {OPC_SPECIAL_NAN, OPC_DTYPE_FLOAT8_E5M2, 0x7f, 0x7f},
      {OPC_SPECIAL_NAN, OPC_DTYPE_FLOAT8_E4M3FN, 0x7f, 0x7f},
      {OPC_SPECIAL_NAN, OPC_DTYPE_FLOAT8_E4M3FNUZ, 0x80, 0x80},
      {OPC_SPECIAL_NAN, OPC_DTYPE_FLOAT8_E8M0FNU, 0xff, 0xff},
      {OPC_SPECIAL_INFINITY, OPC_DTYPE_FLOAT8_E5M2, 0x7c, 0xfc},
      {OPC_SPECIAL_INFINITY, OPC_DTYPE_FLOAT8_E4M3FN, 0x38, 0x38}, /* this dtype has none: the filled values */
      {OPC_SPECIAL_NEGATIVE_ZERO, OPC_DTYPE_FLOAT8_E4M3FN, 0x80, 0x80},
      {OPC_SPECIAL_NEGATIVE_ZERO, OPC_DTYPE_FLOAT8_E5M2FNUZ, 0x40, 0x40},
      {OPC_SPECIAL_DENORMAL, OPC_DTYPE_FLOAT8_E4M3FNUZ, 0x01, 0x81},
      {OPC_SPECIAL_DENORMAL, OPC_DTYPE_FLOAT8_E8M0FNU, 0x7f, 0x7f},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_FLOAT8_E4M3FN, 0x7e, 0xfe},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_FLOAT8_E5M2, 0x7b, 0xfb},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_FLOAT8_E5M2FNUZ, 0x7f, 0xff},
      {OPC_SPECIAL_EXTREME, OPC_DTYPE_FLOAT8_E8M0FNU, 0xfe, 0x00},
      {OPC_SPECIAL_NAN, OPC_DTYPE_INT32, 1, 1},
      {OPC_SPECIAL_ZERO, OPC_DTYPE_FLOAT32, 0, 0},
      {OPC_SPECIAL_ZERO, OPC_DTYPE_INT32, 1, 1},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_tensor_spec_t *spec = spec_of(rows[i].dtype, 4);
    unsigned char bytes[32] = {0}, one[8] = {0};
    uint64_t first = 0, second = 0;
    size_t size = opc_dtype_size(rows[i].dtype);
    spec->fill.kind = OPC_FILL_ONES;
    spec->fill.special = rows[i].special;
    assert_int_equal(opc_fill_logical(spec, "x", 0, bytes, NULL), OPC_OK);
    memcpy(&first, bytes, size);
    memcpy(&second, bytes + 3 * size, size);
    assert_true(first == rows[i].first && second == rows[i].second);
    opc_number_store((opc_number_t){.kind = OPC_NUMBER_INT, .i = 1}, rows[i].dtype, one);
    assert_memory_equal(bytes + size, one, size);
    opc_tensor_spec_free(spec);
  }
  opc_tensor_spec_t *spec =
      spec_of(OPC_DTYPE_FLOAT64, 1); /* the reference gets the denormal number of the narrow dtype */
  double value;
  spec->fill.special = OPC_SPECIAL_DENORMAL;
  spec->fill.rounded_to = OPC_DTYPE_FLOAT16;
  assert_int_equal(opc_fill_logical(spec, "x", 0, &value, NULL), OPC_OK);
  assert_true(value == 0x1p-24);
  opc_tensor_spec_free(spec);
}

static void test_scatter(void **state) {
  (void)state;
  const int64_t sizes[] = {2, 3};
  const uint8_t logical[] = {1, 2, 3, 4, 5, 6};
  uint8_t storage[9];
  opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_UINT8, 2, sizes);
  spec->strides[0] = 1;
  spec->strides[1] = 3;
  spec->storage_offset = 1;
  spec->storage_size = 9;
  opc_fill_scatter(spec, logical, 0x5b, storage);
  assert_memory_equal(storage, ((const uint8_t[]){0x5b, 1, 4, 0x5b, 2, 5, 0x5b, 3, 6}), 9);
  spec->strides[0] = 3;
  spec->strides[1] = 1;
  opc_fill_scatter(spec, logical, 0x5b, storage);
  assert_memory_equal(storage, ((const uint8_t[]){0x5b, 1, 2, 3, 4, 5, 6, 0x5b, 0x5b}), 9);
  spec->sizes[1] = 0;
  opc_fill_scatter(spec, logical, 0, storage); /* no elements: all of it is padding */
  assert_memory_equal(storage, ((const uint8_t[9]){0}), 9);
  opc_tensor_spec_free(spec);
}

/* With a conj or neg bit, the stored value is the one that reads as the logical value. */
static void test_scatter_behind_bits(void **state) {
  (void)state;
  const float number[] = {1.0f, 2.0f};
  static const struct {
    bool conj, neg;
    float re, im;
  } rows[] = {{false, false, 1, 2}, {true, false, 1, -2}, {false, true, -1, -2}, {true, true, -1, 2}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_COMPLEX64, 1);
    float stored[2];
    spec->conj = rows[i].conj;
    spec->neg = rows[i].neg;
    opc_fill_scatter(spec, number, 0, stored);
    assert_true(stored[0] == rows[i].re && stored[1] == rows[i].im);
    opc_tensor_spec_free(spec);
  }
  opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_INT16, 1);
  int16_t integer = -5, stored;
  spec->neg = true;
  opc_fill_scatter(spec, &integer, 0, &stored);
  assert_int_equal(stored, 5);
  opc_tensor_spec_free(spec);
}

/* The same bytes as without the cache, whatever was filled before. */
static void assert_kept(const opc_tensor_spec_t *spec, const char *path, uint64_t seed) {
  size_t size = (size_t)opc_tensor_spec_numel(spec) * opc_dtype_size(spec->dtype);
  unsigned char *wanted = malloc(size + 1), *given = malloc(size + 1);
  opc_error_t error = {0};
  assert_ok(opc_fill_logical(spec, path, seed, wanted, &error), error);
  for (int turn = 0; turn < 2; turn++) {
    memset(given, 0xee, size + 1);
    assert_ok(opc_fill_kept(spec, path, seed, given, &error), error);
    assert_memory_equal(given, wanted, size);
    assert_int_equal(given[size], 0xee);
  }
  free(wanted);
  free(given);
}

/* Each differs from the first in one property that determines the values. */
static void test_kept(void **state) {
  (void)state;
  static const opc_dtype_t dtypes[] = {OPC_DTYPE_FLOAT32, OPC_DTYPE_FLOAT64, OPC_DTYPE_INT32, OPC_DTYPE_COMPLEX64,
                                       OPC_DTYPE_BOOL};
  static const opc_fill_kind_t kinds[] = {OPC_FILL_NORMAL, OPC_FILL_UNIFORM, OPC_FILL_RANGE, OPC_FILL_ARANGE,
                                          OPC_FILL_ZEROS};
  for (int again = 0; again < 2; again++) {
    for (size_t dtype = 0; dtype < COUNT(dtypes); dtype++)
      for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (int change = 0; change < 9; change++) {
          opc_tensor_spec_t *spec =
              opc_tensor_spec_new(dtypes[dtype], 2, change == 1 ? (int64_t[]){3, 4} : (int64_t[]){4, 3});
          spec->fill = (opc_fill_t){.kind = kinds[kind], .lo = change == 2 ? -1 : 0, .hi = change == 3 ? 900 : 1000};
          if (change == 4) spec->fill.special = OPC_SPECIAL_EXTREME;
          if (change == 5) spec->fill.rounded_to = OPC_DTYPE_BFLOAT16;
          if (change == 6) spec->fill.filled_as = OPC_DTYPE_FLOAT16;
          if (change == 7) spec->strides[0] = 0;
          if (change == 8) spec->stream = opc_string_copy("x");
          assert_kept(spec, "x", 1);
          assert_kept(spec, "y", 1);
          assert_kept(spec, "x", 2);
          opc_tensor_spec_free(spec);
        }
  }
}

/* Sizes that share a kept fill, and shapes of as many elements, in any order. */
static void test_kept_of_many_sizes(void **state) {
  (void)state;
  static const int64_t counts[] = {5, 1, 16, 17, 15, 4096, 33, 4095, 4097, 2048, 5000};
  for (size_t i = 0; i < COUNT(counts); i++) {
    opc_tensor_spec_t *line = spec_of(OPC_DTYPE_FLOAT32, counts[i]),
                      *column = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, 3, (int64_t[]){1, counts[i], 2});
    line->fill = column->fill = (opc_fill_t){.kind = OPC_FILL_NORMAL};
    column->strides[1] = 1; /* transposed */
    column->strides[2] = counts[i];
    assert_kept(column, "sizes", 3);
    assert_kept(line, "sizes", 3);
    column->repeated = 1u << 1;
    assert_kept(column, "sizes", 3);
    opc_tensor_spec_free(line);
    opc_tensor_spec_free(column);
  }
}

/* More than the cache keeps, in one tensor and in many. */
static void test_kept_and_forgotten(void **state) {
  (void)state;
  enum { MOST = OPC_FILLS_KEPT_BYTES / 16 }; /* elements of complex128 */
  static const int64_t counts[] = {1, MOST / 5, MOST / 2, MOST / 3, MOST, MOST + 1, 7};
  for (int again = 0; again < 2; again++) {
    for (size_t i = 0; i < COUNT(counts); i++) {
      opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_COMPLEX128, counts[i]);
      assert_kept(spec, "x", 1);
      opc_tensor_spec_free(spec);
    }
  }
  opc_tensor_spec_t *none = spec_of(OPC_DTYPE_FLOAT32, 0);
  assert_kept(none, "x", 1);
  opc_tensor_spec_free(none);
}

static void spoil_shared_memory(void) {
  char line[256];
  uintptr_t start, end;
  size_t found = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps) != NULL) {
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " rw-s", &start, &end) != 2 || !strstr(line, " rw-s ") ||
        end - start < OPC_FILLS_KEPT_BYTES)
      continue;
    memset((void *)(end - OPC_FILLS_KEPT_BYTES), 0xee, OPC_FILLS_KEPT_BYTES);
    found++;
  }
  fclose(maps);
  assert_int_equal(found, 1);
}

/* Values filled in one process are used by the next; what that process wrote there by mistake is not. */
static void test_kept_by_others(void **state) {
  (void)state;
  for (int scribbles = 0; scribbles < 2; scribbles++) {
    opc_tensor_spec_t *spec = spec_of(OPC_DTYPE_FLOAT32, 40);
    pid_t child = fork();
    if (child == 0) {
      assert_kept(spec, "other process", (uint64_t)scribbles);
      if (scribbles) spoil_shared_memory();
      _exit(0);
    }
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_kept(spec, "other process", (uint64_t)scribbles);
    opc_tensor_spec_free(spec);
  }
}

/* For arguments that the search made up, it is unknown whether an index may have another value. */
static void test_other_seed(void **state) {
  (void)state;
  static const struct {
    opc_sample_source_t source;
    opc_dtype_t dtype;
    bool kept;
  } rows[] = {
      {OPC_SAMPLE_SEARCHED, OPC_DTYPE_INT64, true},  {OPC_SAMPLE_SEARCHED, OPC_DTYPE_INT32, true},
      {OPC_SAMPLE_SEARCHED, OPC_DTYPE_UINT8, false}, {OPC_SAMPLE_SEARCHED, OPC_DTYPE_FLOAT32, false},
      {OPC_SAMPLE_FILE, OPC_DTYPE_INT64, false},     {OPC_SAMPLE_RECORDED, OPC_DTYPE_INT32, false},
  };
  enum { ELEMENTS = 100, BYTES = ELEMENTS * 8 };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_tensor_spec_t *spec = spec_of(rows[i].dtype, ELEMENTS);
    const opc_sample_t sample = {.source = rows[i].source};
    const size_t bytes = ELEMENTS * opc_dtype_size(rows[i].dtype);
    char usual[BYTES], other[BYTES], given[BYTES];
    opc_error_t error = {0};
    assert_ok(opc_fill_logical(spec, "x", 1, usual, &error), error);
    assert_ok(opc_fill_logical(spec, "x", 2, other, &error), error);
    assert_ok(opc_sample_fill_other(&sample, spec, "x", 1, 2, given, &error), error);
    assert_memory_not_equal(usual, other, bytes);
    assert_memory_equal(given, rows[i].kept ? usual : other, bytes);
    opc_tensor_spec_free(spec);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_stream_and_seed),
      cmocka_unit_test(test_filled_as_and_rounded_to),
      cmocka_unit_test(test_complex_parts_are_independent),
      cmocka_unit_test(test_repeated_elements_agree),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_other_seed),
      cmocka_unit_test(test_special),
      cmocka_unit_test(test_changed),
      cmocka_unit_test(test_changed_rows),
      cmocka_unit_test(test_changed_numbers_are_of_the_narrow_dtype),
      cmocka_unit_test(test_scatter),
      cmocka_unit_test(test_scatter_behind_bits),
      cmocka_unit_test(test_kept),
      cmocka_unit_test(test_kept_of_many_sizes),
      cmocka_unit_test(test_kept_and_forgotten),
      cmocka_unit_test(test_kept_by_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
