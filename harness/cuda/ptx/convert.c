/* Conversions (cvt): rounding and saturation as PTX ISA, "Data Movement and Conversion Instructions: cvt". All of them
 * are exact. */
#include <fenv.h>

#include "cuda/ptx/ptx_machine.h"
#include "cuda/ptx/ptx_numbers.h"

__extension__ typedef __int128 wide_t;

static bool has_sign(opc_ptx_says_t type) {
  return type == OPC_PTX_TYPE_S8 || type == OPC_PTX_TYPE_S16 || type == OPC_PTX_TYPE_S32 || type == OPC_PTX_TYPE_S64;
}

static bool is_half(opc_ptx_says_t type) { return type == OPC_PTX_TYPE_F16 || type == OPC_PTX_TYPE_BF16; }

static wide_t whole_of(uint64_t bits, opc_ptx_says_t type) {
  const unsigned left = 64 - 8 * opc_ptx_type_size(type);
  return has_sign(type) ? (wide_t)((int64_t)(bits << left) >> left) : (wide_t)((bits << left) >> left);
}

static wide_t lowest(opc_ptx_says_t type) {
  return has_sign(type) ? -((wide_t)1 << (8 * opc_ptx_type_size(type) - 1)) : 0;
}

static wide_t highest(opc_ptx_says_t type) {
  return ((wide_t)1 << (8 * opc_ptx_type_size(type) - (has_sign(type) ? 1 : 0))) - 1;
}

/* ---- whole numbers ---- */

static void integers_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1);
  const opc_ptx_says_t to = op->form.type[0], from = op->form.type[1];
  const bool saturate = (op->form.flags & OPC_PTX_FLAG_SAT) != 0;
  OPC_PTX_EACH(mask, {
    wide_t value = whole_of(a[l], from);
    if (saturate) value = value < lowest(to) ? lowest(to) : value > highest(to) ? highest(to) : value;
    d[l] = (uint64_t)whole_of((uint64_t)value, to);
  });
}

opc_ptx_run_t *opc_ptx_convert_integers(const opc_ptx_form_t *form) {
  (void)form;
  return integers_run;
}

/* ---- to floating-point numbers ---- */

static uint64_t half_saturated(uint16_t bits, opc_ptx_says_t type, uint16_t flags) {
  const uint16_t one = type == OPC_PTX_TYPE_F16 ? 0x3c00 : 0x3f80, largest = type == OPC_PTX_TYPE_F16 ? 0x7bff : 0x7f7f;
  const bool nan = (bits & 0x7fff) > largest + 1;
  if ((flags & OPC_PTX_FLAG_SAT) != 0) return nan || (bits & 0x8000) != 0 ? 0 : bits > one ? one : bits;
  if ((flags & OPC_PTX_FLAG_RELU) != 0 && !nan && (bits & 0x8000) != 0) bits = 0;
  if ((flags & OPC_PTX_FLAG_SATFINITE) != 0 && !nan && (bits & 0x7fff) > largest)
    bits = (uint16_t)((bits & 0x8000) | largest);
  return bits;
}

/* The nearest double, and what is missing to the number. */
static opc_ptx_inexact_t inexact_of(wide_t number) {
  const double value = (double)number;
  const wide_t back = (wide_t)value;
  return (opc_ptx_inexact_t){value, (number > back) - (number < back)};
}

static uint64_t whole_to_float(wide_t value, opc_ptx_says_t to, opc_ptx_says_t round, uint16_t flags) {
  if (is_half(to)) return half_saturated(opc_ptx_half_round(inexact_of(value), to, round), to, flags);
  const int before = opc_ptx_rounding_begin(round);
  const bool negative = value < 0;
  const int64_t with_sign = (int64_t)value;
  const uint64_t without = (uint64_t)value;
  uint64_t out;
  if (to == OPC_PTX_TYPE_F32) out = opc_ptx_float_out(negative ? (float)with_sign : (float)without, flags);
  else out = opc_ptx_double_out(negative ? (double)with_sign : (double)without, flags);
  opc_ptx_rounding_end(before);
  return out;
}

static void to_float_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1);
  OPC_PTX_EACH(mask, {
    d[l] = whole_to_float(whole_of(a[l], op->form.type[1]), op->form.type[0], op->form.round, op->form.flags);
  });
}

opc_ptx_run_t *opc_ptx_convert_to_float(const opc_ptx_form_t *form) {
  (void)form;
  return to_float_run;
}

/* ---- from floating-point numbers ---- */

static double float_number(uint64_t bits, opc_ptx_says_t type, bool ftz) {
  if (is_half(type)) return opc_ptx_half_value((uint16_t)bits, type, false);
  return type == OPC_PTX_TYPE_F32 ? (double)opc_ptx_float_in(bits, ftz) : opc_ptx_double_of(bits);
}

