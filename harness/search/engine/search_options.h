/* Options: arguments left at their default, off or out in the accepted call. After the search has found arguments, each
 * switch, mode, optional argument and number with a default gets another value, one after the other, on the arguments
 * accepted last. At the end, integer tensors get values other than 0 and 1. Not for use outside harness/search/engine.
 *
 * Ownership: opc_options_clear. Threads: one. */
#pragma once

#include "search/draft/search_inside.h"
#include "search/engine/search.h"

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
  bool hangs; /* the operator hung in the search */
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
/* Starts with these accepted arguments; digest: of their results. Call once. */
bool opc_options_begin(opc_options_t *options, const opc_operator_t *op, const opc_search_view_t *view,
                       const opc_sample_t *base, uint64_t digest);
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
