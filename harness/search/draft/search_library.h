/* What the searches of a run have found, for the operators that have found nothing yet: values that arguments of the
 * same name and type took, whole tuples of related operators, tensors that operators returned, and the constructors of
 * custom classes.
 *
 * What an operator is offered is a function of the loaded libraries, the seed and the round, never of which operators
 * were selected: its helpers are chosen by their schemas among the operators of its own library, and of what they found
 * it sees earlier rounds alone. So --op and --case come to the arguments of the whole run. Ownership:
 * opc_search_library_free; operators and classes are borrowed and outlive it. Threads: one. NULL stands for an empty
 * one. */
#ifndef OPC_SEARCH_DRAFT_SEARCH_LIBRARY_H
#define OPC_SEARCH_DRAFT_SEARCH_LIBRARY_H

#include "model/sample/sample.h"

enum {
  OPC_HELPERS_MAX = 24,
  OPC_SEARCH_ROUNDS = 3 /* one more is for operators that are each other's backward operator: what the last round found
                           is of use to the other */
};

typedef struct opc_search_library opc_search_library_t;

opc_status_t opc_search_library_new(const opc_operator_t *operators, size_t operator_count, const opc_class_t *classes,
                                    size_t class_count, opc_search_library_t **out, opc_error_t *error) OPC_CHECKED;
void opc_search_library_free(opc_search_library_t *library);

/* The operators that are of use in this round: those that are most alike, indices into `operators`, the most alike
 * first. */
size_t opc_search_helpers(const opc_search_library_t *library, const opc_operator_t *op, int round,
                          size_t out[OPC_HELPERS_MAX]);

/* Arguments that the operator accepted in this round (from 1), and the tensors that it returned, as descriptions with
 * all their values. Takes the outputs (tensors alone; `outputs` itself too), also when it fails. */
opc_status_t opc_search_library_add(opc_search_library_t *library, const opc_operator_t *op, int round,
                                    const opc_sample_t *sample, opc_value_t *outputs, size_t output_count,
                                    opc_error_t *error) OPC_CHECKED;

#endif
