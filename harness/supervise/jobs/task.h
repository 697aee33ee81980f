/* One operator's work, step by step: search (only without samples), relations, cases, confirmation of findings. A task
 * has one child at a time. The scheduler gives it one on request, and passes on the child's messages and end.
 *
 * Ownership: opc_task_free; the operator and the session belong to the run, the child to the scheduler. Threads:
 * one. */
#pragma once

#include "supervise/jobs/case_patterns.h"
#include "supervise/jobs/inputs_seen.h"
#include "supervise/session/session.h"

typedef struct opc_task opc_task_t;
typedef struct opc_sanitized opc_sanitized_t;   /* sanitize_task.c */
typedef struct opc_searching opc_searching_t;   /* searching.h */
typedef struct opc_words opc_words_t;           /* words_task.c */
typedef struct opc_learning opc_learning_t;     /* relations_task.c */
typedef struct opc_cases opc_cases_t;           /* cases_task.c */
typedef struct opc_confirming opc_confirming_t; /* confirm.c */
typedef struct opc_rerunning opc_rerunning_t;   /* rerun.c */
typedef struct opc_minimising opc_minimising_t; /* minimise_task.c */
typedef struct opc_parts opc_parts_t;           /* parts.c */

/* How a child's work on a "cases" command ended (wire/protocol.h). REFUSED: the command itself was wrong. */
typedef enum opc_batch_end { OPC_BATCH_DONE = 0, OPC_BATCH_SPENT, OPC_BATCH_REFUSED } opc_batch_end_t;

/* One part of a task's work. Each function may switch to the next phase (opc_task_enter). */
typedef struct opc_phase {
  /* The next command for the child; *out stays NULL if there is none: the task has entered another phase. */
  opc_status_t (*command)(opc_task_t *task, json_t **out, opc_error_t *error);
  /* What a try gave; may take the outputs. The next command follows. */
  opc_status_t (*tried)(opc_task_t *task, opc_tried_t *tried, opc_error_t *error);
  /* Of a phase that runs cases. result: takes the result of a case, on errors too. ended: the child can run no more of
   * the command. */
  opc_status_t (*result)(opc_task_t *task, opc_case_result_t *result, opc_error_t *error);
  opc_status_t (*ended)(opc_task_t *task, opc_batch_end_t end, const char *why, opc_error_t *error);
  void (*left_out)(opc_task_t *task, uint64_t cases); /* before `ended`: so many have no result; NULL: nothing to do */
  /* The child died. case_id: what it ran, "" if nothing ran. crash is NULL if the phase let the child leave without
   * giving it up (opc_child_leave). */
  opc_status_t (*crash)(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error);
  double (*seconds)(const opc_task_t *task); /* time limit of a case or try */
  /* Reads what the child's tool has left, before `crash`; NULL: nothing. */
  opc_status_t (*report)(opc_task_t *task, const opc_child_t *child, opc_error_t *error);
  void (*lost)(opc_task_t *task); /* the child died with its worker: the command is repeated; NULL: nothing to do */
  bool (*over)(const opc_task_t *task); /* nothing is left to do; NULL: command decides */
  void (*forget)(opc_task_t *task);     /* releases the state, unless the next phase has it too; NULL: none */
  bool searches;                        /* its children make tries instead of running cases */
} opc_phase_t;

/* Bisection to a culprit, which is one of low … high - 1: the middle divides them, and one half contains it. */
typedef struct opc_bisection {
  size_t low, high;
} opc_bisection_t;
size_t opc_bisection_middle(const opc_bisection_t *bisection);
/* True: only one is left, low. */
bool opc_bisection_narrow(opc_bisection_t *bisection, bool from_middle);

