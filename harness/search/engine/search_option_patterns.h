/* Options: values of integer tensors that follow one another, repeat, go down, end at a size or with -1. Zeros and ones
 * reach few of the paths that depend on such values: segments without rows, neighbours, the end of a list. Not for use
 * outside harness/search/engine.
 *
 * Ownership: as search_inside.h says of candidates. Threads: none. */
#ifndef OPC_SEARCH_ENGINE_SEARCH_OPTION_PATTERNS_H
#define OPC_SEARCH_ENGINE_SEARCH_OPTION_PATTERNS_H

#include "search/draft/search_inside.h"

/* The sample with other values of its integer tensors, one candidate for each pattern, the likeliest first. Nothing
 * where it has no such tensor of two elements. hangs: the operator has hung, so that values come first that end. */
void opc_option_patterns_begin(const opc_sample_t *sample, bool hangs, opc_candidates_t *out);

#endif
