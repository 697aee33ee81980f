/* What a person sees: `run`'s report (a summary, then the problems by weight), and `list`'s. Streamed from the journal.
 *
 * Ownership: everything stays the caller's. Threads: one. Errors of the stream are the caller's to ask for (ferror). */
#pragma once

#include "reports/problems/problems.h"
#include "reports/text/screen.h"

typedef struct opc_terminal_view {
  int exit_code;     /* the one that the program will end with (--strict and --require-checked applied) */
  bool verbose;      /* every problem with its cases, and every operator */
  bool coverage;     /* for every operator which inputs were tried */
  int required;      /* --require-checked; 0: not given */
  const char *whole; /* a file with the complete result, where the screen leaves something out; NULL: none is kept */
} opc_terminal_view_t;

opc_status_t opc_terminal_report(const opc_problems_t *every, const opc_screen_t *screen,
                                 const opc_terminal_view_t *view, opc_error_t *error) OPC_CHECKED;
/* The last line: whether it passed, what was found, and how much was checked. */
void opc_terminal_end(const opc_problems_t *every, const opc_screen_t *screen, const opc_terminal_view_t *view);
opc_status_t opc_terminal_list(opc_journal_reader_t *journal, const opc_screen_t *screen,
                               opc_error_t *error) OPC_CHECKED;

/* ---- parts of the above ---- */

/* Libraries that did not load, and the first so many notes. */
opc_status_t opc_terminal_troubles(opc_journal_reader_t *journal, const opc_screen_t *screen, size_t notes_shown,
                                   opc_error_t *error) OPC_CHECKED;
/* A line for each operator that has results, and below it its findings, and why cases were skipped. */
opc_status_t opc_terminal_operators(opc_journal_reader_t *journal, const opc_screen_t *screen,
                                    opc_error_t *error) OPC_CHECKED;

/* whole: each operator's coverage; otherwise only how many operators have gaps. */
opc_status_t opc_terminal_coverage(opc_journal_reader_t *journal, const opc_screen_t *screen, bool whole,
                                   opc_error_t *error) OPC_CHECKED;

enum { OPC_TERMINAL_NAMES = 24 };

/* A problem, and others that say the same, mostly of other operators. The names belong to the journal reader. */
typedef struct opc_terminal_entry {
  const opc_problem_t *problem; /* the one that is shown */
  size_t problems, operators;
  uint64_t cases;                        /* of all of them */
  const char *names[OPC_TERMINAL_NAMES]; /* of the first operators */
} opc_terminal_entry_t;

/* WHOLE: at most 14 lines of 100 columns, as long as the line to paste needs no more than two. SENTENCE: at most six,
 * what it says as a rule to its end. LINE: three or four. CASES: as WHOLE, with the whole message and the first
 * OPC_PROBLEM_CASES cases. */
typedef enum opc_terminal_detail {
  OPC_DETAIL_LINE,
  OPC_DETAIL_SENTENCE,
  OPC_DETAIL_WHOLE,
  OPC_DETAIL_CASES
} opc_terminal_detail_t;
/* What is wrong, where, with which input, why that was tried, how to see it again. */
opc_status_t opc_terminal_problem(const opc_problems_t *problems, const opc_terminal_entry_t *entry,
                                  const opc_screen_t *screen, opc_terminal_detail_t detail,
                                  opc_error_t *error) OPC_CHECKED;
