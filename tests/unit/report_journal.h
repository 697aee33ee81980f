/* A journal for the tests of the reports: writes lines to a temporary file, opens it, and removes the file. */
#ifndef OPC_TESTS_REPORT_JOURNAL_H
#define OPC_TESTS_REPORT_JOURNAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/reports.h"

#define RUN_LINE                                   \
  "{\"t\":\"run\",\"format\":\"opcheck-c/journal/" \
  "1\",\"version\":\"9.9\",\"argv\":[\"opcheck-c\",\"run\"],\"seed\":7,\"started\":\"2026-01-02T03:04:05Z\"}\n"
#define TOOL_LINE "{\"t\":\"tool\",\"torch\":\"2.11.0\",\"cuda\":\"\",\"loading_cpu_seconds\":0.25}\n"
#define LIBRARY_LINE(path) \
  "{\"t\":\"library\",\"path\":\"" path "\",\"status\":\"loaded\",\"error\":null,\"operators\":1,\"classes\":0}\n"
#define OPERATOR_LINE(name, library)                                                                             \
  "{\"t\":\"operator\",\"name\":\"" name "\",\"schema\":\"" name "(Tensor x) -> Tensor\",\"library\":\"" library \
  "\",\"registered_at\":\"a.cpp:1\",\"dispatch_keys\":[\"CPU\"],\"tags\":[],\"defined_here\":true,\"extra\":1}\n"
#define RECORD_LINE(t, operator_name, check, rest, verdict, severity, rule, reason, message)                        \
  "{\"t\":\"" t "\",\"operator\":\"" operator_name "\",\"check\":\"" check "\",\"case\":\"" operator_name "/" check \
  "/" rest "\",\"verdict\":\"" verdict "\",\"severity\":\"" severity "\",\"rule\":" rule ",\"reason\":" reason      \
  ",\"message\":\"" message "\",\"evidence\":{},\"repro\":\"opcheck-c run --case X lib\",\"seconds\":0.25}\n"
#define PASS_LINE(op, check, rest) RECORD_LINE("result", op, check, rest, "pass", "error", "null", "null", "fine")
#define FAIL_LINE(op, check, rest, rule) \
  RECORD_LINE("result", op, check, rest, "fail", "error", "\"" rule "\"", "null", "wrong at " rest)
#define SUSPECT_LINE(op, check, rest, rule) \
  RECORD_LINE("suspect", op, check, rest, "fail", "error", "\"" rule "\"", "null", "wrong at " rest)
#define WARN_LINE(op, check, rest, rule) \
  RECORD_LINE("result", op, check, rest, "fail", "warning", "\"" rule "\"", "null", "odd")
#define MILD_LINE(op, check, rest, rule) \
  RECORD_LINE("result", op, check, rest, "error", "warning", "\"" rule "\"", "null", "slow")
#define ERROR_LINE(op, check, rest, rule) \
  RECORD_LINE("result", op, check, rest, "error", "error", "\"" rule "\"", "null", "died")
#define SKIP_LINE(op, check, rest, reason) \
  RECORD_LINE("result", op, check, rest, "skip", "error", "null", "\"" reason "\"", "because")
#define END_LINE(code) "{\"t\":\"end\",\"seconds\":1.5,\"exit_code\":" #code ",\"complete\":true}\n"

static inline opc_status_t journal_try(const char *bytes, size_t length, opc_journal_reader_t **out,
                                       opc_error_t *error) {
  char path[] = "/tmp/opcheck-c-unit-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, bytes, length), (ssize_t)length);
  close(file);
  opc_status_t status = opc_journal_reader_open(path, out, error);
  unlink(path);
  return status;
}

static inline opc_journal_reader_t *journal_of(const char *text) {
  opc_journal_reader_t *reader = NULL;
  opc_error_t error = {0};
  if (journal_try(text, strlen(text), &reader, &error) != OPC_OK) fail_msg("%s", error.message);
  return reader;
}

/* The whole report as text; the caller frees. */
static inline char *report_text_of(const opc_report_t *report, opc_journal_reader_t *journal,
                                   opc_junit_cases_t junit_cases, opc_status_t expected) {
  char *text = NULL;
  size_t length = 0;
  opc_error_t error = {0};
  opc_problems_t problems;
  FILE *stream = open_memstream(&text, &length);
  assert_non_null(stream);
  assert_int_equal(opc_problems_make(journal, &problems, &error), OPC_OK);
  const opc_report_source_t source = {.journal = journal, .problems = &problems, .junit_cases = junit_cases};
  opc_status_t status = report->write(&source, stream, &error);
  opc_problems_clear(&problems);
  fclose(stream);
  if (status != expected) fail_msg("status %d: %s", (int)status, error.message);
  return text;
}
static inline char *report_text(const opc_report_t *report, opc_journal_reader_t *journal, opc_status_t expected) {
  return report_text_of(report, journal, OPC_JUNIT_BY_CASE, expected);
}

#define assert_contains(text, part)                                                     \
  do {                                                                                  \
    if (!strstr((text), (part))) fail_msg("\"%s\" is missing in:\n%s", (part), (text)); \
  } while (0)
#define assert_lacks(text, part)                                                          \
  do {                                                                                    \
    if (strstr((text), (part))) fail_msg("\"%s\" should not be in:\n%s", (part), (text)); \
  } while (0)

#endif
