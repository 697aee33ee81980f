/* One problem on a terminal: what, where, with which input, why that was tried, how to see it again.
 *
 * Ownership: names belong to the journal reader. Threads: one. Errors of the stream are the caller's to ask for. */
#ifndef OPC_REPORTS_TERMINAL_PROBLEM_H
#define OPC_REPORTS_TERMINAL_PROBLEM_H

#include "reports/problems/problems.h"
#include "reports/screen.h"

enum { OPC_TERMINAL_NAMES = 24 };

/* A problem, and others that say the same, mostly of other operators. */
typedef struct opc_terminal_entry {
  const opc_problem_t *problem; /* the one that is shown */
  size_t problems, operators;
  uint64_t cases;                        /* of all of them */
  const char *names[OPC_TERMINAL_NAMES]; /* of the first operators */
} opc_terminal_entry_t;

/* WHOLE: at most 14 lines of 100 columns, as long as the line to paste needs no more than two. SENTENCE: at most six,
 * what it says as a rule to its end. LINE: three or four. */
typedef enum opc_terminal_detail { OPC_DETAIL_LINE, OPC_DETAIL_SENTENCE, OPC_DETAIL_WHOLE } opc_terminal_detail_t;
opc_status_t opc_terminal_problem(const opc_problems_t *problems, const opc_terminal_entry_t *entry,
                                  const opc_screen_t *screen, opc_terminal_detail_t detail,
                                  opc_error_t *error) OPC_CHECKED;

#endif
