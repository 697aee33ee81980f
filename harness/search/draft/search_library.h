/* What the searches of a run have found, for operators that have found nothing yet: accepted values of arguments with
 * the same name and type, whole tuples of related operators, tensors that operators returned, and the constructors of
 * custom classes with arguments that they accepted.
 *
 * What an operator is offered depends only on the loaded libraries, the seed and the round, never on the selected
 * operators. Its helpers are chosen by schema among the operators of its own library, and it sees only their results of
 * earlier rounds. So --op and --case get the same arguments as the whole run. Ownership: opc_search_library_free;
 * operators, constructors and classes are borrowed and outlive it. Threads: one. NULL is an empty library. */
#pragma once

#include "model/sample/sample.h"

enum {
  OPC_HELPERS_MAX = 24,
  OPC_MAKERS_MAX = 16,
  OPC_SEARCH_ROUNDS = 3 /* one more round is for pairs that are each other's backward operator: each can use the other's
                           results of the last round */
};

typedef struct opc_search_library opc_search_library_t;

/* What the loaded libraries have. */
typedef struct opc_search_loaded {
  const opc_operator_t *operators;
  size_t operator_count;
  const opc_class_t *classes;
  size_t class_count;
  const opc_operator_t *constructors; /* of the classes, as operators */
  size_t constructor_count;
} opc_search_loaded_t;

opc_status_t opc_search_library_new(const opc_search_loaded_t *loaded, opc_search_library_t **out,
                                    opc_error_t *error) OPC_CHECKED;
void opc_search_library_free(opc_search_library_t *library);

/* The operators useful in this round: indices into `operators`, most similar first. */
size_t opc_search_helpers(const opc_search_library_t *library, const opc_operator_t *op, int round,
                          size_t out[OPC_HELPERS_MAX]);

/* The class whose objects this constructor makes, or this operator returns: "ns.Name". The text is the caller's; NULL:
 * none. */
char *opc_search_class_made(const opc_operator_t *maker);
/* What makes the objects that the operator takes, of its own library's if it takes Any: constructors, and operators
 * that return them. Indices into `operators` and, from their count on, into `constructors`. */
size_t opc_search_makers(const opc_search_library_t *library, const opc_operator_t *op, size_t out[OPC_MAKERS_MAX]);

/* Adds arguments that the operator accepted in this round (from 1; 0: they are declared), and the tensors that it
 * returned, as descriptions with all their values. Takes the outputs (only tensors; `outputs` itself too), even if it
 * fails. */
opc_status_t opc_search_library_add(opc_search_library_t *library, const opc_operator_t *op, int round,
                                    const opc_sample_t *sample, opc_value_t *outputs, size_t output_count,
                                    opc_error_t *error) OPC_CHECKED;
