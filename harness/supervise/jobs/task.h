/* One operator's work, step by step: search (only without samples), relations, cases, confirmation of what they found.
 * A task has one child at a time. The scheduler gives it one when it wants one, and passes on the messages and the end
 * of that child.
 *
 * Ownership: opc_task_free; the operator and the session belong to the run, the child to the scheduler. Threads: one.
 */
#ifndef OPC_SUPERVISE_JOBS_TASK_H
#define OPC_SUPERVISE_JOBS_TASK_H

#include "search/engine/search.h"
#include "search/relations/relation_learner.h"
#include "supervise/evidence/crash_report.h"
#include "supervise/jobs/every_input.h"
#include "supervise/process/batch_child.h"
#include "supervise/session/session.h"

typedef struct opc_task opc_task_t;

/* A part of a task's work. Each function may move the task on to the next phase (opc_task_enter). */
typedef struct opc_phase {
  /* What to tell the child next; *out stays NULL when there is nothing: the task has moved on. */
  opc_status_t (*command)(opc_task_t *task, json_t **out, opc_error_t *error);
  opc_status_t (*message)(opc_task_t *task, json_t *message, opc_error_t *error);
  /* The child died. case_id: what it ran, "" when nothing ran. */
  opc_status_t (*crash)(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error);
  double (*seconds)(const opc_task_t *task); /* a case's or try's time */
  bool (*over)(const opc_task_t *task);      /* nothing is left to do; NULL: its command says so */
  bool searches;                             /* its children make tries, and run no cases */
} opc_phase_t;

/* Halving to a culprit, which is one of low … high - 1: the middle parts them, and one half is found to have it. */
typedef struct opc_bisection {
  size_t low, high;
} opc_bisection_t;
size_t opc_bisection_middle(const opc_bisection_t *bisection);
/* True: one is left, low. */
bool opc_bisection_narrow(opc_bisection_t *bisection, bool from_middle);

/* A finding before its confirmation. */
typedef struct opc_suspect {
  json_t *result;
  size_t first, position; /* in `order`: the first case of its child, and itself */
  size_t skips, crashed;  /* how many checks and known arguments its child skipped */
  size_t group;           /* confirm.c: equal for those of one check, rule and severity */
  int complexity;         /* of its case */
  bool gone;              /* it did not show again */
  /* Of a crash that counts (known_crashes.h): its counter in `tallies`, and whether its arguments are in `crashed`. */
  bool crashed_here, by_arguments;
  size_t tally;
} opc_suspect_t;

/* How often what happened on input of a rank, to know when to give a check up for it. */
typedef struct opc_tally {
  char check[32], rule[32], place[640];
  int rank; /* opc_standing_rank */
  int count;
} opc_tally_t;

struct opc_task {
  opc_session_t *session;
  const opc_operator_t *op;
  const opc_phase_t *phase; /* NULL: done */
  opc_child_t *child;       /* NULL: none */
  bool exclusive;           /* runs only while no other task does: a worker died under it */

  opc_sample_set_t samples;
  const char *source; /* "file", "recorded", "searched", "none" */
  char *detail;       /* of the search; NULL: none was made */

  json_t *search_record; /* what the search did; NULL: none was made */
  opc_search_t *search;
  double search_began, search_cpu,
      child_cpu; /* seconds; of processors: altogether, and what the present child has told */
  size_t fresh;  /* index of the sample that is tried in a fresh child */
  uint64_t digests[OPC_SEARCH_SAMPLES_MAX]; /* of what the samples came to, 0: not to be compared; then whether they
                                               came to it again */
  bool changed[OPC_SEARCH_SAMPLES_MAX], lost[OPC_SEARCH_SAMPLES_MAX];
  opc_value_t *produced[OPC_SEARCH_SAMPLES_MAX]; /* tensors that they returned */
  size_t produced_count[OPC_SEARCH_SAMPLES_MAX];
  opc_sample_t attempt; /* the arguments that are tried now */
  bool attempting;
  int timeouts, crashes;

