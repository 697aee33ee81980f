/* The state of a search. Not for use outside harness/search/engine. */
#pragma once

#include "search/draft/search_inside.h"
#include "search/engine/search.h"

/* Options: arguments left at their default, off or out in the accepted call. After the search has found arguments,
 * each switch, mode, optional argument and number with a default gets another value, one after the other, on the
 * arguments accepted last. At the end, integer tensors get values other than 0 and 1. Not for use outside
 * harness/search/engine.
 *
 * Ownership: opc_options_clear. */

enum {
  OPC_OPTION_MODES_MAX = 2, /* further values of one argument, each in a separate sample */
  OPC_OPTION_DTYPES = 0,
  OPC_OPTION_SIZES = 1,
  OPC_OPTION_OUT = 2,
  OPC_OPTION_ARGUMENTS = 3,
  OPC_OPTION_SAMPLES_MAX =
      OPC_OPTION_MODES_MAX + 3 /* plus: all accepted options together, and two kinds of other integers */
};

typedef struct opc_option_sample {
  opc_sample_t sample;
  uint64_t digest; /* of its results; 0: not the same every time */
} opc_option_sample_t;

typedef struct opc_options {
  bool begun, over;
  bool arguments_only; /* no other dtypes, sizes or integers in tensors */
  bool hangs;          /* the operator hung in the search */
  opc_rng_t rng;
  opc_option_sample_t all; /* the accepted arguments with every accepted option */
  bool varied;             /* an option was accepted */
  opc_option_sample_t modes[OPC_OPTION_MODES_MAX];
  size_t mode_count;
  bool has_data;
  opc_option_sample_t data; /* the accepted arguments with other integers (below) */
  bool has_pattern;
  opc_option_sample_t pattern; /* the same, with integers in a pattern (below) */
  size_t turn; /* OPC_OPTION_DTYPES…; from OPC_OPTION_ARGUMENTS on the arguments in order; then the patterns, and the
                  integers that are data */
  opc_candidates_t candidates, repairs; /* values of the current turn; repairs of rejected ones come first */
  bool given;                           /* this argument already has another value in `all` */
  uint64_t places[8];                   /* where they were rejected */
  size_t place_count;
  int tries, turn_tries, crashes;
  bool crashed;
  opc_sample_t
      crashing; /* arguments that crash the operator because of a switch or a list with tensors; empty unless crashed */
} opc_options_t;

void opc_options_clear(opc_options_t *options);
/* Starts with these accepted arguments; digest: of their results; pass: chooses what is drawn. Call once. */
bool opc_options_begin(opc_options_t *options, const opc_operator_t *op, const opc_search_view_t *view,
                       const opc_sample_t *base, uint64_t digest, uint64_t pass);
/* The next arguments to try, owned by options; NULL: finished. */
const opc_sample_t *opc_options_next(opc_options_t *options, const opc_operator_t *op);
/* Reports their outcome: `sample` is the result of opc_options_next. effect: as in the outcome, and not all tensors are
 * empty. */
void opc_options_report(opc_options_t *options, const opc_operator_t *op, const opc_sample_t *sample,
                        const opc_tried_t *tried, bool effect);
/* True in the turn of the integers: the last try may be an input that nobody would use. */
bool opc_options_at_integers(const opc_options_t *options);
/* True in the turn of the patterns: likewise. */
bool opc_options_at_patterns(const opc_options_t *options);
/* The samples found, at most OPC_OPTION_SAMPLES_MAX. */
size_t opc_options_found(const opc_options_t *options, const opc_option_sample_t *out[OPC_OPTION_SAMPLES_MAX]);

/* Integers that are data (bytes of an image, codes), unlike indices, which must be zeros and ones: other values for
 * the integer tensors of an accepted call. Small values cannot distinguish an index, length or count from data, as a
 * wrong index may still lie in some tensor. So a tensor first gets values far out of any range, positive, then
 * negative. If the operator stays within its memory, they are data, and the tensor gets a range of moderate values.
 * Not for use outside harness/search/engine.
 *
 * Ownership: the lists of candidates own what is added. */

/* Adds the first tries: far values in all integer tensors that are read; if there are several, then in each alone. */
void opc_option_integers_begin(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out);
/* True if the sample has such far values: it is a probe, not an input. */
bool opc_option_integers_are_far(const opc_sample_t *sample);
/* Adds the tries that follow `far`; within: the operator stayed within its memory. Adds nothing at the end. */
void opc_option_integers_go_on(const opc_sample_t *far, bool within, opc_candidates_t *out);

