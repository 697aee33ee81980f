/* What is known of a sample's arguments together: which sizes are equal, which integers say something about a size.
 *
 * A sample without relations (NULL) is one of which nothing is known. With an empty list it is known that every size
 * can change alone. Places are named by paths ("x", "tensors[1]", "sizes[0]"). Ownership: opc_relations_free; a
 * relation that is added moves into the list. Threads: one list, one thread. */
#ifndef OPC_MODEL_SAMPLE_RELATIONS_H
#define OPC_MODEL_SAMPLE_RELATIONS_H

#include "model/sample/sample.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OPC_PLACE_INTEGER = -1 };

/* A size: of a tensor's dimension, or what an integer argument says. */
typedef struct opc_size_place {
  char *path;
  int dim;      /* OPC_PLACE_INTEGER: the path names an integer */
  int64_t more; /* equal sizes: this one is so much larger than the others (offsets of B + 1) */
} opc_size_place_t;

typedef enum opc_relation_kind {
  OPC_RELATION_EQUAL = 0, /* the places are equal, but for `more` */
  OPC_RELATION_BOUND,     /* the integers of `values` are below each place; without a place, below `number` */
  OPC_RELATION_ASCENDING, /* the integers of `values` ascend; equal ones may follow each other */
  OPC_RELATION_SUM,       /* the integers of `values` sum to the one place */
  OPC_RELATION_FIXED,     /* the one place keeps its size, `number` */
  OPC_RELATION_MULTIPLE,  /* the one place is a multiple of `number` */
  OPC_RELATION_LEAST,     /* the integers of `values`, or the one place, are `number` or more */
  OPC_RELATION_UNKNOWN    /* of the argument `values`, or of the one place, nothing is known: whoever changes it changes
                             it alone */
} opc_relation_kind_t;

typedef struct opc_relation {
  opc_relation_kind_t kind;
  char *values; /* path of a tensor of integers, or of an integer; of UNKNOWN an argument; NULL: EQUAL, FIXED, MULTIPLE,
                   UNKNOWN place */
  opc_size_place_t *places;
  size_t place_count;
  int64_t number;
  bool inclusive; /* BOUND: the place itself is allowed */
  bool checked;   /* the operator refuses arguments for which it does not hold */
} opc_relation_t;

typedef struct opc_relations {
  opc_relation_t *items;
  size_t count;
} opc_relations_t;

void opc_relation_clear(opc_relation_t *relation);
/* Copies the path. */
opc_status_t opc_relation_add_place(opc_relation_t *relation, const char *path, int dim, int64_t more,
                                    opc_error_t *error) OPC_CHECKED;
void opc_relations_free(opc_relations_t *relations);
opc_status_t opc_relations_copy(const opc_relations_t *relations, opc_relations_t **out,
                                opc_error_t *error) OPC_CHECKED; /* NULL of NULL */
/* Moves the relation, which is empty afterwards, also after a failure. */
opc_status_t opc_relations_add(opc_relations_t *relations, opc_relation_t *relation, opc_error_t *error) OPC_CHECKED;

/* The value at a path of a sample; NULL: there is none. */
opc_value_t *opc_sample_value(const opc_sample_t *sample, const opc_operator_t *op, const char *path);
/* The size at a place; false: the sample has no such place. */
bool opc_sample_size(const opc_sample_t *sample, const opc_operator_t *op, const opc_size_place_t *place,
                     int64_t *out_size);

/* The integers of a tensor, in logical order, where they follow from its description alone; of random ones only the
 * range is known. False: not even that (no integers, special values, too many). The caller frees *out, which is NULL
 * where only lowest and highest are known. */
typedef struct opc_integers {
  int64_t *values;
  size_t count;
  int64_t lowest, highest; /* of no values: 0 and -1 */
} opc_integers_t;
bool opc_integers_of(const opc_tensor_spec_t *spec, opc_integers_t *out);

/* Its integers are where something begins and ends, as offsets are: without any there is not even one end. */
bool opc_relation_has_ends(const opc_relation_t *relation);

/* Whether all of them hold for these arguments. Where not, *out_index is the first that does not, *out_place the place
 * in it that the message is about, and message says it: "sizes of x dim 0 (4) and y dim 0 (5) are said to be equal".
 * What a description does not tell (random integers in order) counts as holding. All out parameters may be NULL. */
bool opc_relations_hold(const opc_relations_t *relations, const opc_sample_t *sample, const opc_operator_t *op,
                        size_t *out_index, size_t *out_place, char *message, size_t size);

/* relations_json.c. The field "relations" of a sample whose arguments were read; relations that contradict them are a
 * mistake. */
struct opc_json_reader;
opc_status_t opc_relations_read(struct opc_json_reader *reader, const json_t *json, const opc_operator_t *op,
                                opc_sample_t *sample) OPC_CHECKED;
json_t *opc_relations_to_json(const opc_relations_t *relations); /* new reference */

#ifdef __cplusplus
}
#endif
#endif
