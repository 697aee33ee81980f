/* Known relations between a sample's arguments: which sizes are equal, which integers depend on a size.
 *
 * NULL relations: nothing is known about the sample. An empty list: every size can change alone. Places are named by
 * paths ("x", "tensors[1]", "sizes[0]"). Ownership: opc_relations_free; an added relation moves into the list. Threads:
 * one list, one thread. */
#pragma once

#include "model/sample/sample.h"

enum { OPC_PLACE_INTEGER = -1 };

/* A size: of a tensor's dimension, or the value of an integer argument. */
typedef struct opc_size_place {
  char *path;
  int dim;      /* OPC_PLACE_INTEGER: the path names an integer */
  int64_t more; /* for equal sizes: how much larger this one is than the others (offsets of B + 1) */
} opc_size_place_t;

typedef enum opc_relation_kind {
  OPC_RELATION_EQUAL = 0, /* the places are equal, apart from `more` */
  OPC_RELATION_BOUND,     /* the integers of `values` are below each place; if there is no place, below `number` */
  OPC_RELATION_ASCENDING, /* the integers of `values` ascend; neighbours may be equal */
  OPC_RELATION_SUM,       /* the integers of `values` sum to the single place */
  OPC_RELATION_FIXED,     /* the single place keeps its size, `number` */
  OPC_RELATION_MULTIPLE,  /* the single place is a multiple of `number` */
  OPC_RELATION_LEAST,     /* the integers of `values`, or the single place, are at least `number` */
  OPC_RELATION_UNKNOWN    /* nothing is known about the argument `values`, or the single place: it can only be changed
                             alone */
} opc_relation_kind_t;

typedef struct opc_relation {
  opc_relation_kind_t kind;
  char *values; /* path of an integer or of a tensor of integers; UNKNOWN: of an argument; NULL: EQUAL, FIXED, MULTIPLE,
                   or UNKNOWN with a place */
  opc_size_place_t *places;
  size_t place_count;
  int64_t number;
  bool inclusive; /* BOUND: the place's own value is allowed */
  bool movable;   /* ASCENDING: those between the first and the last may be others */
  bool checked;   /* the operator rejects arguments that violate it */
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
void opc_scope_relations(opc_relations_t **relations); /* for OPC_SCOPED */
opc_status_t opc_relations_copy(const opc_relations_t *relations, opc_relations_t **out,
                                opc_error_t *error) OPC_CHECKED; /* NULL gives NULL */
/* Moves the relation into the list; it is empty afterwards, also after a failure. */
opc_status_t opc_relations_add(opc_relations_t *relations, opc_relation_t *relation, opc_error_t *error) OPC_CHECKED;

/* The value at a path of a sample; NULL: none. */
opc_value_t *opc_sample_value(const opc_sample_t *sample, const opc_operator_t *op, const char *path);
/* The size at a place; false: the sample has no such place. */
bool opc_sample_size(const opc_sample_t *sample, const opc_operator_t *op, const opc_size_place_t *place,
                     int64_t *out_size);

/* True if a relation is about the integers at the path, or says that nothing is known about them. */
bool opc_relations_name_values(const opc_relations_t *relations, const char *path);

/* The integers of a tensor, in logical order, if its description determines them; for random ones only the range.
 * False: neither is known (not integers, special values, too many). The caller clears *out; its values are NULL if
 * only lowest and highest are known. */
typedef struct opc_integers {
  int64_t *values;
  size_t count;
  int64_t lowest, highest; /* without values: 0 and -1 */
} opc_integers_t;
bool opc_integers_of(const opc_tensor_spec_t *spec, opc_integers_t *out);
void opc_integers_clear(opc_integers_t *integers);
/* True if none is smaller than the one before it. The values must be known. */
bool opc_integers_ascend(const opc_integers_t *integers);

/* True if its integers mark begins and ends, as offsets do: there must be at least one, even with no segments. */
bool opc_relation_has_ends(const opc_relation_t *relation);

/* True if all relations hold for these arguments. If not: *out_index is the first that does not hold, *out_place the
 * place in it that the message is about, and the message describes it: "sizes of x dim 0 (4) and y dim 0 (5) are said
 * to be equal". Relations that cannot be decided from a description (order of random integers) count as holding. All
 * out parameters may be NULL. */
bool opc_relations_hold(const opc_relations_t *relations, const opc_sample_t *sample, const opc_operator_t *op,
                        size_t *out_index, size_t *out_place, char *message, size_t size);

/* relations_json.c. Reads the field "relations" of a sample whose arguments were already read; relations that
 * contradict them are an error. */
struct opc_json_reader;
opc_status_t opc_relations_read(struct opc_json_reader *reader, const json_t *json, const opc_operator_t *op,
                                opc_sample_t *sample) OPC_CHECKED;
json_t *opc_relations_to_json(const opc_relations_t *relations); /* new reference */
