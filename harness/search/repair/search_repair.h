/* Internals of the repairs: a message, the tuple that it rejects, and the candidate under construction. Not for use
 * outside harness/search/repair.
 *
 * Each family of messages is a function here and an entry in search_repair.c. */
#pragma once

#include "search/draft/search_inside.h"

typedef struct opc_repair {
  const opc_operator_t *op;
  const opc_sample_t *sample;
  const opc_clue_t *clue;
  opc_rng_t *rng;
  opc_candidates_t *out;
  opc_slot_t slots[OPC_SLOTS_MAX]; /* of sample; those named in the text come first */
  opc_slot_t copy[OPC_SLOTS_MAX];  /* of the candidate under construction, in the same order */
  size_t order[OPC_SLOTS_MAX];     /* slots[i] is slot order[i] of the sample */
  size_t count;
  int named[OPC_SLOTS_MAX]; /* opc_clue_names of slots[i] */
  int certainty;            /* the largest of these */
  opc_search_family_t family;
  size_t limit; /* number of candidates that this family may still create */
} opc_repair_t;

/* Starts a candidate: a copy of the tuple, whose slots are then in r->copy. False: the limit is reached. */
bool opc_repair_begin(opc_repair_t *r);
opc_sample_t *opc_repair_sample(opc_repair_t *r);   /* the current candidate */
void opc_repair_end(opc_repair_t *r, bool changed); /* discards an unchanged candidate */

/* If the text names arguments: true only for those. */
bool opc_repair_is_meant(const opc_repair_t *r, size_t slot);
bool opc_repair_is_tensor(const opc_repair_t *r, size_t slot);
bool opc_repair_is_number(const opc_repair_t *r, size_t slot); /* an int or a float */
bool opc_repair_is_integer(const opc_repair_t *r, size_t slot);
const opc_tensor_spec_t *opc_repair_spec(const opc_repair_t *r, size_t slot);
const char *opc_repair_name(const opc_repair_t *r, size_t slot);
void opc_repair_set_number(opc_repair_t *r, size_t slot, int64_t number); /* creates a complete candidate */
/* Fills the candidate's tensor again after a change of shape made its values meaningless: boxes are rows. */
void opc_repair_refill(const opc_repair_t *r, size_t slot);

/* The families. */
void opc_repair_rank_from_to(opc_repair_t *r);
void opc_repair_rank_wanted(opc_repair_t *r);
void opc_repair_shape_pair(opc_repair_t *r);
void opc_repair_view(opc_repair_t *r);
void opc_repair_got_expected(opc_repair_t *r);
void opc_repair_shape_literal(opc_repair_t *r);
void opc_repair_square(opc_repair_t *r);
void opc_repair_expression(opc_repair_t *r);
void opc_repair_divisible(opc_repair_t *r);
void opc_repair_same_shape(opc_repair_t *r);
void opc_repair_number_swap(opc_repair_t *r);
void opc_repair_number_set(opc_repair_t *r);
void opc_repair_scalar_type(opc_repair_t *r);
void opc_repair_not_implemented(opc_repair_t *r);
void opc_repair_float8(opc_repair_t *r);
void opc_repair_dtype_unsaid(opc_repair_t *r);
void opc_repair_list_length(opc_repair_t *r);
void opc_repair_same_dtype(opc_repair_t *r);
void opc_repair_dtype_argument(opc_repair_t *r);
void opc_repair_number_range(opc_repair_t *r);
void opc_repair_index_range(opc_repair_t *r);
void opc_repair_int_values(opc_repair_t *r);
void opc_repair_string_word(opc_repair_t *r);
void opc_repair_optional(opc_repair_t *r);
void opc_repair_requires_grad(opc_repair_t *r);
void opc_repair_named(opc_repair_t *r);

/* Words that an error message names as values of a string argument.
 *
 * Ownership: nothing is kept. Threads: any. */

typedef void opc_refusal_word_t(const char *word, size_t length, void *context);

/* Words in quotes, then those in a list of choices ("must be either add or multiply"). A word may come twice. */
void opc_refusal_words(const char *message, opc_refusal_word_t *use, void *context);