/* A finding awaiting confirmation. */
typedef struct opc_suspect {
  opc_case_result_t *result;
  size_t first, position; /* in `order`: the first case of its child; its own case */
  size_t skips, crashed;  /* how many entries of `skips` and `crashed` its child was given */
  size_t group;           /* confirm.c: equal for the same check, rule and severity */
  int complexity;         /* of its case */
  bool gone;              /* it did not show again */
  /* While the task goes on: what its confirmation gave. NULL: it is not confirmed, or in the journal. */
  opc_case_result_t *held;
  char *repro; /* NULL: that of its case */
  /* For a counted crash (opc_known_crashes_note): its counter in `tallies`, and whether its arguments are in `crashed`.
   */
  bool crashed_here, by_arguments;
  size_t tally;
} opc_suspect_t;

/* How often something happened at an input rank, to decide when to give up a check for it. */
typedef struct opc_tally {
  char check[32], place[640];
  opc_rule_id_t rule;
  int rank; /* opc_provenance_rank */
  int count;
} opc_tally_t;

struct opc_task {
  opc_session_t *session;
  const opc_operator_t *op;
  const opc_phase_t *phase; /* NULL: done */
  const opc_phase_t *last;  /* --emit: entered when nothing else is left and the case has failed; NULL: none */
  opc_child_t *child;       /* NULL: none */
  double began;             /* opc_clock */
  bool is_search;           /* finds inputs; another task has the cases */
  bool is_part;             /* runs a part of another task's cases (parts.h) */
  bool exclusive;           /* runs only while no other task does: a worker died while running it */
  /* With --budget (turns.h): the turns that it has had, when its turn ends, whether there are cases for another one,
   * and whether any of its cases was left out. */
  int turn;
  double turn_ends;
  bool goes_on, left_out;

  opc_sample_set_t samples;
  const char *source;   /* "file", "recorded", "searched", "none" */
  char *detail;         /* of the search; NULL: no search */
  bool told_every_call; /* a finding says that no call was even refused */

  json_t *search_record; /* what the search did; NULL: no search */
  json_t *beside;        /* what the search beside its samples did; NULL: none */
  int beside_passes;     /* of --seeds: how many of these searches are over */
  json_t *relations;     /* what is known about its samples, for the journal; NULL: nothing */
  /* The state of a phase, from when it is entered until it is left; then NULL. */
  opc_searching_t *searching;
  opc_words_t *words;
  opc_learning_t *learning;
  opc_cases_t *cases;
  opc_sanitized_t *sanitized;
  opc_confirming_t *confirming; /* also while cases are run again */
  opc_rerunning_t *rerunning;
  opc_minimising_t *minimising;
  opc_parts_t *parts;    /* of its cases, which other tasks run; NULL: none */
  struct opc_part *part; /* that it runs; NULL: none, or no longer */

  char **order; /* ids of the cases, in the order in which they ran */
  size_t order_count, first;
  size_t reached;      /* number of `order` up to the last case of the plan: of those that follow, each ran again */
  size_t stretch;      /* in `order`: the first case since the last crash; 0 with --budget */
  json_t *found_plain; /* object: ids of cases of unmodified samples from there on -> the rule of their finding; NULL:
                          none */
  json_t *
      skips; /* array of "CHECK RANK": skips cases of the check at this rank or worse; grows until a crash is removed */
  json_t *crashed; /* array of ids of cases whose arguments crash the operator; grows likewise */
  opc_tally_t *tallies;
  size_t tally_count;
  int hangs[OPC_PROVENANCE_RANKS];  /* number of cases that hung */
  int faults[OPC_PROVENANCE_RANKS]; /* number of cases in which a kernel ended the CUDA context */
  double slowest_try;               /* seconds of the call of a try that returned; 0: none yet */
  double longest_try;               /* the same, of any that was answered */
  double fastest, slowest;          /* seconds of cases on an unmodified sample that returned; 0: none yet */
  opc_every_input_t every_input;
  opc_kept_layouts_t kept_layouts;
  opc_inputs_seen_t inputs_seen;
  opc_suspect_t *suspects;
  size_t suspect_count, settled; /* settled: so many were confirmed in earlier turns */
  bool hang_confirmed[2]; /* a case hung for as long as it may, [1]: on input that nobody vouches for. The others need
                             not */
  opc_case_result_t **waiting; /* rerun.c: results of cases skipped because of a crash; NULL where it has its outcome */
  size_t waiting_count;
};

