/* State of one process's observer: which operators are wanted, which classes of calls were already written, how many
 * calls there were; and the file for new calls. Independent of libtorch.
 *
 * Ownership: everything lives as long as the process. Threads: any. Fork: a child continues with its parent's state, in
 * its own file. A file is open only while a line is written, so that a program that closes or counts its descriptors
 * never sees one of ours. */
#pragma once

#include <locale.h>
#include <signal.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/text.h"
#include "recording/reasons.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_recorded_operator opc_recorded_operator_t;

opc_status_t opc_recorder_start(const char *folder, opc_error_t *error) OPC_CHECKED;
/* NULL: calls of this operator are not wanted. Names as in RecordFunction: "ns::op" and its overload. is_operator
 * distinguishes operators from other functions that libtorch observes; it is called once per name that is otherwise
 * wanted. */
typedef bool opc_is_operator_t(const char *name, const char *overload);
opc_recorded_operator_t *opc_recorder_find(const char *name, const char *overload, opc_is_operator_t *is_operator);
void opc_recorder_seen(opc_recorded_operator_t *op);
/* True: the class is new; the caller must then call opc_recorder_write or opc_recorder_leave. */
bool opc_recorder_claim(opc_recorded_operator_t *op, uint64_t class_);
/* Leaves out this call and all later ones of its class. */
void opc_recorder_leave(opc_recorded_operator_t *op, uint64_t class_, opc_reason_t reason);
/* Counts one call without a class as left out. */
void opc_recorder_count(opc_recorded_operator_t *op, opc_reason_t reason);
/* Writes the line immediately; line.failed counts as OPC_REASON_TROUBLE. */
void opc_recorder_write(opc_recorded_operator_t *op, uint64_t class_, const opc_text_t *sample);

/* For side files: reserves bytes of the output limit; false: not enough are left. */
bool opc_recorder_take_bytes(size_t bytes);
bool opc_recorder_wants_namespace(const char *name);
const char *opc_recorder_folder(void);
const char *opc_recorder_values_folder(void); /* "": the output has no place for it */
bool opc_recorder_keeps_values(void);         /* --values */
int64_t opc_recorder_elements(void);

/* A tensor that a program passed to an operator: its memory layout, and statistics of its values. Independent of
 * libtorch.
 *
 * Ownership: everything is the caller's; the data is the program's and only read. */

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
/* The same for the bytes of a pickled object. */
bool opc_side_file_write_object(const void *bytes, size_t size, opc_text_t *out);

/* Brackets the observer's work inside a program that must not notice it. Between begin and end, numbers are written
 * with a point, and a write beyond a limit is an error instead of a signal. end restores errno, this thread's locale,
 * cancellation and SIGXFSZ.
 *
 * Threads: any, one opc_quiet_t each. Not for hot paths: half a dozen system calls. */

typedef struct opc_quiet {
  int error, cancel;
  bool limit_pending; /* a SIGXFSZ of the program was already pending */
  sigset_t mask;
  locale_t locale;
} opc_quiet_t;

void opc_quiet_begin(opc_quiet_t *quiet);
void opc_quiet_end(const opc_quiet_t *quiet);

/* True if memory of this process is readable. Does not read it, so no signal can occur. One probe per page.
 *
 * Threads: any; another thread may unmap the memory after the answer. */

bool opc_memory_readable(const void *memory, size_t bytes);
/* True if the number is the address of readable memory in this process. Numbers below 4 GiB never count as
 * addresses. */
bool opc_number_is_address(uint64_t number);

/* Interface between the shim and an observer: a library that the shim loads once libtorch is loaded. */

#define OPC_OBSERVER_START "opc_observer_start"
#define OPC_OBSERVER_TORCH "opc_observer_torch" /* char[]: the libtorch version that it was built for, "2.11" */

/* Starts recording according to the folder's settings; does not throw. words: why it cannot record, otherwise
 * unchanged. */
typedef void opc_observer_start_t(const char *folder, char *words, size_t size);

#ifdef __cplusplus
}
#endif
