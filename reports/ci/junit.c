/* The JUnit report, in the strict dialect of Jenkins' junit-10.xsd. Every reader that we know of shows it. One
 * testsuite per library, one testcase per operator and check, or per case (--junit-cases case). Errors outside cases (a
 * library that did not load, an aborted run) are error testcases of their own. A report without them would look like a
 * success.
 *
 * Sources: Jenkins xunit-plugin's junit-10.xsd; ECMA-48 and XML 1.0 through screen.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reports/ci/ci.h"
#include "reports/ci/junit_write.h"

static const opc_problem_t *known_problem(const opc_junit_t *junit, const opc_case_result_t *result) {
  const opc_problems_t *problems = junit->source->problems;
  const opc_problem_t *problem =
      problems->fresh < problems->count ? opc_problems_find(problems, junit->op_index, result) : NULL;
  return problem && problem->known ? problem : NULL;
}

static void junit_count_case(opc_journal_counts_t *counts, const opc_case_result_t *result, bool known) {
  if (known || result->verdict == OPC_VERDICT_SKIP) counts->skip++;
  else if (result->verdict == OPC_VERDICT_PASS) counts->pass++;
  else if (result->severity == OPC_SEVERITY_WARNING) counts->warnings++;
  else if (result->verdict == OPC_VERDICT_FAIL) counts->fail++;
  else counts->error++;
}

static void write_known(opc_junit_t *junit, const opc_problem_t *problem, const opc_case_result_t *result) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_known_say(problem->known, &text);
  opc_text_addf(&text, " (problem %s): %s", problem->id, result->message);
  opc_junit_known(junit, opc_text_c(&text));
}

static bool junit_visit_result(const opc_case_result_t *result, void *context) {
  opc_junit_t *junit = context;
  const opc_problem_t *known = known_problem(junit, result);
  opc_junit_testcase(junit, junit->op->library, junit->op->name, result->case_id, result->seconds);
  if (!junit->xml) {
    junit_count_case(&junit->tests[junit->op_index], result, known);
    return !junit->status;
  }
  if (result->verdict == OPC_VERDICT_SKIP) opc_junit_skip(junit, opc_skip_reason_name(result->reason), result->message);
  else if (known) write_known(junit, known, result);
  else if (opc_case_result_is_finding(result))
    opc_junit_finding(junit,
                      result->severity == OPC_SEVERITY_WARNING ? "system-out"
                      : result->verdict == OPC_VERDICT_FAIL    ? "failure"
                                                               : "error",
                      result, NULL);
  opc_junit_close(junit);
  return !junit->status;
}

static void write_load_failure(opc_junit_t *junit, const char *path) {
  OPC_SCOPED(opc_text_clear) opc_text_t name = {0}, text = {0}, type = {0};
  const json_t *cause = json_object_get(junit->library, "error");
  const char *kind = opc_record_text(cause, "kind");
  opc_text_addf(&name, "load %s", path);
  opc_junit_testcase(junit, path, NULL, opc_text_c(&name), 0);
  if (junit->xml) {
    opc_text_addf(&type, "load.%s", *kind ? kind : "failed");
    opc_text_addf(&text, "%s could not be loaded.\n%s\n", path, opc_record_text(cause, "message"));
    opc_junit_error(junit, opc_text_c(&type), opc_record_text(cause, "message"), &text);
    opc_junit_close(junit);
  }
}

/* ---- suites ---- */

static void property(opc_junit_t *junit, const char *name, const char *value) {
  if (!*value) return;
  opc_junit_open(junit, "property");
  opc_junit_attribute(junit, "name", name);
  opc_junit_attribute(junit, "value", value);
  opc_junit_close(junit);
}

static void open_suite(opc_junit_t *junit, const char *name, const opc_journal_counts_t *counts, double seconds) {
  const char *started = opc_record_text(junit->run, "started");
  OPC_SCOPED(opc_text_clear) opc_text_t stamp = {0};
  opc_junit_open(junit, "testsuite");
  opc_junit_attribute(junit, "name", name);
  opc_junit_count(junit, "tests", counts->pass + counts->fail + counts->skip + counts->error + counts->warnings);
  opc_junit_count(junit, "failures", counts->fail);
  opc_junit_count(junit, "errors", counts->error);
  opc_junit_count(junit, "skipped", counts->skip);
  opc_junit_time(junit, seconds);
  if (*started) {
    opc_text_add_bytes(&stamp, started, strcspn(started, "Z")); /* readers expect no time zone */
    opc_junit_attribute(junit, "timestamp", opc_text_c(&stamp));
  }
}

