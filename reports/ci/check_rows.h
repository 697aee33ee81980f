/* The results of one operator, one row for each check: what JUnit's test cases and TAP's test points are.
 *
 * Ownership: opc_check_rows_free, or OPC_SCOPED(opc_scope_check_rows); NULL is accepted. Memory: bounded, whatever the
 * number of results. Threads: one. */
#pragma once

#include "reports/format/report.h"

enum { OPC_CHECK_ROWS = 64 };
/* The worst first. */
typedef enum opc_check_outcome {
  OPC_CHECK_ERROR,
  OPC_CHECK_FAILURE,
  OPC_CHECK_WARNING,
  OPC_CHECK_OUTCOMES
} opc_check_outcome_t;

typedef struct opc_check_row {
  char name[40];
  uint64_t found[OPC_CHECK_OUTCOMES], passed, skips[OPC_SKIP_COUNT];
  uint64_t known;                        /* findings of known problems, which count nowhere else */
  char *known_as;                        /* "known: in the baseline known.txt: the message of the first" */
  uint64_t first_skips[OPC_SKIP_COUNT];  /* where the first skip for each reason is */
  uint64_t simplest[OPC_CHECK_OUTCOMES]; /* where the simplest case of each is (opc_journal_reader_offset) */
  int complexities[OPC_CHECK_OUTCOMES];
  double seconds; /* only if they were asked for */
} opc_check_row_t;

typedef struct opc_check_rows {
  opc_check_row_t rows[OPC_CHECK_ROWS];
  size_t count;
  size_t operator_index;
  const opc_report_source_t *source;
} opc_check_rows_t;

/* Without seconds, only findings are read. */
opc_status_t opc_check_rows_make(const opc_report_source_t *source, size_t operator_index, bool seconds,
                                 opc_check_rows_t **out, opc_error_t *error) OPC_CHECKED;
void opc_check_rows_free(opc_check_rows_t *rows);
void opc_scope_check_rows(opc_check_rows_t **rows);
/* The worst that was found; OPC_CHECK_OUTCOMES: nothing. */
opc_check_outcome_t opc_check_row_worst(const opc_check_row_t *row);
/* Of a row without findings and passes: the most frequent reason, and "3 of 5 cases; detail" appended. */
opc_status_t opc_check_row_skip(opc_journal_reader_t *journal, const opc_check_row_t *row,
                                opc_skip_reason_t *out_reason, opc_text_t *out, opc_error_t *error) OPC_CHECKED;
/* Appends the text of the first skip with this reason; nothing if there is none. */
opc_status_t opc_check_row_detail(opc_journal_reader_t *journal, const opc_check_row_t *row, opc_skip_reason_t reason,
                                  opc_text_t *out, opc_error_t *error) OPC_CHECKED;
