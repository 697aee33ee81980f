/* Samples: arguments that an operator is given, and what a person promises about the result.
 *
 * A sample's arguments are in schema order, one value an argument, defaults filled as `absent` (the bridge then uses
 * the schema's default). Files are read with positions: an error names file, line, column and field. Ownership:
 * opc_sample_clear. Threads: one sample, one thread. Format: "opcheck-c/samples/1", in README.md. */
#ifndef OPC_MODEL_SAMPLE_SAMPLE_H
#define OPC_MODEL_SAMPLE_SAMPLE_H

#include "model/value/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_sample_source {
  OPC_SAMPLE_NONE = 0,
  OPC_SAMPLE_FILE,
  OPC_SAMPLE_RECORDED,
  OPC_SAMPLE_SEARCHED
} opc_sample_source_t;

typedef struct opc_expect {
  struct opc_same_bits {
    size_t output;  /* index into the returns */
    char *argument; /* path: "x", "tensors[1]" */
  } * same_bits;
  size_t same_bits_count;
  opc_value_t *outputs; /* goldens: one value a return (tensor specs with fill, numbers…); NULL: none promised */
  size_t output_count;
  double tolerance[OPC_DTYPE_COUNT]; /* relative to the largest |reference|; < 0: none given */
  bool has_tolerance;
  bool rejects; /* the operator must throw */
} opc_expect_t;

typedef struct opc_sample {
  char *operator_name;
  char *name; /* given, or "s-" and 8 hex digits of the content's digest: never empty once complete */
  opc_sample_source_t source;
  opc_value_t *arguments; /* argument_count of the schema */
  bool *absent;           /* true: not given, the schema's default applies */
  size_t argument_count;
  opc_expect_t expect;
  bool by_recipe; /* searched: within what a recipe says of the arguments */
  bool varied;    /* searched: arguments that another sample has, with other options */
  /* The operator accepts these arguments and leaves its tensors with them, or crashes: only that is reported. */
  bool unchecked;
  /* `unchecked` too: the operator keeps to its tensors, and its result depends on uninitialised memory: that is
   * reported instead. */
  bool uninitialised;
  char *origin;                    /* "file.json:12" for a file, "search" …; for messages; may be NULL */
  struct opc_relations *relations; /* what its arguments have to do with each other (relations.h); NULL: not known */
} opc_sample_t;

void opc_sample_clear(opc_sample_t *sample);
opc_status_t opc_sample_copy(const opc_sample_t *sample, opc_sample_t *out, opc_error_t *error) OPC_CHECKED;
/* An empty sample for the operator: every argument absent where it has a default, NONE otherwise. */
opc_status_t opc_sample_init(opc_sample_t *sample, const opc_operator_t *op, opc_error_t *error) OPC_CHECKED;
/* The tensor number `number` of the arguments, in their order; NULL: there are fewer. */
opc_tensor_spec_t *opc_sample_tensor(const opc_sample_t *sample, size_t number);
/* Gives the sample its "s-…" name from its arguments when it has none. */
opc_status_t opc_sample_name(opc_sample_t *sample, const opc_operator_t *op, opc_error_t *error) OPC_CHECKED;

/* opc_fill_logical with the values of another seed. Of a sample that the search made up int64 and int32 keep those of
 * `seed`: they may be indices or lengths, and that the operator took these says nothing of others. */
opc_status_t opc_sample_fill_other(const opc_sample_t *sample, const opc_tensor_spec_t *spec, const char *path,
                                   uint64_t seed, uint64_t other, void *out, opc_error_t *error) OPC_CHECKED;

/* One sample object of the format, checked against the schema. The error names the field ("args[1].tensor.shape[0]").
 * `field` (may be NULL, size bytes) receives that path alone, for the caller to look its position up. `folder` resolves
 * relative .npy files. */
opc_status_t opc_sample_from_json(const json_t *json, const opc_operator_t *op, const char *folder, opc_sample_t *out,
                                  char *field, size_t field_size, opc_error_t *error) OPC_CHECKED;
/* What a sample's text may name besides the operator. */
typedef const opc_class_t *opc_class_lookup_t(const char *name, void *context);
typedef struct opc_sample_names {
  const char *folder;             /* of relative .npy files; NULL: the current one */
  opc_class_lookup_t *find_class; /* NULL: classes and their constructors' arguments are not checked */
  void *context;
} opc_sample_names_t;
opc_status_t opc_sample_read(const json_t *json, const opc_operator_t *op, const opc_sample_names_t *names,
                             opc_sample_t *out, char *field, size_t field_size, opc_error_t *error) OPC_CHECKED;
json_t *opc_sample_to_json(const opc_sample_t *sample, const opc_operator_t *op); /* new reference */

typedef struct opc_sample_set {
  opc_sample_t *samples;
  size_t count;
} opc_sample_set_t;

void opc_sample_set_clear(opc_sample_set_t *set);
/* Moves the sample to the end of the set: *sample is empty afterwards. After a failure it is still the caller's. */
opc_status_t opc_sample_set_add(opc_sample_set_t *set, opc_sample_t *sample, opc_error_t *error) OPC_CHECKED;
/* Looks an operator up by name; NULL when the library has none of that name. */
typedef const opc_operator_t *opc_operator_lookup_t(const char *name, void *context);
/* Appends the samples of a file; recorded ones of operators that the lookup does not find are passed over.
 * OPC_ERR_INPUT: "FILE:LINE:COLUMN: FIELD: what is wrong"; OPC_ERR_IO: unreadable. Two samples of one operator with one
 * name are a mistake. classes: see opc_sample_names_t; the context is for both. */
opc_status_t opc_sample_set_read(opc_sample_set_t *set, const char *file, opc_operator_lookup_t *lookup,
                                 opc_class_lookup_t *classes, void *context, opc_error_t *error) OPC_CHECKED;
/* Writes a sample file, beside its target and renamed. A symbolic link stays one: what it points at is replaced. */
opc_status_t opc_sample_set_write(const opc_sample_set_t *set, const char *file, opc_operator_lookup_t *lookup,
                                  void *context, opc_error_t *error) OPC_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
