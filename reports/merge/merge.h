/* Parts of a run, put together again (`report merge`): each is the journal or the JSON report of a run of its own, with
 * --shard K/N, or on other libraries. Results and problems are those of the run in one piece.
 *
 * Ownership: opc_merged_clear. Threads: one. */
#pragma once

#include "base/text.h"
#include "reports/journal/journal_reader.h"

typedef struct opc_merged {
  opc_journal_reader_t *journal; /* of all parts, in a file without a name */
  int exit_code;                 /* of the run in one piece, before known problems are considered; 3: it is not whole */
  opc_text_t missing;            /* what is not there, a line each; empty: nothing */
} opc_merged_t;

/* A run with missing parts is as one that stopped early. argv: the command line, for the report; may be NULL.
 * OPC_ERR_INPUT: a part is no report, belongs to another run, or is there twice. */
opc_status_t opc_merge(const char *const *parts, size_t count, const json_t *argv, opc_merged_t *out,
                       opc_error_t *error) OPC_CHECKED;
void opc_merged_clear(opc_merged_t *merged);