  opc_learner_t *learner;                   /* of the sample `learning`; NULL: nothing is being learned */
  size_t learning, learned, relation_tries; /* learned: samples that tries were made with */
  bool *hung;                               /* one an argument: a try hung on it */
  double relations_began;                   /* 0: not yet */

  json_t *held; /* the last result, until it is known that its child outlived it */
  char **order; /* ids of the cases, as they ran */
  size_t order_count, first;
  json_t *skips;   /* array of "CHECK RANK": cases of the check of this rank or a worse one; grows until
                      a crash is forgotten */
  json_t *crashed; /* array of ids of cases whose arguments crash the operator; grows as well */
  opc_tally_t *tallies;
  size_t tally_count;
  int hangs[OPC_STANDING_RANKS]; /* of cases */
  double fastest, slowest;       /* seconds of cases on a sample itself that returned; 0: none has */
  double cases_began;            /* 0: not yet */
  int out_of_time;               /* its cases took too long altogether: 1: variants are skipped, 2: all the rest is */
  int stillborn;                 /* children in a row that died before any case */
  opc_every_input_t every_input;
  opc_suspect_t *suspects;
  size_t suspect_count, arranged;  /* arranged: those that have their place in the order of confirmation */
  json_t *waiting;                 /* rerun.h: array of results of cases that were skipped because of a crash */
  size_t rerunning;                /* index of the first that has not come to its end */
  const opc_phase_t *confirmation; /* the phase to which the rerun returns */

  size_t confirming;   /* index of the suspect */
  int step;            /* confirm.c */
  bool hang_confirmed; /* a case hung for the whole time limit: the others need not */
  bool in_company;     /* the suspect runs behind others of its group, in the child of the first of them */
  size_t leader;       /* that one */
  int alone_runs, bisections;
  opc_bisection_t halves;
  json_t *outcome; /* what the suspect's case came to this time */
  json_t *shown;   /* that outcome, while its control runs */
};

/* phase: the first (task_phases.h). */
opc_status_t opc_task_new(opc_session_t *session, const opc_operator_t *op, const opc_phase_t *phase, opc_task_t **out,
                          opc_error_t *error) OPC_CHECKED;
void opc_task_free(opc_task_t *task);
/* False as well when it is done. */
bool opc_task_wants_child(opc_task_t *task);
/* The child's process is there: it is sent what is next. */
opc_status_t opc_task_attach(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_task_message(opc_task_t *task, json_t *message, opc_error_t *error) OPC_CHECKED;
/* The task's child ended, and everything it sent was read. */
opc_status_t opc_task_child_ended(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
/* The task's child went down with a worker that another child may have killed: the same again. */
void opc_task_child_lost(opc_task_t *task);

/* For the phases. */
/* Seconds that a case may take: a thousand times what a call has needed so far, at least 1 and at most --timeout. */
double opc_task_case_seconds(const opc_task_t *task);
opc_status_t opc_task_tell_samples(opc_task_t *task, opc_error_t *error) OPC_CHECKED; /* in the journal */
void opc_task_enter(opc_task_t *task, const opc_phase_t *phase);                      /* lets the child go */
void opc_task_release(opc_task_t *task);                                              /* lets the child go */
opc_status_t opc_task_send(opc_task_t *task,
                           opc_error_t *error) OPC_CHECKED; /* the phase's next command, to the present child */
/* A "cases" command with the operator, samples, checks, devices and seed filled in, and so many of `skips` and
 * `crashed`. */
json_t *opc_task_cases_command(const opc_task_t *task, size_t skips, size_t crashed);
json_t *opc_task_crash_result(const char *case_id, const opc_crash_t *crash, const opc_task_t *task);
/* Puts words behind the result's message. */
void opc_task_result_add(json_t *result, const char *words);
/* Why there was nothing to call with: the child does not know, the search does. Changes a result that is skipped for
 * it. */
void opc_task_explain_no_sample(const opc_task_t *task, json_t *result);

#endif
