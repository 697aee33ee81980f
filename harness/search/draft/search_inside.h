/* Internals of the search, shared by its files. Outside harness/search only checks/objects uses them: it repairs the
 * arguments of methods.
 *
 *   search.c                 the state: what was tried, what was accepted, what is tried next
 *   search_seed.c            fresh arguments from the schema and the hints of search_hints.def
 *   search_text.c            extracts names, numbers, ranks, dtypes and shapes from a message
 *   search_repair.c          from a message to edited arguments; one table entry per family
 *   search_edit.c            the edits themselves
 *   search_library.c         what other operators have found
 *   search_offer.c           what an operator is offered of that
 *   search_backward.c        a backward operator's arguments from those of its forward operator
 *   search_tabu.c            forms of arguments that only kill the process
 *   search_redraw.c          other sizes and values for a tuple whose dtypes and ranks got far
 *   search_options.c         other values for switches, modes and optional arguments of accepted tuples
 *   search_option_patterns.c integers that ascend, repeat, or end with -1
 *   search_option_lists.c    lists of tensors, and lists with a null if the type allows nulls
 *   search_mutate.c          undirected changes, harmless arguments after a crash, other shapes of accepted arguments
 *
 * Ownership: candidates own their samples; slots borrow. Threads: no shared state. */
#pragma once

#include "base/random.h"
#include "plan/variant/variant.h"

/* ---- what other operators have found (search_library.c) ---- */

/* A tensor that an operator returned. Results of thousands of operators are in memory at once: values are stored as
 * elements of the dtype, in a sixth of their usual size. */
typedef struct opc_search_output {
  opc_tensor_spec_t *spec;
  void *elements; /* the spec's values, moved here; NULL: they are in the spec, or there are none */
} opc_search_output_t;

typedef struct opc_search_entry {
  const opc_operator_t *op;
  int round;
  opc_sample_t sample;
  opc_search_output_t *outputs;
  size_t output_count;
} opc_search_entry_t;

/* The tensor with its values. The caller clears *out; false: out of memory. */
bool opc_search_output_value(const opc_search_output_t *output, opc_value_t *out);

/* The part of the library that one operator's search may use. */
typedef struct opc_search_view {
  const opc_search_entry_t **entries; /* most similar operators first */
  size_t count;
  const opc_search_entry_t **objects; /* what makes the objects that it takes, with arguments that it accepted */
  size_t object_count;
  const struct opc_search_library *library; /* NULL: nothing is loaded */
  const opc_class_t *classes;
  size_t class_count;
} opc_search_view_t;

struct opc_search_library;
opc_status_t opc_search_view_make(const struct opc_search_library *library, const opc_operator_t *op, int round,
                                  opc_search_view_t *out, opc_error_t *error) OPC_CHECKED;
void opc_search_view_clear(opc_search_view_t *view);
/* Number of words (separated by underscores) that both names have. */
int opc_search_shared_words(const char *left, const char *right);
/* Some operator returns objects of the class: they may come in a later round. view may be NULL. */
bool opc_search_is_returned(const opc_search_view_t *view, const char *class_name);
/* The schema of the class's constructor; NULL: unknown. view may be NULL. */
const char *opc_search_constructor(const opc_search_view_t *view, const char *class_name);

/* Arguments modelled on a related operator's, with values that other operators returned and values of arguments with
 * the same name. False: there are none. */
bool opc_search_view_tuple(const opc_search_view_t *view, const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *out);
/* Replaces one argument of the sample by such a value. */
bool opc_search_view_replace(const opc_search_view_t *view, const opc_operator_t *op, opc_rng_t *rng,
                             opc_sample_t *sample);

/* True if its name says that it is the backward operator of the other: "_foo_backward" and "foo". */
bool opc_search_is_backward_of(const opc_operator_t *op, const opc_operator_t *forward);

/* ---- origin of a tuple; counted for each family, so that an ineffective strategy is noticed ---- */

