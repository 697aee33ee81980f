/* Options: values of integer tensors that ascend, repeat, descend, or end at a size or with -1. Zeros and ones reach
 * few of the paths that depend on such values: segments without rows, neighbours, the end of a list. Not for use
 * outside harness/search/engine.
 *
 * Ownership: as for candidates in search_inside.h. Threads: none. */
#pragma once

#include "search/draft/search_inside.h"

/* The sample with other values in its integer tensors, one candidate per pattern, most promising first. None if it has
 * no integer tensor of two elements. hangs: the operator has hung, so terminating values come first. */
void opc_option_patterns_begin(const opc_sample_t *sample, bool hangs, opc_candidates_t *out);
