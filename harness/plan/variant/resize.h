/* Lists the tensors of a sample, at any depth, and gives them other sizes: the only place that resizes samples.
 *
 * Ownership: the list of tensors borrows the sample's values and owns its paths; opc_variant_tensors_clear. Threads: no
 * shared state. */
#pragma once

#include "model/sample/sample.h"

/* A tensor of a sample. */
typedef struct opc_variant_tensor {
  char *path; /* "x", "tensors[1]" */
  opc_value_t *value;
  size_t argument;
  bool written; /* by its schema, the operator writes this tensor */
  bool shared;  /* another tensor (not its twin) has the same storage */
  size_t twin;  /* index of the first tensor with the same identity (itself if none): twins are one tensor and change
                   together */
} opc_variant_tensor_t;

typedef struct opc_variant_tensors {
  opc_variant_tensor_t *items;
  size_t count;
  bool failed; /* out of memory */
} opc_variant_tensors_t;

/* op may be NULL: then no tensor counts as written. */
opc_status_t opc_variant_tensors_collect(opc_sample_t *sample, const opc_operator_t *op, opc_variant_tensors_t *out,
                                         opc_error_t *error) OPC_CHECKED;
void opc_variant_tensors_clear(opc_variant_tensors_t *tensors);
/* NULL: no tensor at this path. */
opc_variant_tensor_t *opc_variant_tensors_find(const opc_variant_tensors_t *tensors, const char *path);
/* After a change to the first of several twins, makes the others the same tensor again. False: out of memory. */
bool opc_variant_twins_follow(const opc_variant_tensors_t *tensors);

/* True if the dimension gets another size. `number` is the tensor's index in the sample. */
typedef bool opc_resize_where_t(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context);
opc_resize_where_t opc_resize_where_size; /* true for dimensions of one size; context: int64_t * */

typedef enum opc_resize_values {
  OPC_RESIZE_REPEAT = 0, /* explicit values repeat, so that valid ones (an index) stay valid; strides are kept. A tensor
                            with values from a file can only become empty */
  OPC_RESIZE_FORGET,     /* zeros; otherwise like REPEAT */
  OPC_RESIZE_GIVEN       /* the caller supplies the values with the call; changed tensors become contiguous */
} opc_resize_values_t;

typedef struct opc_resize {
  opc_resize_where_t *where;
  void *context;
  int64_t factor, add; /* new size: size * factor + add */
  opc_resize_values_t values;
  int64_t size_max, numel_max, bytes_max; /* limits for every tensor, changed or not; 0: no limit */
  bool sharing;                           /* also changes tensors that share their storage with others */
  bool measures;                          /* only measures, changes nothing */
} opc_resize_t;

typedef struct opc_resized {
  size_t changed;           /* number of changed tensors; twins count once */
  int64_t longest, largest; /* the longest dimension; elements of the largest tensor (INT64_MAX: too many) */
} opc_resized_t;

/* False: these tensors cannot be resized like this. Some may have changed already: discard the sample. Twins are not
 * updated. */
bool opc_tensors_resize(const opc_variant_tensors_t *tensors, const opc_resize_t *resize, opc_resized_t *out);
/* The same for a sample; updates twins. *out_possible: the result of opc_tensors_resize. */
opc_status_t opc_sample_resize(opc_sample_t *sample, const opc_resize_t *resize, opc_resized_t *out, bool *out_possible,
                               opc_error_t *error) OPC_CHECKED;

/* Gives a tensor other sizes: contiguous if it was, otherwise with the same strides. Adapts the fill (explicit values
 * repeat). False: a fill from a file cannot be adapted. */
bool opc_variant_resize(opc_tensor_spec_t *spec, int ndim, const int64_t *sizes);
