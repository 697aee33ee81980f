/* Internals of variants: transformations and their parameters. Only for use inside harness/plan. */
#pragma once

#include "plan/variant/variant.h"

/* One `path.transformation` of a variant's name, applied to the sample being changed. */
typedef struct opc_variant_step {
  opc_sample_t *sample;
  const opc_operator_t *op;
  const opc_variant_tensors_t *tensors;
  const char *path;             /* "all", or the path of an argument or tensor */
  opc_variant_tensor_t *target; /* NULL for "all" and for lists */
  int64_t number;               /* DIMENSION, SIZE */
  const char *word;             /* PATH, DTYPE, VALUE, WORD: the text of the parameter */
} opc_variant_step_t;

typedef enum opc_variant_parameter {
  OPC_PARAMETER_NONE,
  OPC_PARAMETER_DIMENSION,
  OPC_PARAMETER_SIZE,
  OPC_PARAMETER_PATH,
  OPC_PARAMETER_DTYPE,
  OPC_PARAMETER_VALUE,
  OPC_PARAMETER_WORD
} opc_variant_parameter_t;

enum {
  OPC_REACH_EACH = 1 << 0,
  OPC_REACH_LONE = 1 << 1,
  OPC_REACH_ALL = 1 << 2,
  OPC_REACH_LIST = 1 << 3,
  OPC_REACH_FIRST_DIMENSION = 1 << 4,
  OPC_REACH_UNWRITTEN = 1 << 5,
  OPC_REACH_SHARABLE = 1 << 6,
  OPC_REACH_BY_NAME = 1 << 7,
  OPC_REACH_ARGUMENT = 1 << 8
};

typedef bool opc_tensor_change_t(opc_tensor_spec_t *spec);
typedef bool opc_numbered_change_t(opc_tensor_spec_t *spec, int64_t number);
typedef bool opc_sample_change_t(opc_variant_step_t *step);

typedef struct opc_transformation {
  const char *name;
  opc_variant_parameter_t parameter;
  unsigned family, reach, keeps;
  /* One of these three for a single tensor; applied to each tensor for "all", if change_sample is NULL. */
  opc_special_t special; /* NONE: another one */
  opc_tensor_change_t *change_tensor;
  opc_numbered_change_t *change_numbered;
  opc_sample_change_t *change_sample; /* (optional) */
} opc_transformation_t;

extern const opc_transformation_t opc_transformations[];
extern const size_t opc_transformation_count;

enum { OPC_VARIANT_NAME_SIZE = 256 };

/* variant_integers.c: of integers, what `zeros` does. */
opc_tensor_change_t opc_integers_zeros;
/* variant_fill.c: puts special numbers over the fill. */
bool opc_contents_overlay(opc_tensor_spec_t *spec, opc_special_t special);

/* variant_shape.c: the sizes alone. */
opc_sample_change_t opc_shape_wide;

/* variant_neighbour.c: the parameters worth trying for an argument, in order. */
typedef void opc_neighbour_text_t(const char *text, void *context);
/* Values of `set`, as texts. */
void opc_neighbour_values(const opc_sample_t *sample, const opc_operator_t *op, size_t argument,
                          opc_neighbour_text_t *use, void *context);
/* Words of `word_`: those that the sample knows, then those that the argument's name suggests. */
void opc_neighbour_words(const opc_sample_t *sample, const opc_operator_t *op, size_t argument,
                         opc_neighbour_text_t *use, void *context);

/* Declares the functions of the table's entries. */
#define TENSOR(function) opc_tensor_change_t function;
#define NUMBERED(function) opc_numbered_change_t function;
#define OVERLAY(special)
#define SAMPLE(function) opc_sample_change_t function;
#define BOTH(alone, together) NUMBERED(alone) SAMPLE(together)
#define OPC_TRANSFORMATION(name, parameter, family, reach, keeps, changes) changes
#include "plan/variant/variant.def"
#undef OPC_TRANSFORMATION
#undef BOTH
#undef SAMPLE
#undef OVERLAY
#undef NUMBERED
#undef TENSOR
