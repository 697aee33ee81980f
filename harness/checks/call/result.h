/* What a call gave back, as values that outlive it: every return, and every argument that the schema declares mutable.
 *
 * Ownership: opc_result_clear. Threads: one. */
#ifndef OPC_CHECKS_CALL_RESULT_H
#define OPC_CHECKS_CALL_RESULT_H

#include "checks/call/call.h"

typedef struct opc_result_item {
  char path[96];          /* "returns[0]", "x" for a mutable argument */
  bool argument;          /* a mutable argument */
  opc_value_kind_t kind;  /* TENSOR, or what the return is */
  opc_tensor_meta_t meta; /* of a TENSOR; of a FLOAT or COMPLEX what a tensor of its one element would have */
  void *bytes; /* logical values of a TENSOR, NULL where they cannot be read (sparse, Meta, outside of the storage); the
                  value's own bytes otherwise */
  size_t size;
  bool borrowed;  /* the bytes are the tensor's */
  char text[128]; /* of what is no tensor */
} opc_result_item_t;

typedef struct opc_result {
  opc_result_item_t *items;
  size_t count;
} opc_result_t;

enum {
  OPC_RESULT_ARGUMENTS = 1, /* mutable arguments too */
  OPC_RESULT_META = 2,      /* no values of tensors */
  OPC_RESULT_BORROW =
      4 /* to be looked at and cleared before the call is: what lies in order in the host's memory is not copied */
};
opc_status_t opc_result_take(opc_result_t *result, const opc_call_t *call, unsigned flags,
                             opc_error_t *error) OPC_CHECKED;
void opc_result_clear(opc_result_t *result);
/* Elements of tensors whose values are known, and values that are no tensors: 0 means that a comparison would prove
 * nothing. */
int64_t opc_result_numel(const opc_result_t *result);

typedef enum opc_difference_kind {
  OPC_DIFFERENCE_NONE = 0,
  OPC_DIFFERENCE_COUNT, /* another number of returns or list items, or a tensor on one side only */
  OPC_DIFFERENCE_SHAPE,
  OPC_DIFFERENCE_DTYPE,
  OPC_DIFFERENCE_VALUE
} opc_difference_kind_t;

typedef struct opc_difference {
  opc_difference_kind_t kind;
  size_t item;
  int64_t first, count; /* of VALUE in a tensor: elements */
} opc_difference_t;

/* Whether an element may differ all the same. */
typedef bool opc_element_equal_t(size_t item, int64_t element, void *context);

/* The first item that differs: bits, unless `equal` (may be NULL) lets an element pass. Strides and devices are not
 * compared. */
opc_difference_t opc_result_compare(const opc_result_t *left, const opc_result_t *right, opc_element_equal_t *equal,
                                    void *context);
/* One item alone, bit for bit. */
bool opc_result_item_differs(const opc_result_t *left, const opc_result_t *right, size_t item);
/* "returns[0][1, 2] is 1.5 (bits 0x3fc00000), NAME has 2.5 (bits 0x40200000); 3 of 6 elements differ" */
void opc_difference_text(const opc_difference_t *difference, const opc_result_t *left, const opc_result_t *right,
                         const char *right_name, opc_text_t *out);

/* "[1, 2]" for an element's logical index; "" for a tensor without dimensions. */
void opc_index_text(const opc_tensor_meta_t *meta, int64_t element, char *out, size_t size);
/* "1.5 (bits 0x3fc00000)" */
void opc_element_text(opc_dtype_t dtype, const void *element, char *out, size_t size);
/* "float32"; c10's own name for a dtype that the harness has none for. */
const char *opc_meta_dtype_text(const opc_tensor_meta_t *meta);
/* "[2, 3]" */
void opc_sizes_text(int ndim, const int64_t *sizes, char *out, size_t size);

#endif
