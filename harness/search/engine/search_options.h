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
  opc_option_sample_t data; /* the accepted arguments with other integers (search_option_integers.h) */
  bool has_pattern;
  opc_option_sample_t pattern; /* the same, with integers in a pattern (search_option_patterns.h) */
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
