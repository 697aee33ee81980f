#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"

/* ---- a slow reference for the two-byte formats ---- */

typedef struct reference {
  int exponent_bits, fraction_bits;
  uint16_t (*from_float)(float value);
  float (*to_float)(uint16_t bits);
} reference_t;

static const reference_t references[] = {
    {5, 10, opc_half_from_float, opc_half_to_float},
    {8, 7, opc_bfloat16_from_float, opc_bfloat16_to_float},
};

static uint16_t infinity_bits(const reference_t *format) {
  return (uint16_t)(((1 << format->exponent_bits) - 1) << format->fraction_bits);
}

/* Value of finite positive bits by definition; for the bits of infinity, the number that would follow the largest. */
static double defined_value(const reference_t *format, uint32_t bits) {
  int bias = (1 << (format->exponent_bits - 1)) - 1, exponent = (int)(bits >> format->fraction_bits);
  double fraction = ldexp((double)(bits & ((1u << format->fraction_bits) - 1)), -format->fraction_bits);
  return exponent ? ldexp(1.0 + fraction, exponent - bias) : ldexp(fraction, 1 - bias);
}

/* Nearest bits of a positive value, by bisection, ties to even. */
static uint16_t nearest_bits(const reference_t *format, double value) {
  uint32_t low = 0, high = infinity_bits(format);
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (defined_value(format, middle) <= value) low = middle;
    else high = middle;
  }
  double down = value - defined_value(format, low), up = defined_value(format, high) - value;
  if (down == up) return (uint16_t)(low & 1 ? high : low);
  return (uint16_t)(down < up ? low : high);
}

static uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void test_every_16_bit_number(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(references); i++) {
    const reference_t *format = &references[i];
    for (uint32_t bits = 0; bits < 65536; bits++) {
      uint32_t magnitude = bits & 0x7fff, infinity = infinity_bits(format);
      float value = format->to_float((uint16_t)bits);
      assert_int_equal(signbit(value) != 0, bits >> 15);
      if (magnitude > infinity) assert_true(isnan(value));
      else if (magnitude == infinity) assert_true(isinf(value));
      else assert_true((double)fabsf(value) == defined_value(format, magnitude));
      assert_int_equal(format->from_float(value), bits); /* including the payload of a NaN */
    }
  }
}

static void check_rounding(const reference_t *format, float value) {
  uint16_t expected = nearest_bits(format, (double)fabsf(value));
  if (signbit(value)) expected |= 0x8000;
  assert_int_equal(format->from_float(value), expected);
}

static void test_rounding_to_16_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(references); i++) {
    const reference_t *format = &references[i];
    for (uint32_t bits = 0; bits < infinity_bits(format);
         bits++) { /* the midpoint to the next number, and both sides of it */
      float middle = (float)((defined_value(format, bits) + defined_value(format, bits + 1)) / 2);
      if (isinf(middle)) continue;
      check_rounding(format, middle);
      check_rounding(format, nextafterf(middle, 0.0f));
      if (!isinf(nextafterf(middle, INFINITY))) check_rounding(format, nextafterf(middle, INFINITY));
      check_rounding(format, -middle);
    }
    for (uint64_t n = 0; n < 50000; n++) {
      float value = float_of((uint32_t)opc_random_u64(1, i, n));
      if (isfinite(value)) check_rounding(format, value);
    }
  }
}

static void test_edges_of_half(void **state) {
  (void)state;
  static const struct {
    uint32_t from;
    uint16_t half, bfloat16;
  } rows[] = {
      {0x477fe000, 0x7bff, 0x4780}, /* 65504, the largest half */
      {0x477fefff, 0x7bff, 0x4780}, /* just below the midpoint to the next number */
      {0x477ff000, 0x7c00, 0x4780}, /* the midpoint goes to even: infinity */
      {0x33800000, 0x0001, 0x3380}, /* 2^-24, the smallest denormal */
      {0x33000000, 0x0000, 0x3300}, /* half of it rounds to even: zero */
      {0x33000001, 0x0001, 0x3300}, {0x7f800000, 0x7c00, 0x7f80}, {0xff800000, 0xfc00, 0xff80}, /* infinities */
      {0x80000000, 0x8000, 0x8000},                                                             /* -0 */
      {0x7fc00001, 0x7e00, 0x7fc0}, /* a NaN loses the low bits of its payload… */
      {0x7f800001, 0x7e00, 0x7fc0}, /* …and stays NaN if those were all */
      {0x7fa02000, 0x7d01, 0x7fa0}, /* signalling stays signalling */
      {0x7f7fffff, 0x7c00, 0x7f80}, /* FLT_MAX overflows both */
      {0x00000001, 0x0000, 0x0000},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_int_equal(opc_half_from_float(float_of(rows[i].from)), rows[i].half);
    assert_int_equal(opc_bfloat16_from_float(float_of(rows[i].from)), rows[i].bfloat16);
  }
}

