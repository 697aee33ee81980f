/* The file of a run, read as a JSON report: an object of lists, in pieces.
 *
 * Ownership: the caller closes the stream. Threads: one. */
#pragma once

#include "reports/format/report.h"

/* A journal's lines begin with their kind, and a report has no such field. What is neither counts as a report. */
opc_status_t opc_run_file_is_journal(const char *path, bool *out, opc_error_t *error) OPC_CHECKED;
/* Opens a JSON report or a journal, compressed or not. A journal is read as the report that is made of it. run_file.c
 */
opc_status_t opc_run_file_open(const char *path, FILE **out, opc_error_t *error) OPC_CHECKED;
/* A file without a name, which is gone with its last descriptor, whatever ends the process. `what`: it is made from,
 * for messages. */
opc_status_t opc_run_file_unnamed(const char *what, FILE **out, opc_error_t *error) OPC_CHECKED;

/* An item of a list of the report, or another field of it. Valid during the call. */
typedef struct opc_report_item {
  const char *list; /* the field's name */
  const json_t *json;
  const char *line; /* its text, if it is a line of its own, as opcheck-c writes it; else NULL */
  size_t length;
} opc_report_item_t;
typedef opc_status_t opc_report_visit_t(const opc_report_item_t *item, void *context, opc_error_t *error);
/* Needs as much memory as the largest item. OPC_ERR_INPUT: it is no JSON report of opcheck-c, or is cut off.
 * report_stream.c */
opc_status_t opc_report_stream_read(FILE *stream, const char *path, opc_report_visit_t *visit, void *context,
                                    opc_error_t *error) OPC_CHECKED;
