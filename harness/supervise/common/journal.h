/* Writes a run's journal: append-only, one JSON object a line, one write() a line or for several, so that a run that is
 * killed leaves whole lines behind. The records are described in reports/journal/journal_reader.h.
 *
 * Ownership: opc_journal_close. Threads: one. Fork: the descriptor is closed on exec. NULL: closing NULL is fine. */
#ifndef OPC_SUPERVISE_COMMON_JOURNAL_H
#define OPC_SUPERVISE_COMMON_JOURNAL_H

#include <jansson.h>

#include "base/status.h"
#include "model/case/kept_records.h"

typedef struct opc_journal opc_journal_t;

/* Creates the file, or empties it. OPC_ERR_IO names the file and what to do. */
opc_status_t opc_journal_open(const char *path, opc_journal_t **out, opc_error_t *error) OPC_CHECKED;
/* Records that are written from now on are kept as well, and must not be changed any more. The list is the caller's. */
void opc_journal_keep(opc_journal_t *journal, opc_kept_records_t *kept);
/* Takes the reference to record (also when it fails; NULL counts as out of memory). After a failed write the file ends
 * with the last whole line, and every further write fails with the first error. */
opc_status_t opc_journal_write(opc_journal_t *journal, json_t *record, opc_error_t *error) OPC_CHECKED;
/* What is written from now on goes to the file with the next flush or release, in one write: for a turn of many
 * records. What is held is lost if the process is killed, so whoever has to wait for something meanwhile flushes first.
 * One or the other reports a failed write. */
void opc_journal_hold(opc_journal_t *journal);
opc_status_t opc_journal_flush(opc_journal_t *journal, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_journal_release(opc_journal_t *journal, opc_error_t *error) OPC_CHECKED; /* ends the holding as well */
/* {"t":"note"}. */
opc_status_t opc_journal_note(opc_journal_t *journal, opc_error_t *error, const char *format, ...)
    OPC_PRINTF(3, 4) OPC_CHECKED;
void opc_journal_close(opc_journal_t *journal);

#endif
