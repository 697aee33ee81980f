/* Floating-point numbers as bits: float, double, and the two kinds of half precision.
 *
 * Ownership, threads: none, no shared state but the rounding mode of the thread, which functions of float.c and
 * conversion set and restore. */
#pragma once

#include <math.h>
#include <string.h>

#include "cuda/ptx/ptx_form.h"

#define OPC_PTX_FLOAT_NAN UINT32_C(0x7fffffff)
#define OPC_PTX_HALF_NAN UINT16_C(0x7fff)
#define OPC_PTX_DOUBLE_NAN UINT64_C(0xfff8000000000000)

static inline float opc_ptx_float_of(uint64_t bits) {
  const uint32_t low = (uint32_t)bits;
  float out;
  memcpy(&out, &low, sizeof out);
  return out;
}

static inline uint32_t opc_ptx_float_bits(float value) {
  uint32_t out;
  memcpy(&out, &value, sizeof out);
  return out;
}

static inline double opc_ptx_double_of(uint64_t bits) {
  double out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

static inline uint64_t opc_ptx_double_bits(double value) {
  uint64_t out;
  memcpy(&out, &value, sizeof out);
  return out;
}

/* .ftz: a subnormal number becomes a zero with its sign. */
static inline uint32_t opc_ptx_flushed(uint32_t bits) {
  return (bits & 0x7f800000) == 0 ? bits & UINT32_C(0x80000000) : bits;
}

static inline float opc_ptx_float_in(uint64_t bits, bool ftz) {
  return opc_ptx_float_of(ftz ? opc_ptx_flushed((uint32_t)bits) : bits);
}

/* A result as bits: NaNs have one form; .ftz; .sat: within 0 and 1, a NaN is 0. */
static inline uint64_t opc_ptx_float_out(float value, uint16_t flags) {
  uint32_t bits = value != value ? OPC_PTX_FLOAT_NAN : opc_ptx_float_bits(value);
  if ((flags & OPC_PTX_FLAG_FTZ) != 0) bits = opc_ptx_flushed(bits);
  if ((flags & OPC_PTX_FLAG_SAT) != 0) bits = !(value > 0) ? 0 : value > 1 ? UINT32_C(0x3f800000) : bits;
  return bits;
}

static inline uint64_t opc_ptx_double_out(double value, uint16_t flags) {
  if ((flags & OPC_PTX_FLAG_SAT) != 0) value = !(value > 0) ? 0 : value > 1 ? 1 : value;
  return value != value ? OPC_PTX_DOUBLE_NAN : opc_ptx_double_bits(value);
}

/* ---- half precision: OPC_PTX_TYPE_F16 or OPC_PTX_TYPE_BF16 ---- */

double opc_ptx_half_value(uint16_t bits, opc_ptx_says_t type, bool ftz);

/* A value to be rounded to fewer bits: `value`, with what was lost when it was calculated. */
typedef struct opc_ptx_inexact {
  double value;
  int rest; /* the sign of what is missing; 0: the value is exact */
} opc_ptx_inexact_t;

/* Rounds to half precision as `round` says (OPC_PTX_ROUND_RN, RZ, RM, RP). A NaN becomes the one NaN. */
uint16_t opc_ptx_half_round(opc_ptx_inexact_t from, opc_ptx_says_t type, opc_ptx_says_t round);

/* Sets the thread's rounding mode; returns what to restore it with. */
int opc_ptx_rounding_begin(opc_ptx_says_t round);
void opc_ptx_rounding_end(int before);
