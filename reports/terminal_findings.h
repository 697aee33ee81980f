/* `run --verbose`: every finding (one per operator and rule), and the result for each operator. Streamed from the
 * journal.
 *
 * Ownership: everything stays the caller's. Threads: one. Errors of the stream are the caller's to ask for (ferror). */
#ifndef OPC_REPORTS_TERMINAL_FINDINGS_H
#define OPC_REPORTS_TERMINAL_FINDINGS_H

#include "reports/journal/journal_reader.h"
#include "reports/screen.h"

opc_status_t opc_terminal_findings(opc_journal_reader_t *journal, const opc_screen_t *screen,
                                   opc_error_t *error) OPC_CHECKED;

#endif
