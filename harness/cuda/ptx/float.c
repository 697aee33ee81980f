/* Arithmetic with float and double. The C compiler must not assume a rounding mode, nor join a product and a sum: the
 * folder is built with -frounding-math -ffp-contract=off. */
#include <fenv.h>
#include <float.h>

#include "cuda/ptx/ptx_machine.h"
#include "cuda/ptx/ptx_numbers.h"

int opc_ptx_rounding_begin(opc_ptx_says_t round) {
  const int before = fegetround();
  if (round == OPC_PTX_ROUND_RZ) (void)fesetround(FE_TOWARDZERO);
  else if (round == OPC_PTX_ROUND_RM) (void)fesetround(FE_DOWNWARD);
  else if (round == OPC_PTX_ROUND_RP) (void)fesetround(FE_UPWARD);
  else (void)fesetround(FE_TONEAREST);
  return before;
}

void opc_ptx_rounding_end(int before) { (void)fesetround(before); }

/* Code for one expression in x, y and z, with float and with double. */
#define ARITHMETIC(name, expression_float, expression_double)                                                        \
  static void name##_f32(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {                              \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                                                    \
    const unsigned last = op->slots - 1u;                                                                            \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, last > 1 ? 2 : 1),            \
                          *const c = opc_ptx_in(warp, op, last);                                                     \
    const uint16_t flags = op->form.flags;                                                                           \
    const bool ftz = (flags & OPC_PTX_FLAG_FTZ) != 0, plain = op->form.round <= OPC_PTX_ROUND_RN;                    \
    const int before = plain ? 0 : opc_ptx_rounding_begin(op->form.round);                                           \
    OPC_PTX_EACH(mask, {                                                                                             \
      const float x = opc_ptx_float_in(a[l], ftz), y = opc_ptx_float_in(b[l], ftz), z = opc_ptx_float_in(c[l], ftz); \
      (void)y;                                                                                                       \
      (void)z;                                                                                                       \
      d[l] = opc_ptx_float_out(expression_float, flags);                                                             \
    });                                                                                                              \
    if (!plain) opc_ptx_rounding_end(before);                                                                        \
  }                                                                                                                  \
  static void name##_f64(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {                              \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                                                    \
    const unsigned last = op->slots - 1u;                                                                            \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, last > 1 ? 2 : 1),            \
                          *const c = opc_ptx_in(warp, op, last);                                                     \
    const uint16_t flags = op->form.flags;                                                                           \
    const bool plain = op->form.round <= OPC_PTX_ROUND_RN;                                                           \
    const int before = plain ? 0 : opc_ptx_rounding_begin(op->form.round);                                           \
    OPC_PTX_EACH(mask, {                                                                                             \
      const double x = opc_ptx_double_of(a[l]), y = opc_ptx_double_of(b[l]), z = opc_ptx_double_of(c[l]);            \
      (void)y;                                                                                                       \
      (void)z;                                                                                                       \
      d[l] = opc_ptx_double_out(expression_double, flags);                                                           \
    });                                                                                                              \
    if (!plain) opc_ptx_rounding_end(before);                                                                        \
  }                                                                                                                  \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {                                                        \
    return form->type[0] == OPC_PTX_TYPE_F64 ? name##_f64 : name##_f32;                                              \
  }

/* Multiplications and divisions of PTX round to nearest where nothing is said, and so do sums. */
ARITHMETIC(float_add, x + y, x + y)
ARITHMETIC(float_sub, x - y, x - y)
ARITHMETIC(float_mul, x *y, x *y)
ARITHMETIC(float_fma, fmaf(x, y, z), fma(x, y, z))
ARITHMETIC(float_div, x / y, x / y)
ARITHMETIC(float_rcp, 1 / x, 1 / x)
ARITHMETIC(float_sqrt, sqrtf(x), sqrt(x))

/* ---- approximations: the nearest value, where PTX allows an error; those of a GPU differ ----
 * div.approx, div.full: 2 ulp. rcp.approx, sqrt.approx: 1 ulp. rsqrt.approx: 2 ulp; of f64: 2^-20 relative.
 * sin, cos: 2^-20.5 absolute within 2 pi. lg2: 2^-22 absolute. ex2: 2 ulp. tanh: 2^-11 relative. */
ARITHMETIC(float_rsqrt, (float)(1 / sqrt((double)x)), 1 / sqrt(x))
ARITHMETIC(float_sin, (float)sin((double)x), sin(x))
ARITHMETIC(float_cos, (float)cos((double)x), cos(x))
ARITHMETIC(float_lg2, (float)log2((double)x), log2(x))
ARITHMETIC(float_ex2, (float)exp2((double)x), exp2(x))
ARITHMETIC(float_tanh, (float)tanh((double)x), tanh(x))

/* ---- signs: bits, so that a NaN keeps its payload ---- */

#define SIGN(name, expression_float, expression_double)                                                 \
  static void name##_f32(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {                 \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                                       \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, op->slots - 1u); \
    const bool ftz = (op->form.flags & OPC_PTX_FLAG_FTZ) != 0;                                          \
    OPC_PTX_EACH(mask, {                                                                                \
      const uint32_t x = ftz ? opc_ptx_flushed((uint32_t)a[l]) : (uint32_t)a[l], y = (uint32_t)b[l];    \
      (void)y;                                                                                          \
      d[l] = (uint32_t)(expression_float);                                                              \
    });                                                                                                 \
  }                                                                                                     \
  static void name##_f64(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {                 \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                                       \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, op->slots - 1u); \
    OPC_PTX_EACH(mask, {                                                                                \
      const uint64_t x = a[l], y = b[l];                                                                \
      (void)y;                                                                                          \
      d[l] = (expression_double);                                                                       \
    });                                                                                                 \
  }                                                                                                     \
  opc_ptx_run_t *opc_ptx_##name(const opc_ptx_form_t *form) {                                           \
    return form->type[0] == OPC_PTX_TYPE_F64 ? name##_f64 : name##_f32;                                 \
  }
