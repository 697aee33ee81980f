/* Finds arguments for an operator from its schema: ask for the next arguments to try, then report the outcome.
 *
 * The search executes nothing and needs no libtorch. The caller sends each try to a child and reports the outcome
 * (wire/protocol.h, "try"), so that a crash costs a child and never the search's memory. Deterministic: the tries
 * depend only on (schema, seed, reported outcomes). Ownership: opc_search_free. Threads: one search, one thread. */
#pragma once

#include "model/sample/tried.h"
#include "search/draft/search_library.h"
#include "search/recipe/recipe.h"

/* States of an operator after its search. */
#define OPC_SEARCH_STATES(X)                                                                                        \
  X(NOT_FOUND, "not found")                                                                                         \
  X(RICH, "rich")            /* non-empty inputs, an output of at least two elements, two shapes */                 \
  X(FOUND, "found")          /* returned with an effect */                                                          \
  X(TRIVIAL, "trivial only") /* only empty inputs, or no effect */                                                  \
  X(CRASHES, "crashes only")                                                                                        \
  X(UNSTABLE,                                                                                                       \
    "unstable") /* accepted arguments were not accepted again in a fresh process; reported by whoever tried that */ \
  X(IMPOSSIBLE, "impossible here") /* needs CUDA, or an argument type that the harness cannot create */
typedef enum opc_search_state {
#define X(constant, text) OPC_SEARCH_##constant,
  OPC_SEARCH_STATES(X)
#undef X
      OPC_SEARCH_STATE_COUNT
} opc_search_state_t;
const char *opc_search_state_name(opc_search_state_t state);

typedef struct opc_search opc_search_t;
typedef struct opc_search_options {
  uint64_t seed;
  int budget;                          /* maximum number of tries (300 is a good value) */
  const opc_search_library_t *library; /* what other operators have found; must outlive the search. NULL: nothing */
  uint64_t pass;                       /* 0; otherwise other values of optional arguments are drawn */
  int round;                           /* 1: the first search of this operator; uses the library's earlier rounds */
  int earlier;                         /* tries of earlier rounds, for the text of opc_search_detail */
  uint64_t without;                    /* bits of the families that make no tries (opc_search_families_of); 0: none */
  const opc_recipe_t *recipe;          /* every try conforms to it; must outlive the search. NULL: none */
  const opc_sample_set_t *known; /* the operator's samples: the search is only for other numbers of dimensions, dtypes
                                    and options, starting from the first one that it accepts; must outlive the search.
                                    NULL: there are none */
  bool kinds_only;               /* of `known`: no other dtypes and options */
} opc_search_options_t;
opc_status_t opc_search_new(const opc_operator_t *op, const opc_search_options_t *options, opc_search_t **out,
                            opc_error_t *error) OPC_CHECKED;
void opc_search_free(opc_search_t *search);
/* The bits of the families with these names, separated by commas; NULL: none. OPC_ERR_USAGE lists the families. */
opc_status_t opc_search_families_of(const char *names, uint64_t *out, opc_error_t *error) OPC_CHECKED;
/* The next arguments to try; false: the search is over. The caller clears *out. */
bool opc_search_next(opc_search_t *search, opc_sample_t *out);
/* Reports what the arguments of the last opc_search_next gave; borrowed during the call. */
void opc_search_report(opc_search_t *search, const opc_tried_t *tried);
opc_search_state_t opc_search_state(const opc_search_t *search);
/* As text: "found after 31 tries", or the deepest message: "not found in 300 tries; last: Expected 4-D…". A text that
 * does not mention the search ("it has no kernel for the CPU") needs the state's name in front: only for IMPOSSIBLE.
 * Owned by the search. */
const char *opc_search_detail(const opc_search_t *search);
/* Summary of the search for the report: {"state", "tries", "found_at" (0: never), "found_by" (the family whose try
 * was the first to be accepted; only if there is one), "crashes", "timeouts", "out_of_memory", "foreign_exceptions",
 * "places" (where tries ended), "families": the use of each kind of edit: {NAME: [tried, reached a new place, kept]}},
 * without kinds never tried. New reference; NULL: out of memory. */
json_t *opc_search_to_json(const opc_search_t *search);
/* Appends the accepted samples, minimal first (at most 3, of different shapes, with non-empty outputs), then at most 5
 * with other options or integers, which are `varied`. If there is none, but tries of several shapes were UNINITIALISED,
 * appends only the best of those: an operator that does not write a part of its output does so for all arguments. The
 * same holds for tries that went out of bounds, if all did so at one place by the same amount, or had only one tensor.
 * If every try crashed, appends the smallest of those: the crash is then reported as a finding. Names are content
 * digests, source SEARCHED. Beside known samples: appends those with another number of dimensions, another dtype, flag
 * or mode, or another argument given than all of these and than one another; they are `brief`. */
enum { OPC_SEARCH_SHAPES_MAX = 3, OPC_SEARCH_SAMPLES_MAX = OPC_SEARCH_SHAPES_MAX + 6 };
opc_status_t opc_search_samples(const opc_search_t *search, opc_sample_set_t *set,
                                uint64_t out_digests[OPC_SEARCH_SAMPLES_MAX], opc_error_t *error) OPC_CHECKED;
/* True if nothing is known against these samples. */
bool opc_search_is_clean(const opc_search_t *search);
/* True if it is impossible because no kernel is there, or none that an operator calls for it. */
bool opc_search_lacks_kernel(const opc_search_t *search);
/* True if a message asked for tensors on a CUDA device. */
bool opc_search_wants_cuda(const opc_search_t *search);
/* Appends the smallest arguments that the operator accepted but went out of bounds with, marked `unchecked`; none if
 * there are none, or if the samples above show it already. Then likewise those for which its result depends on
 * uninitialised memory, marked `uninitialised` too. Then those that crash it only because of a switch, a mode, or
 * tensors in a list that may hold nulls. */
opc_status_t opc_search_unchecked(const opc_search_t *search, opc_sample_set_t *set, opc_error_t *error) OPC_CHECKED;
