/* What the searches of a run have come to, an entry an operator, and where and how long they are made.
 *
 * Ownership: the entries are the session's (search_rounds.h). Threads: one. */
#ifndef OPC_SUPERVISE_JOBS_SEARCHED_H
#define OPC_SUPERVISE_JOBS_SEARCHED_H

#include "search/engine/search.h"
#include "supervise/session/session.h"

/* What the search for one operator's arguments has come to. */
typedef struct opc_searched {
  opc_sample_set_t samples;
  bool clean;   /* they are arguments that nothing is known against, and not what every try ended with */
  char *detail; /* in words; NULL: it was not searched */
  char *record; /* opc_search_to_json of all rounds together, as text: a tenth of the memory, where there are thousands
                   of operators; NULL as well */
  int tries;
  int rounds, rounds_wanted; /* that were made; that are to be made, as long as nothing was found */
  bool wants_cuda;           /* a round on the CPU found nothing, and was asked for tensors on a CUDA device */
  bool over;                 /* another round would gain nothing */
} opc_searched_t;

/* The operator's entry; NULL: nothing was searched in this run. */
opc_searched_t *opc_search_found(const opc_session_t *session, const opc_operator_t *op);
/* Where its tries are made: on the CPU, unless it works on a CUDA device of this run alone, by its kernels or by its
 * own words. */
const char *opc_search_device(const opc_session_t *session, const opc_operator_t *op);
int opc_search_round_budget(int round); /* tries; rounds count from 1 */

#endif