#define SIGN_32 UINT32_C(0x80000000)
#define SIGN_64 UINT64_C(0x8000000000000000)
SIGN(float_abs, x & ~SIGN_32, x & ~SIGN_64)
SIGN(float_neg, x ^ SIGN_32, x ^ SIGN_64)
/* The sign of the first, the size of the second. */
SIGN(float_copysign, (y & ~SIGN_32) | (x & SIGN_32), (y & ~SIGN_64) | (x & SIGN_64))

/* ---- smaller and larger: -0 is less than +0; a NaN loses, unless .NaN is said ---- */

#define EXTREME(name, type, in, out, nan, sign, size, less)                             \
  static uint64_t name(uint64_t a, uint64_t b, uint16_t flags) {                        \
    const bool ftz = (flags & OPC_PTX_FLAG_FTZ) != 0;                                   \
    type x = in, y = opc_ptx_##size##_of(b);                                            \
    if (ftz && sizeof x == 4) y = (type)opc_ptx_float_in(b, true);                      \
    const uint64_t signs = (a ^ b) & (sign);                                            \
    if ((flags & OPC_PTX_FLAG_ABS) != 0) {                                              \
      x = (type)fabs(x);                                                                \
      y = (type)fabs(y);                                                                \
    }                                                                                   \
    if (x != x && y != y) return nan;                                                   \
    if (x != x || y != y) {                                                             \
      if ((flags & OPC_PTX_FLAG_NAN) != 0) return nan;                                  \
      x = x != x ? y : x;                                                               \
    } else if (x == y) {                                                                \
      x = (signbit(x) != 0) == (less) ? x : y;                                          \
    } else if ((y < x) == (less)) {                                                     \
      x = y;                                                                            \
    }                                                                                   \
    uint64_t bits = out(x, (uint16_t)(flags & OPC_PTX_FLAG_FTZ));                       \
    if ((flags & OPC_PTX_FLAG_XORSIGN) != 0) bits = (bits & ~(uint64_t)(sign)) | signs; \
    return bits;                                                                        \
  }
EXTREME(smaller_f32, float, opc_ptx_float_in(a, ftz), opc_ptx_float_out, OPC_PTX_FLOAT_NAN, SIGN_32, float, true)
EXTREME(larger_f32, float, opc_ptx_float_in(a, ftz), opc_ptx_float_out, OPC_PTX_FLOAT_NAN, SIGN_32, float, false)
EXTREME(smaller_f64, double, opc_ptx_double_of(a), opc_ptx_double_out, OPC_PTX_DOUBLE_NAN, SIGN_64, double, true)
EXTREME(larger_f64, double, opc_ptx_double_of(a), opc_ptx_double_out, OPC_PTX_DOUBLE_NAN, SIGN_64, double, false)

#define EXTREMES(name, code)                                                               \
  static void name(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {          \
    uint64_t *const d = opc_ptx_out(warp, op, 0);                                          \
    const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2); \
    OPC_PTX_EACH(mask, { d[l] = code(a[l], b[l], op->form.flags); });                      \
  }
EXTREMES(float_min_f32, smaller_f32)
EXTREMES(float_max_f32, larger_f32)
EXTREMES(float_min_f64, smaller_f64)
EXTREMES(float_max_f64, larger_f64)

opc_ptx_run_t *opc_ptx_float_min(const opc_ptx_form_t *form) {
  return form->type[0] == OPC_PTX_TYPE_F64 ? float_min_f64 : float_min_f32;
}

opc_ptx_run_t *opc_ptx_float_max(const opc_ptx_form_t *form) {
  return form->type[0] == OPC_PTX_TYPE_F64 ? float_max_f64 : float_max_f32;
}

/* ---- kinds of numbers ---- */

static bool number_is(double value, bool subnormal, opc_ptx_says_t mode) {
  const bool finite = isfinite(value) != 0;
  switch (mode) {
    case OPC_PTX_MODE_FINITE:
      return finite;
    case OPC_PTX_MODE_INFINITE:
      return isinf(value) != 0;
    case OPC_PTX_MODE_NUMBER:
      return value == value;
    case OPC_PTX_MODE_NOTANUMBER:
      return value != value;
    case OPC_PTX_MODE_NORMAL:
      return finite && value != 0 && !subnormal;
    default:
      return subnormal;
  }
}

static void testp_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  const uint64_t *const a = opc_ptx_in(warp, op, 1);
  const bool wide = op->form.type[0] == OPC_PTX_TYPE_F64;
  uint32_t out = 0;
  OPC_PTX_EACH(mask, {
    const double value = wide ? opc_ptx_double_of(a[l]) : (double)opc_ptx_float_of(a[l]);
    const bool subnormal = value != 0 && fabs(value) < (wide ? DBL_MIN : (double)FLT_MIN);
    out |= (uint32_t)number_is(value, subnormal, op->form.mode) << l;
  });
  opc_ptx_out_mask(warp, op, 0, mask, out);
}

opc_ptx_run_t *opc_ptx_float_testp(const opc_ptx_form_t *form) {
  (void)form;
  return testp_run;
}
