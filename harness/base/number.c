#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are stored with the low-order byte first");

/* An IEEE 754 binary interchange format, or one modelled on them. */
typedef struct opc_format {
  int exponent_bits, fraction_bits;
  opc_encoding_t encoding;
} opc_format_t;

static const opc_format_t half_format = {5, 10, OPC_ENCODING_IEEE}, bfloat16_format = {8, 7, OPC_ENCODING_IEEE},
                          float_format = {8, 23, OPC_ENCODING_IEEE};

/* Of the floating dtypes; the parts of a complex dtype have their own dtype. */
static const opc_format_t formats[OPC_DTYPE_COUNT] = {
    {0, 0, OPC_ENCODING_NONE},
#define OPC_DTYPE(constant, name, scalar_type, bytes, kind, digits, encoding)                        \
  {OPC_ENCODING_##encoding == OPC_ENCODING_POWER ? 8 * (bytes) : 8 * (bytes) - (digits), (digits)-1, \
   OPC_ENCODING_##encoding},
#include "base/dtype.def"
#undef OPC_DTYPE
};

static opc_format_t format_of(opc_dtype_t dtype) {
  return formats[(unsigned)dtype < OPC_DTYPE_COUNT ? dtype : OPC_DTYPE_OTHER];
}

static int format_bias(opc_format_t format) {
  return (1 << (format.exponent_bits - 1)) - (format.encoding != OPC_ENCODING_FNUZ);
}

/* Exponent of the largest number. */
static int format_exponent_max(opc_format_t format) {
  const int top = (1 << format.exponent_bits) - 1;
  bool numbers_at_top = format.encoding == OPC_ENCODING_FN || format.encoding == OPC_ENCODING_FNUZ;
  return (numbers_at_top ? top : top - 1) - format_bias(format);
}

/* Both conversions work only on the bits: a signalling NaN is preserved. A rounding or flush-to-zero mode that an
 * operator left set does not change what the harness computes. */

static const uint64_t wide_infinity = UINT64_C(0x7ff) << 52, wide_nan = UINT64_C(0x7ff8) << 48;

static uint64_t widen_power(uint64_t bits, opc_format_t format) {
  if (bits == (UINT64_C(1) << format.exponent_bits) - 1) return wide_nan;
  return (uint64_t)((int)bits - format_bias(format) + 1023) << 52;
}

static uint64_t widen(uint64_t bits, opc_format_t format) {
  const int top = (1 << format.exponent_bits) - 1, shift = 52 - format.fraction_bits,
            width = format.exponent_bits + format.fraction_bits;
  if (format.encoding == OPC_ENCODING_POWER) return widen_power(bits, format);
  uint64_t sign = (bits >> width) << 63;
  int exponent = (int)(bits >> format.fraction_bits) & top;
  uint64_t fraction = bits & ((UINT64_C(1) << format.fraction_bits) - 1);
  if (format.encoding == OPC_ENCODING_FN && (~bits & ((UINT64_C(1) << width) - 1)) == 0) return sign | wide_nan;
  if (format.encoding == OPC_ENCODING_FNUZ && bits == UINT64_C(1) << width) return wide_nan;
  if (format.encoding == OPC_ENCODING_IEEE && exponent == top) return sign | wide_infinity | fraction << shift;
  if (exponent == 0) {
    if (fraction == 0) return sign;
    exponent = 1;
    while (!(fraction >> format.fraction_bits)) {
      fraction <<= 1;
      exponent--;
    }
    fraction &= (UINT64_C(1) << format.fraction_bits) - 1;
  }
  return sign | (uint64_t)(exponent - format_bias(format) + 1023) << 52 | fraction << shift;
}

/* A magnitude's bits, up to the largest number's; above that, the bits used for overflow. */
static uint64_t narrow_end(uint64_t result, uint64_t sign, opc_format_t format) {
  const uint64_t ones = (UINT64_C(1) << (format.exponent_bits + format.fraction_bits)) - 1;
  const uint64_t infinity = ((UINT64_C(1) << format.exponent_bits) - 1) << format.fraction_bits;
  switch (format.encoding) {
    case OPC_ENCODING_FN:
      return sign | (result >= ones ? ones : result);
    case OPC_ENCODING_FNUZ:
      return result > ones ? ones + 1 : result ? sign | result : 0;
    case OPC_ENCODING_POWER: /* no sign and no zero */
      return result >= ones ? ones : result;
    default:
      return sign | (result >= infinity ? infinity : result);
  }
}

static uint64_t narrow_special(uint64_t fraction, uint64_t sign, opc_format_t format) {
  const uint64_t infinity = ((UINT64_C(1) << format.exponent_bits) - 1) << format.fraction_bits;
  if (format.encoding != OPC_ENCODING_IEEE) return narrow_end(UINT64_MAX, sign, format);
  uint64_t payload = fraction >> (52 - format.fraction_bits);
  /* With all payload bits cut off, the NaN would become an infinity. */
  if (fraction && !payload) payload = UINT64_C(1) << (format.fraction_bits - 1);
  return sign | infinity | payload;
}

static uint64_t narrow(uint64_t bits, opc_format_t format) {
  uint64_t sign = (bits >> 63) << (format.exponent_bits + format.fraction_bits);
  int exponent = (int)(bits >> 52) & 0x7ff;
  uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  int shift = 52 - format.fraction_bits;
  if (exponent == 0x7ff) return narrow_special(fraction, sign, format);
  if (exponent == 0)
    return narrow_end(0, sign,
                      format); /* the denormals of double are below half of any other format's smallest number */

  int target = exponent - 1023 + format_bias(format);
  if (format.encoding == OPC_ENCODING_POWER)
    return narrow_end(target < 0 ? 0 : (uint64_t)target + (fraction >> 51), 0, format); /* a tie goes up */
  uint64_t significand = fraction | UINT64_C(1) << 52;
  if (target <= 0) { /* a denormal of the format: more bits are cut off */
    shift += 1 - target;
    target = 0;
    if (shift > 54) return narrow_end(0, sign, format);
  }
  uint64_t kept = significand >> shift, rest = significand & ((UINT64_C(1) << shift) - 1);
  uint64_t halfway = UINT64_C(1) << (shift - 1);
  kept += rest + (kept & 1) >
          halfway; /* round to nearest, ties to even; no branch, which would be mispredicted half of the time */
  /* The hidden bit adds one to the exponent field; so does a carry out of the fraction. */
  return narrow_end(target > 0 ? ((uint64_t)(target - 1) << format.fraction_bits) + kept : kept, sign, format);
}

static uint64_t double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double double_from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t float_widened(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return widen(bits, float_format);
}

static float float_narrowed(uint64_t wide) {
  uint32_t bits = (uint32_t)narrow(wide, float_format);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

uint16_t opc_half_from_float(float value) { return (uint16_t)narrow(float_widened(value), half_format); }
float opc_half_to_float(uint16_t bits) { return float_narrowed(widen(bits, half_format)); }
uint16_t opc_bfloat16_from_float(float value) { return (uint16_t)narrow(float_widened(value), bfloat16_format); }
float opc_bfloat16_to_float(uint16_t bits) { return float_narrowed(widen(bits, bfloat16_format)); }

/* The real dtype of a complex dtype's parts; a real dtype itself. */
static opc_dtype_t part_dtype(opc_dtype_t dtype) {
  switch (dtype) {
    case OPC_DTYPE_COMPLEX32:
      return OPC_DTYPE_FLOAT16;
    case OPC_DTYPE_COMPLEX64:
      return OPC_DTYPE_FLOAT32;
    case OPC_DTYPE_COMPLEX128:
      return OPC_DTYPE_FLOAT64;
    default:
      return dtype;
  }
}

static void store_floating(double value, opc_dtype_t dtype, void *out) {
  uint64_t bits = double_bits(value);
  if (dtype != OPC_DTYPE_FLOAT64) bits = narrow(bits, format_of(dtype));
  memcpy(out, &bits, opc_dtype_size(dtype));
}

static double load_floating(opc_dtype_t dtype, const void *in) {
  uint64_t bits = 0;
  memcpy(&bits, in, opc_dtype_size(dtype));
  if (dtype != OPC_DTYPE_FLOAT64) bits = widen(bits, format_of(dtype));
  return double_from_bits(bits);
}

/* An integer as double for conversion to a narrower format: rounded to odd, so that the second rounding is correct. */
static double integer_for_rounding(int64_t value) {
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  int shift = 0;
  for (uint64_t high = magnitude >> 53; high; high >>= 1) shift++;
  if (shift) {
    uint64_t lost = magnitude & ((UINT64_C(1) << shift) - 1);
    magnitude = (magnitude >> shift | (lost != 0)) << shift;
  }
  double result = (double)magnitude;
  return value < 0 ? -result : result;
}

static uint64_t integer_from_double(double value, opc_dtype_t dtype) {
  const int width = 8 * (int)opc_dtype_size(dtype);
  if (isnan(value)) return 0;
  if (opc_dtype_class(dtype) == OPC_CLASS_UNSIGNED) {
    if (value <= -1.0) return 0;
    if (value >= ldexp(1.0, width)) return UINT64_MAX;
    return (uint64_t)value;
  }
  if (value >= ldexp(1.0, width - 1)) return (UINT64_C(1) << (width - 1)) - 1;
  if (value < -ldexp(1.0, width - 1)) return UINT64_C(1) << (width - 1);
  return (uint64_t)(int64_t)value;
}

static bool number_is_zero(opc_number_t number) {
  switch (number.kind) {
    case OPC_NUMBER_INT:
      return number.i == 0;
    case OPC_NUMBER_FLOAT:
      return number.f == 0.0;
    case OPC_NUMBER_COMPLEX:
      return number.c.re == 0.0 && number.c.im == 0.0;
    case OPC_NUMBER_BITS:
      return number.bits == 0;
  }
  return true;
}

bool opc_number_store(opc_number_t number, opc_dtype_t dtype, void *out) {
  const size_t size = opc_dtype_size(dtype);
  if (size == 0) return false;
  if (number.kind == OPC_NUMBER_BITS) {
    memset(out, 0, size);
    memcpy(out, &number.bits, size < sizeof number.bits ? size : sizeof number.bits);
    return true;
  }
  double re = number.kind == OPC_NUMBER_COMPLEX ? number.c.re : number.kind == OPC_NUMBER_FLOAT ? number.f : 0.0;
  double im = number.kind == OPC_NUMBER_COMPLEX ? number.c.im : 0.0;
  opc_dtype_t part = part_dtype(dtype);
  if (number.kind == OPC_NUMBER_INT) re = part == OPC_DTYPE_FLOAT64 ? (double)number.i : integer_for_rounding(number.i);

  uint64_t integer;
  switch (opc_dtype_class(dtype)) {
    case OPC_CLASS_FLOATING:
      store_floating(re, dtype, out);
      return true;
    case OPC_CLASS_COMPLEX:
      store_floating(re, part, out);
      store_floating(im, part, (char *)out + opc_dtype_size(part));
      return true;
    case OPC_CLASS_BOOLEAN:
      *(unsigned char *)out = !number_is_zero(number);
      return true;
    case OPC_CLASS_SIGNED:
    case OPC_CLASS_UNSIGNED:
      integer = number.kind == OPC_NUMBER_INT ? (uint64_t)number.i : integer_from_double(re, dtype);
      memcpy(out, &integer, size);
      return true;
    case OPC_CLASS_OTHER:
      break;
  }
  return false;
}

opc_number_t opc_number_load(opc_dtype_t dtype, const void *in) {
  opc_number_t number = {.kind = OPC_NUMBER_INT, .i = 0};
  const size_t size = opc_dtype_size(dtype);
  const opc_dtype_t part = part_dtype(dtype);
  uint64_t bits = 0;
  switch (opc_dtype_class(dtype)) {
    case OPC_CLASS_FLOATING:
      number.kind = OPC_NUMBER_FLOAT;
      number.f = load_floating(dtype, in);
      break;
    case OPC_CLASS_COMPLEX:
      number.kind = OPC_NUMBER_COMPLEX;
      number.c.re = load_floating(part, in);
      number.c.im = load_floating(part, (const char *)in + opc_dtype_size(part));
      break;
    case OPC_CLASS_SIGNED:
      memcpy(&bits, in, size);
      bits <<= 64 - 8 * size;
      number.i = (int64_t)bits >> (64 - 8 * size);
      break;
    case OPC_CLASS_UNSIGNED:
      memcpy(&bits, in, size);
      if (bits > INT64_MAX) return (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = (double)bits};
      number.i = (int64_t)bits;
      break;
    case OPC_CLASS_BOOLEAN:
      number.i = *(const unsigned char *)in != 0;
      break;
    case OPC_CLASS_OTHER:
      break;
  }
  return number;
}

double opc_number_load_double(opc_dtype_t dtype, const void *in) {
  opc_number_t number = opc_number_load(dtype, in);
  if (number.kind == OPC_NUMBER_INT) return (double)number.i;
  return number.kind == OPC_NUMBER_COMPLEX ? number.c.re : number.f;
}

/* The shortest decimal that reads back as the same element. */
static void format_floating(opc_dtype_t dtype, double value, bool with_point, char *out, size_t size) {
  enum { PLAIN_DIGITS = 7 }; /* 10, not 1e+01; but 1e+20 */
  if (!isfinite(value)) {
    snprintf(out, size, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  char text[40];
  int digits = 0;
  uint64_t again = 0, wanted = 0;
  store_floating(value, dtype, &wanted);
  do {
    snprintf(text, sizeof text, "%.*g", ++digits, value);
    store_floating(strtod(text, NULL), dtype, &again);
  } while (again != wanted && digits < 17);
  if (digits < PLAIN_DIGITS && fabs(value) >= 1.0) {
    char plain[40];
    snprintf(plain, sizeof plain, "%.*g", PLAIN_DIGITS, value);
    if (!strchr(plain, 'e') && fabs(value) == floor(fabs(value))) memcpy(text, plain, sizeof text);
  }
  bool integral = !strpbrk(text, ".e");
  snprintf(out, size, "%s%s", text, integral && with_point ? ".0" : "");
}

static bool part_is_same(double left, double right) {
  return memcmp(&left, &right, sizeof left) == 0 || (isnan(left) && isnan(right));
}

bool opc_number_is_same(opc_dtype_t dtype, const void *left, const void *right) {
  if (memcmp(left, right, opc_dtype_size(dtype)) == 0) return true;
  if (!opc_dtype_is_inexact(dtype)) return false;
  const opc_number_t a = opc_number_load(dtype, left), b = opc_number_load(dtype, right);
  if (a.kind == OPC_NUMBER_COMPLEX && b.kind == OPC_NUMBER_COMPLEX)
    return part_is_same(a.c.re, b.c.re) && part_is_same(a.c.im, b.c.im);
  return a.kind == OPC_NUMBER_FLOAT && b.kind == OPC_NUMBER_FLOAT && isnan(a.f) && isnan(b.f);
}

char *opc_number_format(opc_dtype_t dtype, const void *in, char *out, size_t size) {
  if (size == 0) return out;
  opc_number_t number = opc_number_load(dtype, in);
  uint64_t bits = 0;
  char re[40], im[40];
  switch (opc_dtype_class(dtype)) {
    case OPC_CLASS_FLOATING:
      format_floating(dtype, number.f, true, out, size);
      break;
    case OPC_CLASS_COMPLEX:
      format_floating(part_dtype(dtype), number.c.re, false, re, sizeof re);
      format_floating(part_dtype(dtype), number.c.im, false, im, sizeof im);
      snprintf(out, size, "(%s%s%sj)", re, im[0] == '-' ? "" : "+", im);
      break;
    case OPC_CLASS_SIGNED:
      snprintf(out, size, "%lld", (long long)number.i);
      break;
    case OPC_CLASS_UNSIGNED:
      memcpy(&bits, in, opc_dtype_size(dtype));
      snprintf(out, size, "%llu", (unsigned long long)bits);
      break;
    case OPC_CLASS_BOOLEAN:
      snprintf(out, size, "%s", number.i ? "true" : "false");
      break;
    case OPC_CLASS_OTHER:
      snprintf(out, size, "?");
      break;
  }
  return out;
}

double opc_dtype_ulp(opc_dtype_t dtype, double value) {
  const opc_dtype_t part = part_dtype(dtype);
  if (opc_dtype_encoding(part) == OPC_ENCODING_NONE) return 0.0;
  const opc_format_t format = format_of(part);
  const int lowest = (format.encoding != OPC_ENCODING_POWER) - format_bias(format),
            highest = format_exponent_max(format);
  int exponent = value == 0.0 ? lowest : isfinite(value) ? ilogb(value) : highest;
  if (exponent < lowest) exponent = lowest;
  if (exponent > highest) exponent = highest;
  return ldexp(1.0, exponent - format.fraction_bits);
}

double opc_dtype_max(opc_dtype_t dtype) {
  const opc_dtype_t part = part_dtype(dtype);
  const int width = 8 * (int)opc_dtype_size(dtype);
  if (opc_dtype_encoding(part) != OPC_ENCODING_NONE) {
    const opc_format_t format = format_of(part);
    /* Without infinities, all ones are NaN: the number before it is the largest. */
    double significand = 2.0 - ldexp(format.encoding == OPC_ENCODING_FN ? 2.0 : 1.0, -format.fraction_bits);
    return ldexp(significand, format_exponent_max(format));
  }
  switch (opc_dtype_class(dtype)) {
    case OPC_CLASS_SIGNED:
      return (double)((UINT64_C(1) << (width - 1)) - 1);
    case OPC_CLASS_UNSIGNED:
      return (double)(UINT64_MAX >> (64 - width));
    case OPC_CLASS_BOOLEAN:
      return 1.0;
    default:
      return 0.0;
  }
}

bool opc_dtype_has_infinity(opc_dtype_t dtype) { return opc_dtype_encoding(dtype) == OPC_ENCODING_IEEE; }
