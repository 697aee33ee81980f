/* The state of a search. Not for use outside harness/search/engine. */
#pragma once

#include "search/engine/search_options.h"

enum {
  OPC_SITES_MAX = 192, /* remembered places of rejection */
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
  bool rich, depends_on_values;
  bool contradicted; /* the Meta kernel refuses it: its author takes the arguments for wrong, or the kernel is */
} opc_kept_t;

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
  const opc_recipe_t *recipe; /* NULL: none */
  opc_rng_t rng;
  opc_search_view_t view;
  int budget, tries, earlier;
  uint64_t without;                  /* families that make no tries */
  int from_library;                  /* tries based on what other operators have found */
  int found_at;                      /* number of the first try that was kept; 0: none */
  opc_search_family_t found_by;      /* of that try */
  int crashes, hangs;                /* number of tries */
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