/* Every number of the float8 dtypes by definition, and values between two of them and above the largest, with the same
 * results as libtorch's conversion. */
static void test_float8(void **state) {
  (void)state;
  static const struct {
    opc_dtype_t dtype;
    int exponent_bits, fraction_bits, bias;
    uint32_t largest, beyond; /* bits of the largest number; bits of larger values */
    bool has_sign, has_zero;
  } rows[] = {
      {OPC_DTYPE_FLOAT8_E4M3FN, 4, 3, 7, 0x7e, 0x7f, true, true},
      {OPC_DTYPE_FLOAT8_E5M2, 5, 2, 15, 0x7b, 0x7c, true, true},
      {OPC_DTYPE_FLOAT8_E4M3FNUZ, 4, 3, 8, 0x7f, 0x80, true, true},
      {OPC_DTYPE_FLOAT8_E5M2FNUZ, 5, 2, 16, 0x7f, 0x80, true, true},
      {OPC_DTYPE_FLOAT8_E8M0FNU, 8, 0, 127, 0xfe, 0xff, false, false},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    double before = 0.0;
    for (uint32_t bits = 0; bits <= rows[i].largest; bits++) {
      uint32_t exponent = bits >> rows[i].fraction_bits, fraction = bits & ((1u << rows[i].fraction_bits) - 1);
      int hidden = exponent || !rows[i].has_zero;
      double value =
          ldexp(hidden + ldexp(fraction, -rows[i].fraction_bits), (int)(hidden ? exponent : 1) - rows[i].bias);
      unsigned char byte = (unsigned char)bits, stored;
      assert_true(opc_number_load_double(rows[i].dtype, &byte) == value);
      assert_true(opc_number_store((opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = value}, rows[i].dtype, &stored));
      assert_int_equal(stored, bits);
      opc_number_store((opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = -value}, rows[i].dtype, &stored);
      bool has_negative = rows[i].has_sign && (bits || opc_dtype_encoding(rows[i].dtype) != OPC_ENCODING_FNUZ);
      assert_int_equal(stored, has_negative ? bits | 0x80 : bits);
      if (bits) { /* the midpoint goes to even, in a dtype of powers up */
        opc_number_store((opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = (before + value) / 2}, rows[i].dtype, &stored);
        assert_int_equal(stored, rows[i].has_zero && (bits & 1) ? bits - 1 : bits);
        opc_number_store((opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = nextafter((before + value) / 2, 0.0)},
                         rows[i].dtype, &stored);
        assert_int_equal(stored, bits - 1);
      }
      before = value;
    }
    const double specials[] = {before * 2, INFINITY, NAN};
    for (size_t k = 0; k < COUNT(specials); k++) {
      unsigned char stored;
      opc_number_store((opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = specials[k]}, rows[i].dtype, &stored);
      bool infinite = k < 2 && opc_dtype_has_infinity(rows[i].dtype);
      assert_true(infinite ? isinf(opc_number_load_double(rows[i].dtype, &stored))
                           : isnan(opc_number_load_double(rows[i].dtype, &stored)));
      if (k < 2) assert_int_equal(stored, rows[i].beyond);
    }
  }
}

/* A double just off a tie of half: via float it would be rounded twice, and wrongly. */
static void test_double_is_rounded_once(void **state) {
  (void)state;
  double off = 1.0 + 0x1p-11 + 0x1p-40;
  uint16_t bits;
  assert_true(opc_number_store((opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = off}, OPC_DTYPE_FLOAT16, &bits));
  assert_int_equal(bits, 0x3c01);
  int64_t integer = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1; /* the same for int64 via double */
  assert_true(opc_number_store((opc_number_t){.kind = OPC_NUMBER_INT, .i = integer}, OPC_DTYPE_BFLOAT16, &bits));
  assert_int_equal(bits, 0x5e81);
  for (uint64_t n = 0; n < 50000; n++) {
    int64_t value = (int64_t)opc_random_u64(2, 0, n);
    float stored;
    opc_number_store((opc_number_t){.kind = OPC_NUMBER_INT, .i = value}, OPC_DTYPE_FLOAT32, &stored);
    assert_true(stored == (float)value);
    double real = ldexp((double)value, -(int)(n % 300));
    opc_number_store((opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = real}, OPC_DTYPE_FLOAT32, &stored);
    assert_int_equal(float_bits(stored), float_bits((float)real));
  }
}

static opc_number_t integer(int64_t i) { return (opc_number_t){.kind = OPC_NUMBER_INT, .i = i}; }
static opc_number_t floating(double f) { return (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = f}; }

