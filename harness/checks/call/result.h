/* The results of a call, as values that outlive it: every return, and every argument that the schema declares mutable.
 *
 * Ownership: opc_result_clear. Threads: one. */
#pragma once

#include "checks/call/call.h"

typedef struct opc_result_item {
  char path[96];          /* "returns[0]", "x" for a mutable argument */
  bool argument;          /* a mutable argument */
  opc_value_kind_t kind;  /* TENSOR, or the return's kind */
  opc_tensor_meta_t meta; /* of a TENSOR; for a FLOAT or COMPLEX, as of a tensor with this one element */
  void *bytes; /* logical values of a TENSOR, NULL if they cannot be read (sparse, Meta, outside of the storage);
                  otherwise the value's own bytes */
  size_t size;
  bool borrowed;  /* the bytes are the tensor's */
  char text[128]; /* if not a TENSOR */
} opc_result_item_t;

typedef struct opc_result {
  opc_result_item_t *items;
  size_t count;
} opc_result_t;

enum {
  OPC_RESULT_ARGUMENTS = 1, /* mutable arguments too */
  OPC_RESULT_META = 2,      /* no values of tensors */
  OPC_RESULT_BORROW = 4     /* contiguous values in host memory are not copied; clear the result before the call */
};
opc_status_t opc_result_take(opc_result_t *result, const opc_call_t *call, unsigned flags,
                             opc_error_t *error) OPC_CHECKED;
void opc_result_clear(opc_result_t *result);
/* Number of tensor elements whose values are known, plus values that are not tensors. 0: a comparison would prove
 * nothing. */
int64_t opc_result_numel(const opc_result_t *result);

typedef enum opc_difference_kind {
  OPC_DIFFERENCE_NONE = 0,
  OPC_DIFFERENCE_COUNT, /* different number of returns or list items, or a tensor on one side only */
  OPC_DIFFERENCE_SHAPE,
  OPC_DIFFERENCE_DTYPE,
  OPC_DIFFERENCE_VALUE
} opc_difference_kind_t;

typedef struct opc_difference {
  opc_difference_kind_t kind;
  size_t item;
  int64_t first, count; /* of VALUE in a tensor: elements */
} opc_difference_t;

/* True: the element counts as equal although its bits differ. */
typedef bool opc_element_equal_t(size_t item, int64_t element, void *context);

/* The first item that differs. Compares bits, unless `equal` (may be NULL) accepts an element. Does not compare strides
 * and devices. */
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
/* "float32"; c10's name for a dtype that the harness has no name for. */
const char *opc_meta_dtype_text(const opc_tensor_meta_t *meta);
/* "[2, 3]" */
void opc_sizes_text(int ndim, const int64_t *sizes, char *out, size_t size);
