/* Shared by both search phases: their state, limits, and the end of a search.
 *
 * Ownership: the state is the task's from the first try to the end of the search. Threads: one. */
#pragma once

#include "search/engine/search.h"
#include "supervise/jobs/task.h"

/* Results of a run's searches, one entry per operator, and where and how long to search.
 *
 * Ownership: the entries are the session's (search_rounds.h). */

/* Result of the search for one operator's arguments. */
typedef struct opc_searched {
  opc_sample_set_t samples;
  opc_sample_set_t earlier; /* of --seeds: those of the searches with other seeds */
  bool earlier_clean;       /* nothing is known against these */
  char *earlier_detail;     /* of the first search that found them; NULL: none did */
  int earlier_tries;
  bool clean;   /* nothing is known against the samples: they are not merely how every try ended */
  char *detail; /* as text; NULL: not searched */
  char *record; /* opc_search_to_json of all rounds together, as text: needs a tenth of the memory with thousands of
                   operators; NULL: not searched */
  int tries;
  int rounds, rounds_wanted; /* made; to be made as long as nothing is found */
  bool wants_cuda;           /* a round on the CPU found nothing, and a message asked for tensors on a CUDA device */
  bool lacks_kernel;         /* its calls reach no kernel here: arguments would not help */
  bool over;                 /* another round would not help */
  bool running;              /* one of its rounds has begun and not ended */
  bool cut;                  /* there was no time for all its tries (--budget) */
} opc_searched_t;

/* The operator's entry; NULL: this run searched nothing, or it is a library's file. */
opc_searched_t *opc_search_found(const opc_session_t *session, const opc_operator_t *op);
/* Device of its tries: the CPU, unless the operator works only on a CUDA device of this run, according to its kernels
 * or its own messages. */
const char *opc_search_device(const opc_session_t *session, const opc_operator_t *op);
/* False: its samples cannot be tried on the CPU, whose memory is guarded, or a try takes too long. */
bool opc_search_is_guarded(const opc_session_t *session, const opc_operator_t *op);
int opc_search_round_budget(int round); /* number of tries; rounds count from 1 */

/* What a sample that was found did in a fresh child. */
typedef struct opc_retried {
  bool changed, lost;   /* it gave other results; it was not accepted */
  opc_value_t *outputs; /* tensors that it returned */
  size_t output_count;
} opc_retried_t;

struct opc_searching {
  opc_search_t *search;
  bool beside;              /* the task's samples exist, and it goes on with its cases */
  opc_sample_set_t samples; /* that were found */
  double began;             /* opc_clock */
  double cpu, child_cpu;    /* seconds of processor time: in total, and as the current child says */
  int timeouts, crashes;
  opc_sample_t trying;                      /* the arguments that are tried now */
  bool has_try, without_meta;               /* without_meta: asking the Meta kernel killed the process */
  size_t fresh;                             /* index of the sample that is tried in a fresh child */
  uint64_t digests[OPC_SEARCH_SAMPLES_MAX]; /* of the samples' results, 0: do not compare */
  opc_retried_t retried[OPC_SEARCH_SAMPLES_MAX];
};

/* Starts the search of the task's next round. */
opc_status_t opc_searching_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
/* Frees the state: task->searching becomes NULL. */
void opc_searching_forget(opc_task_t *task);
/* True if it has hung too often: each hang takes seconds. An operator that was searched in an earlier round may hang
 * less often. */
bool opc_searching_has_hung(const opc_task_t *task);
/* The budget counts tries, not time; only an operator that needs seconds per try reaches this limit. */
bool opc_searching_has_used_its_time(const opc_task_t *task);
/* Adds the current child's processor time to the search's. */
void opc_searching_count_child(opc_searching_t *searching);
/* Call when the search is over and its samples were tried again: passes everything to the session, and ends the task.
 * Beside samples: gives them to the task, which goes on with its cases, or with `again`, the phase of the next search.
 */
opc_status_t opc_searching_end(opc_task_t *task, const opc_phase_t *again, opc_error_t *error) OPC_CHECKED;
