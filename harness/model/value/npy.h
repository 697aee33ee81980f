/* NumPy's .npy files: versions 1 to 3, C and Fortran order, little-endian, dtypes that torch also has. Source:
 * numpy.lib.format, "Format Version 1.0 … 3.0". Ownership: the caller frees the data. Threads: no shared state. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"
#include "model/value/value.h"

typedef struct opc_npy {
  opc_dtype_t dtype;
  bool fortran_order;
  int ndim;
  int64_t sizes[OPC_MAX_DIMS];
  int64_t numel;
  size_t data_offset; /* bytes */
} opc_npy_t;

/* Reads the header and checks that all data is present. OPC_ERR_IO: unreadable; OPC_ERR_INPUT: not such an array.
 * Messages name the file. */
opc_status_t opc_npy_describe(const char *file, opc_npy_t *out, opc_error_t *error) OPC_CHECKED;
/* As above, and also reads the elements, in row-major order whatever the file's order: numel * dtype size bytes. */
opc_status_t opc_npy_load(const char *file, opc_npy_t *out, void **out_data, opc_error_t *error) OPC_CHECKED;
