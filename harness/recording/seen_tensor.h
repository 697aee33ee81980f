/* A tensor that a program passed to an operator: its memory layout, and statistics of its values. Independent of
 * libtorch.
 *
 * Ownership: everything is the caller's; the data is the program's and only read. Threads: no shared state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/text.h"
#include "recording/reasons.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OPC_SEEN_DIMS = 16 }; /* limit of a sample file */

typedef struct opc_seen_tensor {
  opc_dtype_t dtype;
  int ndim;
  int64_t sizes[OPC_SEEN_DIMS];
  int64_t strides[OPC_SEEN_DIMS];
  int64_t storage_offset, storage_size; /* elements */
  const void *data;                     /* element 0; NULL: do not read the values */
  int64_t data_strides[OPC_SEEN_DIMS];  /* of the data: the tensor's own, or the copy's */
  bool conj, neg;                       /* of the tensor; resolved in a copy */
  bool resolved;
  bool requires_grad;
  int device;                  /* index of a cuda device; -1: cpu */
  int storage_id, identity_id; /* equal for tensors of the call that share it; -1: not shared */
} opc_seen_tensor_t;

bool opc_seen_is_contiguous(const opc_seen_tensor_t *tensor);
/* Elements of storage that the view reaches, including the offset. */
int64_t opc_seen_needed(const opc_seen_tensor_t *tensor);

/* True if its elements span so much memory that its values are not read. */
bool opc_seen_is_wide(const opc_seen_tensor_t *tensor);
/* Visits the first `most` elements in logical order, with conj and neg resolved. False: the memory is unreadable. */
typedef void opc_seen_visit_t(const void *element, int64_t number, void *context);
bool opc_seen_visit(const opc_seen_tensor_t *tensor, int64_t most, opc_seen_visit_t *visit, void *context);

typedef struct opc_seen_values {
  int64_t numel, looked_at; /* of very large tensors only the first elements are read */
  int64_t nonfinite;
  double lowest, highest, mean, deviation; /* of finite values; for a complex tensor, of the real parts */
  int64_t lowest_integer, highest_integer; /* exact; for integer dtypes, except uint64 beyond INT64_MAX */
  bool constant, counting, integral, has_address, beyond_int64;
  unsigned char first[16];
  uint64_t digest;
} opc_seen_values_t;
bool opc_seen_look(const opc_seen_tensor_t *tensor, opc_seen_values_t *out);

/* Writes {"tensor": {…}} as in a sample file. If a fill replaced the values, adds what is known about them to `notes`,
 * as a member ("path": {…}), after a comma unless notes is empty. Any reason but NONE: the call cannot be recorded. */
opc_reason_t opc_seen_tensor_write(const opc_seen_tensor_t *tensor, const char *path, opc_text_t *out,
                                   opc_text_t *notes);

/* Writes a JSON number or string: "1.5", "\"nan\"". The shortest text that reads back as the same number with this many
 * bits of significand. */
void opc_seen_number_write(double value, int digits, opc_text_t *out);
/* Writes a .npy file of all values to the recording's folder, and adds its name for the sample file to out. False: it
 * could not be written. */
bool opc_side_file_write(const opc_seen_tensor_t *tensor, const opc_seen_values_t *values, opc_text_t *out);

#ifdef __cplusplus
}
#endif
