/* All problems of a journal: a pure function of its results.
 *
 * Ownership: opc_problems_clear; the journal has to outlive them, and records are read from it again where a problem is
 * described. Memory: some hundred bytes a problem, whatever the number of results. Threads: one. */
#pragma once

#include "reports/journal/journal_reader.h"

/* A problem: findings with one cause (opcheck-c explain problems). What is kept of it is bounded: places in the
 * journal instead of records.
 *
 * Ownership: opc_problem_clear frees symptoms and operators; rules and arguments belong to a set of names that
 * outlives the problem. */

/* What was done to the sample in the cases that show it. */
typedef enum opc_change_kind {
  OPC_CHANGE_NONE = 0, /* the sample as it is shows it, or no sample is needed */
  OPC_CHANGE_LAYOUT,   /* the same values in another layout */
  OPC_CHANGE_EMPTY,
  OPC_CHANGE_SIZES,
  OPC_CHANGE_VALUES,
  OPC_CHANGE_DTYPE,
  OPC_CHANGE_SAME, /* one tensor given twice */
  OPC_CHANGE_METHOD,
  OPC_CHANGE_COUNT
} opc_change_kind_t;
const char *opc_change_kind_name(opc_change_kind_t change);

/* What an operator does with an argument that it does not check, the worst first (evidence.seen). */
typedef enum opc_seen {
  OPC_SEEN_WRITE = 0,
  OPC_SEEN_READ,
  OPC_SEEN_CRASH,
  OPC_SEEN_ABORT, /* mostly an assertion of its own, which ends the process */
  OPC_SEEN_HANG,
  OPC_SEEN_MEMORY,
  OPC_SEEN_CONVERSION, /* of a number that does not fit in an integer */
  OPC_SEEN_COUNT
} opc_seen_t;

/* Who vouches for the input: 0 where nothing says so, else 1 + 3 * source + change, the strongest first. */
typedef int opc_provenance_order_t;
opc_provenance_order_t opc_provenance_order(const opc_provenance_t *provenance);
const char *opc_provenance_order_name(opc_provenance_order_t provenance,
                                      char out[OPC_PROVENANCE_SIZE]); /* NULL for 0 */
int opc_provenance_order_source(opc_provenance_order_t provenance);   /* 0: a person, or nobody has to */

typedef struct opc_problem_case {
  uint64_t offset; /* of its record (opc_journal_reader_record) */
  int complexity;  /* opc_case_id_complexity */
  opc_provenance_order_t provenance;
} opc_problem_case_t;

typedef struct opc_symptom {
  opc_rule_id_t rule;
  bool warning;
  int rank;       /* the strongest first */
  uint64_t place; /* opc_code_place_t's key in the case `best`; 0: none */
  opc_problem_case_t best;
} opc_symptom_t;

typedef struct opc_problem_operator {
  uint32_t index;                        /* in the journal reader */
  uint64_t error_checks, warning_checks; /* bits by opc_problem_check_bit */
  char id[17];                           /* that the problem would have if only this operator had run */
} opc_problem_operator_t;

enum { OPC_PROBLEM_CASES = 16, OPC_PROBLEM_ARGUMENTS = 8, OPC_PROBLEM_PLACES = 8 };

/* What a finding must have to be of a problem; most problems have one. */
typedef struct opc_problem_part {
  uint32_t operator_index;
  opc_rule_id_t rule;
  opc_change_kind_t change;
  bool unchecked, warning;
  const char *argument; /* of the set of names */
} opc_problem_part_t;