static void write_properties(opc_junit_t *junit) {
  opc_junit_open(junit, "properties");
  property(junit, "opcheck-c", opc_record_text(junit->run, "version"));
  property(junit, "torch", opc_record_text(junit->tool, "torch"));
  property(junit, "cuda", opc_record_text(junit->tool, "cuda"));
  property(junit, "library", opc_record_text(junit->library, "path"));
  OPC_SCOPED(opc_scope_free) char *seed = json_dumps(json_object_get(junit->run, "seed"), JSON_ENCODE_ANY);
  property(junit, "seed", seed ? seed : "");
  opc_junit_close(junit);
}

/* The last suite (path NULL) takes results that no library's suite took, so that none is lost. */
static bool in_suite(const opc_junit_t *junit, const opc_journal_operator_t *op, const char *path) {
  if (!path) return !op->library || !json_object_get(junit->suites, op->library);
  return op->library && strcmp(op->library, path) == 0;
}

static void write_operators(opc_junit_t *junit, const char *path) {
  for (size_t i = 0; !junit->status && i < opc_journal_reader_operator_count(junit->journal); i++) {
    junit->op = opc_journal_reader_operator(junit->journal, i);
    junit->op_index = i;
    if (!in_suite(junit, junit->op, path)) continue;
    opc_hash_set_clear(&junit->names); /* a classname contains the operator's name, so operators cannot share names */
    opc_junit_keep(junit, junit->source->junit_cases == OPC_JUNIT_BY_OPERATOR
                              ? opc_junit_operator(junit, i)
                              : opc_journal_reader_results(junit->journal, i, junit_visit_result, junit, junit->error));
  }
}

