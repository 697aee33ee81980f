/* Arguments before they become tensors: from a sample file, a search or a variant.
 *
 * A tensor here is a description (shape, dtype, strides, storage, fill); checks/call/call.h materialises it in a
 * worker's child. The same tree holds runtime values: `handle` then points to the bridge's object. Ownership:
 * opc_value_clear frees the tree, not the handles (their owner is opc_call_t, or whoever received the returns). Shapes
 * and strides are in elements. Threads: one tree, one thread. */
#pragma once

#include "base/number.h"
#include "model/schema/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OPC_MAX_DIMS = 16 };

typedef enum opc_fill_kind {
  OPC_FILL_NORMAL = 0, /* default. Floating and complex: mean 0, variance 1. Integers: -4..4 (unsigned: 0..8); bool:
                          either with equal chance */
  OPC_FILL_UNIFORM,    /* [0, 1); integers: 0 or 1 */
  OPC_FILL_ARANGE,     /* 0, 1, 2… in logical order */
  OPC_FILL_ZEROS,
  OPC_FILL_ONES,
  OPC_FILL_FULL,   /* value */
  OPC_FILL_RANGE,  /* random integers, lo <= x < hi */
  OPC_FILL_VALUES, /* values, in logical order */
  OPC_FILL_FILE    /* a .npy file, in logical order whatever the file's order */
} opc_fill_kind_t;

/* Values that a variant puts over the fill: element i is replaced if i % 3 == 0 (so element 0 always is). From NEGATED
 * on they are for floating dtypes, and say themselves which elements they change; a row is what has the same index in
 * all dimensions but the last, and of a tensor of one dimension an element. Results are rounded to the dtype. */
typedef enum opc_special {
  OPC_SPECIAL_NONE = 0,
  OPC_SPECIAL_NAN, /* quiet NaN with payload bits set */
  OPC_SPECIAL_NEGATIVE_ZERO,
  OPC_SPECIAL_INFINITY, /* alternating +inf and -inf */
  OPC_SPECIAL_DENORMAL, /* smallest denormal, alternating signs */
  OPC_SPECIAL_EXTREME,  /* integers: alternating lowest and highest; floating: largest finite */
  OPC_SPECIAL_ZERO,     /* floating; false */
  OPC_SPECIAL_ONES,     /* floating: alternating 1 and -1, the ends of a range of numbers */
  OPC_SPECIAL_NEGATED,  /* each has the other sign */
  OPC_SPECIAL_TIES,     /* each is rounded down to a whole number, so that equal values are frequent */
  OPC_SPECIAL_EIGHTHS,  /* each is rounded to a multiple of 1/8: halfway between the numbers of a narrow dtype */
  OPC_SPECIAL_TIMES_64, /* each is multiplied */
  OPC_SPECIAL_OVER_64,  /* each is divided */
  OPC_SPECIAL_GRADED,   /* rows of different magnitude: row i is divided by 1024 to the power of i % 4 */
  OPC_SPECIAL_ONE_ZERO, /* the element in the middle is 0 */
  OPC_SPECIAL_ZERO_ROW, /* the row in the middle is 0 */
  OPC_SPECIAL_LAST_NAN  /* the last element of each row is NaN; of a tensor of one dimension, the last one */
} opc_special_t;

typedef struct opc_fill {
  opc_fill_kind_t kind;
  opc_special_t special;
  int64_t lo, hi;       /* RANGE */
  opc_number_t value;   /* FULL */
  opc_number_t *values; /* VALUES; value_count must equal the number of elements */
  size_t value_count;
  char *file; /* FILE; absolute after the sample file was read */
  /* Rounds the fill to this dtype's numbers first (dtype check: the float64 reference gets the narrow dtype's values).
   * OPC_DTYPE_OTHER: no rounding. */
  opc_dtype_t rounded_to;
  /* Fills as if the tensor had this dtype (class), so that a cast variant has the same logical values. OTHER: the
   * tensor's dtype. */
  opc_dtype_t filled_as;
} opc_fill_t;

