/* Lists that may contain tensors or nulls: other lists for an argument of type Tensor?[], Tensor?[]? or Tensor[]?, of
 * an accepted call. Not for use outside harness/search/engine.
 *
 * Ownership: the caller clears the results. Threads: one. */
#pragma once

#include "search/draft/search_inside.h"
#include "search/engine/search.h"

enum { OPC_OPTION_LISTS_MAX = 10 };

/* True if the type is such a list. */
bool opc_option_lists_are(const opc_type_t *type);
/* True if the value is a list of tensors without nulls, with at least one. */
bool opc_option_list_is_full(const opc_value_t *value);
/* Lists without nulls for the argument, most promising first: like another list, like existing tensors, or indices into
 * the first of those. Fills up a list that has some tensors. If the list has no nulls: lists with a null somewhere.
 * Returns their number. */
size_t opc_option_lists_make(const opc_operator_t *op, const opc_sample_t *sample, size_t argument,
                             opc_value_t out[OPC_OPTION_LISTS_MAX]);
