/* Arithmetic in half precision, one number or two in a register. Values are calculated as doubles, with the sign of
 * what a double cannot hold, and rounded once. */
#include <fenv.h>

#include "cuda/ptx/ptx_machine.h"
#include "cuda/ptx/ptx_numbers.h"

enum { SIGN = 0x8000 };

/* Bits of the mantissa that are stored, the exponent of the smallest normal number, the bits of infinity. */
static int mantissa_of(opc_ptx_says_t type) { return type == OPC_PTX_TYPE_F16 ? 10 : 7; }
static int smallest_exponent(opc_ptx_says_t type) { return type == OPC_PTX_TYPE_F16 ? -14 : -126; }
static uint32_t infinity_of(opc_ptx_says_t type) { return type == OPC_PTX_TYPE_F16 ? 0x7c00 : 0x7f80; }

double opc_ptx_half_value(uint16_t bits, opc_ptx_says_t type, bool ftz) {
  if (type == OPC_PTX_TYPE_BF16) return (double)opc_ptx_float_of((uint64_t)bits << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  double value = exponent == 31  ? (fraction != 0 ? (double)NAN : (double)INFINITY)
                 : exponent == 0 ? (ftz ? 0.0 : ldexp(fraction, -24))
                                 : ldexp(fraction + 1024, exponent - 25);
  return (bits & SIGN) != 0 ? -value : value;
}

/* Whether the size is rounded up, from the part that does not fit: its comparison with one half, and whether there is
 * one. */
static bool goes_up(opc_ptx_says_t round, bool negative, int half, bool inexact, bool odd) {
  switch (round) {
    case OPC_PTX_ROUND_RZ:
      return false;
    case OPC_PTX_ROUND_RM:
      return negative && inexact;
    case OPC_PTX_ROUND_RP:
      return !negative && inexact;
    default:
      return half > 0 || (half == 0 && odd);
  }
}

uint16_t opc_ptx_half_round(opc_ptx_inexact_t from, opc_ptx_says_t type, opc_ptx_says_t round) {
  const int mantissa = mantissa_of(type), smallest = smallest_exponent(type);
  const bool negative = signbit(from.value) != 0;
  const uint32_t sign = negative ? SIGN : 0, infinite = infinity_of(type);
  const double size = fabs(from.value);
  const int rest = negative ? -from.rest : from.rest;
  int fraction_exponent;
  if (size != size) return OPC_PTX_HALF_NAN;
  if (isinf(size)) return (uint16_t)(sign | infinite);
  if (size == 0 && rest == 0) return (uint16_t)sign;
  const double fraction = frexp(size, &fraction_exponent);
  int exponent = fraction_exponent - 1; /* a power of two that is a little too large is of the binade below */
  if (size == 0) exponent = smallest;
  else if (fraction == 0.5 && rest < 0) exponent--;
  if (exponent < smallest) exponent = smallest;
  const double scaled = ldexp(size, mantissa - exponent), whole = floor(scaled), part = scaled - whole;
  const bool below = part == 0 && rest < 0;
  const uint32_t number = (uint32_t)whole - below;
  const int half = below ? 1 : part > 0.5 ? 1 : part < 0.5 ? -1 : rest;
  const bool inexact = part != 0 || rest != 0;
  uint32_t bits = ((uint32_t)(exponent - smallest) << mantissa) + number;
  if (exponent - smallest > 300) bits = infinite; /* far too large */
  const bool too_large = bits >= infinite;
  if (!too_large) bits += goes_up(round, negative, half, inexact, (number & 1) != 0);
  if (bits >= infinite) {
    const bool stays = round == OPC_PTX_ROUND_RZ || (round == OPC_PTX_ROUND_RM && !negative) ||
                       (round == OPC_PTX_ROUND_RP && negative);
    bits = too_large && stays ? infinite - 1 : infinite;
  }
  return (uint16_t)(sign | bits);
}

/* ---- exact sums ---- */

static opc_ptx_inexact_t exact_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a, rest = (a - (sum - of_b)) + (b - of_b);
  return (opc_ptx_inexact_t){sum, isfinite(sum) ? (rest > 0) - (rest < 0) : 0};
}

/* ---- the instructions ---- */

typedef struct halves {
  opc_ptx_says_t type; /* of one */
  unsigned count;
  bool ftz;
} halves_t;

static halves_t halves_of(const opc_ptx_op_t *op) {
  const opc_ptx_says_t type = op->form.type[0];
  const bool two = type == OPC_PTX_TYPE_F16X2 || type == OPC_PTX_TYPE_BF16X2;
  const bool brain = type == OPC_PTX_TYPE_BF16 || type == OPC_PTX_TYPE_BF16X2;
  return (halves_t){brain ? OPC_PTX_TYPE_BF16 : OPC_PTX_TYPE_F16, two ? 2 : 1,
                    (op->form.flags & OPC_PTX_FLAG_FTZ) != 0};
}

