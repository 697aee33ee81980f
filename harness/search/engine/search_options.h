/* Options: what accepted arguments left at its default, off or out. When the search has found arguments, each switch,
 * mode, optional argument and number with a default is given another value, one after the other, on the arguments that
 * were accepted last; in the end tensors of integers get other ones than 0 and 1. Not for use outside
 * harness/search/engine.
 *
 * Ownership: opc_options_clear. Threads: one. */
#ifndef OPC_SEARCH_ENGINE_SEARCH_OPTIONS_H
#define OPC_SEARCH_ENGINE_SEARCH_OPTIONS_H

#include "search/draft/search_inside.h"
#include "search/engine/search.h"

enum {
  OPC_OPTION_MODES_MAX = 2, /* further values of one argument, each a sample of its own */
  OPC_OPTION_DTYPES = 0,
  OPC_OPTION_SIZES = 1,
  OPC_OPTION_OUT = 2,
  OPC_OPTION_ARGUMENTS = 3,
  OPC_OPTION_SAMPLES_MAX =
      OPC_OPTION_MODES_MAX + 3 /* and all that are accepted together, and those with other integers of two kinds */
};

typedef struct opc_option_sample {
  opc_sample_t sample;
  uint64_t digest; /* of what it came to; 0: not the same every time */
} opc_option_sample_t;

typedef struct opc_options {
  bool begun, over;
  bool hangs; /* the operator has hung in the search */
  opc_rng_t rng;
  opc_option_sample_t all; /* the accepted arguments, and every option that was accepted with them */
  bool varied;             /* one was */
  opc_option_sample_t modes[OPC_OPTION_MODES_MAX];
  size_t mode_count;
  bool has_data;
  opc_option_sample_t data; /* the accepted arguments with other integers (search_option_integers.h) */
  bool has_pattern;
  opc_option_sample_t pattern; /* the same, with integers that follow one another (search_option_patterns.h) */
  size_t turn; /* OPC_OPTION_DTYPES…; from OPC_OPTION_ARGUMENTS on those, in their order; then the patterns, and the
                  integers that are data */
  opc_candidates_t candidates, repairs; /* of its values; repairs of one that was refused come first */
  bool given;                           /* this argument has another value in `all` */
  uint64_t places[8];                   /* where they were refused */
  size_t place_count;
  int tries, turn_tries, crashes;
  bool crashed;
  opc_sample_t crashing; /* arguments with a switch, or a list of tensors that are there, that the operator crashes
                            with; empty unless crashed */
} opc_options_t;

void opc_options_clear(opc_options_t *options);
/* On these arguments; digest: of what they came to. Once. */
bool opc_options_begin(opc_options_t *options, const opc_operator_t *op, const opc_search_view_t *view,
                       const opc_sample_t *base, uint64_t digest);
/* The next arguments to try, owned by options; NULL: it is over. */
const opc_sample_t *opc_options_next(opc_options_t *options, const opc_operator_t *op);
/* What came of them: `tried` is what opc_options_next gave. effect: as in the outcome, and not all tensors are empty.
 */
void opc_options_report(opc_options_t *options, const opc_operator_t *op, const opc_sample_t *tried,
                        const opc_try_outcome_t *outcome, bool effect);
/* Whether it is the integers' turn: what was tried last may be no input that anybody would give. */
bool opc_options_at_integers(const opc_options_t *options);
/* Whether it is the patterns' turn: the same. */
bool opc_options_at_patterns(const opc_options_t *options);
/* The samples that it found, at most OPC_OPTION_SAMPLES_MAX. */
size_t opc_options_found(const opc_options_t *options, const opc_option_sample_t *out[OPC_OPTION_SAMPLES_MAX]);

#endif