typedef struct opc_problem {
  char id[17];
  char shared[17]; /* that it has in several operators because of one place in the code, or a habit; "": it has none */
  uint64_t
      cause;    /* equal where several operators have one mistake: a place in the code, or a habit; 0: none is known */
  bool in_code; /* that place is a function: one line of a baseline stands for all its operators */
  bool listed;  /* a baseline has it: such problems are not merged with others */
  const json_t *known; /* its record "known": it must not fail the run. NULL: it is not known, or no longer */
  opc_change_kind_t change;
  bool unchecked; /* all of it is rule memory.unchecked_arguments */
  bool warning;
  bool off_gpu;                                 /* some finding is not of a case on a real GPU */
  opc_provenance_order_t provenance;            /* the strongest one of the findings of its severity */
  const char *arguments[OPC_PROBLEM_ARGUMENTS]; /* that were changed, or are not checked */
  size_t argument_count;
  const char *touched;     /* the argument that is written or returned, in the simplest case of it; NULL: none */
  opc_symptom_t *symptoms; /* the strongest first */
  size_t symptom_count;
  opc_problem_case_t cases[OPC_PROBLEM_CASES]; /* the simplest first */
  size_t case_count;
  uint64_t places[OPC_PROBLEM_PLACES];
  size_t place_count;
  uint64_t count;                /* of findings */
  uint64_t seen[OPC_SEEN_COUNT]; /* inputs; unchecked only */
  opc_problem_operator_t *operators;
  size_t operator_count;
  opc_problem_part_t *parts;
  size_t part_count;
} opc_problem_t;

/* Bit of a check by name; the last one is for names that nobody knows. */
uint64_t opc_problem_check_bit(const char *check);
opc_rule_id_t opc_problem_rule(const opc_problem_t *problem);
/* True: it is a warning only because a search made its input. With such a sample from a file it would be an error. */
bool opc_problem_lacks_sample(const opc_problem_t *problem);
void opc_problem_add_case(opc_problem_t *problem, const opc_problem_case_t *one);
void opc_problem_add_place(opc_problem_t *problem, uint64_t place); /* 0 adds nothing */
void opc_problem_add_argument(opc_problem_t *problem, const char *argument);
opc_status_t opc_problem_add_symptom(opc_problem_t *problem, const opc_symptom_t *symptom,
                                     opc_error_t *error) OPC_CHECKED;
bool opc_problem_has_rule(const opc_problem_t *problem, opc_rule_id_t rule);
bool opc_problem_shares_place(const opc_problem_t *left, const opc_problem_t *right);
/* All that `from` has becomes part of `into`, whose kind of change stays; from is empty then. */
opc_status_t opc_problem_absorb(opc_problem_t *into, opc_problem_t *from, opc_error_t *error) OPC_CHECKED;
void opc_problem_clear(opc_problem_t *problem);

/* The id of a problem: a hash of the library's stem, the rule (one for all signals), and either operator, argument and
 * kind of change, or, of several operators, the function. No line, address, seed, count or path is in it, so that it
 * stays from run to run. library: path; NULL: unknown. function: "" for the form with the operator. */
void opc_problem_id(const opc_problem_t *problem, const char *library, const char *operator_name, const char *function,
                    char out[17]);

/* A problem of an operator, and what the problem says of the operator. */
typedef struct opc_problem_of {
  const opc_problem_t *problem;
  const opc_problem_operator_t *op;
} opc_problem_of_t;

typedef struct opc_problems {
  opc_journal_reader_t *journal;
  json_t *names;        /* owns rules and arguments */
  opc_problem_t *items; /* known ones last; errors before warnings, input that somebody vouches for before what was
                           searched, what more operators show before what fewer do, stronger rules before weaker ones */
  size_t count;
  size_t fresh;     /* the first of them; the others are known */
  size_t errors;    /* the first of the fresh ones; the others are warnings */
  size_t operators; /* that have any fresh one */
  json_t *known;    /* id -> record "known" */
  opc_problem_of_t *by_operator;
  size_t *ends; /* in by_operator, of each operator */
} opc_problems_t;

opc_status_t opc_problems_make(opc_journal_reader_t *journal, opc_problems_t *out, opc_error_t *error) OPC_CHECKED;
void opc_problems_clear(opc_problems_t *problems);

/* How many problems an operator has; *out: all of them, in the order of items. operator_index: in the journal reader.
 */