/* Lists that may contain tensors or nulls: other lists for an argument of type Tensor?[], Tensor?[]? or Tensor[]?, of
 * an accepted call. Not for use outside harness/search/engine.
 *
 * Ownership: the caller clears the results. */

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

/* Options: values of integer tensors that ascend, repeat, descend, or end at a size or with -1. Zeros and ones reach
 * few of the paths that depend on such values: segments without rows, neighbours, the end of a list. Not for use
 * outside harness/search/engine.
 *
 * Ownership: as for candidates in search_inside.h. Threads: none. */

/* The sample with other values in its integer tensors, one candidate per pattern, most promising first. None if it has
 * no integer tensor of two elements. hangs: the operator has hung, so terminating values come first. */
void opc_option_patterns_begin(const opc_sample_t *sample, bool hangs, opc_candidates_t *out);

enum {
  OPC_SITES_MAX = 192, /* remembered places of rejection */
  OPC_KINDS_MAX = 6,   /* samples of other kinds: four numbers of dimensions, two dtypes */
  OPC_KEPT_MAX = 12,
  OPC_SEARCH_LARGE = 4096 /* accepted arguments with more elements are shrunk */
};

/* A place in the operator's code where tuples end, with one such tuple. */
typedef struct opc_site {
  uint64_t id;
  opc_sample_t sample;
  char *message;
  opc_candidates_t candidates; /* untried repairs of the sample */
  int depth;                   /* places passed on the way here */
  int line;                    /* of the source, if the message names it; 0: unknown */
  int hits, used;
  bool crash, trivial;
  bool spoke; /* crash: message is what the operator printed before it ended the process */
} opc_site_t;

typedef struct opc_kept {
  opc_sample_t sample;
  uint64_t shape;
  uint64_t digest; /* of its results */
  int64_t numel;   /* of all inputs: smaller means simpler */
  int64_t results; /* elements of the largest tensor returned or changed */
  bool rich, depends_on_values;
  bool contradicted; /* the Meta kernel refuses it: its author takes the arguments for wrong, or the kernel is */
} opc_kept_t;

/* Other numbers of dimensions and other dtypes for accepted arguments, tried at the very end.
 *
 * Ownership: opc_kinds_clear; the base is the search's. */
typedef struct opc_kinds {
  bool begun, over;
  bool dtypes_too;
  const opc_kept_t *base;
  int stage, way, step; /* step: how many dimensions more or fewer */
  int row, column;      /* of the dtypes */
  int tries, crashes;
  opc_sample_t next; /* the last opc_kinds_next */
  opc_option_sample_t found[OPC_KINDS_MAX];
  size_t count;
} opc_kinds_t;

/* Tries that returned but cannot be trusted. */
typedef struct opc_doubtful {
  opc_kept_t best;    /* rich ones first, then the smallest */
  int first_at;       /* number of the first such try; 0: none */
  uint64_t shapes[3]; /* of the first ones, all different */
  size_t shape_count;
  uint64_t place; /* digest of where the first one went out of bounds; 0: unknown */
  bool places_differ;
  bool lone; /* one of them had only a single tensor: an operator that accepts it must stay in bounds */
} opc_doubtful_t;

/* Arguments apart from their sizes, and how often a process died with them. */
typedef struct opc_form {
  uint64_t id;
  int deaths;
  bool survived; /* at least once */
} opc_form_t;

enum { OPC_TABU_DEATHS = 2 };

