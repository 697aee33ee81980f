/* The state of a search. Not for use outside harness/search/engine. */
#ifndef OPC_SEARCH_ENGINE_SEARCH_STATE_H
#define OPC_SEARCH_ENGINE_SEARCH_STATE_H

#include "base/text.h"
#include "search/draft/search_inside.h"
#include "search/engine/search.h"
#include "search/engine/search_options.h"

enum {
  OPC_SITES_MAX = 192, /* places of rejection that are remembered */
  OPC_KEPT_MAX = 12,
  OPC_SEARCH_LARGE = 4096 /* elements of accepted arguments that smaller ones are looked for */
};

/* A place in the operator's code where tuples end, with one of them. */
typedef struct opc_site {
  uint64_t id;
  opc_sample_t sample;
  char *message;
  opc_candidates_t candidates; /* repairs of the sample that were not tried yet */
  int depth;                   /* places that were passed to get here */
  int line;                    /* of the source, where the message tells; 0: not */
  int hits, used;
  bool crash, trivial;
  bool spoke; /* crash: message is what the operator said before it ended the process */
} opc_site_t;

typedef struct opc_kept {
  opc_sample_t sample;
  uint64_t shape;
  uint64_t digest; /* of what it came to */
  int64_t numel;   /* of all inputs: the smaller the simpler */
  bool rich, depends_on_values;
} opc_kept_t;

/* Tries that returned and cannot be trusted. */
typedef struct opc_suspects {
  opc_kept_t best;    /* rich ones before others, of those the smallest */
  int first_at;       /* the try; 0: none */
  uint64_t shapes[3]; /* of the first, all different */
  size_t shape_count;
  uint64_t place; /* digest of where the first one left its tensor; 0: not known */
  bool places_differ;
  bool lone; /* one of them had nothing but one tensor, which no operator that accepts it may leave */
} opc_suspects_t;

/* Arguments but for sizes, and how often a process died with them. */
typedef struct opc_form {
  uint64_t id;
  int deaths;
  bool survived; /* not always */
} opc_form_t;

enum { OPC_TABU_DEATHS = 2 };

struct opc_search {
  const opc_operator_t *op;
  const opc_recipe_t *recipe; /* NULL: none */
  opc_rng_t rng;
  opc_search_view_t view;
  int budget, tries, earlier;
  int from_library;                  /* tries that follow what other operators have found */
  int found_at;                      /* the try that was the first to be kept; 0: none */
  int crashes, hangs;                /* of the tries */
  int spoken;                        /* crashes that said something */
  int crash_cost;                    /* a timeout costs as much as several crashes */
  int repeats, no_kernels, hopeless; /* in a row; in a row; altogether */
  bool wants_cuda;                   /* said so once */
  bool over, impossible, trivial;
  opc_site_t sites[OPC_SITES_MAX];
  size_t site_count;
  opc_kept_t kept[OPC_KEPT_MAX];
  size_t kept_count;
  opc_suspects_t uninitialised; /* tries whose result follows memory that nothing initialised */
  bool pattern_uninitialised;   /* the best of them is accepted arguments with a pattern of integers */
  opc_suspects_t leaves;        /* tries that left their tensors */
  opc_kept_t crashing; /* the smallest arguments that crashed, non-empty ones before empty ones; for an operator that
                          does nothing else */
  opc_candidates_t derived; /* other shapes of what was accepted, and what a forward operator accepted: tried first */
  opc_candidates_t endings; /* what hung, with values that end: tried before all else */
  int64_t shrunk;           /* elements of the large arguments that `derived` has smaller ones of; 0: none were large */
  uint64_t *seen;           /* digests of what was tried */
  size_t seen_count;
  opc_form_t *forms;
  size_t form_count;
  opc_options_t options; /* what comes when everything else is over */
  opc_sample_t current;
  opc_search_family_t family;
  size_t parent; /* site of the tuple that was edited; OPC_SITES_MAX: none */
  int tried[OPC_FAMILY_COUNT], moved[OPC_FAMILY_COUNT], accepted[OPC_FAMILY_COUNT];
  opc_text_t detail;
  opc_text_t no_kernel; /* what the operator said last of a kernel that it has not */
};

/* "called f of libx.so; …": where it took its arguments, the operator called a function of a library that is not here.
 * NULL: it did not. */
const char *opc_search_unprovided(const opc_search_t *search);
/* Digest of a tuple: all of it, or what makes its shape. */
uint64_t opc_search_digest(const opc_sample_t *sample, bool shapes_only);
uint64_t opc_search_digest_value(const opc_value_t *value, bool shapes_only);

/* The current try cost a process (a hang counts as several), or (0) did not. */
void opc_tabu_note(opc_search_t *search, int deaths);
/* Arguments of this form did nothing but kill, more than once. */
bool opc_tabu_has(const opc_search_t *search, const opc_sample_t *sample);
/* The accepted tuple whose options are varied: of the best ones the second, so that it differs from the first in shape
 * too. NULL: there is none. */
const opc_kept_t *opc_search_varied(const opc_search_t *search);
/* Two shapes with results of some size; with_values: that depend on the values of the arguments. */
bool opc_search_is_rich(const opc_search_t *search, bool with_values);
/* True when shape means shapes of tensors for this operator; otherwise its numbers are its shape. */
bool opc_search_has_tensors(const opc_operator_t *op);
void opc_search_describe(opc_search_t *search); /* brings the detail up to date */

#endif
