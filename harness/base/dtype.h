/* Dtypes, devices and layouts as the C core knows them.
 *
 * Threads, fork: constant tables only. NULL: lookups of NULL find nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_dtype {
  OPC_DTYPE_OTHER =
      0, /* libtorch's dtypes that the harness neither fills nor compares: quantized, bits, packed pairs… */
#define OPC_DTYPE(constant, name, scalar_type, bytes, kind, digits, encoding) OPC_DTYPE_##constant,
#include "base/dtype.def"
#undef OPC_DTYPE
  OPC_DTYPE_COUNT
} opc_dtype_t;

typedef enum opc_dtype_class {
  OPC_CLASS_OTHER = 0,
  OPC_CLASS_FLOATING,
  OPC_CLASS_SIGNED,
  OPC_CLASS_UNSIGNED,
  OPC_CLASS_BOOLEAN,
  OPC_CLASS_COMPLEX
} opc_dtype_class_t;

/* How the bits of a floating element encode a number. Complex dtypes: of each part. */
typedef enum opc_encoding {
  OPC_ENCODING_NONE = 0, /* not floating */
  OPC_ENCODING_IEEE,     /* exponent all ones: infinity or NaN (also bfloat16 and float8_e5m2) */
  OPC_ENCODING_FN,       /* no infinities; all ones are NaN, all other bits are numbers */
  OPC_ENCODING_FNUZ,     /* no infinities, no negative zero: its bits are NaN; exponent bias one larger */
  OPC_ENCODING_POWER     /* only an exponent, that of float32: no sign, no zero, no infinities; all ones are NaN */
} opc_encoding_t;

const char *opc_dtype_name(opc_dtype_t dtype);        /* "float32"; "other" for OPC_DTYPE_OTHER */
const char *opc_dtype_scalar_type(opc_dtype_t dtype); /* c10's name: "Float"; "Undefined" for OPC_DTYPE_OTHER */
opc_dtype_t opc_dtype_find(const char *name);         /* OPC_DTYPE_OTHER: unknown; also accepts "half", "long"… */
size_t opc_dtype_size(opc_dtype_t dtype);             /* bytes per element; 0 for OPC_DTYPE_OTHER */
opc_dtype_class_t opc_dtype_class(opc_dtype_t dtype);
int opc_dtype_digits(opc_dtype_t dtype); /* significand bits including the hidden one; 0: not floating or complex */
opc_encoding_t opc_dtype_encoding(opc_dtype_t dtype);
/* Kernels store and convert float8, but hardly any compute in it: wider floating tensors are treated separately. */
bool opc_dtype_is_float8(opc_dtype_t dtype);
bool opc_dtype_is_integral(opc_dtype_t dtype); /* signed or unsigned; not bool */
bool opc_dtype_is_inexact(opc_dtype_t dtype);  /* floating or complex */

typedef enum opc_device_type {
  OPC_DEVICE_CPU = 0,
  OPC_DEVICE_CUDA,
  OPC_DEVICE_META,
  OPC_DEVICE_OTHER
} opc_device_type_t;

typedef struct opc_device {
  opc_device_type_t type;
  int index; /* -1: the current device */
} opc_device_t;

const char *opc_device_type_name(opc_device_type_t type);     /* "cpu" */
bool opc_device_parse(const char *text, opc_device_t *out);   /* "cpu", "cuda", "cuda:1", "meta" */
bool opc_device_equal(opc_device_t left, opc_device_t right); /* cuda equals cuda:0 */

#ifdef __cplusplus
}
#endif