size_t opc_problems_of(const opc_problems_t *problems, size_t operator_index, const opc_problem_of_t **out);
/* The problem that a finding is part of; NULL: none, because it is no finding. */
const opc_problem_t *opc_problems_find(const opc_problems_t *problems, size_t operator_index,
                                       const opc_case_result_t *result);

/* ---- known problems: known.c ----
 *
 * A baseline or an xfail file lists problems that must not fail the run; the journal has a record for each. */

/* Reads the records: sets problems->known. */
opc_status_t opc_problems_read_known(opc_problems_t *problems, opc_error_t *error) OPC_CHECKED;
/* Takes what the records say: partitions the problems, and sets what depends on their order. */
opc_status_t opc_problems_take_known(opc_problems_t *problems, opc_error_t *error) OPC_CHECKED;
/* Whether a baseline has the problem: the line of its function, or a line for each of its operators. */
bool opc_problem_is_listed(const opc_problems_t *problems, const opc_problem_t *problem);
/* Adds "known: in the baseline known.txt", "known: the reason in the xfail file" */
void opc_known_say(const json_t *known, opc_text_t *out);

/* What became of a line that no problem matches. */
typedef enum opc_known_state {
  OPC_KNOWN_FOUND = 0,
  OPC_KNOWN_FIXED,    /* the operator's check ran, and did not find it */
  OPC_KNOWN_REMOVED,  /* there is no such operator */
  OPC_KNOWN_UNCHECKED /* nobody looked: the run was of a part, or did not get there */
} opc_known_state_t;
opc_known_state_t opc_known_state(const opc_problems_t *problems, const json_t *known);
const char *opc_known_state_name(opc_known_state_t state); /* "found" */
/* Lines that are out of date: fixed or removed. */
size_t opc_known_stale(const opc_problems_t *problems);
/* Of a run that ended with this code: 0 if only known problems made it 1; with --strict, fresh warnings and stale lines
 * make it 1. updated: the stale lines have been removed. */
int opc_known_exit_code(const opc_problems_t *problems, int code, bool strict, bool updated);

/* The fields of the JSON report's problems, which the other reports show, too; a new reference. *out_result (optional)
 * is the case that stands for it: opc_case_result_free. */
opc_status_t opc_problem_to_json(const opc_problems_t *problems, const opc_problem_t *problem, json_t **out,
                                 opc_case_result_t **out_result, opc_error_t *error) OPC_CHECKED;

/* How many bytes of a library's file name come before its ending, ".so" or ".so.1.2"; all of them if it has none. */
size_t opc_library_stem(const char *name);

/* How much of what was selected was really checked: a run that called two operators of fourteen proves little.
 *
 * Threads: pure functions. */

typedef struct opc_coverage {
  uint64_t total; /* operators and classes that have a result */
  uint64_t checked;
  uint64_t without_inputs, without_kernel, other; /* of those that were not */
  uint64_t asked_checks;                          /* with any result: bits by index of opc_check_infos, up to 63 */
  uint64_t proved[64]; /* by the same index: of how many of `total` the check has a verdict */
  bool stopped;        /* the run stopped early: more than `total` were to be checked */
} opc_coverage_t;

/* A call of it was checked or refused; where no check that calls was asked for: any verdict. */
bool opc_operator_is_checked(const opc_journal_operator_t *op);
bool opc_operator_is_counted(const opc_journal_operator_t *op); /* it has results, and is no file */
/* Why most of its cases were skipped. */
opc_skip_reason_t opc_operator_main_skip(const opc_journal_operator_t *op);
opc_coverage_t opc_coverage_of(const opc_journal_reader_t *journal);
/* How many have to be checked for so many percent of them. */
uint64_t opc_coverage_required(const opc_coverage_t *coverage, int percent);
/* Number of checks with any result, and in *out_proved with a verdict about some operator. */
uint64_t opc_coverage_checks(const opc_coverage_t *coverage, uint64_t *out_proved);
/* "2 of 14 operators and classes checked, by 19 of 22 checks, 12 without inputs", or "2 operators and classes checked
 * before the run stopped" */
void opc_coverage_say(const opc_coverage_t *coverage, opc_text_t *out);
