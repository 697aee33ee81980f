/* What a person sees: `run`'s report (a summary, then the problems by weight), and `list`'s. Streamed from the journal.
 *
 * Ownership: everything stays the caller's. Threads: one. Errors of the stream are the caller's to ask for (ferror). */
#ifndef OPC_REPORTS_TERMINAL_H
#define OPC_REPORTS_TERMINAL_H

#include "reports/problems/problems.h"
#include "reports/screen.h"

typedef struct opc_terminal_view {
  int exit_code;     /* the one that the program will end with (--strict and --require-checked applied) */
  bool verbose;      /* all findings instead of problems */
  int required;      /* --require-checked; 0: not given */
  const char *whole; /* a file with all of it, where not all is shown; NULL: none is kept */
} opc_terminal_view_t;

opc_status_t opc_terminal_report(const opc_problems_t *problems, const opc_screen_t *screen,
                                 const opc_terminal_view_t *view, opc_error_t *error) OPC_CHECKED;
/* The last line: whether it passed, what was found, and how much was checked. */
void opc_terminal_end(const opc_problems_t *problems, const opc_screen_t *screen, const opc_terminal_view_t *view);
opc_status_t opc_terminal_list(opc_journal_reader_t *journal, const opc_screen_t *screen,
                               opc_error_t *error) OPC_CHECKED;

/* Shared by both: libraries that did not load, and the first so many notes. */
opc_status_t opc_terminal_troubles(opc_journal_reader_t *journal, const opc_screen_t *screen, size_t notes_shown,
                                   opc_error_t *error) OPC_CHECKED;
/* "file name" of a path. */
const char *opc_terminal_basename(const char *path);

#endif