struct opc_search {
  const opc_operator_t *op;
  const opc_recipe_t *recipe;    /* NULL: none */
  const opc_sample_set_t *known; /* samples that exist: the search is for what they lack. NULL: none exist */
  bool kinds_only;               /* of `known`: options were searched already */
  uint64_t pass;                 /* opc_search_options_t */
  size_t known_tried;            /* how many of them were tried themselves */
  const opc_sample_t *base;      /* the first of them that the operator accepted; NULL: none yet */
  opc_rng_t rng;
  opc_search_view_t view;
  int round, budget, tries, earlier;
  uint64_t without;                  /* families that make no tries */
  int from_library;                  /* tries based on what other operators have found */
  int found_at;                      /* number of the first try that was kept; 0: none */
  int progress_at;                   /* number of the last try that ended at a new place; 0: none */
  opc_search_family_t found_by;      /* of that try */
  int crashes, hangs;                /* number of tries */
  int exhausted, foreign;            /* likewise: memory ran out; what was thrown is no std::exception */
  int spoken;                        /* crashes with a printed message */
  int crash_cost;                    /* a timeout counts as several crashes */
  int repeats, no_kernels, hopeless; /* repeats, no_kernels: in a row; hopeless: total */
  bool wants_cuda;                   /* a message asked for CUDA */
  bool over, impossible, trivial;
  opc_site_t sites[OPC_SITES_MAX];
  size_t site_count;
  opc_kept_t kept[OPC_KEPT_MAX];
  size_t kept_count;
  opc_doubtful_t uninitialised; /* tries whose result depends on uninitialised memory */
  bool pattern_uninitialised;   /* the best of them: accepted arguments with a pattern of integers */
  opc_doubtful_t leaves;        /* tries that went out of bounds */
  opc_kept_t
      crashing; /* the smallest arguments that crashed, non-empty ones preferred; for operators that always crash */
  opc_candidates_t derived; /* other shapes of accepted arguments, and what a forward operator accepted: tried first */
  opc_candidates_t endings; /* tuples that hung, with terminating values: tried before all others */
  int64_t shrunk;           /* number of elements of the large arguments that `derived` shrinks; 0: none were large */
  uint64_t *seen;           /* digests of all tries */
  size_t seen_count;
  opc_form_t *forms;
  size_t form_count;
  opc_options_t options; /* run after everything else is finished */
  opc_kinds_t kinds;     /* run after these */
  opc_sample_t current;
  opc_search_family_t family;
  size_t parent; /* site of the edited tuple; OPC_SITES_MAX: none */
  int tried[OPC_FAMILY_COUNT], moved[OPC_FAMILY_COUNT], accepted[OPC_FAMILY_COUNT];
  opc_text_t detail;
  opc_text_t no_kernel; /* the operator's last message about a missing kernel */
};

/* The family makes tries. */
static inline bool opc_search_has_family(const opc_search_t *search, opc_search_family_t family) {
  return !(search->without >> family & 1);
}
/* "called f of libx.so; …": with accepted arguments, the operator called a function of a library that is not installed.
 * NULL: it did not. */
const char *opc_search_unprovided(const opc_search_t *search);
/* Digest of a tuple: of everything, or only of its shape. */
uint64_t opc_search_digest(const opc_sample_t *sample, bool shapes_only);
uint64_t opc_search_digest_value(const opc_value_t *value, bool shapes_only);

void opc_kinds_clear(opc_kinds_t *kinds);
void opc_kinds_begin(opc_kinds_t *kinds, const opc_kept_t *base, bool dtypes_too);
/* The next arguments to try, owned by search->kinds; NULL: finished. They keep the base's relations. */
const opc_sample_t *opc_kinds_next(opc_search_t *search);
opc_search_family_t opc_kinds_family(const opc_kinds_t *kinds); /* of these arguments */
/* Reports their outcome. effect: as in the outcome, and not all tensors are empty. True: they are kept. */
bool opc_kinds_report(opc_kinds_t *kinds, const opc_tried_t *tried, bool effect);

/* Notes how many processes the current try cost: 0 none; a hang counts as several. */
void opc_tabu_note(opc_search_t *search, int deaths);
/* True if arguments of this form have killed the process more than once, and done nothing else. */
bool opc_tabu_has(const opc_search_t *search, const opc_sample_t *sample);
/* True if the Meta kernel refuses every accepted tuple. */
bool opc_search_is_contradicted(const opc_search_t *search);
/* The accepted tuple whose options are varied: the second best if there is one, as its shape differs from the best's.
 * NULL: none. */
const opc_kept_t *opc_search_varied(const opc_search_t *search);
/* True if there are two shapes with results of some size; with_values: that also depend on the arguments' values. */
bool opc_search_is_rich(const opc_search_t *search, bool with_values);
/* True if shape means tensor shapes for this operator; otherwise its numbers are its shape. */
bool opc_search_has_tensors(const opc_operator_t *op);
void opc_search_describe(opc_search_t *search); /* updates the detail */
