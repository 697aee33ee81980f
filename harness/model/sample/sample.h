/* Samples: arguments for an operator, and what a person promises about the result.
 *
 * Arguments are in schema order, one value per argument; defaults are marked `absent` (the bridge then uses the
 * schema's default). Errors in files name file, line, column and field. Ownership: opc_sample_clear. Threads: one
 * sample, one thread. Format: "opcheck-c/samples/1", in README.md. */
#pragma once

#include "model/json/json_read.h"
#include "model/value/value.h"

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
  opc_value_t *outputs; /* goldens: one value per return (tensor specs with fill, numbers…); NULL: not promised */
  size_t output_count;
  double tolerance[OPC_DTYPE_COUNT]; /* relative to the largest |reference|; < 0: not given */
  bool has_tolerance;
  bool rejects;         /* the operator must throw */
  bool batch_invariant; /* the bits of a row do not depend on the other rows, their number and their order */
  char *reference;      /* operator that computes what is right: "aten::softmax.int"; NULL: not given */
  /* What the reference's arguments get; without any, the operator's own arguments in order. */
  struct opc_reference_argument {
    char *name;        /* of the reference's argument */
    char *from;        /* name of the operator's argument; NULL: `value` */
    opc_value_t value; /* a number, a bool or null */
  } * reference_arguments;
  size_t reference_argument_count;
} opc_expect_t;

typedef struct opc_sample {
  char *operator_name;
  char *name; /* given, or "s-" and 8 hex digits of the content's digest: never empty in a complete sample */
  opc_sample_source_t source;
  opc_value_t *arguments; /* as many as the schema has */
  bool *absent;           /* true: not given, the schema's default applies */
  size_t argument_count;
  opc_expect_t expect;
  bool by_recipe; /* searched: conforms to a recipe for the arguments */
  bool varied;    /* searched: another sample's arguments with other options */
  bool brief;     /* searched: beside other samples, of another kind. Its plain cases are enough */
  /* With these arguments the operator accesses memory outside its tensors, or crashes: only that is reported. */
  bool unchecked;
  /* Implies `unchecked`: the operator stays inside its tensors, but its result depends on uninitialised memory; only
   * that is reported. */
  bool uninitialised;
  char *origin;                    /* "file.json:12" for a file, "search"…; for messages; may be NULL */
  struct opc_relations *relations; /* relations between its arguments (relations.h); NULL: unknown */
  char *comment;                   /* for people; NULL: none */
  char *todo;                      /* for people: it is to be completed, and is no sample until then; NULL: it is one */
  char **words; /* of each string argument the other words that it takes, "nearest|up"; NULL: none are known */
} opc_sample_t;

void opc_sample_clear(opc_sample_t *sample);
opc_status_t opc_sample_copy(const opc_sample_t *sample, opc_sample_t *out, opc_error_t *error) OPC_CHECKED;
/* An empty sample for the operator: arguments with a default are absent, all others NONE. */
opc_status_t opc_sample_init(opc_sample_t *sample, const opc_operator_t *op, opc_error_t *error) OPC_CHECKED;
/* The tensor with index `number` among the arguments, in order; NULL: there are fewer. */
opc_tensor_spec_t *opc_sample_tensor(const opc_sample_t *sample, size_t number);
/* The number that the sample gives for an argument (of a list, the first), or else its default. NAN: it is no real
 * number. */
double opc_sample_number(const opc_sample_t *sample, const opc_operator_t *op, size_t index);
enum { OPC_WORD_MAX = 63 }; /* characters of a word that is part of a case's name */
/* Adds a word that the string argument takes, unless it is known. */
opc_status_t opc_sample_add_word(opc_sample_t *sample, size_t argument, const char *word, size_t length,
                                 opc_error_t *error) OPC_CHECKED;
/* Names the sample "s-…" after its arguments if it has no name. */
opc_status_t opc_sample_name(opc_sample_t *sample, const opc_operator_t *op, opc_error_t *error) OPC_CHECKED;

/* opc_fill_logical with the values of seed `other`. In a searched sample, int64 and int32 tensors keep the values of
 * `seed`: they may be indices or lengths, and other values may not be valid. */
opc_status_t opc_sample_fill_other(const opc_sample_t *sample, const opc_tensor_spec_t *spec, const char *path,
                                   uint64_t seed, uint64_t other, void *out, opc_error_t *error) OPC_CHECKED;

/* Reads one sample object of the format and checks it against the schema. The error names the field
 * ("args[1].tensor.shape[0]"). `field` (may be NULL, size bytes) receives only that path, so that the caller can look
 * up its position. `folder` is the base of relative .npy files. */
opc_status_t opc_sample_from_json(const json_t *json, const opc_operator_t *op, const char *folder, opc_sample_t *out,
                                  char *field, size_t field_size, opc_error_t *error) OPC_CHECKED;
/* What a sample's text can refer to besides the operator. */
typedef const opc_class_t *opc_class_lookup_t(const char *name, void *context);
typedef struct opc_sample_names {
  const char *folder;             /* base of relative .npy files; NULL: the current folder */
  opc_class_lookup_t *find_class; /* NULL: does not check classes and the arguments of their constructors */
  void *context;
} opc_sample_names_t;
opc_status_t opc_sample_read(const json_t *json, const opc_operator_t *op, const opc_sample_names_t *names,
                             opc_sample_t *out, char *field, size_t field_size, opc_error_t *error) OPC_CHECKED;
json_t *opc_sample_to_json(const opc_sample_t *sample, const opc_operator_t *op); /* new reference */

typedef struct opc_sample_set {
  opc_sample_t *samples;
  size_t count;
  const char *comment; /* for people, written to the file; NULL: none */
  size_t todo_count;   /* samples of files that are to be completed; they are left out */
  char *todo;          /* the first of them, "file.json:12: my_ops::f"; NULL: there are none */
} opc_sample_set_t;

void opc_sample_set_clear(opc_sample_set_t *set);
/* Moves the sample to the end of the set; *sample is empty afterwards. After a failure it remains the caller's. */
opc_status_t opc_sample_set_add(opc_sample_set_t *set, opc_sample_t *sample, opc_error_t *error) OPC_CHECKED;
/* Looks up an operator by name; NULL: none in the library. */
typedef const opc_operator_t *opc_operator_lookup_t(const char *name, void *context);
/* Appends the samples of a file. Skips samples that are to be completed ("todo"), and recorded samples whose operator
 * the lookup does not find. OPC_ERR_INPUT: "FILE:LINE:COLUMN: FIELD: what is wrong"; OPC_ERR_IO: unreadable. Two
 * samples of one operator with the same name are an error. classes: see opc_sample_names_t; both callbacks get the
 * context. */
opc_status_t opc_sample_set_read(opc_sample_set_t *set, const char *file, opc_operator_lookup_t *lookup,
                                 opc_class_lookup_t *classes, void *context, opc_error_t *error) OPC_CHECKED;
/* Writes a sample file: to a temporary file next to it, which is then renamed. A symbolic link is kept: its target is
 * replaced. */
opc_status_t opc_sample_set_write(const opc_sample_set_t *set, const char *file, opc_operator_lookup_t *lookup,
                                  void *context, opc_error_t *error) OPC_CHECKED;

/* The "expect" object of a sample: a person's promises about the result. */

/* Reads into sample->expect; sample->arguments must be set, as paths are checked against them. */
opc_status_t opc_expect_read(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                             opc_sample_t *sample) OPC_CHECKED;
/* New reference; JSON null if nothing is promised; NULL: out of memory. */
json_t *opc_expect_to_json(const opc_expect_t *expect);