typedef struct opc_tensor_spec {
  int ndim;
  int64_t sizes[OPC_MAX_DIMS];
  int64_t strides[OPC_MAX_DIMS]; /* always set; contiguous by default */
  int64_t storage_offset;        /* elements */
  int64_t storage_size;          /* elements; always set, at least what the view needs */
  char *storage;                 /* tensors with the same id share a storage; NULL: not shared */
  char *identity;                /* arguments with the same id are one tensor (same TensorImpl); NULL: not shared */
  opc_dtype_t dtype;
  opc_device_t device;
  bool requires_grad, conj, neg;
  bool dtype_given, device_given; /* the sample specified them; a dtype sweep may still change dtype */
  opc_fill_t fill;
  /* Stream of random numbers: the argument's path before any variant, so that variants keep logical values. NULL: the
   * argument's current path. */
  char *stream;
  unsigned repeated; /* one bit per dimension; set: its elements all have the values of the first, as with stride 0 */
} opc_tensor_spec_t;

typedef enum opc_value_kind {
  OPC_VALUE_NONE = 0,
  OPC_VALUE_BOOL,
  OPC_VALUE_INT,
  OPC_VALUE_FLOAT,
  OPC_VALUE_COMPLEX,
  OPC_VALUE_STRING, /* also layouts ("strided") and memory formats ("channels_last") */
  OPC_VALUE_DTYPE,
  OPC_VALUE_DEVICE,
  OPC_VALUE_GENERATOR, /* a CPU generator with this seed */
  OPC_VALUE_TENSOR,
  OPC_VALUE_LIST,
  OPC_VALUE_OBJECT,
  OPC_VALUE_OPAQUE /* returns only: the harness cannot represent the value; text describes it */
} opc_value_kind_t;

typedef struct opc_value {
  opc_value_kind_t kind;
  union {
    bool boolean;
    int64_t integer;
    double floating;
    struct {
      double re, im;
    } complex;
    char *string; /* STRING, OPAQUE */
    opc_dtype_t dtype;
    opc_device_t device;
    uint64_t seed;
    opc_tensor_spec_t *tensor; /* NULL in values created by the bridge */
    struct {
      struct opc_value *items;
      size_t count;
    } list;
    struct {
      char *class_name;       /* "ns.Name" */
      char *made_by;          /* the operator that returns it, "ns::op"; NULL: its class's constructor makes it */
      char *pickle;           /* the file that it is read from, an absolute path; NULL: it is made */
      struct opc_value *init; /* the arguments of either */
      size_t init_count;
    } object;
  };
  void *handle; /* TENSOR: opc_tensor_t*, OBJECT: opc_object_t*; NULL before materialisation; undefined tensors are NONE
                 */
} opc_value_t;

void opc_value_clear(opc_value_t *value); /* resets to NONE */
/* Arrays of values: the copy is not NULL even if it is empty; on failure *out is NULL. */
opc_status_t opc_values_copy(const opc_value_t *values, size_t count, opc_value_t **out,
                             opc_error_t *error) OPC_CHECKED;
void opc_values_free(opc_value_t *values, size_t count); /* accepts NULL */
opc_status_t opc_value_copy(const opc_value_t *value, opc_value_t *out,
                            opc_error_t *error) OPC_CHECKED; /* deep copy; handles are not copied */

opc_tensor_spec_t *opc_tensor_spec_new(opc_dtype_t dtype, int ndim, const int64_t *sizes); /* contiguous, cpu, normal */
opc_tensor_spec_t *opc_tensor_spec_copy(const opc_tensor_spec_t *spec);
void opc_tensor_spec_free(opc_tensor_spec_t *spec);
int64_t opc_tensor_spec_numel(const opc_tensor_spec_t *spec);
void opc_tensor_spec_make_contiguous(opc_tensor_spec_t *spec); /* strides, offset 0, storage_size = numel */
int64_t opc_tensor_spec_needed(
    const opc_tensor_spec_t *spec); /* elements of storage that the view reaches, including the offset */
bool opc_tensor_spec_is_contiguous(const opc_tensor_spec_t *spec);