static void junit_count_operators(opc_junit_t *junit, const char *path, opc_journal_counts_t *counts, double *seconds) {
  for (size_t i = 0; i < opc_journal_reader_operator_count(junit->journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(junit->journal, i);
    if (!in_suite(junit, op, path)) continue;
    const opc_journal_counts_t *own = &junit->tests[i];
    counts->pass += own->pass;
    counts->fail += own->fail;
    counts->skip += own->skip;
    counts->error += own->error;
    counts->warnings += own->warnings;
    *seconds += op->seconds;
  }
}

static bool junit_visit_library(const json_t *record, void *context) {
  opc_junit_t *junit = context;
  const char *path = opc_record_text(record, "path");
  bool failed = strcmp(opc_record_text(record, "status"), "failed") == 0;
  junit->library = record;
  if (junit->xml) {
    opc_journal_counts_t counts = {.error = failed};
    double seconds = 0;
    OPC_SCOPED(opc_text_clear) opc_text_t stem = {0};
    junit_count_operators(junit, path, &counts, &seconds);
    opc_junit_stem(&stem, path);
    open_suite(junit, opc_text_c(&stem), &counts, seconds);
    write_properties(junit);
  }
  if (failed) write_load_failure(junit, path);
  write_operators(junit, path);
  if (!junit->status && json_object_set_new(junit->suites, path, json_null()) != 0)
    junit->status = opc_error_set(junit->error, OPC_ERR_MEMORY, "out of memory while writing the JUnit report");
  if (junit->xml) opc_junit_close(junit);
  junit->library = NULL;
  return !junit->status;
}

static bool junit_visit_note(const json_t *record, void *context) {
  opc_text_addf(context, "%s\n", opc_record_text(record, "message"));
  return true;
}

static void write_run_suite(opc_junit_t *junit) {
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  const char *type = opc_ci_run_trouble(junit->source, &message);
  opc_journal_counts_t counts = {.error = !!type};
  double seconds = 0;
  junit_count_operators(junit, NULL, &counts, &seconds);
  /* The pass that looks at names has not counted them yet. */
  if (junit->xml && counts.pass + counts.fail + counts.skip + counts.error + counts.warnings == 0) return;
  junit->run_errors = !!type;
  if (junit->xml) {
    open_suite(junit, "opcheck-c", &counts, seconds);
    write_properties(junit);
  }
  if (type) {
    opc_junit_testcase(junit, NULL, "opcheck-c", "run", 0);
    if (junit->xml) {
      OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
      opc_text_addf(&text, "%s\n", opc_text_c(&message));
      opc_junit_keep(junit, opc_journal_reader_each(junit->journal, "note", junit_visit_note, &text, junit->error));
      opc_junit_error(junit, type, opc_text_c(&message), &text);
      opc_junit_close(junit);
    }
  }
  write_operators(junit, NULL);
  if (junit->xml) opc_junit_close(junit);
}

/* Both passes walk the same way, so the written names are those that were checked. */
static void junit_walk(opc_junit_t *junit) {
  json_object_clear(junit->suites);
  opc_junit_keep(junit, opc_journal_reader_each(junit->journal, "library", junit_visit_library, junit, junit->error));
  if (!junit->status) write_run_suite(junit);
}

static void write_document(opc_junit_t *junit, FILE *stream) {
  const opc_journal_summary_t *summary = &junit->summary;
  xmlOutputBufferPtr buffer = xmlOutputBufferCreateIO(opc_junit_bytes, NULL, junit, NULL);
  junit->stream = stream;
  junit->xml = buffer ? xmlNewTextWriter(buffer) : NULL;
  if (!junit->xml) {
    if (buffer) xmlOutputBufferClose(buffer);
    junit->status = opc_error_set(junit->error, OPC_ERR_MEMORY, "out of memory while writing the JUnit report");
    return;
  }
  opc_journal_counts_t total = {.error = summary->libraries_failed + junit->run_errors};
  for (size_t i = 0; i < opc_journal_reader_operator_count(junit->journal); i++) {
    const opc_journal_counts_t *own = &junit->tests[i];
    total.pass += own->pass + own->warnings;
    total.fail += own->fail;
    total.skip += own->skip;
    total.error += own->error;
  }
  opc_junit_written(junit, xmlTextWriterSetIndent(junit->xml, 1));
  opc_junit_written(junit, xmlTextWriterStartDocument(junit->xml, NULL, "UTF-8", NULL));
  opc_junit_open(junit, "testsuites");
  opc_junit_attribute(junit, "name", "opcheck-c");
  opc_junit_count(junit, "tests", total.pass + total.fail + total.skip + total.error);
  opc_junit_count(junit, "failures", total.fail);
  opc_junit_count(junit, "errors", total.error);
  opc_junit_time(junit, summary->seconds);
  junit_walk(junit);
  if (!junit->status) opc_junit_written(junit, xmlTextWriterEndDocument(junit->xml));
  xmlFreeTextWriter(junit->xml); /* flushes */
  errno = junit->cause;
  if (junit->cause && !junit->status)
    junit->status =
        opc_error_set(junit->error, OPC_ERR_IO, "cannot write the JUnit report: %s", strerror(junit->cause));
}

static void make_junit(opc_junit_t *junit, FILE *stream) {
  opc_journal_reader_t *journal = junit->journal;
  opc_journal_reader_summary(journal, &junit->summary);
  opc_junit_keep(junit, opc_journal_reader_first(journal, "run", &junit->run, junit->error));
  if (!junit->status) opc_junit_keep(junit, opc_journal_reader_first(journal, "tool", &junit->tool, junit->error));
  size_t operators = opc_journal_reader_operator_count(journal);
  junit->tests = calloc(operators + 1, sizeof *junit->tests);
  junit->shared = calloc(junit->source->problems->count + 1, sizeof *junit->shared);
  if ((!junit->tests || !junit->shared) && !junit->status) junit->status = opc_out_of_memory(junit->error);
  if (!junit->status) junit_walk(junit);
  opc_hash_set_clear(&junit->names);
  if (!junit->status) write_document(junit, stream);
}

static opc_status_t write_junit(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  opc_junit_t junit = {.source = source, .journal = source->journal, .suites = json_object(), .error = error};
  make_junit(&junit, stream);
  json_decref(junit.suites);
  json_decref(junit.run);
  json_decref(junit.tool);
  opc_text_clear(&junit.text);
  free(junit.tests);
  for (size_t i = 0; junit.shared && i < source->problems->count; i++) free(junit.shared[i]);
  free(junit.shared);
  return junit.status;
}

const opc_report_t opc_report_junit = {"junit", "results as JUnit XML, for CI dashboards", false, false, write_junit};
