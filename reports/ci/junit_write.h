/* Internals of the JUnit report: its state, elements and testcases. For junit.c and junit_operator.c only.
 *
 * Ownership: junit.c's write function owns all of it. The first error is kept in status, and nothing is written after
 * it. Threads: one. */
#pragma once

#include <libxml/xmlwriter.h>

#include "model/case/hash_set.h"
#include "reports/format/report.h"

typedef struct opc_junit {
  const opc_report_source_t *source;
  opc_journal_reader_t *journal;
  xmlTextWriterPtr xml; /* NULL during the pass that only looks at names */
  FILE *stream;
  int cause; /* errno of the first failed write */
  opc_journal_summary_t summary;
  opc_hash_set_t names;
  opc_journal_counts_t *tests; /* testcases by operator, counted during the pass that only looks at names */
  char **shared;               /* by problem: its text, if it is of several operators and has been written */
  json_t *suites;              /* paths of the libraries that have had their suite in this pass */
  json_t *run, *tool;          /* records; may be NULL */
  const json_t *library; /* record of the suite that is being written; NULL in the last one, which is about the run */
  const opc_journal_operator_t *op;
  size_t op_index;
  opc_text_t text;
  uint64_t run_errors; /* testcases of the last suite */
  opc_status_t status;
  opc_error_t *error;
} opc_junit_t;

/* The testcases of an operator: error if any case is one, else failure, else passed if any case passed (a warning is a
 * pass with text), else skipped with the most frequent reason. During the pass that only looks at names: counts them in
 * junit->tests. */
opc_status_t opc_junit_operator(opc_junit_t *junit, size_t operator_index) OPC_CHECKED;

/* libxml2's output callback; context is the opc_junit_t. */
int opc_junit_bytes(void *context, const char *bytes, int length);
/* The first error is kept; nothing is written after it. */
void opc_junit_keep(opc_junit_t *junit, opc_status_t status);
void opc_junit_written(opc_junit_t *junit, int result);
void opc_junit_open(opc_junit_t *junit, const char *name);
void opc_junit_close(opc_junit_t *junit);
void opc_junit_attribute(opc_junit_t *junit, const char *name, const char *value);
void opc_junit_message(opc_junit_t *junit, const char *value);
void opc_junit_count(opc_junit_t *junit, const char *name, uint64_t value);
void opc_junit_time(opc_junit_t *junit, double seconds);
void opc_junit_body(opc_junit_t *junit, const opc_text_t *value);

/* A library's file name without its ending and without dots. */
void opc_junit_stem(opc_text_t *out, const char *path);
/* During the pass that looks at names: claims this one, and opens nothing. */
void opc_junit_testcase(opc_junit_t *junit, const char *library, const char *operator_name, const char *name,
                        double seconds);
/* element: "failure", "error", or "system-out" for a warning. problems (optional) stand before the finding's own text,
 * which is shorter then. */
void opc_junit_finding(opc_junit_t *junit, const char *element, const opc_case_result_t *result,
                       const opc_text_t *problems);
void opc_junit_skip(opc_junit_t *junit, const char *reason, const char *message);
/* A skip, because CI must not fail for it: what opc_check_row_t.known_as says. */
void opc_junit_known(opc_junit_t *junit, const char *known_as);
void opc_junit_error(opc_junit_t *junit, const char *type, const char *message, const opc_text_t *text);