static double rounded_whole(double value, opc_ptx_says_t round) {
  switch (round) {
    case OPC_PTX_ROUND_RZI:
      return trunc(value);
    case OPC_PTX_ROUND_RMI:
      return floor(value);
    case OPC_PTX_ROUND_RPI:
      return ceil(value);
    case OPC_PTX_ROUND_RNI:
      return nearbyint(value);
    default:
      return value;
  }
}

/* A NaN is 0, or only the highest bit where one of the two types has 64 bits. */
static uint64_t float_to_whole(double value, opc_ptx_says_t to, opc_ptx_says_t from) {
  const unsigned bits = 8 * opc_ptx_type_size(to);
  if (value != value) {
    const bool wide = from == OPC_PTX_TYPE_F64 || bits == 64;
    return wide ? (uint64_t)whole_of(UINT64_C(1) << (bits - 1), to) : 0;
  }
  const double limit = ldexp(1, (int)bits - (has_sign(to) ? 1 : 0));
  if (value >= limit) return (uint64_t)highest(to);
  if (value < (has_sign(to) ? -limit : 0)) return (uint64_t)lowest(to);
  return (uint64_t)(wide_t)value;
}

static void to_integer_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1);
  const opc_ptx_says_t to = op->form.type[0], from = op->form.type[1];
  const bool ftz = (op->form.flags & OPC_PTX_FLAG_FTZ) != 0;
  OPC_PTX_EACH(mask,
               { d[l] = float_to_whole(rounded_whole(float_number(a[l], from, ftz), op->form.round), to, from); });
}

opc_ptx_run_t *opc_ptx_convert_to_integer(const opc_ptx_form_t *form) {
  (void)form;
  return to_integer_run;
}

static uint64_t float_to_float(uint64_t bits, const opc_ptx_form_t *form, opc_ptx_says_t from) {
  const opc_ptx_says_t round = form->round;
  const opc_ptx_says_t to = form->type[0] == OPC_PTX_TYPE_F16X2    ? OPC_PTX_TYPE_F16
                            : form->type[0] == OPC_PTX_TYPE_BF16X2 ? OPC_PTX_TYPE_BF16
                                                                   : form->type[0];
  const double value = rounded_whole(float_number(bits, from, (form->flags & OPC_PTX_FLAG_FTZ) != 0), round);
  if (is_half(to)) {
    const opc_ptx_inexact_t exact = {value, 0};
    return half_saturated(opc_ptx_half_round(exact, to, round), to, form->flags);
  }
  if (to == OPC_PTX_TYPE_F64) return opc_ptx_double_out(value, form->flags);
  const int before = opc_ptx_rounding_begin(round);
  const float narrow = (float)value;
  opc_ptx_rounding_end(before);
  return opc_ptx_float_out(narrow, form->flags);
}

static void floats_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1);
  OPC_PTX_EACH(mask, { d[l] = float_to_float(a[l], &op->form, op->form.type[1]); });
}

opc_ptx_run_t *opc_ptx_convert_floats(const opc_ptx_form_t *form) {
  (void)form;
  return floats_run;
}

/* The first value becomes the upper half. */
static void pair_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1), *const b = opc_ptx_in(warp, op, 2);
  OPC_PTX_EACH(mask, {
    d[l] = float_to_float(a[l], &op->form, OPC_PTX_TYPE_F32) << 16 | float_to_float(b[l], &op->form, OPC_PTX_TYPE_F32);
  });
}

opc_ptx_run_t *opc_ptx_convert_pair(const opc_ptx_form_t *form) {
  (void)form;
  return pair_run;
}

/* ---- tf32: a float with 10 bits of mantissa ---- */

static uint64_t tf32_of(uint32_t bits, const opc_ptx_form_t *form) {
  const uint32_t infinite = 0x7f800000, odd = bits >> 13 & 1;
  if ((bits & 0x7fffffff) > infinite) return OPC_PTX_FLOAT_NAN;
  if ((form->flags & OPC_PTX_FLAG_RELU) != 0 && bits >> 31 != 0) return 0;
  if ((bits & 0x7fffffff) != infinite) {
    if (form->round == OPC_PTX_ROUND_RNA) bits += 0x1000;
    else if (form->round == OPC_PTX_ROUND_RN) bits += 0xfff + odd;
  }
  bits &= ~UINT32_C(0x1fff);
  if ((form->flags & OPC_PTX_FLAG_SATFINITE) != 0 && (bits & 0x7fffffff) == infinite) bits -= 0x2000;
  return bits;
}

static void tf32_run(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, uint32_t mask) {
  uint64_t *const d = opc_ptx_out(warp, op, 0);
  const uint64_t *const a = opc_ptx_in(warp, op, 1);
  OPC_PTX_EACH(mask, { d[l] = tf32_of((uint32_t)a[l], &op->form); });
}

opc_ptx_run_t *opc_ptx_convert_tf32(const opc_ptx_form_t *form) {
  (void)form;
  return tf32_run;
}