/* Calls visit for every tensor in a value, depth first, with its path: "x", "tensors[1]". */
typedef void opc_tensor_visit_t(const char *path, opc_value_t *tensor, void *context);
void opc_value_visit_tensors(const char *path, opc_value_t *value, opc_tensor_visit_t *visit, void *context);
/* The tensor with index *number in the value, depth first. NULL: the value has fewer; *number is reduced by their
 * count. */
opc_tensor_spec_t *opc_value_tensor(const opc_value_t *value, size_t *number);

/* A value as JSON, as in sample files; model/sample/sample.h has the reverse, with conversion by type. */
json_t *opc_value_to_json(const opc_value_t *value); /* new reference */
/* Short text for messages: "float32[2, 3] strides [1, 2]", "3", "[1, 2]". */
void opc_value_describe(const opc_value_t *value, char *out, size_t size);

/* Writes the logical values of a spec to `out`, contiguous in logical (row-major) order, numel * dtype size bytes.
 * Deterministic: depends on (seed, stream or path, spec). Dimensions with stride 0 repeat their elements. Random
 * floating values that become integers (filled_as, rounded_to) are first multiplied by 4, so that the integers vary;
 * unsigned dtypes take the absolute value, bool takes the sign. */
opc_status_t opc_fill_logical(const opc_tensor_spec_t *spec, const char *path, uint64_t seed, void *out,
                              opc_error_t *error) OPC_CHECKED;
/* True if the dtype has such a number: some float8 dtypes have no infinity, integers have no NaN. */
bool opc_special_exists(opc_special_t special, opc_dtype_t dtype);
/* Scatters logical values into a storage of storage_size elements by the spec's strides and offset. The other bytes of
 * the storage (between, before and after the elements) get the byte `gap`. If conj or neg is set, the stored elements
 * are conjugated or negated, so that a tensor with that bit reads as the logical values. */
void opc_fill_scatter(const opc_tensor_spec_t *spec, const void *logical, unsigned char gap, void *storage);

/* opc_fill_logical with a cache. Every check creates a sample's arguments again, some dozens of times, and a random
 * number costs as much as ten copies. Logical values depend only on spec, stream and seed, so that a previous result
 * can be copied.
 *
 * Ownership: the cache is shared by a process and all its children, forked after opc_fills_share or the first fill.
 * It has at most OPC_FILLS_KEPT_BYTES, outside the heap that operators use and between inaccessible pages. So a
 * crashed child leaves its fills to the next one. Fork: any time, also while another process fills. */

#define OPC_FILLS_KEPT_BYTES ((size_t)16 << 20)

/* Call before any fork. If memory runs out, each process fills for itself. */
void opc_fills_share(void);
/* Same result as opc_fill_logical, to the bit. */
opc_status_t opc_fill_kept(const opc_tensor_spec_t *spec, const char *path, uint64_t seed, void *out,
                           opc_error_t *error) OPC_CHECKED;

/* NumPy's .npy files: versions 1 to 3, C and Fortran order, little-endian, dtypes that torch also has. Source:
 * numpy.lib.format, "Format Version 1.0 … 3.0". Ownership: the caller frees the data. */

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

/* A simple value of a type, for constructors and methods whose arguments nobody specified.
 *
 * Ownership: the JSON is the caller's. Threads: any. */

enum { OPC_SIMPLE_ROUNDS = 4 };

/* How objects are made: the schema of a class's constructor ("ns.Name"), with the object itself as its first argument.
 * The text is the caller's; NULL: there is no such class, or it has no constructor. */
typedef struct opc_simple_classes {
  char *(*constructor)(const char *class_name, const void *context);
  const void *context;
} opc_simple_classes_t;

/* A VALUE of the sample format, a different one each round (0 to OPC_SIMPLE_ROUNDS - 1). Small positive numbers come
 * first, as most sizes and counts are such. Objects get simple values for their own constructors. NULL: no simple value
 * of this type. */
json_t *opc_simple_value(const opc_type_t *type, int round, const opc_simple_classes_t *classes);

#ifdef __cplusplus
}
#endif