#define OPC_SEARCH_FAMILIES(X)          \
  X(SEED, "seed")                       \
  X(MUTATION, "mutation")               \
  X(REDRAW, "redraw")                   \
  X(LIBRARY, "library")                 \
  X(LIBRARY_VALUE, "library-value")     \
  X(BACKWARD, "backward")               \
  X(OTHER_SHAPE, "other-shape")         \
  X(SMALLER, "smaller")                 \
  X(NON_EMPTY, "non-empty")             \
  X(CALM, "calm")                       \
  X(RANK_FROM_TO, "rank-from-to")       \
  X(SHAPE_PAIR, "shape-pair")           \
  X(VIEW, "view")                       \
  X(GOT_EXPECTED, "got-expected")       \
  X(SCALAR_TYPE, "scalar-type")         \
  X(FLOAT8, "float8")                   \
  X(NOT_IMPLEMENTED, "not-implemented") \
  X(DTYPE_UNSAID, "dtype-unsaid")       \
  X(SHAPE_LITERAL, "shape-literal")     \
  X(EXPRESSION, "expression")           \
  X(SQUARE, "square")                   \
  X(RANK, "rank")                       \
  X(DIVISIBLE, "divisible")             \
  X(SAME_SHAPE, "same-shape")           \
  X(LIST_LENGTH, "list-length")         \
  X(DTYPE_ARGUMENT, "dtype-argument")   \
  X(SAME_DTYPE, "same-dtype")           \
  X(NUMBER_SWAP, "number-swap")         \
  X(NUMBER_RANGE, "number-range")       \
  X(INDEX_RANGE, "index-range")         \
  X(INT_VALUES, "int-values")           \
  X(NUMBER_SET, "number-set")           \
  X(STRING_WORD, "string-word")         \
  X(OPTIONAL, "optional")               \
  X(REQUIRES_GRAD, "requires-grad")     \
  X(NAMED, "named")                     \
  X(OPTION, "option")                   \
  X(KNOWN, "known")                     \
  X(OTHER_RANK, "other-rank")           \
  X(OTHER_DTYPE, "other-dtype")
typedef enum opc_search_family {
#define X(constant, text) OPC_FAMILY_##constant,
  OPC_SEARCH_FAMILIES(X)
#undef X
      OPC_FAMILY_COUNT
} opc_search_family_t;

typedef struct opc_candidate {
  opc_sample_t sample;
  opc_search_family_t family;
} opc_candidate_t;

typedef struct opc_candidates {
  opc_candidate_t *items;
  size_t count, next; /* next: the first one not tried yet */
} opc_candidates_t;

enum { OPC_CANDIDATES_MAX = 48 };

/* Appends a copy of base for the caller to edit; NULL: the list is full or memory ran out. */
opc_sample_t *opc_candidates_add(opc_candidates_t *list, const opc_sample_t *base, opc_search_family_t family);
void opc_candidates_drop_last(opc_candidates_t *list);
void opc_candidates_clear(opc_candidates_t *list);

/* ---- a sample's values, flattened: tensors and numbers, also those in lists and optionals ---- */

typedef struct opc_slot {
  opc_value_t *value;
  size_t argument;
} opc_slot_t;

enum { OPC_SLOTS_MAX = 96 };

/* In schema order: the n-th slot of a copy is the copy of the n-th slot. */
size_t opc_slots_of(const opc_sample_t *sample, opc_slot_t slots[OPC_SLOTS_MAX]);
/* Elements of all given tensors. *out_tensors and *out_empty (both may be NULL) count the tensors. */
int64_t opc_sample_elements(const opc_sample_t *sample, size_t *out_tensors, size_t *out_empty);

/* ---- fresh arguments ---- */

typedef struct opc_seed {
  opc_rng_t *rng;
  int64_t roles['Z' + 1]; /* size of each named dimension: N, C, H, W, K… */
  enum { OPC_SEED_HINTED, OPC_SEED_SHARED, OPC_SEED_NAIVE } style;
  int like_ndim; /* SHARED: the common shape of tensors without a hint */
  int64_t like_sizes[OPC_MAX_DIMS];
  opc_dtype_t like_dtype;
  bool has_first;        /* HINTED: the like_ fields hold the first tensor's shape */
  int64_t fixed_integer; /* value of every int without a hint; -1: drawn */
  int depth;             /* of objects within objects */
} opc_seed_t;

void opc_seed_begin(opc_seed_t *seed, opc_rng_t *rng);
/* Makes the following values use the sizes of this tensor. */
void opc_seed_follow(opc_seed_t *seed, const opc_tensor_spec_t *spec);
/* A value for one argument; false: the harness cannot create one of this type. */
bool opc_seed_value(opc_seed_t *seed, const opc_argument_t *argument, opc_value_t *out);
/* All arguments. False: impossible, or out of memory. */
bool opc_seed_sample(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *out);
/* A fresh value for one argument of a sample; may make it absent if the schema allows it. */
bool opc_seed_again(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *sample, size_t argument);
/* The first required argument that the harness cannot create (Dimname, a custom class…); NULL: none. */
const opc_argument_t *opc_seed_impossible(const opc_operator_t *op, const opc_search_view_t *view);
bool opc_seed_is_impossible(const opc_type_t *type, const opc_search_view_t *view);
/* True for an int that divides sizes ("groups"): 1 is always valid. */
bool opc_seed_is_group(const char *name);
/* Fills a tensor as its name suggests (boxes, indices…); keeps the dtype. */
void opc_seed_fill(const char *name, opc_tensor_spec_t *spec);
/* What an argument's name suggests about a tensor; NULL: nothing. */
typedef struct opc_tensor_hint opc_tensor_hint_t;
const opc_tensor_hint_t *opc_seed_hint(const char *name);
/* True if the name has this hint. False for NULL. */
bool opc_seed_hint_is_of(const opc_tensor_hint_t *hint, const char *name);
/* True if both words are hints of the same kind: "boxes" and "dets". */
bool opc_seed_synonyms(const char *left, const char *right);