static void test_store_and_format(void **state) {
  (void)state;
  const struct {
    opc_number_t number;
    opc_dtype_t dtype;
    const char *text;
  } rows[] = {
      {integer(7), OPC_DTYPE_INT32, "7"},
      {integer(300), OPC_DTYPE_UINT8, "44"}, /* wraps */
      {integer(200), OPC_DTYPE_INT8, "-56"},
      {integer(-1), OPC_DTYPE_UINT64, "18446744073709551615"},
      {integer(INT64_MIN), OPC_DTYPE_INT64, "-9223372036854775808"},
      {floating(-2.9), OPC_DTYPE_INT16, "-2"},
      {floating(1e30), OPC_DTYPE_INT32, "2147483647"}, /* saturates */
      {floating(-1e30), OPC_DTYPE_INT64, "-9223372036854775808"},
      {floating(1e30), OPC_DTYPE_UINT64, "18446744073709551615"},
      {floating(-0.5), OPC_DTYPE_UINT8, "0"},
      {floating(-3.0), OPC_DTYPE_UINT32, "0"},
      {floating(NAN), OPC_DTYPE_INT32, "0"},
      {floating(0.5), OPC_DTYPE_BOOL, "true"},
      {integer(0), OPC_DTYPE_BOOL, "false"},
      {floating(1.5), OPC_DTYPE_FLOAT32, "1.5"},
      {floating(2.0), OPC_DTYPE_FLOAT64, "2.0"},
      {floating(-10.0), OPC_DTYPE_FLOAT16, "-10.0"},
      {floating(65504.0), OPC_DTYPE_FLOAT16, "65504.0"},
      {floating(1000000.0), OPC_DTYPE_FLOAT32, "1000000.0"},
      {floating(1e-7), OPC_DTYPE_FLOAT32, "1e-07"},
      {floating(123.456), OPC_DTYPE_BFLOAT16, "123.5"},
      {{.kind = OPC_NUMBER_COMPLEX, .c = {20, -10}}, OPC_DTYPE_COMPLEX64, "(20-10j)"},
      {floating(-0.0), OPC_DTYPE_BFLOAT16, "-0.0"},
      {floating(0.1), OPC_DTYPE_FLOAT16, "0.1"},
      {floating(0.1), OPC_DTYPE_FLOAT64, "0.1"},
      {floating(1.0 / 3), OPC_DTYPE_FLOAT32, "0.33333334"},
      {floating(1e20), OPC_DTYPE_FLOAT32, "1e+20"},
      {floating(1e20), OPC_DTYPE_FLOAT16, "inf"},
      {floating(NAN), OPC_DTYPE_FLOAT16, "nan"},
      {floating(-INFINITY), OPC_DTYPE_BFLOAT16, "-inf"},
      {{.kind = OPC_NUMBER_COMPLEX, .c = {1, 2}}, OPC_DTYPE_COMPLEX64, "(1+2j)"},
      {{.kind = OPC_NUMBER_COMPLEX, .c = {1.5, -2}}, OPC_DTYPE_COMPLEX32, "(1.5-2j)"},
      {{.kind = OPC_NUMBER_COMPLEX, .c = {1.5, -2}}, OPC_DTYPE_FLOAT32, "1.5"},
      {integer(3), OPC_DTYPE_COMPLEX128, "(3+0j)"},
      {{.kind = OPC_NUMBER_BITS, .bits = 0x80000000}, OPC_DTYPE_FLOAT32, "-0.0"},
      {{.kind = OPC_NUMBER_BITS, .bits = 0x3ff0000000000000}, OPC_DTYPE_COMPLEX128, "(1+0j)"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    unsigned char element[17] = {0};
    char text[64];
    assert_true(opc_number_store(rows[i].number, rows[i].dtype, element + 1)); /* unaligned */
    assert_string_equal(opc_number_format(rows[i].dtype, element + 1, text, sizeof text), rows[i].text);
  }
  char small[4];
  float value = 123.456f;
  assert_string_equal(opc_number_format(OPC_DTYPE_FLOAT32, &value, small, sizeof small), "123");
  assert_false(opc_number_store(integer(1), OPC_DTYPE_OTHER, small));
}

static void test_load(void **state) {
  (void)state;
  int8_t tiny = -5;
  uint64_t large = UINT64_MAX;
  float nan_bits = float_of(0x7fc12345), again;
  assert_int_equal(opc_number_load(OPC_DTYPE_INT8, &tiny).i, -5);
  assert_int_equal(opc_number_load(OPC_DTYPE_UINT64, &large).kind, OPC_NUMBER_FLOAT);
  assert_true(opc_number_load_double(OPC_DTYPE_UINT64, &large) == 0x1p64);
  opc_number_store(opc_number_load(OPC_DTYPE_FLOAT32, &nan_bits), OPC_DTYPE_FLOAT32, &again);
  assert_int_equal(float_bits(again), 0x7fc12345);
  const double parts[2] = {3, -4};
  assert_true(opc_number_load(OPC_DTYPE_COMPLEX128, parts).c.im == -4);
  assert_true(opc_number_load_double(OPC_DTYPE_COMPLEX128, parts) == 3);
}

static void is_same(opc_dtype_t dtype, uint64_t left, uint64_t right, bool expected) {
  assert_true(opc_number_is_same(dtype, &left, &right) == expected);
}

static void test_same(void **state) {
  (void)state;
  is_same(OPC_DTYPE_FLOAT32, 0x7fffffff, 0x7fc00001, true); /* a GPU's NaN, and one of a CPU */
  is_same(OPC_DTYPE_FLOAT32, 0xffc00000, 0x7f800001, true);
  is_same(OPC_DTYPE_FLOAT32, 0x7fffffff, 0x7f800000, false); /* an infinity */
  is_same(OPC_DTYPE_FLOAT32, 0x80000000, 0, false);          /* the zeros */
  is_same(OPC_DTYPE_BFLOAT16, 0x7fff, 0x7fc1, true);
  is_same(OPC_DTYPE_FLOAT8_E4M3FN, 0x7f, 0xff, true);
  is_same(OPC_DTYPE_INT32, 0x7fffffff, 0x7fc00001, false);
  is_same(OPC_DTYPE_COMPLEX64, 0x7fffffff3f800000, 0x7fc000013f800000, true); /* in the imaginary part */
  is_same(OPC_DTYPE_COMPLEX64, 0x7fffffff3f800000, 0x7fc0000140000000, false);
}

static void test_ulp_and_max(void **state) {
  (void)state;
  const struct {
    opc_dtype_t dtype;
    double at_zero, at_one, at_three, max;
  } rows[] = {
      {OPC_DTYPE_FLOAT64, 0x1p-1074, DBL_EPSILON, 2 * DBL_EPSILON, DBL_MAX},
      {OPC_DTYPE_FLOAT32, 0x1p-149, (double)FLT_EPSILON, 2 * (double)FLT_EPSILON, (double)FLT_MAX},
      {OPC_DTYPE_FLOAT16, 0x1p-24, 0x1p-10, 0x1p-9, 65504},
      {OPC_DTYPE_BFLOAT16, 0x1p-133, 0x1p-7, 0x1p-6, 0x1.fep127},
      {OPC_DTYPE_COMPLEX64, 0x1p-149, 0x1p-23, 0x1p-22, (double)FLT_MAX},
      {OPC_DTYPE_FLOAT8_E4M3FN, 0x1p-9, 0x1p-3, 0x1p-2, 448},
      {OPC_DTYPE_FLOAT8_E5M2, 0x1p-16, 0x1p-2, 0x1p-1, 57344},
      {OPC_DTYPE_FLOAT8_E4M3FNUZ, 0x1p-10, 0x1p-3, 0x1p-2, 240},
      {OPC_DTYPE_FLOAT8_E5M2FNUZ, 0x1p-17, 0x1p-2, 0x1p-1, 57344},
      {OPC_DTYPE_FLOAT8_E8M0FNU, 0x1p-127, 1, 2, 0x1p127},
      {OPC_DTYPE_INT8, 0, 0, 0, 127},
      {OPC_DTYPE_UINT16, 0, 0, 0, 65535},
      {OPC_DTYPE_UINT64, 0, 0, 0, 0x1p64},
      {OPC_DTYPE_BOOL, 0, 0, 0, 1},
      {OPC_DTYPE_OTHER, 0, 0, 0, 0},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    assert_true(opc_dtype_ulp(rows[i].dtype, 0.0) == rows[i].at_zero);
    assert_true(opc_dtype_ulp(rows[i].dtype, 1.0) == rows[i].at_one);
    assert_true(opc_dtype_ulp(rows[i].dtype, -3.0) == rows[i].at_three);
    assert_true(opc_dtype_max(rows[i].dtype) == rows[i].max);
  }
  assert_true(opc_dtype_ulp(OPC_DTYPE_FLOAT16, INFINITY) == 32.0);
  assert_true(opc_dtype_ulp(OPC_DTYPE_FLOAT16, 1e-7) == 0x1p-24);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_16_bit_number),
      cmocka_unit_test(test_rounding_to_16_bits),
      cmocka_unit_test(test_float8),
      cmocka_unit_test(test_edges_of_half),
      cmocka_unit_test(test_double_is_rounded_once),
      cmocka_unit_test(test_store_and_format),
      cmocka_unit_test(test_load),
      cmocka_unit_test(test_same),
      cmocka_unit_test(test_ulp_and_max),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
