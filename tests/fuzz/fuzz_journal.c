/* A journal, and every report that is made from it. */
#include "fuzz.h"

#include "reports/baseline.h"
#include "reports/reports.h"

static void journal_report(const opc_report_t *report, const opc_report_source_t *source) {
  char *text = NULL;
  size_t length = 0;
  opc_error_t error = {0};
  FILE *stream = open_memstream(&text, &length);
  fuzz_expect(stream, "out of memory");
  const opc_status_t status = report->write(source, stream, &error);
  (void)fclose(stream);
  fuzz_expect(status == OPC_OK || error.message[0], "an error without words");
  if (status == OPC_OK && report == &opc_report_json) {
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    fuzz_expect(json, "the JSON report is not JSON");
    json_decref(json);
  }
  free(text);
}

static void journal_reports(opc_journal_reader_t *journal) {
  opc_problems_t problems;
  opc_error_t error = {0};
  if (opc_problems_make(journal, &problems, &error) != OPC_OK) {
    fuzz_expect(error.message[0], "an error without words");
    return;
  }
  const opc_report_source_t source = {.journal = journal, .problems = &problems, .source_root = "/proc/self/fd"};
  for (size_t i = 0; i < opc_report_count; i++) journal_report(opc_reports[i], &source);
  journal_report(&opc_report_baseline, &source);
  opc_problems_clear(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  opc_journal_reader_t *journal = NULL;
  opc_error_t error = {0};
  const opc_status_t status = opc_journal_reader_open(fuzz_file(bytes, size), &journal, &error);
  fuzz_expect(status == OPC_OK || error.message[0], "an error without words");
  if (status == OPC_OK) journal_reports(journal);
  opc_journal_reader_close(journal);
  return 0;
}