/* phase: the first one. */
opc_status_t opc_task_new(opc_session_t *session, const opc_operator_t *op, const opc_phase_t *phase, opc_task_t **out,
                          opc_error_t *error) OPC_CHECKED;
void opc_task_free(opc_task_t *task);
/* Also false when it is done. */
bool opc_task_wants_child(opc_task_t *task);
/* The child's process has started: sends it the first command. */
opc_status_t opc_task_attach(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_task_message(opc_task_t *task, json_t *message, opc_error_t *error) OPC_CHECKED;
/* The task's child ended, and all its messages were read. */
opc_status_t opc_task_child_ended(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
/* The task's child died with a worker that another child may have killed: repeat. */
void opc_task_child_lost(opc_task_t *task);

/* For use by the phases. */
/* Time limit of a case in seconds: 1000 times the fastest or 20 times the slowest case so far, whichever is more; at
 * least 1 (times opc_run_pace), at most --timeout. With --case, or before any case returned: --timeout. */
double opc_task_case_seconds(const opc_task_t *task);
/* Time limit of a try in seconds: 1 (times opc_run_pace), at most --timeout. An operator in Python may be compiled at
 * its first call in each process (Numba, torch.compile): --timeout until a call returned, then twice what the slowest
 * took, if that is more; and --timeout again once a try has hung. */
double opc_task_try_seconds(const opc_task_t *task);
/* Writes the samples' source to the journal. */
opc_status_t opc_task_tell_samples(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
/* Adds a copy of a sample that a search found beside the others. */
opc_status_t opc_task_add_found(opc_task_t *task, const opc_sample_t *sample, opc_error_t *error) OPC_CHECKED;
/* A file or a recording has one of its samples. */
bool opc_task_is_vouched_for(const opc_task_t *task);
/* The command for a try. values: the answer includes those of small outputs; without_meta: the Meta kernel is not
 * asked. New reference; NULL: out of memory. */
json_t *opc_task_try(const opc_task_t *task, const char *device, const opc_sample_t *sample, bool values,
                     bool without_meta);
void opc_task_enter(opc_task_t *task, const opc_phase_t *phase); /* lets the child leave */
void opc_task_finish(opc_task_t *task);                          /* nothing is left to do, but perhaps `last` */
void opc_task_release(opc_task_t *task);                         /* lets the child leave */
opc_status_t opc_task_send(opc_task_t *task,
                           opc_error_t *error) OPC_CHECKED; /* sends the phase's next command to the current child */
/* A "cases" command with operator, samples, checks, devices and seed, and the first entries of `skips` and
 * `crashed`. */
json_t *opc_task_cases_command(const opc_task_t *task, size_t skips, size_t crashed);
/* Adds to it what a child would know that had run the task's cases since the last crash; there are some. */
void opc_task_tell_past(const opc_task_t *task, json_t *command);
/* The result of a case that ended its child. */
opc_status_t opc_task_crash_result(const opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                   opc_case_result_t **out, opc_error_t *error) OPC_CHECKED;
/* Writes a final result to the journal; takes it. */
opc_status_t opc_task_write_final(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) OPC_CHECKED;
/* Explains a result skipped for lack of arguments: only the search knows the reason, not the child. The first one
 * becomes a finding if no call that the search tried was accepted or refused. */
void opc_task_explain_no_sample(opc_task_t *task, opc_case_result_t *result);

/* The phases of a task, one file each. A search goes from its first phase to its second; words to relations, relations
 * to the search beside the samples, and that to cases; cases to confirmation, and from there to the cases that an
 * unconfirmed crash has cost; with --emit, then to smaller samples. */

extern const opc_phase_t opc_phase_search;         /* search_task.c */
extern const opc_phase_t opc_phase_search_confirm; /* search_task.c */
extern const opc_phase_t opc_phase_words;          /* words_task.c */
extern const opc_phase_t opc_phase_relations;      /* relations_task.c */
extern const opc_phase_t opc_phase_cases;          /* cases_task.c */
/* The samples are complete: writes the sample_source record and enters the cases. */
opc_status_t opc_cases_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
extern const opc_phase_t opc_phase_confirm;  /* confirm.c */
extern const opc_phase_t opc_phase_rerun;    /* rerun.c */
extern const opc_phase_t opc_phase_minimise; /* minimise_task.c */
extern const opc_phase_t opc_phase_sanitize; /* sanitize_task.c: the only phase under compute-sanitizer */

/* The task's first phase is opc_phase_sanitize. */
opc_status_t opc_sanitize_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;

/* Enters the confirmation of the findings. */
opc_status_t opc_confirm_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;

/* The phase of a task that asks which words its string arguments take, before the relations are learned.
 *
 * Ownership: the task's. */

/* For a task that starts with its cases: asks, if a declared sample has a string argument, and goes on with
 * opc_relations_begin. */
opc_status_t opc_words_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;

/* The phase of a task that learns the relations between arguments (search/relations), and its start.
 *
 * Ownership: the task's. */

/* For a task that starts with its cases: enters the relations phase first, if its samples have something to learn.
 * Goes on with opc_beside_begin. */
opc_status_t opc_relations_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;

/* The search beside a task's samples, for other numbers of dimensions, dtypes and options (beside.c). Its phases are
 * those of a search.
 *
 * Ownership: the task's. */

/* Enters the search, or the cases if there is nothing to search. */
opc_status_t opc_beside_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;

/* Findings that await confirmation, and the order in which cases ran, which confirmation needs. */

/* The case has ended: appends its id to task->order. */
opc_status_t opc_suspects_note_case(opc_task_t *task, const char *case_id, opc_error_t *error) OPC_CHECKED;
/* Writes the result as a journal record that counts only if no result of its case follows. So a killed run loses
 * nothing. */
opc_status_t opc_suspects_write(opc_task_t *task, const opc_case_result_t *result, opc_error_t *error) OPC_CHECKED;
/* Adds a finding (takes it) of the last case in task->order. */
opc_status_t opc_suspects_add(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) OPC_CHECKED;

/* Known crashes and hangs of an operator, so that its other cases do not repeat them: arguments (task->crashed), and
 * checks with too many crashes at an input rank (task->skips).
 *
 * If a crash does not show again in its confirmation, it is removed here, and rerun.c runs the cases that it cost. */

/* Counts the crash. by_arguments: the case's own arguments caused it, so the other checks omit them. suspect: the
 * crash's result among the suspects; NULL: none, the crash cannot be removed. */
opc_status_t opc_known_crashes_note(opc_task_t *task, const opc_case_id_t *id, const opc_crash_t *crash,
                                    bool by_arguments, opc_suspect_t *suspect, opc_error_t *error) OPC_CHECKED;
/* Removes the crashes of all suspects that are `gone`, and rebuilds both lists. False: there were none. */
bool opc_known_crashes_forget(opc_task_t *task);

/* Holds cases skipped because of a crash until the crash is confirmed. If it does not show again, they are run after
 * all, one by one: on a busy machine a case may exceed its time limit once, which must not cost the operator its
 * other checks. */

/* True: its case was skipped because of a crash. */
bool opc_rerun_wants(const opc_case_result_t *result);
/* Keeps such a result (takes it). */
opc_status_t opc_rerun_keep(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) OPC_CHECKED;
/* After every suspect is settled: writes the skipped cases to the journal, or enters the phase that runs them, which
 * interrupts the present one, the confirmation. */
opc_status_t opc_rerun_begin(opc_task_t *task, opc_error_t *error) OPC_CHECKED;
