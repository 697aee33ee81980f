/* Results of a run's searches, one entry per operator, and where and how long to search.
 *
 * Ownership: the entries are the session's (search_rounds.h). Threads: one. */
#pragma once

#include "search/engine/search.h"
#include "supervise/session/session.h"

/* Result of the search for one operator's arguments. */
typedef struct opc_searched {
  opc_sample_set_t samples;
  bool clean;   /* nothing is known against the samples: they are not merely how every try ended */
  char *detail; /* as text; NULL: not searched */
  char *record; /* opc_search_to_json of all rounds together, as text: needs a tenth of the memory with thousands of
                   operators; NULL: not searched */
  int tries;
  int rounds, rounds_wanted; /* made; to be made as long as nothing is found */
  bool wants_cuda;           /* a round on the CPU found nothing, and a message asked for tensors on a CUDA device */
  bool lacks_kernel;         /* its calls reach no kernel here: arguments would not help */
  bool over;                 /* another round would not help */
} opc_searched_t;

/* The operator's entry; NULL: this run searched nothing, or it is a library's file. */
opc_searched_t *opc_search_found(const opc_session_t *session, const opc_operator_t *op);
/* Device of its tries: the CPU, unless the operator works only on a CUDA device of this run, according to its kernels
 * or its own messages. */
const char *opc_search_device(const opc_session_t *session, const opc_operator_t *op);
int opc_search_round_budget(int round); /* number of tries; rounds count from 1 */
