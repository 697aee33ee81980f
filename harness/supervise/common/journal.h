/* Writes a run's journal: append-only, one JSON object per line. One write() for one or several lines, so that a killed
 * run leaves only whole lines. reports/journal/journal_reader.h describes the records.
 *
 * Ownership: opc_journal_close. Threads: one. Fork: the descriptor is closed on exec. NULL: closing NULL is fine. */
#pragma once

#include "base/status.h"
#include "model/case/kept_records.h"

typedef struct opc_journal opc_journal_t;

/* Creates or truncates the file. OPC_ERR_IO names the file and what to do. */
opc_status_t opc_journal_open(const char *path, opc_journal_t **out, opc_error_t *error) OPC_CHECKED;
/* Also keeps records written from now on; they must not change any more. The list is the caller's. */
void opc_journal_keep(opc_journal_t *journal, opc_kept_records_t *kept);
/* Takes the reference to record (even on failure; NULL counts as out of memory). After a failed write the file ends
 * with the last whole line, and every further write returns the first error. */
opc_status_t opc_journal_write(opc_journal_t *journal, json_t *record, opc_error_t *error) OPC_CHECKED;
/* Buffers what is written from now on until the next flush or release, which write it at once: for many records in a
 * row. Buffered records are lost if the process is killed: flush before waiting for something. flush or release reports
 * a failed write. */
void opc_journal_hold(opc_journal_t *journal);
opc_status_t opc_journal_flush(opc_journal_t *journal, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_journal_release(opc_journal_t *journal, opc_error_t *error) OPC_CHECKED; /* also ends the buffering */
/* Writes {"t":"note"}. */
opc_status_t opc_journal_note(opc_journal_t *journal, opc_error_t *error, const char *format, ...)
    OPC_PRINTF(3, 4) OPC_CHECKED;
void opc_journal_close(opc_journal_t *journal);
