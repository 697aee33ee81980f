/* Finds arguments for an operator from its schema: ask for the next arguments to try, tell what came of them.
 *
 * The search itself runs nothing and needs no libtorch: whoever holds it sends each try to a child and tells the
 * outcome (wire/protocol.h, "try"), so a crash costs a child and never the search's memory. Deterministic: the tries
 * are a function of (schema, seed, outcomes told). Ownership: opc_search_free. Threads: one search, one thread. */
#ifndef OPC_SEARCH_ENGINE_SEARCH_H
#define OPC_SEARCH_ENGINE_SEARCH_H

#include "search/draft/search_library.h"
#include "search/recipe/recipe.h"

typedef enum opc_try_kind {
  OPC_TRY_RETURNED = 0,
  OPC_TRY_REJECTED,
  OPC_TRY_NO_KERNEL,
  OPC_TRY_CRASHED,
  OPC_TRY_TIMEOUT,
  OPC_TRY_OUT_OF_MEMORY,
  OPC_TRY_FOREIGN_EXCEPTION,
  OPC_TRY_UNCLEAN,       /* returned, but left its arguments' memory: nothing can be concluded */
  OPC_TRY_UNINITIALISED, /* returned within its arguments' memory, and its result follows memory that nothing
                            initialised */
  OPC_TRY_UNCONVERTIBLE
} opc_try_kind_t;

typedef struct opc_try_outcome {
  opc_try_kind_t kind;
  const char *message; /* of a try that did not return; read during the call only */
  const char *said; /* CRASHED: what the operator printed before it ended the process on purpose (assert, abort, exit);
                       NULL or empty: nothing. Read likewise */
  const char *site; /* where it was thrown or crashed, in any words that are the same every time; NULL: not known */
  uint64_t digest;  /* of all that it did; 0: not the same every time */
  const char *overrun;    /* UNCLEAN: which access, of which argument, how far beside it, in any words that are the same
                             for the same mistake; NULL: not known */
  bool effect;            /* a non-empty tensor output, a mutated argument, or a non-tensor result */
  bool depends_on_values; /* another fill gave other bytes */
  int64_t output_numel;   /* of the largest tensor output or mutated argument */
} opc_try_outcome_t;

/* States of an operator after its search. */
#define OPC_SEARCH_STATES(X)                                                                                  \
  X(NOT_FOUND, "not found")                                                                                   \
  X(RICH, "rich")            /* non-empty inputs, output of two elements or more, two shapes */               \
  X(FOUND, "found")          /* returned with an effect */                                                    \
  X(TRIVIAL, "trivial only") /* only empty or without effect */                                               \
  X(CRASHES, "crashes only")                                                                                  \
  X(UNSTABLE,                                                                                                 \
    "unstable") /* what was accepted was not accepted again in a fresh process; said by whoever tried that */ \
  X(IMPOSSIBLE, "impossible here") /* needs CUDA, or an argument type that the harness cannot make */
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
  int budget;                          /* number of tries at most (300 is a good one) */
  const opc_search_library_t *library; /* what other operators have found; outlives the search. NULL: nothing */
  int round;                  /* 1: the first search of this operator; of the library, earlier rounds are used */
  int earlier;                /* tries of earlier rounds, for the words */
  const opc_recipe_t *recipe; /* what every try keeps to; outlives the search. NULL: none */
} opc_search_options_t;
opc_status_t opc_search_new(const opc_operator_t *op, const opc_search_options_t *options, opc_search_t **out,
                            opc_error_t *error) OPC_CHECKED;
void opc_search_free(opc_search_t *search);
/* The next arguments to try; false: the search is over. The caller clears *out. */
bool opc_search_next(opc_search_t *search, opc_sample_t *out);
/* What came of the arguments of the last opc_search_next. */
void opc_search_report(opc_search_t *search, const opc_try_outcome_t *outcome);
opc_search_state_t opc_search_state(const opc_search_t *search);
/* In words: "found after 31 tries", or the deepest message: "not found in 300 tries; last: Expected 4-D…". What says
 * nothing of the search itself
 * ("it has no kernel for the CPU") wants the state's name before it: IMPOSSIBLE alone. Owned by the search. */
const char *opc_search_detail(const opc_search_t *search);
/* What the search did, for the report: {"state", "tries", "found_at" (0: never), "crashes", "timeouts", "places" (where
 * tries ended), "families": what each kind of edit was worth: {NAME: [tried, came to a new place, kept]}}, without
 * those that were never tried. New reference; NULL: out of memory. */
json_t *opc_search_to_json(const opc_search_t *search);
/* Appends the accepted samples, minimal first (at most 3, of different shapes, non-empty outputs), then at most 5 with
 * other options or integers, which are `varied`. Where there is none, but tries of several shapes were UNINITIALISED,
 * the best of those alone: an operator that forgets to write a part of its output forgets it on all arguments. Likewise
 * of tries that left their tensors, where all did so at one place and by the same amount, or had but one tensor to
 * leave. Where every single try crashed, the smallest of those: the crash is then a finding and no silence. Names are
 * content digests, source SEARCHED. */
enum { OPC_SEARCH_SHAPES_MAX = 3, OPC_SEARCH_SAMPLES_MAX = OPC_SEARCH_SHAPES_MAX + 5 };
opc_status_t opc_search_samples(const opc_search_t *search, opc_sample_set_t *set,
                                uint64_t out_digests[OPC_SEARCH_SAMPLES_MAX], opc_error_t *error) OPC_CHECKED;
/* Whether nothing is known against these samples. */
bool opc_search_is_clean(const opc_search_t *search);
/* A message asked for tensors on a CUDA device. */
bool opc_search_wants_cuda(const opc_search_t *search);
/* Appends the smallest arguments that the operator accepted and left its tensors with, `unchecked`; none where there
 * are none, or where the samples above tell it already. Then, likewise, those with which its result depends on memory
 * that nothing initialised, `uninitialised` too. And those that it crashed with for nothing but a switch, a mode, or
 * tensors in a list that may hold nulls. */
opc_status_t opc_search_unchecked(const opc_search_t *search, opc_sample_set_t *set, opc_error_t *error) OPC_CHECKED;

#endif
