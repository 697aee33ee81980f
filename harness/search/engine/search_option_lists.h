/* Lists that may hold tensors, or none: other lists for an argument of type Tensor?[], Tensor?[]? or Tensor[]?, of a
 * call that was accepted. Not for use outside harness/search/engine.
 *
 * Ownership: the caller clears what it gets. Threads: one. */
#ifndef OPC_SEARCH_ENGINE_SEARCH_OPTION_LISTS_H
#define OPC_SEARCH_ENGINE_SEARCH_OPTION_LISTS_H

#include "search/draft/search_inside.h"
#include "search/engine/search.h"

enum { OPC_OPTION_LISTS_MAX = 10 };

/* Whether the type is such a list. */
bool opc_option_lists_are(const opc_type_t *type);
/* Whether the value is a list of tensors alone, one at least. */
bool opc_option_list_is_full(const opc_value_t *value);
/* Lists of tensors alone for the argument, likely ones first: as another list has them, like the tensors that are
 * there, and indices into the first of those. A list that has some is filled up. Where it has tensors alone, lists with
 * a null somewhere. How many. */
size_t opc_option_lists_make(const opc_operator_t *op, const opc_sample_t *sample, size_t argument,
                             opc_value_t out[OPC_OPTION_LISTS_MAX]);

#endif
