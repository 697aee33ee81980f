/* Tensor elements as bytes: conversion between the bits of each dtype and C numbers. Narrow dtypes round to nearest,
 * ties to even (IEEE 754); float8_e8m0fnu rounds to the nearest power of two. NaN keeps the top of its payload and
 * stays NaN. Too large values become infinity, or NaN if the dtype has no infinity, as in libtorch. Threads, fork: pure
 * functions. */
#pragma once

#include <stdint.h>

#include "base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

uint16_t opc_half_from_float(float value);
float opc_half_to_float(uint16_t bits);
uint16_t opc_bfloat16_from_float(float value);
float opc_bfloat16_to_float(uint16_t bits);

/* A number in its original form: an int64_t does not go through double. */
typedef struct opc_number {
  enum { OPC_NUMBER_INT, OPC_NUMBER_FLOAT, OPC_NUMBER_COMPLEX, OPC_NUMBER_BITS } kind;
  union {
    int64_t i;
    double f;
    struct {
      double re, im;
    } c;
    uint64_t bits; /* the element's own bits, low-order bytes first */
  };
} opc_number_t;

/* Writes one element of the dtype to `out` (opc_dtype_size bytes, may be unaligned). Integers wrap like C casts of
 * two's complement. Floats are truncated to integers, and saturate. Bool means "not zero". A real number gets imaginary
 * part 0; a real dtype drops the imaginary part. False for OPC_DTYPE_OTHER. */
bool opc_number_store(opc_number_t number, opc_dtype_t dtype, void *out);
/* Reads one element: integers as INT (uint64 above INT64_MAX as FLOAT), floating as FLOAT, complex as COMPLEX. */
opc_number_t opc_number_load(opc_dtype_t dtype, const void *in);
/* The element as double (the real part of a complex one). */
double opc_number_load_double(opc_dtype_t dtype, const void *in);
/* Equal in bits, or both NaN; of a complex number, in each part. */
bool opc_number_is_same(opc_dtype_t dtype, const void *left, const void *right);
/* Element as text for messages: "1.5", "-0.0", "nan", "(1+2j)", "7", "true". Writes at most size bytes; returns out. */
char *opc_number_format(opc_dtype_t dtype, const void *in, char *out, size_t size);
/* Spacing of the dtype's numbers at |value| (unit in the last place); at 0, the smallest denormal. Floating and complex
 * dtypes only; otherwise 0. */
double opc_dtype_ulp(opc_dtype_t dtype, double value);
/* Largest finite value of a floating or complex dtype; largest value of an integral one. */
double opc_dtype_max(opc_dtype_t dtype);
/* False for integers and for floating dtypes that overflow to NaN. */
bool opc_dtype_has_infinity(opc_dtype_t dtype);

#ifdef __cplusplus
}
#endif