static uint16_t finished(opc_ptx_inexact_t from, const halves_t *halves, uint16_t flags) {
  const uint16_t one = halves->type == OPC_PTX_TYPE_F16 ? 0x3c00 : 0x3f80;
  uint16_t bits = opc_ptx_half_round(from, halves->type, OPC_PTX_ROUND_RN);
  if (halves->ftz && (bits & 0x7c00) == 0) bits &= SIGN;
  if ((flags & OPC_PTX_FLAG_SAT) != 0) return !(from.value > 0) ? 0 : bits > one ? one : bits;
  if ((flags & OPC_PTX_FLAG_RELU) != 0 && (bits & SIGN) != 0) return 0;
  return bits;
}

/* The values of one half of each operand. */
#define HALF_ARITHMETIC(name, expression)                                                                 \
  static void name##_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {                   \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                                         \
    const unsigned last = op->slots - 1u;                                                                 \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, last > 1 ? 2 : 1), \
                          *const c = opc_ptx_in(warp, op, last);                                          \
    const halves_t halves = halves_of(op);                                                                \
    OPC_PTX_EACH(mask, {                                                                                  \
      uint64_t out = 0;                                                                                   \
      for (unsigned i = 0; i < halves.count; i++) {                                                       \
        const double x = opc_ptx_half_value((uint16_t)(a[l] >> 16 * i), halves.type, halves.ftz);         \
        const double y = opc_ptx_half_value((uint16_t)(b[l] >> 16 * i), halves.type, halves.ftz);         \
        const double z = opc_ptx_half_value((uint16_t)(c[l] >> 16 * i), halves.type, halves.ftz);         \
        (void)y;                                                                                          \
        (void)z;                                                                                          \
        out |= (uint64_t)finished(expression, &halves, op->form.flags) << 16 * i;                         \
      }                                                                                                   \
      d[l] = out;                                                                                         \
    });                                                                                                   \
  }                                                                                                       \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {                                             \
    (void)form;                                                                                           \
    return name##_run;                                                                                    \
  }
#define EXACT(value) ((opc_ptx_inexact_t){value, 0})
HALF_ARITHMETIC(half_add, exact_sum(x, y))
HALF_ARITHMETIC(half_sub, exact_sum(x, -y))
HALF_ARITHMETIC(half_mul, EXACT(x *y))
HALF_ARITHMETIC(half_fma, exact_sum(x *y, z))
/* Approximations: 2^-9.9 relative (f16), 2^-7 (bf16); tanh: 2^-10.987 and 2^-8. */
HALF_ARITHMETIC(half_ex2, EXACT(exp2(x)))
HALF_ARITHMETIC(half_tanh, EXACT(tanh(x)))

static double half_smaller(double x, double y, bool nan) {
  if (x != x || y != y) return nan || (x != x && y != y) ? (double)NAN : x != x ? y : x;
  return x == y ? (signbit(x) != 0 ? x : y) : y < x ? y : x;
}

static double half_larger(double x, double y, bool nan) { return -half_smaller(-x, -y, nan); }

HALF_ARITHMETIC(half_min, EXACT(half_smaller(x, y, (op->form.flags & OPC_PTX_FLAG_NAN) != 0)))
HALF_ARITHMETIC(half_max, EXACT(half_larger(x, y, (op->form.flags & OPC_PTX_FLAG_NAN) != 0)))

/* ---- signs ---- */

static uint64_t flushed_halves(uint64_t bits, const halves_t *halves) {
  for (unsigned i = 0; halves->ftz && i < halves->count; i++)
    if ((bits >> 16 * i & 0x7c00) == 0) bits &= ~(UINT64_C(0x3ff) << 16 * i);
  return bits;
}

#define HALF_SIGN(name, operation)                                                      \
  static void name##_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) { \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                       \
    const uint64_t *const a = opc_ptx_in(warp, op, 1);                                  \
    const halves_t halves = halves_of(op);                                              \
    const uint64_t signs = halves.count == 2 ? 0x80008000 : 0x8000;                     \
    OPC_PTX_EACH(mask, { d[l] = flushed_halves(a[l], &halves) operation signs; });      \
  }                                                                                     \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {                           \
    (void)form;                                                                         \
    return name##_run;                                                                  \
  }
HALF_SIGN(half_abs, &~)
HALF_SIGN(half_neg, ^)
