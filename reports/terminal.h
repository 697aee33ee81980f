/* What a person sees: `run`'s report (findings first, then what each operator came to), and `list`'s. Streamed from the
 * journal.
 *
 * Ownership: everything stays the caller's. Threads: one. Errors of the stream are the caller's to ask for (ferror). */
#ifndef OPC_REPORTS_TERMINAL_H
#define OPC_REPORTS_TERMINAL_H

#include "reports/journal_reader.h"
#include "reports/screen.h"

/* exit_code is the one that the program will end with (--strict applied). */
opc_status_t opc_terminal_report(opc_journal_reader_t *journal, const opc_screen_t *screen, int exit_code,
                                 opc_error_t *error) OPC_CHECKED;
opc_status_t opc_terminal_list(opc_journal_reader_t *journal, const opc_screen_t *screen,
                               opc_error_t *error) OPC_CHECKED;

/* Shared by both: libraries that did not load, and notes. */
opc_status_t opc_terminal_troubles(opc_journal_reader_t *journal, const opc_screen_t *screen,
                                   opc_error_t *error) OPC_CHECKED;
/* "file name" of a path. */
const char *opc_terminal_basename(const char *path);

#endif