/* True for a list, or optional list, whose length the schema does not fix. */
bool opc_type_is_any_length(const opc_type_t *type);

/* ---- edits; each respects the limits (4096 per dimension, 4 M elements); true if something changed ---- */

bool opc_edit_shape(opc_value_t *tensor, int ndim, const int64_t *sizes);
bool opc_edit_dim(opc_value_t *tensor, int dim, int64_t size);
bool opc_edit_rank(opc_value_t *tensor, int ndim, bool at_front); /* adds or removes leading or trailing dimensions */
bool opc_edit_dtype(opc_value_t *tensor, opc_dtype_t dtype);
bool opc_edit_fill(opc_value_t *tensor, opc_fill_kind_t kind);
bool opc_edit_full(opc_value_t *tensor, int64_t number);     /* every element becomes the number */
bool opc_tensor_holds_integers(const opc_value_t *value);    /* indices, lengths, counts… */
bool opc_edit_number(opc_value_t *value, int64_t number);    /* an int or a float */
bool opc_edit_list_length(opc_value_t *list, size_t length); /* truncates, or repeats the last item */

/* ---- messages ---- */

enum { OPC_CLUE_TEXT = 1536, OPC_CLUE_NUMBERS = 16, OPC_CLUE_RANKS = 4, OPC_CLUE_TUPLES = 4 };

typedef struct opc_tuple {
  int count;
  int64_t sizes[OPC_MAX_DIMS]; /* -letter for a symbolic name in the text */
  bool has_letter;
} opc_tuple_t;

typedef struct opc_clue {
  char text[OPC_CLUE_TEXT]; /* without paths, backtrace, "please report a bug" */
  char lower[OPC_CLUE_TEXT];
  int64_t numbers[OPC_CLUE_NUMBERS]; /* in order of the text, without duplicates */
  size_t number_count;
  int ranks_wanted[OPC_CLUE_RANKS], ranks_found[OPC_CLUE_RANKS];
  size_t ranks_wanted_count, ranks_found_count;
  opc_dtype_t dtype_wanted[4], dtype_found[4];
  size_t dtype_wanted_count, dtype_found_count;
  opc_tuple_t tuples[OPC_CLUE_TUPLES];
  size_t tuple_count;
  bool got_expected;
  int64_t got, expected; /* "got: 3 expected: 18" */
} opc_clue_t;

void opc_clue_read(opc_clue_t *clue, const char *message);
bool opc_clue_has(const opc_clue_t *clue, const char *words); /* contains any of the '|'-separated words, lower case */
/* How clearly the text refers to an argument: 2 by its name, 1 by a synonym, 0 not at all. */
int opc_clue_names(const opc_clue_t *clue, const char *argument_name);
/* Identifies the origin of a rejection: the text with dtype words and then numbers replaced. */
uint64_t opc_clue_site(const char *message);
/* The source line in the text ("kernel.cpp:123"); 0: none. */
int opc_clue_line(const char *message);
/* True: no arguments will help ("no NVIDIA driver", "only available on CUDA", "f is deprecated" of f itself). */
bool opc_clue_is_hopeless(const char *operator_name, const char *message);
/* True if it asks for tensors on a CUDA device. */
bool opc_clue_wants_cuda(const char *message);

/* ---- what to try after an outcome ---- */

/* One tuple for each that the forward operator accepted, if there is a forward operator. */
void opc_search_view_backward(const opc_search_view_t *view, const opc_operator_t *op, opc_rng_t *rng,
                              opc_candidates_t *out);

void opc_repair_message(const opc_operator_t *op, const opc_sample_t *sample, const char *message, opc_rng_t *rng,
                        opc_candidates_t *out);
void opc_repair_crash(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out);
/* Edits that make the call end, if the operator follows values until they end. */
void opc_repair_hang(const opc_sample_t *sample, opc_candidates_t *out);
void opc_repair_empty(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out);
/* Accepted arguments in other shapes: changes each size that occurs, everywhere at once, with the ints equal to it. */
void opc_derive_shapes(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out);
/* The same with fewer elements: a size that occurs becomes 2 or 1 everywhere at once, or a tensor with many dimensions
 * loses some. */
void opc_derive_smaller(const opc_sample_t *sample, opc_candidates_t *out);
/* Draws all sizes and the values of integer tensors again. Helps if those values depend on the sizes: lengths, bytes of
 * a file. */
bool opc_redraw_helps(const opc_operator_t *op, const opc_sample_t *sample);
bool opc_redraw(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *sample);
/* Changes one to three arguments, preferably those that the message names. message may be NULL. */
bool opc_mutate(const opc_operator_t *op, const char *message, opc_rng_t *rng, opc_sample_t *sample);
