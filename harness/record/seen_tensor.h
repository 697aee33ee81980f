/* A tensor that a program gave to an operator: how it lies in memory, and what its values are like. Nothing of
 * libtorch.
 *
 * Ownership: everything is the caller's; the data is the program's and only read. Threads: no shared state. */
#ifndef OPC_RECORD_SEEN_TENSOR_H
#define OPC_RECORD_SEEN_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/text.h"
#include "record/reasons.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OPC_SEEN_DIMS = 16 }; /* what a sample file takes */

typedef struct opc_seen_tensor {
  opc_dtype_t dtype;
  int ndim;
  int64_t sizes[OPC_SEEN_DIMS];
  int64_t strides[OPC_SEEN_DIMS];
  int64_t storage_offset, storage_size; /* elements */
  const void *data;                     /* element 0; NULL: the values are not to be looked at */
  int64_t data_strides[OPC_SEEN_DIMS];  /* of the data: the tensor's own, or those of a copy */
  bool conj, neg;                       /* of the tensor; a copy has them resolved */
  bool resolved;
  bool requires_grad;
  int device;                  /* index of a cuda device; -1: cpu */
  int storage_id, identity_id; /* shared with another tensor of the call; -1: its own */
} opc_seen_tensor_t;

bool opc_seen_is_contiguous(const opc_seen_tensor_t *tensor);
/* Elements of storage that the view reaches, offset included. */
int64_t opc_seen_needed(const opc_seen_tensor_t *tensor);

/* So far from its first element to its last that its values are not looked at. */
bool opc_seen_is_wide(const opc_seen_tensor_t *tensor);
/* Visits the first `most` elements in logical order, conj and neg resolved. False: the memory cannot be read. */
typedef void opc_seen_visit_t(const void *element, int64_t number, void *context);
bool opc_seen_visit(const opc_seen_tensor_t *tensor, int64_t most, opc_seen_visit_t *visit, void *context);

typedef struct opc_seen_values {
  int64_t numel, looked_at; /* of very large tensors only the first elements are looked at */
  int64_t nonfinite;
  double lowest, highest, mean, deviation; /* of the finite ones; of a complex tensor's real parts */
  int64_t lowest_integer, highest_integer; /* exact; integer dtypes but uint64 beyond INT64_MAX */
  bool constant, counting, integral, has_address, beyond_int64;
  unsigned char first[16];
  uint64_t digest;
} opc_seen_values_t;
bool opc_seen_look(const opc_seen_tensor_t *tensor, opc_seen_values_t *out);

/* {"tensor": {…}} of a sample file. Where a fill replaced the values, `notes` gets what is known of them, as a
 * member ("path": {…}), with a comma in front where notes hold something. A reason other than NONE: the call cannot be
 * recorded. */
opc_reason_t opc_seen_tensor_write(const opc_seen_tensor_t *tensor, const char *path, opc_text_t *out,
                                   opc_text_t *notes);

/* A JSON number or word: "1.5", "\"nan\"". Shortest of those that read back as the same number of so many bits of
 * significand. */
void opc_seen_number_write(double value, int digits, opc_text_t *out);
/* A .npy file of all values in the recording's folder; the name that a sample file has for it is added to out. False:
 * it could not be written. */
bool opc_side_file_write(const opc_seen_tensor_t *tensor, const opc_seen_values_t *values, opc_text_t *out);

#ifdef __cplusplus
}
#endif
#endif
