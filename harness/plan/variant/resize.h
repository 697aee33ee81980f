/* The tensors of a sample, wherever they are in it, and other sizes for them: the one place where a sample is resized.
 *
 * Ownership: the tensors' list borrows the sample's values and owns its paths; opc_variant_tensors_clear. Threads: none
 * shared. */
#ifndef OPC_PLAN_VARIANT_RESIZE_H
#define OPC_PLAN_VARIANT_RESIZE_H

#include "model/sample/sample.h"

/* A tensor of a sample. */
typedef struct opc_variant_tensor {
  char *path; /* "x", "tensors[1]" */
  opc_value_t *value;
  size_t argument;
  bool written; /* the schema says that the operator writes it */
  bool shared;  /* another tensor (that is not its twin) has the same storage */
  size_t twin;  /* the first tensor with the same identity: they are one tensor, what changes one changes all; itself
                   otherwise */
} opc_variant_tensor_t;

typedef struct opc_variant_tensors {
  opc_variant_tensor_t *items;
  size_t count;
  bool failed; /* memory ran out */
} opc_variant_tensors_t;

/* op may be NULL: then nothing counts as written. */
opc_status_t opc_variant_tensors_collect(opc_sample_t *sample, const opc_operator_t *op, opc_variant_tensors_t *out,
                                         opc_error_t *error) OPC_CHECKED;
void opc_variant_tensors_clear(opc_variant_tensors_t *tensors);
/* NULL: no tensor there. */
opc_variant_tensor_t *opc_variant_tensors_find(const opc_variant_tensors_t *tensors, const char *path);
/* Arguments that are the very same tensor are so again after the first of them was changed. False: no memory. */
bool opc_variant_twins_follow(const opc_variant_tensors_t *tensors);

/* Whether a dimension gets another size. `number` counts the tensors of the sample. */
typedef bool opc_resize_where_t(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context);
opc_resize_where_t opc_resize_where_size; /* where it is of a size; context: int64_t * */

typedef enum opc_resize_values {
  OPC_RESIZE_REPEAT = 0, /* explicit values repeat, so that what is valid (an index) stays so; strides stay. A tensor
                            whose values are in a file cannot become another one, but for an empty one */
  OPC_RESIZE_FORGET,     /* zeros; as REPEAT otherwise */
  OPC_RESIZE_GIVEN       /* the caller gives the values in the call; tensors that change become contiguous */
} opc_resize_values_t;

typedef struct opc_resize {
  opc_resize_where_t *where;
  void *context;
  int64_t factor, add; /* the new size there: size * factor + add */
  opc_resize_values_t values;
  int64_t size_max, numel_max, bytes_max; /* of every tensor, changed or not; 0: any */
  bool sharing;                           /* tensors that share their storage with others may change, too */
  bool measures;                          /* nothing is changed */
} opc_resize_t;

typedef struct opc_resized {
  size_t changed;           /* tensors; twins count once */
  int64_t longest, largest; /* the longest dimension, the elements of the largest tensor (INT64_MAX: too many) */
} opc_resized_t;

/* False: these tensors cannot be resized so, and some may be already: the sample is of no use then. Twins do not follow
 * yet. */
bool opc_tensors_resize(const opc_variant_tensors_t *tensors, const opc_resize_t *resize, opc_resized_t *out);
/* The same for a sample, twins follow. *out_possible as above. */
opc_status_t opc_sample_resize(opc_sample_t *sample, const opc_resize_t *resize, opc_resized_t *out, bool *out_possible,
                               opc_error_t *error) OPC_CHECKED;

/* Gives a tensor other sizes: contiguous where it was, the same strides otherwise. The fill follows (explicit values
 * repeat). False: a fill from a file cannot follow. */
bool opc_variant_resize(opc_tensor_spec_t *spec, int ndim, const int64_t *sizes);

#endif
