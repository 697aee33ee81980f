/* A baseline: a file with the problems that must not fail a run, sorted, so that a difference of two can be
 * reviewed: `run --write-baseline FILE`, `run --baseline FILE`.
 *
 *   # a comment
 *   0123456789abcdef my_ops::scale stride.wrong_result  scale (libmy_ops.so)
 *
 * The id decides; the rest is for people, and says which check has to run for a line to be out of date. No line number
 * or address is in it, so that it changes only with the problems.
 *
 * Ownership: the caller owns what is read. Threads: one. */
#pragma once

#include "reports/format/report.h"

/* A list of records "known" for the journal (journal_reader.h); a new reference. OPC_ERR_INPUT: "FILE:LINE:COLUMN: what
 * is wrong". */
opc_status_t opc_baseline_read(const char *file, json_t **out, opc_error_t *error) OPC_CHECKED;

/* The lines of a problem: one if its operators share a function, else one for each operator, so that the file also fits
 * runs of some operators, and none is excused unseen. */
size_t opc_baseline_id_count(const opc_problem_t *problem);
const char *opc_baseline_id(const opc_problem_t *problem, size_t index);

/* All problems of the source. Needs the journal. */
extern const opc_report_t opc_report_baseline;

/* A file without some of its lines, the others byte for byte: source->rewrite. */
typedef struct opc_rewrite {
  const char *file;
  const json_t *lines; /* a set: number -> null */
} opc_rewrite_t;
extern const opc_report_t opc_report_rewrite;
